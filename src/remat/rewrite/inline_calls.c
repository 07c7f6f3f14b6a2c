#include "remat/rewrite/inline_calls.h"

#include "remat/rewrite/expand.h"

/* Returns whether the result of the module would have another layout without this call. */
static bool lays_out_result(const Module *module, InstId id) {
  const Computation *callee = comp_get(module, inst_callees(module, id)[0]);
  return inst_get(module, id)->parent == module->entry && inst_is_root(module, id) &&
         inst_get(module, id)->shape != inst_get(module, callee->root)->shape;
}

static bool is_inlineable(const Module *module, const CallGraph *graph, InstId id) {
  (void)graph;
  const Instruction *inst = inst_get(module, id);
  return inst->opcode == OPCODE_CALL && !(inst->flags & INST_DEAD) &&
         !inst_attr(module, id, ATTR_BACKEND_CONFIG) && !call_is_compiled_alone(module, id) &&
         !call_is_of_one_shard(module, id) && !lays_out_result(module, id) &&
         str_equal(comp_get(module, inst->parent)->thread,
                   comp_get(module, inst_callees(module, id)[0])->thread);
}

rh_status inline_wanted_calls(Rewrite *rewrite, Schedule *schedule, CallTest is_wanted,
                              rh_diags *diags, Arena *out, Arena *scratch) {
  Module *module = rewrite->module;
  Arena *arena = arena_new(arena_options(scratch));
  CallGraph graph = call_graph_build(module, arena, scratch);
  uint32_t *num_callers = arena_zarray(arena, uint32_t, module->comps.len);
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    num_callers[comp] = callers_of(&graph, comp).len;
  }
  Expansions expansions = expansions_begin(module, arena);
  rh_status status = RH_OK;
  for (uint32_t i = 0; i < graph.num_reachable && status == RH_OK; i++) { /* callees first */
    CompId comp = graph.post_order[i];
    if (comp_is_started(module, &graph, comp)) continue;
    uint32_t num_insts = comp_num_insts(module, comp); /* copies contain no more calls to inline */
    for (uint32_t k = 0; k < num_insts && status == RH_OK; k++) {
      InstId call = comp_inst(module, comp, k);
      if (!is_wanted(module, &graph, call)) continue;
      CompId callee = inst_callees(module, call)[0];
      const char *suffix = num_callers[callee]-- == 1 ? NULL : "inlined";
      expansions_add(&expansions, call, rewrite_inline(rewrite, call, schedule, suffix, scratch));
      status = expansion_check(module, diags);
    }
    module_sweep_comp(module, comp);
    expansions_apply(&expansions, module, comp, schedule, out);
  }
  arena_free(arena);
  return status;
}

rh_status inline_calls(Rewrite *rewrite, Schedule *schedule, rh_diags *diags, Arena *out,
                       Arena *scratch) {
  return inline_wanted_calls(rewrite, schedule, is_inlineable, diags, out, scratch);
}
