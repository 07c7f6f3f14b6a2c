#include "emit/proto/line.h"

static Str text_between(const Module *module, uint32_t begin, uint32_t end) {
  return module_span(module, (Span){begin, end});
}

bool line_has_index(uint16_t opcode) {
  return opcode == OPCODE_GET_TUPLE_ELEMENT;
}

bool line_has_config(uint16_t opcode) {
  return opcode == OPCODE_WHILE || opcode_is_dynamic_slice((Opcode)opcode);
}

/* The part of the attributes that is left out because of an attribute, or an empty one. */
static Span part_left_out(const Module *module, uint16_t opcode, const Attr *attr) {
  if (attr->id == ATTR_INDEX && line_has_index(opcode)) return attr->text;
  bool goes_whole = attr->id == ATTR_CONTROL_PREDECESSORS ||
                    (attr->id == ATTR_BACKEND_CONFIG && opcode_is_dynamic_slice((Opcode)opcode));
  if (goes_whole) return (Span){source_attr_begin(module->source, attr), attr->text.end};
  if (attr->id == ATTR_BACKEND_CONFIG && line_has_config(opcode)) return attr->text;
  return attr->num_callees ? attr->text : (Span){0, 0};
}

static Str read_rest(const Module *module, InstId id, const InstSource *source, Arena *out) {
  const Instruction *inst = inst_get(module, id);
  AttrSlice attrs = inst_attrs(module, id);
  TextBuffer rest = {.arena = out};
  uint32_t pos = source->close + 1;
  bool is_whole = true;
  for (uint32_t i = 0; i < attrs.len; i++) {
    Span part = part_left_out(module, inst->opcode, &attrs.data[i]);
    if (part.end <= pos || part.begin < pos) continue;
    text_put_str(&rest, text_between(module, pos, part.begin));
    pos = part.end;
    is_whole = false;
  }
  if (is_whole) return text_between(module, pos, source->text.end);
  text_put_str(&rest, text_between(module, pos, source->text.end));
  return text_str(&rest);
}

/* Finds the shape, which is between `=` and the opcode, with a blank on either side. */
static bool read_shape(const Module *module, InstId id, const InstSource *source, Line *line) {
  const char *text = module->source->text;
  Str opcode = str_make(opcode_text(line->opcode), strlen(opcode_text(line->opcode)));
  uint32_t begin = source->name + (text[source->name] == '%') + inst_name(module, id).len;
  uint32_t end = source->paren;
  if (end < begin + 4 + opcode.len) return false;
  end -= opcode.len;
  if (!str_equal(text_between(module, end, source->paren), opcode)) return false;
  if (memcmp(text + begin, " = ", 3) != 0 || text[end - 1] != ' ') return false;
  line->shape = text_between(module, begin + 3, end - 1);
  return true;
}

bool line_read(const Module *module, InstId id, Line *line, Arena *out) {
  const Instruction *inst = inst_get(module, id);
  const unsigned made = INST_COMPACT_GTE | INST_NESTED | INST_DEAD | INST_CHANGED | INST_IMPLIED;
  if (inst->origin != id || inst->flags & made) return false;
  const InstSource *source = &module->source->insts.data[id];
  if (source->text.end == 0 || source->close < source->paren) return false;
  *line = (Line){.opcode = inst->opcode, .has_operands = inst->num_operands > 0};
  if (!read_shape(module, id, source, line)) return false;
  if (!line->has_operands && inst->opcode != OPCODE_PARAMETER)
    line->value = text_between(module, source->paren + 1, source->close);
  line->rest = read_rest(module, id, source, out);
  return true;
}

static uint64_t add_str(uint64_t hash, Str text) {
  return text.len ? hash_bytes(hash, text.data, text.len) : hash_mix(hash, 0);
}

uint64_t line_hash(const Line *line) {
  uint64_t hash = hash_mix(HASH_SEED, (uint64_t)line->opcode << 1 | line->has_operands);
  return add_str(add_str(add_str(hash, line->shape), line->value), line->rest);
}

bool line_equal_but_shape(const Line *a, const Line *b) {
  return a->opcode == b->opcode && a->has_operands == b->has_operands &&
         str_equal(a->value, b->value) && str_equal(a->rest, b->rest);
}

bool line_equal(const Line *a, const Line *b) {
  return str_equal(a->shape, b->shape) && line_equal_but_shape(a, b);
}
