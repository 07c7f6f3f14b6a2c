/* The plan that repeats what an attempt did (remat/plan/plan.h). It is taken from the module before
 * protection, because applying the plan protects the clones again. */
#ifndef REMAT_HLO_REMAT_ENGINE_KEPT_PLAN_H
#define REMAT_HLO_REMAT_ENGINE_KEPT_PLAN_H

#include "remat/engine/problem.h"

typedef struct Attempt Attempt;

typedef struct KeptPlan {
  Plan *plan;
  Rewrite cloned; /* the input with its clones of callees */
  Schedule cloned_schedule;
  Arena *plan_arena; /* holds the plan */
  Arena *arena;      /* holds the rest */
} KeptPlan;

/* Records the steps of an attempt after its algorithm has run, without names. */
KeptPlan *kept_plan_begin(const Problem *problem, const Attempt *attempt);

/* Fills in the names, which are final once the attempt is protected, and applies the plan. If that
 * gives another text than the attempt, a warning says so. */
void kept_plan_finish(KeptPlan *kept, const Problem *problem, const Attempt *attempt);

/* Passes the ownership of the plan to the result. */
void kept_plan_hand_over(KeptPlan *kept, rh_module *result);

/* Frees everything that it still owns; `kept` may be NULL. */
void kept_plan_free(KeptPlan *kept);

#endif
