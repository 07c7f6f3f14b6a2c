#include "emit/proto/templates.h"

bool templates_read(Templates *templates, const Original *original, InstId *bad, Arena *out) {
  const Module *module = original->module;
  *templates = (Templates){.original = original,
                           .arena = out,
                           .lines = arena_array(out, Line, module->insts.len),
                           .shapes.arena = out};
  id_table_reserve(&templates->by_line, out, module->insts.len);
  for (InstId id = 0; id < module->insts.len; id++) {
    Line *line = &templates->lines[id];
    *bad = id;
    if (!line_read(module, id, line, out)) return false;
    shapes_note(&templates->shapes, line->shape, original->insts[id]->shape);
    uint64_t hash = line_hash(line);
    InstId known;
    bool is_known = false;
    for (IdProbe p = id_table_probe(&templates->by_line, hash);
         !is_known && id_probe_next(&p, &known);)
      is_known = line_equal(&templates->lines[known], line);
    if (!is_known) id_table_add(&templates->by_line, out, hash, id);
  }
  return true;
}

/* Fields of these messages depend on the shape: the value of a constant, and what is told to
 * others. */
static bool depends_on_shape(uint16_t opcode) {
  switch (opcode) {
    case OPCODE_CONSTANT:
    case OPCODE_CUSTOM_CALL:
    case OPCODE_INFEED:
    case OPCODE_OUTFEED: return true;
    default: return false;
  }
}

static bool is_same(const Templates *templates, InstId id, const Line *line, bool with_shape) {
  const Line *other = &templates->lines[id];
  if (with_shape) return line_equal(other, line);
  return !depends_on_shape(line->opcode) && line_equal_but_shape(other, line);
}

/* Looks for the name, and then for what is before each of its last points. */
static InstId find_by_name(const Templates *templates, Str name, const Line *line,
                           bool with_shape) {
  for (uint32_t len = name.len; len > 0; len--) {
    if (len < name.len && name.data[len] != '.') continue;
    InstId id = original_inst(templates->original, (Str){name.data, len});
    if (id != NO_ID && is_same(templates, id, line, with_shape)) return id;
  }
  return NO_ID;
}

static InstId find_by_line(const Templates *templates, const Line *line) {
  InstId id;
  for (IdProbe p = id_table_probe(&templates->by_line, line_hash(line)); id_probe_next(&p, &id);) {
    if (line_equal(&templates->lines[id], line)) return id;
  }
  return NO_ID;
}

InstId templates_find(const Templates *templates, Str name, const Line *line) {
  InstId id = find_by_name(templates, name, line, true);
  if (id == NO_ID) id = find_by_line(templates, line);
  if (id == NO_ID) id = find_by_name(templates, name, line, false);
  return id;
}
