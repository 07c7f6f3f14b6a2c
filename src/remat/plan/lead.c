#include "remat/plan/apply.h"
#include "remat/rewrite/same_value.h"

/* Leads one operand to what a step made, if it is that value. */
static rh_status lead(Apply *apply, uint32_t step, const PlanUser *user, InstId id,
                      uint32_t operand, bool is_asked) {
  InstId old = inst_operand(apply->module, id, operand), made = apply->made[step];
  bool is_same = same_value_is(apply->module, apply->rewrite, old, made, apply->scratch);
  bool fits = inst_get(apply->module, old)->shape == inst_get(apply->module, made)->shape;
  if (!(is_same && fits) && !is_asked) return RH_OK;
  if (!is_same || !fits) {
    Str name = inst_name(apply->module, made);
    return plan_fail(apply, user->ref.offset, "operand %u of '%.*s' is not what '%.*s' is%s",
                     operand, SHOWN(user->ref.name), SHOWN(name),
                     is_same ? ": it has another shape" : "");
  }
  *vec_push(apply->arena, &apply->redirects) = (Redirect){id, operand, step, user->ref};
  return RH_OK;
}

static rh_status lead_user(Apply *apply, uint32_t step, const PlanUser *user) {
  InstId id;
  rh_status status = plan_find_any(apply, apply->comps[step], user->ref, &id);
  if (status != RH_OK || id == NO_ID) return status;
  uint32_t num_operands = inst_get(apply->module, id)->num_operands;
  uint32_t num_before = apply->redirects.len;
  for (uint32_t i = 0; status == RH_OK && i < user->operands.len; i++) {
    if (user->operands.data[i] >= num_operands) {
      return plan_fail(apply, user->ref.offset, "'%.*s' has no operand %u", SHOWN(user->ref.name),
                       user->operands.data[i]);
    }
    status = lead(apply, step, user, id, user->operands.data[i], true);
  }
  for (uint32_t k = 0; status == RH_OK && user->operands.len == 0 && k < num_operands; k++) {
    if (id != apply->made[step]) status = lead(apply, step, user, id, k, false);
  }
  if (status == RH_OK && apply->redirects.len == num_before) {
    Str name = inst_name(apply->module, apply->made[step]);
    return plan_fail(apply, user->ref.offset, "'%.*s' reads nothing that '%.*s' is",
                     SHOWN(user->ref.name), SHOWN(name));
  }
  return status;
}

/* All are found before the first is led elsewhere: what they read says what they may read. */
static rh_status lead_all(Apply *apply) {
  const Plan *plan = apply->plan;
  rh_status status = RH_OK;
  for (uint32_t i = 0; status == RH_OK && i < plan->steps.len; i++) {
    const PlanStep *step = &plan->steps.data[i];
    for (uint32_t k = 0; status == RH_OK && apply->made[i] != NO_ID && k < step->users.len; k++)
      status = lead_user(apply, i, &step->users.data[k]);
  }
  IdTable done = {0}; /* of redirects */
  for (uint32_t i = 0; status == RH_OK && i < apply->redirects.len; i++) {
    Redirect redirect = apply->redirects.data[i];
    uint64_t hash = hash_mix(hash_mix(HASH_SEED, redirect.user), redirect.operand);
    uint32_t other;
    for (IdProbe probe = id_table_probe(&done, hash); id_probe_next(&probe, &other);) {
      Redirect earlier = apply->redirects.data[other];
      if (earlier.user != redirect.user || earlier.operand != redirect.operand) continue;
      Str name = inst_name(apply->module, apply->made[earlier.step]);
      return plan_fail(apply, redirect.ref.offset, "'%.*s' reads '%.*s' there already",
                       SHOWN(redirect.ref.name), SHOWN(name));
    }
    id_table_add(&done, apply->arena, hash, i);
    rewrite_set_operand(apply->rewrite, redirect.user, redirect.operand,
                        apply->made[redirect.step]);
  }
  return status;
}

static rh_status wait_for(Apply *apply, CompId comp, InstId id, const PlanRefs *predecessors) {
  for (uint32_t i = 0; i < predecessors->list.len; i++) {
    InstId predecessor;
    rh_status status = plan_find_any(apply, comp, predecessors->list.data[i], &predecessor);
    if (status != RH_OK) return status;
    if (predecessor != NO_ID) module_add_control(apply->module, predecessor, id);
  }
  return RH_OK;
}

static rh_status add_control(Apply *apply) {
  const Plan *plan = apply->plan;
  rh_status status = RH_OK;
  for (uint32_t i = 0; status == RH_OK && i < plan->steps.len; i++) {
    if (apply->made[i] == NO_ID) continue;
    status = wait_for(apply, apply->comps[i], apply->made[i], &plan->steps.data[i].control);
  }
  for (uint32_t i = 0; status == RH_OK && i < plan->control.len; i++) {
    const PlanControl *control = &plan->control.data[i];
    CompId comp;
    InstId id;
    status = plan_find_computation(apply, control->computation, &comp);
    if (status == RH_OK) status = plan_find_old(apply, comp, control->instruction, &id);
    if (status == RH_OK) status = wait_for(apply, comp, id, &control->predecessors);
  }
  return status;
}

rh_status plan_lead(Apply *apply) {
  rh_status status = lead_all(apply);
  return status == RH_OK ? add_control(apply) : status;
}
