/* One run of an algorithm on a copy of the input, as a value: what it is to reach, what it did, and
 * what came out. */
#ifndef REMAT_HLO_REMAT_ENGINE_ATTEMPT_H
#define REMAT_HLO_REMAT_ENGINE_ATTEMPT_H

#include "remat/engine/kept_plan.h"
#include "remat/engine/problem.h"
#include "remat/job/clone_callees.h"

/* What an algorithm is led by: a memory model that it can work with, and how far it has to come by
 * that. */
typedef struct Guide {
  const MemoryModel *memory_model;
  int64_t before_bytes;     /* its peak of the input; 0 when there is no budget */
  int64_t peak_limit_bytes; /* INT64_MAX = no budget */
} Guide;

typedef struct Attempt {
  const RematAlgorithm *algorithm;
  Guide guide;
  bool clones_callees; /* what several callers run is cloned first, if that helps */
  /* What was done. */
  Rewrite rewrite;
  Schedule schedule;
  CalleeClones clones; /* of `rewrite` */
  RematStats stats;
  bool is_unsafe;       /* it reads overwritten memory in a way that no kept instruction mends */
  bool is_restructured; /* by protection; reached_goal was then found out before that */
  enum { REACHED_UNKNOWN, REACHED_NO, REACHED_YES } reached_goal; /* by the guide's own count */
  KeptPlan *plan; /* of what was done, if that is asked for */
  /* What came out; judge.h. */
  rh_module *result;
  int64_t counted_bytes;
  bool is_met;
  Arena *arena;
} Attempt;

/* Nothing is done yet. */
Attempt attempt_new(const Problem *problem, const RematAlgorithm *algorithm, const Guide *guide);

/* Runs the algorithm until no clone reads overwritten memory, and protects the clones: fills "what
 * was done". The module can then be printed. RH_ERR_INPUT when the plan that is applied cannot be
 * done. */
rh_status attempt_run(Attempt *attempt, const Problem *problem, Findings *findings);

/* The same for a plan, once, without a look at reads: to find out whether it does what was done. */
rh_status attempt_run_plan(Attempt *attempt, const Problem *problem, const Plan *plan);

/* Whether the algorithm did what its guide asked for. O(what the guide's model takes), once. */
bool attempt_has_reached_goal(Attempt *attempt, const Problem *problem);

/* Frees all that it has, the result included. */
void attempt_free(Attempt *attempt);

#endif
