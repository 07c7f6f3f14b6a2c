/* A plan of what an algorithm did: the difference between a scheduled module and the one that came
 * out, told so that doing it again gives the same bytes. */
#ifndef REMAT_HLO_REMAT_PLAN_CAPTURE_H
#define REMAT_HLO_REMAT_PLAN_CAPTURE_H

#include "remat/plan.h"

typedef struct CaptureSource {
  const Module *before;
  const Schedule *before_schedule;
  const Rewrite *rewrite; /* and its module, a changed copy of `before` without dead code */
  const Schedule *schedule;
  InstId peak_inst; /* of `before`, for plan_capture */
} CaptureSource;

/* The steps in `out`, without names: those of the module may still change. O(n log n). */
Plan *plan_capture(const CaptureSource *source, Arena *out, Arena *scratch);

/* Says of each step what it is for, and what it frees at the peak. Part of plan_capture. */
void plan_explain(Plan *plan, const CaptureSource *source, Arena *scratch);

/* Fills the names in, which are copied, as they are now. */
void plan_fill_names(Plan *plan, const CaptureSource *source, Arena *out);

/* Fills in how the copies of called computations are named where the plan without that, done in
 * `again`, names them otherwise. `again` has its steps in the same order. */
void plan_fill_callees(Plan *plan, const Module *rewritten, const Module *again, Arena *out,
                       Arena *scratch);

#endif
