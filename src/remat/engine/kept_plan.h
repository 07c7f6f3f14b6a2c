/* The plan of what an attempt did, so that it can be done again (remat/plan/plan.h). It is taken
 * from the module before that is protected: protection is done again likewise. */
#ifndef REMAT_HLO_REMAT_ENGINE_KEPT_PLAN_H
#define REMAT_HLO_REMAT_ENGINE_KEPT_PLAN_H

#include "remat/engine/problem.h"

typedef struct Attempt Attempt;

typedef struct KeptPlan {
  Plan *plan;
  Rewrite cloned; /* the input with the copies of callees; its module is NULL when there are none */
  Schedule cloned_schedule;
  Arena *plan_arena; /* that the plan lies in */
  Arena *arena;      /* for the rest */
} KeptPlan;

/* The steps of an attempt whose algorithm has done its work, without names. */
KeptPlan *kept_plan_begin(const Problem *problem, const Attempt *attempt);

/* Fills the names in, and does the plan to see whether that gives the same text. When it does not,
 * a warning says so. The attempt is protected by now. */
void kept_plan_finish(KeptPlan *kept, const Problem *problem, const Attempt *attempt);

/* Gives the plan to the result, which frees it from then on. */
void kept_plan_hand_over(KeptPlan *kept, rh_module *result);

/* Frees all that it still has; NULL is nothing. */
void kept_plan_free(KeptPlan *kept);

#endif
