#include "advice/cut_sums.h"

enum {
  LEAST_SHARED = 4, /* operands that make an earlier fusion a sum of several contributions */
  MAX_LOOKED_AT = 256,
};

/* A fusion that sums up, and what it reads. */
typedef struct Sum {
  InstId id;
  int64_t num_elements;
  IdVec operands; /* as it was read before it was changed */
} Sum;

static int64_t elements_of(const Module *module, InstId id) {
  const Shape *shape = inst_shape(module, id);
  return shape_is_array(shape) ? shape->num_elements : 0;
}

static bool reads(const Sum *sum, InstId operand) {
  for (uint32_t i = 0; i < sum->operands.len; i++) {
    if (sum->operands.data[i] == operand) return true;
  }
  return false;
}

/* How many operands of an earlier fusion a later one reads, if that is nearly all of them; else 0.
 * What each layer has for itself may differ. */
static uint32_t num_shared(const Sum *later, const Sum *earlier) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < earlier->operands.len; i++)
    count += reads(later, earlier->operands.data[i]);
  bool is_nearly_all = count >= LEAST_SHARED && 4 * count >= 3 * earlier->operands.len;
  return is_nearly_all ? count : 0;
}

static Sum sum_of(const Module *module, InstId id, Arena *arena) {
  Sum sum = {.id = id, .num_elements = elements_of(module, id)};
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    Opcode opcode = (Opcode)inst_get(module, operand)->opcode;
    bool is_given = opcode == OPCODE_PARAMETER || opcode == OPCODE_CONSTANT;
    if (!is_given && !reads(&sum, operand)) *vec_push(arena, &sum.operands) = operand;
  }
  return sum;
}

uint32_t cut_sums(Rewrite *rewrite, Sequence sequence, SchedPos begin, Arena *scratch) {
  Module *module = rewrite->module;
  Arena *arena = arena_new(arena_options(scratch));
  VEC(Sum) sums = {0};
  uint32_t num_changed = 0;
  for (SchedPos pos = begin; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    if (inst_get(module, id)->opcode != OPCODE_FUSION || elements_of(module, id) <= 1) continue;
    Sum sum = sum_of(module, id, arena);
    if (sum.operands.len < LEAST_SHARED) continue;
    const Sum *found = NULL;
    uint32_t most = 0;
    for (uint32_t i = sums.len; i-- > 0 && sums.len - i <= MAX_LOOKED_AT;) {
      const Sum *earlier = &sums.data[i];
      if (earlier->num_elements != sum.num_elements) continue;
      uint32_t count = num_shared(&sum, earlier);
      if (count <= most) continue;
      most = count;
      found = earlier;
    }
    for (uint32_t i = 0; found && i < inst_get(module, id)->num_operands; i++) {
      if (reads(found, inst_operand(module, id, i))) rewrite_set_operand(rewrite, id, i, found->id);
    }
    num_changed += found != NULL;
    *vec_push(arena, &sums) = sum;
  }
  arena_free(arena);
  return num_changed;
}
