#include "analysis/call_graph.h"
#include "remat/expand.h"
#include "remat/prepare.h"

static bool continues_async(Opcode opcode) {
  return opcode == OPCODE_ASYNC_UPDATE || opcode == OPCODE_ASYNC_DONE;
}

/* Gives a caller a computation of its own; what continues an asynchronous one says the same. */
static void set_callee(Module *module, InstId caller, uint32_t index, CompId callee,
                       Arena *scratch) {
  CompId old = inst_callees(module, caller)[index];
  module_set_callee(module, caller, index, callee);
  if (inst_get(module, caller)->opcode != OPCODE_ASYNC_START) return;
  ArenaMark mark = arena_mark(scratch);
  VEC(InstId) chain = {0};
  *vec_push(scratch, &chain) = caller;
  while (chain.len) {
    InstId id = chain.data[--chain.len];
    for (uint32_t i = 0; i < inst_get(module, id)->users.len; i++) {
      InstId user = inst_users(module, id)[i];
      if (!continues_async((Opcode)inst_get(module, user)->opcode)) continue;
      *vec_push(scratch, &chain) = user;
      if (inst_get(module, user)->num_callees == 1 && inst_callees(module, user)[0] == old) {
        module_set_callee(module, user, 0, callee);
      }
    }
  }
  arena_reset(scratch, mark);
}

/* Copies what is called as a sequence more than once, callers before callees: a copy's callees then
 * have one caller more. True when it did anything. */
static bool flatten_once(Rewrite *rewrite, const Schedule *schedule, rh_diags *diags,
                         rh_status *status, Arena *scratch) {
  Module *module = rewrite->module;
  Arena *arena = arena_new(arena_options(scratch));
  CallGraph graph = call_graph_build(module, arena, scratch);
  bool has_changed = false;
  for (uint32_t i = graph.num_reachable; i-- > 0 && *status == RH_OK;) {
    CompId comp = graph.post_order[i];
    if (!comp_is_sequential(&graph, comp)) continue;
    /* A reducer that is also called keeps its own. */
    bool is_taken = graph.context[comp] & CALLED_AS_EXPRESSION;
    for (uint32_t k = graph.first_caller[comp]; k < graph.first_caller[comp + 1]; k++) {
      InstId caller = graph.callers[k]; /* once for each time that it calls this */
      if (k > graph.first_caller[comp] && graph.callers[k - 1] == caller) continue;
      Opcode opcode = (Opcode)inst_get(module, caller)->opcode;
      if (!opcode_is_control_flow(opcode) || continues_async(opcode)) continue;
      for (uint32_t c = 0; c < inst_get(module, caller)->num_callees; c++) {
        if (inst_callees(module, caller)[c] != comp) continue;
        if (is_taken) {
          CompId copy = rewrite_clone_computation(rewrite, comp, schedule, scratch);
          set_callee(module, caller, c, copy, scratch);
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
