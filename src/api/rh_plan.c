/* The public functions that read plans. */
#include "remat/plan/plan.h"

rh_status rh_plan_parse(const char *json, size_t length, rh_plan **plan, rh_diags *diags) {
  Arena *arena = arena_new(NULL);
  rh_plan *parsed = arena_zalloc(arena, sizeof *parsed);
  parsed->arena = arena;
  rh_status status = plan_read(json, length, &parsed->plan, diags, arena);
  if (status == RH_OK) {
    *plan = parsed;
  } else {
    arena_free(arena);
  }
  return status;
}

void rh_plan_free(rh_plan *plan) {
  if (plan) arena_free(plan->arena);
}

rh_schedule_options rh_plan_preparation(const rh_plan *plan) {
  return plan->plan.preparation;
}

const char *rh_plan_target(const rh_plan *plan) {
  return plan->plan.target;
}
