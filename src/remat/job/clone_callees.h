/* Clones of called computations, one for each amount of memory that their callers leave them. Only
 * the callers that are short of memory then pay for recomputation.
 *
 * Example: the loop body `layer` is called by two loops, at 1 GB and at 6 GB of other live values,
 * under a limit of 8 GB. If `layer` needs 4 GB, only the second loop must recompute in it: it gets
 * a clone, `layer.clone`, and the first loop keeps the original. */
#ifndef REMAT_HLO_REMAT_JOB_CLONE_CALLEES_H
#define REMAT_HLO_REMAT_JOB_CLONE_CALLEES_H

#include "analysis/flow/call_graph.h"
#include "remat/job/algorithm.h"

typedef struct CalleeClone {
  CompId original; /* the computation of the input, which is no clone */
  CompId from;     /* the computation that was copied: `original`, or a clone of it */
  CompId clone;
  /* the equal computation that replaces the clone at the end; NO_ID = the clone stays */
  CompId same;
  VEC(InstId) callers;
} CalleeClone;

typedef struct CalleeClones {
  VEC(CalleeClone) list; /* sorted by `clone` */
} CalleeClones;

/* Clones computations that run as a sequence, have several callers that hold different amounts of
 * memory, and exceed the job's limit for one of these callers. Callers that hold the same amount
 * share a clone; the first group of callers keeps the original. This must be done before anything
 * is recomputed. The schedule grows in `out`.
 *
 * O(clones * time of the memory model). */
CalleeClones clone_callees(RematJob *job, Arena *out, Arena *scratch);

/* Called after rematerialization: replaces each clone that has become equal to the original, or to
 * an earlier clone, by that computation. Removes what is dead afterwards. */
void share_callees(RematJob *job, CalleeClones *clones, Arena *out, Arena *scratch);

/* ---- for plans, which repeat these steps ---- */

/* Whether the computation may be cloned: it runs as a sequence for its callers, and it is not the
 * entry computation. */
bool callee_is_cloneable(const Module *module, const CallGraph *graph, CompId comp);

/* For a clone, the computation of the input that it is a copy of; for any other computation, `comp`
 * itself. O(log clones). */
CompId callee_original(const CalleeClones *clones, CompId comp);

/* Adds a clone of `from` that has no caller yet. */
CalleeClone *callee_clone_add(CalleeClones *clones, RematJob *job, CompId from, Arena *out,
                              Arena *scratch);

/* Makes `caller` call the clone wherever it called `clone->from`. Returns false if it did not call
 * that. */
bool callee_clone_redirect(CalleeClone *clone, RematJob *job, InstId caller, Arena *out,
                           Arena *scratch);

/* Makes all callers of the clone call `clone->same` instead. Returns false if the clone stays. */
bool callee_clone_undo(const CalleeClone *clone, RematJob *job, Arena *scratch);

#endif
