#include "advice/open_calls.h"

#include "analysis/flow/call_graph.h"
#include "remat/rewrite/dce.h"
#include "remat/rewrite/inline_calls.h"

/* The only call of a computation with a loop, in one that runs as a sequence. */
static bool hides_loop(const Module *module, const CallGraph *graph, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode != OPCODE_CALL || inst->flags & INST_DEAD || inst_is_root(module, id))
    return false;
  CompId callee = inst_callees(module, id)[0];
  return comp_has_loop(module, callee) && comp_is_sequential(graph, inst->parent) &&
         only_caller_of(graph, callee) == id &&
         str_equal(comp_get(module, inst->parent)->thread, comp_get(module, callee)->thread);
}

static bool hides_loops(const Module *module, Arena *scratch) {
  if (module_count(module, OPCODE_CALL) == 0 || module_count(module, OPCODE_WHILE) == 0)
    return false;
  Arena *arena = arena_new(arena_options(scratch));
  CallGraph graph = call_graph_build(module, arena, scratch);
  bool found = false;
  for (InstId id = 0; id < module->insts.len && !found; id++)
    found = hides_loop(module, &graph, id);
  arena_free(arena);
  return found;
}

rh_module *advice_open_calls(const rh_module *input) {
  Arena *scratch = arena_new(arena_options(input->arena));
  rh_module *copy = NULL;
  rh_status status = RH_OK;
  if (hides_loops(input->module, scratch)) {
    copy = advice_copy(input);
    Rewrite rewrite = rewrite_begin(copy->module);
    status = inline_wanted_calls(&rewrite, &copy->schedule, hides_loop, NULL, copy->arena, scratch);
    dce_run(&rewrite, scratch);
    dce_update_schedule(copy->module, &copy->schedule, copy->arena);
    rewrite_write_out_elements(&rewrite, scratch);
  }
  arena_free(scratch);
  if (status == RH_OK) return copy;
  rh_module_free(copy);
  return NULL;
}
