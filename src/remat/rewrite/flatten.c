#include "remat/rewrite/flatten.h"

#include "analysis/flow/call_graph.h"
#include "remat/rewrite/expand.h"

/* Copies each computation that is called as a sequence more than once. Callers are visited before
 * callees, because the callees of a copy get one more caller. Returns whether anything changed. */
static bool flatten_once(Rewrite *rewrite, const Schedule *schedule, rh_diags *diags,
                         rh_status *status, Arena *scratch) {
  Module *module = rewrite->module;
  Arena *arena = arena_new(arena_options(scratch));
  CallGraph graph = call_graph_build(module, arena, scratch);
  bool has_changed = false;
  for (uint32_t i = graph.num_reachable; i-- > 0 && *status == RH_OK;) {
    CompId comp = graph.post_order[i];
    if (!comp_is_sequential(&graph, comp)) continue;
    /* A computation that is also used as a reducer stays with that use: every other caller gets a
     * copy. */
    bool is_taken = graph.context[comp] & CALLED_AS_EXPRESSION;
    IdSpan callers = callers_of(&graph, comp);
    for (uint32_t k = 0; k < callers.len; k++) {
      InstId caller = callers.ids[k]; /* listed once for each time that it calls `comp` */
      if (k > 0 && callers.ids[k - 1] == caller) continue;
      if (!inst_runs_callees(module, caller)) continue;
      for (uint32_t c = 0; c < inst_get(module, caller)->num_callees; c++) {
        if (inst_callees(module, caller)[c] != comp) continue;
        if (is_taken) {
          CompId copy = rewrite_clone_computation(rewrite, comp, schedule, scratch);
          rewrite_set_callee(rewrite, caller, c, copy, scratch);
          has_changed = true;
        }
        is_taken = true;
      }
    }
    *status = expansion_check(module, diags);
  }
  arena_free(arena);
  return has_changed;
}

rh_status flatten_call_graph(Rewrite *rewrite, const Schedule *schedule, rh_diags *diags,
                             Arena *scratch) {
  rh_status status = RH_OK;
  while (status == RH_OK && flatten_once(rewrite, schedule, diags, &status, scratch))
    continue;
  return status;
}
