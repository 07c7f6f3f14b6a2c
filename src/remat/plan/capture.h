/* Makes a plan of what an algorithm did: the difference between a scheduled module and the
 * resulting one, described so that applying it again gives the same bytes. */
#ifndef REMAT_HLO_REMAT_PLAN_CAPTURE_H
#define REMAT_HLO_REMAT_PLAN_CAPTURE_H

#include "analysis/memory/call_memory.h"
#include "remat/plan/plan.h"

typedef struct CaptureSource {
  const Module *before; /* including the clones of called computations that the plan begins with */
  const Schedule *before_schedule;
  const CalleeClones *clones; /* those clones */
  const Rewrite *rewrite;     /* its module is a changed copy of `before` without dead code */
  const Schedule *schedule;
  const CallMemory *memory; /* of `before`; needed by plan_capture only */
} CaptureSource;

/* Makes the clones of called computations with which the rewriting of `rewritten` began again,
 * under the same ids and names. The result is the module before. The new arrays of `schedule` are
 * allocated in `out`. */
void plan_clone_again(Rewrite *rewrite, Schedule *schedule, const CalleeClones *clones,
                      const Module *rewritten, Arena *out, Arena *scratch);

/* Makes the plan, allocated in `out`, but without names, because those of the module may still
 * change. The plan does not record how the module was prepared. O(n log n). */
void plan_capture(Plan *plan, const CaptureSource *source, Arena *out, Arena *scratch);

/* Sets the reason of each step, and how many bytes it frees at the peak. Part of plan_capture. */
void plan_explain(Plan *plan, const CaptureSource *source, Arena *scratch);

/* Fills in the current names, which are copied. `before` rewrites the source's module `before`: the
 * clones are made in it again, which shows the names that differ when the plan is applied. */
void plan_fill_names(Plan *plan, const CaptureSource *source, Rewrite *before, Arena *out,
                     Arena *scratch);

#endif
