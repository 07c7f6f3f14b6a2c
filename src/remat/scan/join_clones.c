#include "remat/scan/join_clones.h"

#include "analysis/flow/rounding.h"
#include "remat/rewrite/fuse.h"
#include "remat/rewrite/fuse_siblings.h"

/* Larger fusions take long to compile. */
enum { MAX_INSTS = 256, MAX_RESULTS = 16 };

/* Whether a fusion is a part of an original that may be joined with others. All that it computes
 * rounds as it does in any other function. */
static bool may_be_joined(const Maker *maker, InstId id) {
  const Module *module = maker->module;
  const Instruction *inst = inst_get(module, id);
  if (id < maker->num_old || inst->flags & INST_DEAD || inst->opcode != OPCODE_FUSION) return false;
  if (rewrite_original(maker->rewrite, id) == NO_ID) return false;
  if (!shape_is_array(inst_shape(module, id)) || shape_is_effective_scalar(inst_shape(module, id)))
    return false;
  if (rewrite_fusion_kind(module, id) != FUSION_LOOP || inst_has_control(module, id) ||
      inst->users.len == 0 || inst_is_root(module, id) ||
      inst_attr(module, id, ATTR_OUTPUT_TO_OPERAND_ALIASING))
    return false;
  Opcode root =
      (Opcode)inst_get(module, comp_get(module, inst_callees(module, id)[0])->root)->opcode;
  if (root == OPCODE_PARAMETER || root == OPCODE_CONSTANT || root == OPCODE_DYNAMIC_UPDATE_SLICE)
    return false;
  return maker->rewrite->any_rounding || rounding_is_settled(module, id, maker->arena);
}

/* Places in sequences as they were before anything was joined. */
typedef struct Places {
  const uint32_t *position; /* by InstId, up to `num_known` */
  uint32_t num_known;
} Places;

/* Whether all that a fusion reads is there before a position of its computation's sequence. What is
 * new since is an element of something that was joined. */
static bool is_ready(const Module *module, InstId fusion, const Places *places, uint32_t before) {
  for (uint32_t i = 0; i < inst_get(module, fusion)->num_operands; i++) {
    InstId operand = inst_operand(module, fusion, i);
    if (operand >= places->num_known) operand = inst_operand(module, operand, 0);
    if (places->position[operand] >= before) return false;
  }
  return true;
}

static bool reads_same(const Module *module, InstId a, InstId b) {
  for (uint32_t i = 0; i < inst_get(module, a)->num_operands; i++) {
    if (inst_count_operand(module, b, inst_operand(module, a, i))) return true;
  }
  return false;
}

static uint32_t num_insts_of(const Module *module, InstId fusion) {
  return comp_num_insts(module, inst_callees(module, fusion)[0]);
}

/* Fusions of a sequence that are clones of one original. */
typedef struct Siblings {
  uint32_t *first; /* by InstId of the original; NO_ID, but while they are looked for */
  uint32_t *next;  /* by place in the sequence: the next one's place; NO_ID = none */
} Siblings;

static void find_siblings(const Maker *maker, Sequence sequence, Siblings *siblings, Arena *out) {
  siblings->next = arena_array(out, uint32_t, sequence.len);
  for (uint32_t i = sequence.len; i-- > 0;) {
    InstId original = sequence.ids[i] < maker->num_old
                          ? NO_ID
                          : rewrite_original(maker->rewrite, sequence.ids[i]);
    siblings->next[i] = NO_ID;
    if (original == NO_ID) continue;
    siblings->next[i] = siblings->first[original];
    siblings->first[original] = i;
  }
  for (uint32_t i = 0; i < sequence.len; i++) {
    InstId original = rewrite_original(maker->rewrite, sequence.ids[i]);
    if (original != NO_ID) siblings->first[original] = NO_ID;
  }
}

/* The fusions after the one at `place` of a sequence that can be joined with it. */
static IdVec find_others(const Maker *maker, Sequence sequence, uint32_t place,
                         const Siblings *siblings, const Places *places, Arena *out) {
  const Module *module = maker->module;
  InstId leader = sequence.ids[place];
  uint32_t num_insts = num_insts_of(module, leader);
  IdVec others = {0};
  for (uint32_t i = siblings->next[place]; i != NO_ID && others.len + 1 < MAX_RESULTS;
       i = siblings->next[i]) {
    InstId id = sequence.ids[i];
    bool fits = may_be_joined(maker, id) && reads_same(module, leader, id) &&
                fuse_has_same_dims(inst_shape(module, leader), inst_shape(module, id)) &&
                is_ready(module, id, places, place) &&
                num_insts + num_insts_of(module, id) <= MAX_INSTS;
    if (!fits) continue;
    num_insts += num_insts_of(module, id);
    *vec_push(out, &others) = id;
  }
  return others;
}

void scan_join_clones(Maker *maker, Arena *out, Arena *scratch) {
  const Module *module = maker->module;
  Schedule *schedule = maker->schedule;
  if (maker->is_lean || !maker->is_fused || module->backend.excess == EXCESS_PRODUCTS) return;
  Arena *arena = arena_new(arena_options(scratch));
  Places places = {maker_positions_now(maker, arena), module->insts.len};
  Siblings siblings = {.first = arena_array(arena, uint32_t, module->insts.len)};
  memset(siblings.first, 0xff, module->insts.len * sizeof *siblings.first);
  for (CompId comp = 0; comp < schedule->num_comps; comp++) {
    Sequence sequence = schedule->of[comp];
    find_siblings(maker, sequence, &siblings, arena);
    for (uint32_t i = 0; i < sequence.len; i++) {
      InstId leader = sequence.ids[i];
      if (siblings.next[i] == NO_ID || !may_be_joined(maker, leader)) continue;
      IdVec others = find_others(maker, sequence, i, &siblings, &places, arena);
      if (others.len == 0) continue;
      IdVec elements = {0};
      fuse_siblings(maker->rewrite, leader, &others, &elements, arena, arena);
      maker_insert_all(maker, &elements, i + 1);
    }
  }
  maker_place_all(maker, out);
  arena_free(arena);
}
