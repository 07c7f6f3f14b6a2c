/* A copy of a called computation for each amount of memory that its callers leave it, so that only
 * those pay for a recomputation that have no room. */
#ifndef REMAT_HLO_REMAT_JOB_CLONE_CALLEES_H
#define REMAT_HLO_REMAT_JOB_CLONE_CALLEES_H

#include "analysis/flow/call_graph.h"
#include "remat/job/algorithm.h"

typedef struct CalleeClone {
  CompId original; /* that is no clone */
  CompId from;     /* what was copied: that, or a clone of it */
  CompId clone;
  CompId same; /* what it is taken back for, at the end; NO_ID = it stays */
  VEC(InstId) callers;
} CalleeClone;

typedef struct CalleeClones {
  VEC(CalleeClone) list; /* by `clone` */
} CalleeClones;

/* Clones what is called as a sequence by several callers that hold different amounts of memory, and
 * that passes the job's limit at one of them. Callers that hold the same share a clone; the first
 * ones keep the original. To be done before anything is recomputed; the schedule grows in `out`.
 *
 * O(clones * what the memory model takes). */
CalleeClones clone_callees(RematJob *job, Arena *out, Arena *scratch);

/* After rematerialization: takes back those that have come out the same as the original or an
 * earlier clone. What this leaves dead is removed. */
void share_callees(RematJob *job, CalleeClones *clones, Arena *out, Arena *scratch);

/* ---- for plans, which do the same again ---- */

/* Whether there may be clones of it: it runs as a sequence for its callers, and is not the entry.
 */
bool callee_is_cloneable(const Module *module, const CallGraph *graph, CompId comp);

/* What was copied first, of a clone; anything else is that itself. O(log clones). */
CompId callee_original(const CalleeClones *clones, CompId comp);

/* Adds a clone that nobody calls yet. */
CalleeClone *callee_clone_add(CalleeClones *clones, RematJob *job, CompId from, Arena *out,
                              Arena *scratch);

/* Has a caller of what was copied call the clone, wherever it called that. False when it does not.
 */
bool callee_clone_redirect(CalleeClone *clone, RematJob *job, InstId caller, Arena *out,
                           Arena *scratch);

/* Has whoever calls a clone that is taken back call what it is taken back for. False when it stays.
 */
bool callee_clone_take_back(const CalleeClone *clone, RematJob *job, Arena *scratch);

#endif
