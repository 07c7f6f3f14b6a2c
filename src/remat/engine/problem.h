/* What is to be solved, and what is known of the input before anything is tried. */
#ifndef REMAT_HLO_REMAT_ENGINE_PROBLEM_H
#define REMAT_HLO_REMAT_ENGINE_PROBLEM_H

#include "remat/engine/engine.h"
#include "remat/legality/safe_reads.h"
#include "remat/plan/plan.h"

/* Constant once it is prepared. */
typedef struct Problem {
  const RematRequest *request;
  const rh_remat_options *options; /* of the request */
  const Plan *plan;                /* likewise */
  rh_module input;                 /* the request's module, as it is to be taken */
  Module *taken;          /* a copy, where somebody says whether the copies are in; else NULL */
  bool has_copies;        /* it is past copy-insertion: overwritten memory must not be read */
  KnownReads known_reads; /* of the input; only where it has its copies */
  rh_memory before;       /* of the input, as the model that judges sees it; only with a budget */
  rh_protect protect;     /* not auto */
  Collection collection;
  RematParameters parameters;
  const uint8_t *asked; /* by InstId of the input: remat/legality/steering.h */
  Arena *arena, *scratch;
  rh_diags *diags;
} Problem;

/* What attempts learn, and what later ones go by. */
typedef struct Findings {
  bool *is_kept;    /* by InstId of the input: a clone would read overwritten memory */
  bool *is_refused; /* likewise: legality_refuse() */
  bool was_cut;     /* an algorithm that ran was ended early */
  double remat_seconds, verify_seconds;
} Findings;

/* RH_ERR_USAGE when an expression is none; problem_free() is to be called all the same. */
rh_status problem_prepare(Problem *problem, Findings *findings, const RematRequest *request,
                          rh_diags *diags);
void problem_free(Problem *problem);

static inline bool problem_is_limited(const Problem *problem) {
  return problem->options->limit_bytes != INT64_MAX;
}

/* The algorithm changes nothing, or there is a plan, which decides by itself: there is only one
 * thing to try. */
static inline bool problem_is_decided(const Problem *problem) {
  return problem->plan || problem->request->algorithm->traits & RH_TRAIT_IDLE;
}

/* The figures of a module in an order. */
rh_memory problem_measure(const Problem *problem, const MemoryModel *model, const Module *module,
                          const Schedule *schedule);

/* What the budget bounds. */
int64_t problem_counted_bytes(const Problem *problem, const rh_memory *memory);

#endif
