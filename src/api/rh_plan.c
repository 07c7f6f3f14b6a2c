/* The public functions that read plans. */
#include "remat/plan/handle.h"
#include "remat/plan/read.h"

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

void plan_warn_of_module(const rh_plan *handle, const rh_module *module, rh_diags *diags) {
  const Plan *plan = &handle->plan;
  Str name = module->module->source->header.name;
  if (plan->fingerprint && plan->fingerprint != plan_fingerprint(module->module)) {
    diag_warn(diags, DIAG_NOWHERE,
              "the plan was made for another text of '%.*s': this one is '%.*s'",
              SHOWN(plan->module), SHOWN(name));
  } else if (plan->order_fingerprint &&
             plan->order_fingerprint != plan_order_fingerprint(module->module, &module->schedule)) {
    diag_warn(diags, DIAG_NOWHERE, "the plan was made for another order of the module");
  }
}
