/* One run of an algorithm on a copy of the input. An attempt is a value: it holds the goal, the
 * rewritten module, and the measured result, so that attempts can be compared and the best one
 * kept. */
#ifndef REMAT_HLO_REMAT_ENGINE_ATTEMPT_H
#define REMAT_HLO_REMAT_ENGINE_ATTEMPT_H

#include "remat/engine/kept_plan.h"
#include "remat/engine/problem.h"
#include "remat/job/clone_callees.h"
#include "remat/job/score.h"

/* The goal that an algorithm is given: a memory model that it can work with, and the peak to reach
 * under this model. */
typedef struct Guide {
  const MemoryModel *memory_model;
  int64_t before_bytes; /* the peak of the input under this model; 0 if there is no budget */
  PeakLimit peak_limit;
  int64_t uncounted_bytes; /* the part of before_bytes that the budget does not bound */
} Guide;

typedef struct Attempt {
  const RematAlgorithm *algorithm;
  Guide guide;
  bool clones_callees; /* computations with several callers are cloned first, if that helps */
  /* What was done. */
  Rewrite rewrite;
  Schedule schedule;
  CalleeClones clones; /* the clones of callees in `rewrite` */
  RematStats stats;
  uint32_t num_moved;      /* instructions that run at another place */
  uint32_t num_moves_lost; /* those of them that XLA is free to move back */
  uint32_t num_compressed, num_narrowed, num_offloaded; /* values that are kept in another form */
  /* it reads overwritten memory, and keeping more instructions does not prevent it; or another
     memory than the device's would have to hold more */
  bool is_unsafe;
  /* protection has changed the structure; reached_goal was computed before that */
  bool is_restructured;
  enum { REACHED_UNKNOWN, REACHED_NO, REACHED_YES } reached_goal; /* as the guide's model counts */
  KeptPlan *plan; /* the plan of what was done, if one is wanted */
  /* What came out; see judge.h. */
  rh_module *result;
  Score score;       /* of the result; its seconds are below 0 until judge_score() is asked */
  bool rounds_alike; /* see rh_remat_result; set by judge_verify() */
  Arena *arena;
} Attempt;

/* Returns an attempt that has not run yet. */
Attempt attempt_new(const Problem *problem, const RematAlgorithm *algorithm, const Guide *guide);

/* Runs the algorithm, again if necessary, until no clone reads overwritten memory, and protects the
 * clones. Fills the fields under "What was done". The module can then be printed. RH_ERR_INPUT if a
 * plan cannot be applied. */
rh_status attempt_run(Attempt *attempt, const Problem *problem, Findings *findings);

/* Applies a plan once and protects the clones, without judging reads. Used to find out whether a
 * plan that is kept gives the module that it was taken from. */
rh_status attempt_run_plan(Attempt *attempt, const Problem *problem, const Plan *plan);

/* Whether the algorithm reached the peak that its guide asked for. Takes the time of the guide's
 * memory model, but only on the first call. */
bool attempt_has_reached_goal(Attempt *attempt, const Problem *problem);

/* Frees the rewritten module and the plan, if that is not handed over. The result and its figures
 * stay. */
void attempt_free_work(Attempt *attempt);

/* Frees everything that the attempt owns, the result included. It is one of zeros then, which owns
 * nothing. */
void attempt_free(Attempt *attempt);

#endif
