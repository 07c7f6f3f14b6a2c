#include "remat/scan/fuse_clones.h"

#include "remat/rewrite/fuse.h"

/* Whether a number that follows from a counter of the loop is read only while that has its value:
 * in memory, the next one takes its place. */
static bool is_read_in_time(const Maker *maker, const uint32_t *position, InstId number) {
  const Module *module = maker->module;
  if (!maker->rewrite->starts_kernels || inst_get(module, number)->num_operands != 1) return false;
  const Instruction *element = inst_get(module, inst_operand(module, number, 0));
  InstId root = comp_get(module, element->parent)->root;
  bool is_counter =
      element->opcode == OPCODE_GET_TUPLE_ELEMENT &&
      inst_get(module, inst_operand(module, inst_operand(module, number, 0), 0))->opcode ==
          OPCODE_PARAMETER &&
      inst_get(module, root)->opcode == OPCODE_TUPLE &&
      element->index < inst_get(module, root)->num_operands;
  if (!is_counter) return false;
  InstId next = inst_operand(module, root, (uint32_t)element->index);
  for (uint32_t i = 0; i < inst_get(module, number)->users.len; i++) {
    if (position[inst_users(module, number)[i]] >= position[next]) return false;
  }
  return true;
}

/* Readers come after what they read, so that chains are merged, too. */
void scan_fuse_clones(Maker *maker, Arena *scratch) {
  const Module *module = maker->module;
  Schedule *schedule = maker->schedule;
  const uint32_t *position = maker_positions_now(maker, maker->arena);
  for (InstId id = module->insts.len; id-- > maker->num_old;) {
    const Instruction *inst = inst_get(module, id);
    bool is_made = inst->flags & INST_REMAT && inst->opcode == OPCODE_FUSION;
    if (inst->flags & INST_DEAD || !is_made) continue;
    if (shape_is_effective_scalar(inst_shape(module, id)) && !is_read_in_time(maker, position, id))
      continue;
    ArenaMark mark = arena_mark(scratch);
    IdVec changed = {0};
    (void)fuse_into_readers(maker->rewrite, id, &changed, scratch, scratch);
    for (uint32_t i = 0; i < changed.len; i++) { /* the text is in the order of the list now */
      if (changed.data[i] < schedule->num_comps) schedule->of[changed.data[i]].len = 0;
    }
    arena_reset(scratch, mark);
  }
}
