/* A copy of a called computation for each amount of memory that its callers leave it, so that only
 * those pay for a recomputation that have no room. */
#ifndef REMAT_HLO_REMAT_CLONE_CALLEES_H
#define REMAT_HLO_REMAT_CLONE_CALLEES_H

#include "remat/algorithm.h"

typedef struct CalleeClone {
  CompId original; /* that is no clone */
  CompId clone;
} CalleeClone;

typedef struct CalleeClones {
  VEC(CalleeClone) list;
} CalleeClones;

/* Clones what is called as a sequence by several callers that hold different amounts of memory, and
 * that passes the job's limit at one of them. Callers that hold the same share a clone; the first
 * ones keep the original. To be done before anything is recomputed; the schedule grows in `out`.
 *
 * O(clones * what the memory model takes). */
CalleeClones clone_callees(RematJob *job, Arena *out, Arena *scratch);

/* After rematerialization: those that have come out the same are one again. What this leaves dead
 * is removed. */
void share_callees(RematJob *job, const CalleeClones *clones, Arena *out, Arena *scratch);

#endif
