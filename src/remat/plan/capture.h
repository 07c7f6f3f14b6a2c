/* A plan of what an algorithm did: the difference between a scheduled module and the one that came
 * out, told so that doing it again gives the same bytes. */
#ifndef REMAT_HLO_REMAT_PLAN_CAPTURE_H
#define REMAT_HLO_REMAT_PLAN_CAPTURE_H

#include "analysis/memory/call_memory.h"
#include "remat/plan/plan.h"

typedef struct CaptureSource {
  const Module *before; /* with the copies of called computations that the plan begins with */
  const Schedule *before_schedule;
  const Rewrite *rewrite; /* and its module, a changed copy of `before` without dead code */
  const Schedule *schedule;
  const CallMemory *memory; /* of `before`, for plan_capture */
} CaptureSource;

/* The copies of called computations, with their names. What the module needs then comes with the
 * steps. */
void plan_capture_clones(Plan *plan, const Module *module, const CalleeClones *clones, Arena *out);

/* The steps, in `out`, without names: those of the module may still change. The plan has its copies
 * already; how the module was prepared is not told. O(n log n). */
void plan_capture(Plan *plan, const CaptureSource *source, Arena *out, Arena *scratch);

/* Says of each step what it is for, and what it frees at the peak. Part of plan_capture. */
void plan_explain(Plan *plan, const CaptureSource *source, Arena *scratch);

/* Fills the names in, which are copied, as they are now. */
void plan_fill_names(Plan *plan, const CaptureSource *source, Arena *out);

/* Fills in how the copies of called computations are named where the plan without that, done in
 * `again`, names them otherwise. `again` has its steps in the same order. */
void plan_fill_callees(Plan *plan, const Module *rewritten, const Module *again, Arena *out,
                       Arena *scratch);

#endif
