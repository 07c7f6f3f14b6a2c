/* The public functions that read plans. */
#include "api/call.h"
#include "api/sized.h"
#include "remat/plan/plan.h"

rh_status rh_plan_parse(const char *json, size_t length, rh_plan **plan, rh_diags *diags) {
  *plan = NULL;
  CALL_OPEN(call, diags, RH_CODE_PLAN);
  ArenaOptions memory = call_memory(call, 0);
  Arena *arena = arena_new(&memory);
  rh_plan *parsed = arena_zalloc(arena, sizeof *parsed);
  parsed->arena = arena;
  rh_status status = plan_read(json, length, &parsed->plan, diags, arena);
  if (status == RH_OK) {
    *plan = parsed;
  } else {
    arena_free(arena);
  }
  return call_close(call, status);
}

void rh_plan_free(rh_plan *plan) {
  if (plan) arena_free(plan->arena);
}

rh_status rh_plan_preparation(const rh_plan *plan, rh_schedule_options *options, rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  const rh_schedule_options *own = &plan->plan.preparation;
  rh_status status = sized_clear(options, "rh_schedule_options", diags);
  if (status == RH_OK) sized_write(options, own, sizeof *own);
  return call_close(call, status);
}

const char *rh_plan_target(const rh_plan *plan) {
  return plan->plan.target;
}

rh_copies rh_plan_copies(const rh_plan *plan) {
  return plan->plan.copies;
}
