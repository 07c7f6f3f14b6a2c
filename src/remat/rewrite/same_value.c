#include "remat/rewrite/same_value.h"

typedef struct Source {
  InstId id;
  VEC(int64_t) path; /* the indices of the elements that are taken from `id`, the innermost last */
} Source;

static Source source_of(const Module *module, const Rewrite *rewrite, InstId id, Arena *scratch) {
  Source source = {.id = id};
  for (;;) {
    const Instruction *inst = inst_get(module, source.id);
    InstId original = rewrite ? rewrite_value_source(rewrite, source.id) : NO_ID;
    if (original != NO_ID) {
      source.id = original;
    } else if (inst->opcode == OPCODE_BITCAST || inst->opcode == OPCODE_OPT_BARRIER) {
      source.id = inst_operand(module, source.id, 0);
    } else if (inst->opcode == OPCODE_GET_TUPLE_ELEMENT) {
      *vec_push(scratch, &source.path) = inst->index;
      source.id = inst_operand(module, source.id, 0);
    } else if (inst->opcode == OPCODE_TUPLE && source.path.len) {
      source.id = inst_operand(module, source.id, (uint32_t)source.path.data[--source.path.len]);
    } else {
      return source;
    }
  }
}

/* Returns the index of the first result of a fusion that is the same as result `index`. */
static int64_t first_result(const Module *module, InstId id, int64_t index) {
  if (inst_get(module, id)->opcode != OPCODE_FUSION) return index;
  InstId root = comp_get(module, inst_callees(module, id)[0])->root;
  if (inst_get(module, root)->opcode != OPCODE_TUPLE) return index;
  InstId result = inst_operand(module, root, (uint32_t)index);
  uint32_t first = 0;
  while (inst_operand(module, root, first) != result)
    first++;
  return first;
}

static bool are_same_path(const Module *module, const Source *a, const Source *b) {
  uint32_t len = a->path.len;
  if (len != b->path.len) return false;
  for (uint32_t i = 0; i < len; i++) {
    int64_t x = a->path.data[i], y = b->path.data[i];
    bool is_of_source = i + 1 == len;
    if (is_of_source) {
      x = first_result(module, a->id, x);
      y = first_result(module, b->id, y);
    }
    if (x != y) return false;
  }
  return true;
}

bool same_value_is(const Module *module, const Rewrite *rewrite, InstId a, InstId b,
                   Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  Source first = source_of(module, rewrite, a, scratch);
  Source second = source_of(module, rewrite, b, scratch);
  bool is_same = first.id == second.id && are_same_path(module, &first, &second);
  arena_reset(scratch, mark);
  return is_same;
}

int64_t same_value_element(const Module *module, InstId id, InstId tuple, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  Source source = source_of(module, NULL, id, scratch);
  int64_t element = source.id == tuple && source.path.len == 1 ? source.path.data[0] : -1;
  arena_reset(scratch, mark);
  return element;
}
