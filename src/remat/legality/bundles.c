#include "remat/legality/bundles.h"

#include <string.h>

#include "analysis/flow/traverse.h"

/* Marks each instruction of the fused computation with the results that depend on it. */
static void mark_readers(const Module *module, Sequence order, InstId tuple, ElementBits *readers) {
  for (uint32_t i = 0; i < order.len; i++)
    readers[order.ids[i]] = 0;
  for (uint32_t e = 0; e < inst_get(module, tuple)->num_operands; e++)
    readers[inst_operand(module, tuple, e)] |= (ElementBits)1 << e;
  for (uint32_t i = order.len; i-- > 0;) {
    InstId id = order.ids[i];
    for (uint32_t k = 0; id != tuple && k < inst_get(module, id)->num_operands; k++)
      readers[inst_operand(module, id, k)] |= readers[id];
  }
}

bool fused_is_handed_on(const Module *module, InstId result, InstId param) {
  while (inst_get(module, result)->opcode == OPCODE_GET_TUPLE_ELEMENT)
    result = inst_operand(module, result, 0);
  return result == param;
}

static ElementBits handed_on(const Module *module, InstId tuple, InstId param) {
  ElementBits handed = 0;
  for (uint32_t e = 0; e < inst_get(module, tuple)->num_operands; e++) {
    if (fused_is_handed_on(module, inst_operand(module, tuple, e), param))
      handed |= (ElementBits)1 << e;
  }
  return handed;
}

Bundles bundles_find(const Module *module, Arena *out, Arena *scratch) {
  uint32_t num_insts = module->insts.len;
  Bundles bundles = {.first = arena_array(out, uint32_t, num_insts)};
  memset(bundles.first, 0xff, num_insts * sizeof *bundles.first);
  ArenaMark mark = arena_mark(scratch);
  ElementBits *readers = arena_zarray(scratch, ElementBits, num_insts);
  uint32_t *visited = arena_zarray(scratch, uint32_t, num_insts);
  for (InstId id = 0; id < num_insts; id++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->flags & INST_DEAD || !fusion_bundles_results(module, id)) continue;
    const Computation *fused = comp_get(module, inst_callees(module, id)[0]);
    if (inst_get(module, fused->root)->num_operands > MAX_BUNDLED) continue;
    if (!visited[fused->root]) { /* fusions may share a computation */
      ArenaMark inner = arena_mark(scratch);
      Sequence order =
          inst_post_order(module, inst_callees(module, id)[0], visited, scratch, scratch);
      mark_readers(module, order, fused->root, readers);
      arena_reset(scratch, inner);
    }
    bundles.first[id] = bundles.list.len;
    for (uint32_t k = 0; k < inst->num_operands; k++) {
      Bundled *bundled = vec_push(out, &bundles.list);
      *bundled = (Bundled){0};
      if (k >= fused->params.len) continue;
      InstId param = id_list(module, fused->params)[k];
      *bundled = (Bundled){readers[param], handed_on(module, fused->root, param)};
    }
  }
  arena_reset(scratch, mark);
  return bundles;
}
