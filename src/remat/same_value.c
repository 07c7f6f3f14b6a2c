#include "remat/same_value.h"

typedef struct Source {
  InstId id;
  VEC(int64_t) path; /* of elements taken from it, the innermost last */
} Source;

static Source source_of(const Module *module, const Rewrite *rewrite, InstId id, Arena *scratch) {
  Source source = {.id = id};
  for (;;) {
    const Instruction *inst = inst_get(module, source.id);
    InstId original = rewrite ? rewrite_stands_for(rewrite, source.id) : NO_ID;
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

bool same_value_is(const Module *module, const Rewrite *rewrite, InstId a, InstId b,
                   Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  Source first = source_of(module, rewrite, a, scratch);
  Source second = source_of(module, rewrite, b, scratch);
  bool is_same = first.id == second.id && first.path.len == second.path.len;
  for (uint32_t i = 0; is_same && i < first.path.len; i++)
    is_same = first.path.data[i] == second.path.data[i];
  arena_reset(scratch, mark);
  return is_same;
}
