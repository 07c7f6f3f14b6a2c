/* A plan of what an algorithm did: the difference between a scheduled module and the one that came
 * out, told so that doing it again gives the same bytes. */
#ifndef REMAT_HLO_REMAT_PLAN_CAPTURE_H
#define REMAT_HLO_REMAT_PLAN_CAPTURE_H

#include "analysis/memory/call_memory.h"
#include "remat/plan/plan.h"

typedef struct CaptureSource {
  const Module *before; /* with the copies of called computations that the plan begins with */
  const Schedule *before_schedule;
  const CalleeClones *clones; /* these */
  const Rewrite *rewrite;     /* and its module, a changed copy of `before` without dead code */
  const Schedule *schedule;
  const CallMemory *memory; /* of `before`, for plan_capture */
} CaptureSource;

/* Makes the copies of called computations that a rewritten module began with again, under the same
 * ids and names: the module before. `schedule` grows in `out`. */
void plan_clone_again(Rewrite *rewrite, Schedule *schedule, const CalleeClones *clones,
                      const Module *rewritten, Arena *out, Arena *scratch);

/* The plan, in `out`, without names: those of the module may still change. How the module was
 * prepared is not told. O(n log n). */
void plan_capture(Plan *plan, const CaptureSource *source, Arena *out, Arena *scratch);

/* Says of each step what it is for, and what it frees at the peak. Part of plan_capture. */
void plan_explain(Plan *plan, const CaptureSource *source, Arena *scratch);

/* Fills the names in, which are copied, as they are now. `before` is of the source's module: the
 * clones are made in it, which tells what is called otherwise when the plan is done. */
void plan_fill_names(Plan *plan, const CaptureSource *source, Rewrite *before, Arena *out,
                     Arena *scratch);

#endif
