/* A variant of the input: the same module after some of its loops recompute what others would have
 * stacked for them (remat/scan). Attempts can then begin from it. It is made in rounds, and each
 * round's result is printed and parsed again, so that names, order and text are those that a plan
 * refers to. */
#ifndef REMAT_HLO_REMAT_ENGINE_VARIANT_H
#define REMAT_HLO_REMAT_ENGINE_VARIANT_H

#include "remat/engine/problem.h"
#include "remat/scan/scan.h"

/* What decides which values are stored. */
typedef struct VariantGoal {
  double price; /* seconds per byte; see scan_choose() */
  bool is_lean; /* see scan_recompute() */
  /* > 0: the first round cuts loops into segments instead, of about this times the square root of
   * the number of iterations */
  double segment;
  /* The second round cuts, and cuts what the first one made of the loops: fusions that are kept
   * whole for how they round read their stacks as a whole, and what they read can be cut only once
   * it is computed again. */
  bool cuts_results;
  uint32_t most_cut; /* loops, those with the largest stacks; 0 = all */
  bool unrolls;      /* the first round writes out loops instead that loops_misaligned() finds */
  /* by border and value of the first round: store it; NULL = none. For choices between two prices.
   */
  bool *const *is_kept;
  const RematAlgorithm
      *algorithm;      /* whose policy applies as well: checkpoint=speed keeps products */
  const Plan *plan;    /* a plan whose steps are repeated; NULL = `price` decides */
  int64_t most_rounds; /* 0 = until nothing is left to do */
  /* For what a change of one loop of the program would give: */
  uint32_t segment_border; /* one more than the border of the first round that is cut; 0 = any */
  bool only_new;           /* later rounds change only loops that earlier ones made */
  const rh_module *opened; /* of variant_open(), to begin with instead of the input; or NULL */
} VariantGoal;

typedef struct Variant {
  rh_module *module; /* NULL = nothing was to be done */
  ScanSteps steps;   /* what was done */
  Arena *arena;      /* holds the steps */
} Variant;

/* The input without what hides its loops (remat/scan/open.h); NULL if nothing does. The caller
 * frees it, after the variants that are made of it. */
rh_status variant_open(const Problem *problem, rh_module **opened);

/* The input with its fusions split where several compute the same values (remat/rewrite/split.h),
 * as rh_schedule() prepares it with RH_UNFUSE_SHARED; NULL if there is nothing to split. The caller
 * frees it. */
rh_status variant_split(const Problem *problem, rh_module **split);

/* Analyses a module as the first round sees it. */
void variant_analyze(const Problem *problem, const rh_module *module, ScanModule *scans,
                     Arena *out);

/* The modelled time of a module on the request's device, or on one of usual proportions. */
double variant_seconds(const Problem *problem, const rh_module *module);

/* RH_ERR_INPUT if the plan does not fit. */
rh_status variant_make(const Problem *problem, const VariantGoal *goal, Variant *variant);

/* Gives the instructions of a result the marks that they have, under the same names, in the module
 * that it was made from, unless the result has marked them itself. */
void variant_keep_marks(const rh_module *earlier, rh_module *result, Arena *scratch);

void variant_free(Variant *variant);

#endif
