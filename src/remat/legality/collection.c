#include "remat/legality/collection.h"

#include <inttypes.h>
#include <string.h>

#include "ir/source_place.h"

rh_status collection_parse(const char *text, Collection *collection, rh_diags *diags, Arena *out) {
  *collection = (Collection){0};
  rh_status status = RH_OK;
  for (const char *line = text; status == RH_OK && line && *line;) {
    size_t room = strcspn(line, "\n"), len = room;
    if (len && line[len - 1] == '\r') len--;
    if (len) {
      const regex_t *expression;
      status = expression_new(arena_strndup(out, line, len), &expression, diags, out);
      if (status == RH_OK) *vec_push(out, &collection->expressions) = expression;
    }
    line += line[room] ? room + 1 : room;
  }
  if (status != RH_OK) *collection = (Collection){0};
  return status;
}

static bool has_match(const Collection *collection, Str subject, Arena *scratch) {
  for (uint32_t i = 0; subject.len && i < collection->expressions.len; i++) {
    if (expression_matches(collection->expressions.data[i], subject, scratch)) return true;
  }
  return false;
}

static bool is_at(const Collection *collection, const SourcePlace *place, Arena *scratch) {
  if (place->file.len == 0) return false;
  ArenaMark mark = arena_mark(scratch);
  const char *line =
      arena_printf(scratch, "%.*s:%" PRId32, (int)place->file.len, place->file.data, place->line);
  bool is_match = has_match(collection, str_make(line, strlen(line)), scratch);
  arena_reset(scratch, mark);
  return is_match;
}

/* The position that is shown counts, and so does the place where the instruction was traced, which
 * may be in a library. */
static bool is_named(const Collection *collection, const Module *module, InstId id,
                     Arena *scratch) {
  SourcePlace place = source_place_of(module, id);
  if (has_match(collection, inst_name(module, id), scratch) ||
      has_match(collection, place.op_name, scratch) || is_at(collection, &place, scratch)) {
    return true;
  }
  SourcePlace innermost = source_place_innermost(module, id);
  bool is_same = innermost.line == place.line && str_equal(innermost.file, place.file);
  return !is_same && is_at(collection, &innermost, scratch);
}

bool collection_has(const Collection *collection, const Module *module, InstId id, Arena *scratch) {
  if (is_named(collection, module, id, scratch)) return true;
  if (inst_get(module, id)->opcode != OPCODE_FUSION) return false;
  InstId root = comp_get(module, inst_callees(module, id)[0])->root;
  bool is_match = is_named(collection, module, root, scratch);
  if (inst_get(module, root)->opcode != OPCODE_TUPLE) return is_match;
  for (uint32_t i = 0; !is_match && i < inst_get(module, root)->num_operands; i++) {
    is_match = is_named(collection, module, inst_operand(module, root, i), scratch);
  }
  return is_match;
}
