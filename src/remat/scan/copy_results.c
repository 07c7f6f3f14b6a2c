#include "remat/scan/copy_results.h"

static bool is_given(const Module *module, InstId result) {
  return inst_get(module, inst_without_bitcasts(module, result))->opcode == OPCODE_PARAMETER;
}

static InstId add_copy(Rewrite *rewrite, CompId comp, InstId result) {
  InstSpec spec = {.opcode = OPCODE_COPY,
                   .shape = inst_get(rewrite->module, result)->shape,
                   .operands = &result,
                   .num_operands = 1};
  return rewrite_add_helper(rewrite, comp, spec);
}

static void copy_results_of(Rewrite *rewrite, CompId comp, Schedule *schedule, Arena *scratch) {
  Module *module = rewrite->module;
  InstId root = comp_get(module, comp)->root;
  bool has_copied = false;
  if (inst_get(module, root)->opcode != OPCODE_TUPLE) return;
  for (uint32_t i = 0; i < inst_get(module, root)->num_operands; i++) {
    InstId result = inst_operand(module, root, i);
    if (!is_given(module, result)) continue;
    rewrite_set_operand(rewrite, root, i, add_copy(rewrite, comp, result));
    has_copied = true;
  }
  if (!has_copied) return;
  rewrite_order_expression(rewrite, comp, scratch);
  /* The text is in the order of the list now. */
  if (comp < schedule->num_comps) schedule->of[comp].len = 0;
}

void scan_copy_results(Rewrite *rewrite, Schedule *schedule, Arena *scratch) {
  Module *module = rewrite->module;
  if (!module->backend.target->has_windows) return;
  for (InstId id = 0, num_insts = module->insts.len; id < num_insts; id++) {
    const Instruction *inst = inst_get(module, id);
    bool is_in_sequence = inst->parent < schedule->num_comps && schedule->of[inst->parent].len > 0;
    if (inst->opcode != OPCODE_FUSION || inst->flags & INST_DEAD || !is_in_sequence) continue;
    if (rewrite_fusion_kind(module, id) == FUSION_LOOP)
      copy_results_of(rewrite, inst_callees(module, id)[0], schedule, scratch);
  }
}
