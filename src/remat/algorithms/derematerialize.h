/* Undoes recomputations that turned out unnecessary, the most expensive ones first, as long as the
 * budget holds (Microsoft's remat.patch, except that the step that would exceed the budget is not
 * taken). To undo one is to redirect the users of the clone to the original, which then stays live
 * for them. */
#ifndef REMAT_HLO_REMAT_ALGORITHMS_DEREMATERIALIZE_H
#define REMAT_HLO_REMAT_ALGORITHMS_DEREMATERIALIZE_H

#include "remat/job/algorithm.h"

/* The cost of recomputing an instruction: (flops + 10 transcendentals) / (bytes accessed + 2), with
 * the parameters cost.transcendental and cost.byte. */
double recompute_key(const RematJob *job, InstId id);

/* Whether the clone's original still exists and has all results of the clone. Fusions can lose
 * results that have no users. */
bool clone_can_be_undone(const Module *module, InstId clone, InstId original);

/* Redirects the users of clones to the originals where the peak stays within the limit, or, if the
 * peak exceeds the limit already, where the peak does not rise. Removes what is dead afterwards.
 * The schedule is in `out`. O(clones * (uses + log instructions)), plus a number of recounts that
 * is the logarithm of the number of clones. */
void derematerialize(RematJob *job, Arena *out, Arena *scratch);

#endif
