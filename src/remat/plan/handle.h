/* What stands behind rh_plan. */
#ifndef REMAT_HLO_REMAT_PLAN_HANDLE_H
#define REMAT_HLO_REMAT_PLAN_HANDLE_H

#include "ir/handle.h"
#include "remat/plan/plan.h"

struct rh_plan {
  Arena *arena;
  Plan plan;
};

/* Warns when the plan was made for another module, or for another order of it. */
void plan_warn_of_module(const rh_plan *plan, const rh_module *module, rh_diags *diags);

#endif
