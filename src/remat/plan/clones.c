/* Copies of called computations (remat/job/clone_callees.h) in plans. */
#include "analysis/memory/call_memory.h"
#include "remat/rewrite/dce.h"
#include "remat/plan/apply.h"
#include "remat/plan/capture.h"

/* ---- capture ---- */

static PlanRef ref_to(Str name, uint32_t id, Arena *out) {
  return (PlanRef){{arena_strndup(out, name.data, name.len), name.len}, NO_OFFSET, id};
}

/* Without a name for the entry. */
static PlanRef computation_ref(const Module *module, CompId comp, Arena *out) {
  if (comp == NO_ID || comp == module->entry) return (PlanRef){.offset = NO_OFFSET, .id = comp};
  return ref_to(comp_name(module, comp), comp, out);
}

void plan_capture_clones(Plan *plan, const Module *module, const CalleeClones *clones, Arena *out) {
  for (uint32_t i = 0; i < clones->list.len; i++) {
    const CalleeClone *clone = &clones->list.data[i];
    PlanClone *told = vec_push(out, &plan->clones);
    *told = (PlanClone){.computation = computation_ref(module, clone->from, out),
                        .made = computation_ref(module, clone->clone, out),
                        .same_as = computation_ref(module, clone->same, out)};
    for (uint32_t k = 0; k < clone->callers.len; k++) {
      InstId id = clone->callers.data[k];
      PlanCaller *caller = vec_push(out, &told->callers);
      caller->computation = computation_ref(module, inst_get(module, id)->parent, out);
      caller->instruction = ref_to(inst_name(module, id), id, out);
    }
  }
}

/* ---- doing it again ---- */

typedef struct Cloning {
  Apply *apply;
  CallGraph graph; /* of the module without copies */
  CalleeClones *clones;
  Arena *out;
} Cloning;

/* Steps and other copies know it by the name that the plan has for it. */
static rh_status name_clone(const Apply *apply, CompId clone, PlanRef made) {
  Module *module = apply->module;
  if (made.name.len == 0 || str_equal(comp_name(module, clone), made.name)) return RH_OK;
  Str name = name_unique(&apply->rewrite->comp_names, made.name);
  if (!str_equal(name, made.name)) {
    return plan_fail(apply, made.offset, "there is a computation '%.*s' already", SHOWN(made.name));
  }
  comp_get(module, clone)->name = name.data;
  comp_get(module, clone)->name_len = name.len;
  return RH_OK;
}

static rh_status lead_caller(const Cloning *cloning, const PlanCaller *told, CalleeClone *clone) {
  const Apply *apply = cloning->apply;
  CompId comp;
  InstId caller;
  rh_status status = plan_find_computation(apply, told->computation, &comp);
  if (status == RH_OK) status = plan_find_old(apply, comp, told->instruction, &caller);
  if (status != RH_OK) return status;
  if (callee_clone_lead(clone, apply->job, caller, cloning->out, apply->scratch)) return RH_OK;
  Str callee = comp_name(apply->module, clone->from);
  return plan_fail(apply, told->instruction.offset, "'%.*s' does not call '%.*s'",
                   SHOWN(told->instruction.name), SHOWN(callee));
}

static rh_status make_clone(Cloning *cloning, const PlanClone *told) {
  Apply *apply = cloning->apply;
  CompId from;
  rh_status status = plan_find_computation(apply, told->computation, &from);
  if (status != RH_OK) return status;
  if (!callee_is_cloneable(apply->module, &cloning->graph,
                           callee_original(cloning->clones, from))) {
    return plan_fail(apply, told->computation.offset, "'%.*s' is not called as a sequence",
                     SHOWN(told->computation.name));
  }
  CalleeClone *clone =
      callee_clone_add(cloning->clones, apply->job, from, cloning->out, apply->scratch);
  status = name_clone(apply, clone->clone, told->made);
  plan_collect_names(apply, clone->clone);
  for (uint32_t i = 0; status == RH_OK && !told->is_skipped && i < told->callers.len; i++)
    status = lead_caller(cloning, &told->callers.data[i], clone);
  return status;
}

/* A copy, or what it was copied from. What is taken back is so before all steps, while what it is
 * taken back for is still there. */
static rh_status find_same(const Cloning *cloning, const PlanClone *told, CalleeClone *clone) {
  const Apply *apply = cloning->apply;
  if (told->same_as.name.len == 0) return RH_OK;
  rh_status status = plan_find_computation(apply, told->same_as, &clone->same);
  if (status != RH_OK) return status;
  bool is_later = clone->same >= clone->clone;
  if (!is_later && callee_original(cloning->clones, clone->same) == clone->original) return RH_OK;
  return plan_fail(apply, told->same_as.offset, "'%.*s' is no earlier copy of the same computation",
                   SHOWN(told->same_as.name));
}

rh_status plan_clone_callees(RematJob *job, CalleeClones *clones, Arena *out, Arena *scratch) {
  const Plan *plan = job->plan;
  Module *module = job->rewrite->module;
  if (plan->clones.len == 0) return RH_OK;
  Arena *arena = arena_new(arena_options(scratch));
  Apply apply = {.job = job,
                 .module = module,
                 .rewrite = job->rewrite,
                 .plan = plan,
                 .arena = arena,
                 .scratch = scratch};
  Cloning cloning = {.apply = &apply,
                     .graph = call_graph_build(module, arena, scratch),
                     .clones = clones,
                     .out = out};
  for (CompId comp = 0; comp < job->schedule->num_comps; comp++) {
    if (job->schedule->of[comp].len) plan_collect_names(&apply, comp);
  }
  rh_status status = RH_OK;
  for (uint32_t i = 0; status == RH_OK && i < plan->clones.len; i++)
    status = make_clone(&cloning, &plan->clones.data[i]);
  for (uint32_t i = 0; status == RH_OK && i < plan->clones.len; i++)
    status = find_same(&cloning, &plan->clones.data[i], &clones->list.data[i]);
  for (uint32_t i = clones->list.len; status == RH_OK && i-- > 0;)
    callee_clone_take_back(&clones->list.data[i], job, scratch);
  dce_update_schedule(module, job->schedule, out);
  arena_free(arena);
  return status;
}
