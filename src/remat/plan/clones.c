/* Copies of called computations (remat/job/clone_callees.h) in plans. */
#include "analysis/memory/call_memory.h"
#include "remat/rewrite/dce.h"
#include "remat/plan/apply.h"
#include "remat/plan/capture.h"

/* Renames a clone. Returns whether it has the wanted name, which may be in use. */
static bool name_clone(Rewrite *rewrite, CompId clone, Str wanted) {
  Computation *comp = comp_get(rewrite->module, clone);
  if (str_equal(comp_name(rewrite->module, clone), wanted)) return true;
  Str name = name_unique(&rewrite->comp_names, wanted);
  comp->name = name.data;
  comp->name_len = name.len;
  return str_equal(name, wanted);
}

void plan_clone_again(Rewrite *rewrite, Schedule *schedule, const CalleeClones *clones,
                      const Module *rewritten, Arena *out, Arena *scratch) {
  RematJob job = {.rewrite = rewrite, .schedule = schedule};
  CalleeClones again = {0};
  for (uint32_t i = 0; i < clones->list.len; i++) {
    const CalleeClone *clone = &clones->list.data[i];
    CalleeClone *made = callee_clone_add(&again, &job, clone->from, out, scratch);
    (void)name_clone(rewrite, made->clone, comp_name(rewritten, clone->clone));
    made->same = clone->same;
    for (uint32_t k = 0; k < clone->callers.len; k++)
      callee_clone_redirect(made, &job, clone->callers.data[k], out, scratch);
  }
  for (uint32_t i = again.list.len; i-- > 0;)
    callee_clone_undo(&again.list.data[i], &job, scratch);
  dce_update_schedule(rewrite->module, schedule, out);
}

/* ---- clones of a plan that was read ---- */

typedef struct Cloning {
  Apply *apply;
  CallGraph graph; /* of the module before any copies */
  CalleeClones *clones;
  Arena *out;
} Cloning;

static void redirect_caller(Cloning *cloning, const PlanCaller *given, CalleeClone *clone) {
  Apply *apply = cloning->apply;
  CompId comp = plan_find_computation(apply, given->computation);
  InstId caller = plan_find_old(apply, comp, given->instruction);
  if (caller == NO_ID) return;
  if (callee_clone_redirect(clone, apply->job, caller, cloning->out, apply->scratch)) return;
  Str callee = comp_name(apply->module, clone->from);
  plan_fail(apply, given->instruction.offset, "'%.*s' does not call '%.*s'",
            SHOWN(given->instruction.name), SHOWN(callee));
}

static void make_clone(Cloning *cloning, const PlanClone *given) {
  Apply *apply = cloning->apply;
  CompId from = plan_find_computation(apply, given->computation);
  if (from == NO_ID) return;
  CompId original = callee_original(cloning->clones, from);
  if (!callee_is_cloneable(apply->module, &cloning->graph, original)) {
    plan_fail(apply, given->computation.offset, "'%.*s' is not called as a sequence",
              SHOWN(given->computation.name));
    return;
  }
  CalleeClone *clone =
      callee_clone_add(cloning->clones, apply->job, from, cloning->out, apply->scratch);
  /* Steps and other clones refer to it by the name in the plan. */
  Str name = given->made.name;
  if (name.len && !name_clone(apply->rewrite, clone->clone, name)) {
    plan_fail(apply, given->made.offset, "there is a computation '%.*s' already", SHOWN(name));
  }
  plan_collect_names(apply, clone->clone);
  for (uint32_t i = 0; !given->is_skipped && i < given->callers.len; i++)
    redirect_caller(cloning, &given->callers.data[i], clone);
}

/* Finds the computation that the callers of a clone call in the end: the original or an earlier
 * clone of it. Clones are undone before the first step, while that computation still exists. */
static void find_same(Cloning *cloning, const PlanClone *given, CalleeClone *clone) {
  if (given->same_as.name.len == 0) return;
  clone->same = plan_find_computation(cloning->apply, given->same_as);
  if (clone->same == NO_ID) return;
  bool is_earlier = clone->same < clone->clone;
  if (is_earlier && callee_original(cloning->clones, clone->same) == clone->original) return;
  plan_fail(cloning->apply, given->same_as.offset,
            "'%.*s' is no earlier copy of the same computation", SHOWN(given->same_as.name));
}

rh_status plan_clone_callees(RematJob *job, CalleeClones *clones, Arena *out, Arena *scratch) {
  const Plan *plan = job->plan;
  Module *module = job->rewrite->module;
  if (plan->clones.len == 0) return RH_OK;
  Arena *arena = arena_new(arena_options(scratch));
  Apply apply = plan_begin(job, arena, scratch);
  Cloning cloning = {.apply = &apply,
                     .graph = call_graph_build(module, arena, scratch),
                     .clones = clones,
                     .out = out};
  for (uint32_t i = 0; apply.status == RH_OK && i < plan->clones.len; i++)
    make_clone(&cloning, &plan->clones.data[i]);
  for (uint32_t i = 0; apply.status == RH_OK && i < plan->clones.len; i++)
    find_same(&cloning, &plan->clones.data[i], &clones->list.data[i]);
  for (uint32_t i = clones->list.len; apply.status == RH_OK && i-- > 0;)
    callee_clone_undo(&clones->list.data[i], job, scratch);
  dce_update_schedule(module, job->schedule, out);
  arena_free(arena);
  return apply.status;
}
