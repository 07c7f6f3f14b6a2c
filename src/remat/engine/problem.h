/* The request, and what is known of the input before any attempt. */
#ifndef REMAT_HLO_REMAT_ENGINE_PROBLEM_H
#define REMAT_HLO_REMAT_ENGINE_PROBLEM_H

#include "analysis/memory/space_use.h"
#include "remat/bound/lower_bound.h"
#include "remat/engine/engine.h"
#include "remat/legality/safe_reads.h"
#include "remat/plan/plan.h"
#include "remat/scan/scan.h"
#include "remat/search/memo.h"

/* Constant after problem_prepare(). */
typedef struct Problem {
  const RematRequest *request;
  const rh_remat_options *options; /* of the request */
  const Plan *plan;                /* of the request; NULL = an algorithm decides */
  const rh_module *input;          /* the module of the request, or the variant of it */
  /* what `input` is a variant of, the module of the request; `input` itself if it is no variant */
  const rh_module *original;
  const ScanSteps *steps; /* how the variant was made; NULL = `input` is no variant */
  /* another variant meets the budget: what goes as low as it can takes too much time to be better
   */
  bool is_met_otherwise;
  /* the input is past copy-insertion: overwritten memory must not be read */
  bool has_copies;
  KnownReads known_reads; /* of the input; only found if `has_copies` */
  /* the dependencies of `original` alone keep its reads of memory that is overwritten later in
   * order, as at PRE_SCHEDULER, so that XLA may choose another order; only found if `has_copies`,
   * for a scheduled result */
  bool is_safe_in_any_order;
  /* of the input, under the model that judges the result; only with a budget */
  rh_memory before;
  LowerBoundRules bound_rules; /* of that model, for what leaves the input's loops as they are */
  SpaceUses spaces;            /* of `original`, if XLA:TPU has placed values in VMEM */
  rh_protect protect;          /* resolved: not auto */
  Collection collection;
  RematParameters parameters;
  Patience *patience;      /* of the whole run, variants included */
  SearchMemo *memo;        /* of the whole run, too; NULL = none is kept */
  const uint8_t *steering; /* by InstId of the input: see remat/legality/steering.h */
  Arena *arena, *scratch;
  rh_diags *diags;
} Problem;

/* What attempts have found out, for use by later ones. */
typedef struct Findings {
  bool *is_kept;        /* by InstId of the input: a clone would read overwritten memory */
  bool *is_refused;     /* by InstId of the input: set by legality_refuse() */
  bool was_cut;         /* an algorithm that ran was stopped early */
  SolverEnd solver_end; /* of the last solver that failed */
  double remat_seconds, verify_seconds;
} Findings;

/* Gives `patience` the steps for the module. RH_ERR_USAGE if an expression or a parameter is
 * invalid. problem_free() must be called in any case. */
rh_status problem_prepare(Problem *problem, Findings *findings, const RematRequest *request,
                          Patience *patience, rh_diags *diags);
void problem_free(Problem *problem);

/* As problem_prepare(), for attempts that begin from a variant of the problem's input. `problem`,
 * `variant` and `steps` must live longer. */
rh_status problem_prepare_variant(Problem *of_variant, Findings *findings, const Problem *problem,
                                  const rh_module *variant, const ScanSteps *steps);

/* Whether no memory but the device's and the host's has to hold more at once in `result` than in
 * the module of the request: it would not fit any more. */
bool problem_keeps_spaces(const Problem *problem, const rh_module *result);

static inline bool problem_is_limited(const Problem *problem) {
  return problem->options->limit_bytes != INT64_MAX;
}

/* Measures a module in the order of `schedule`. */
rh_memory problem_measure(const Problem *problem, const MemoryModel *model, const Module *module,
                          const Schedule *schedule);

/* A lower bound on the figure that the budget bounds, for all that is done without changing what
 * the input's loops store. Only with a budget, and for recomputation alone. */
int64_t problem_bound_with_loops(const Problem *problem);

/* Sees to it that a part of the steps of a whole run is left: an earlier attempt, on another
 * module, may have spent them all. */
void problem_renew_patience(const Problem *problem, uint32_t divisor);

/* The figure of `memory` that the budget bounds. */
int64_t problem_counted_bytes(const Problem *problem, const rh_memory *memory);

#endif
