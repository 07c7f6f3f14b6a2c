/* Undoing recomputations that turned out needless: the dearest first, as long as the budget holds
 * (Microsoft's remat.patch; the step that would break the budget is not taken here). */
#ifndef REMAT_HLO_REMAT_ALGORITHMS_DEREMATERIALIZE_H
#define REMAT_HLO_REMAT_ALGORITHMS_DEREMATERIALIZE_H

#include "remat/job/algorithm.h"

/* (flops + 10 transcendentals) / (bytes accessed + 2), by the parameters of cost: how dear it is to
 * compute something again. */
double recompute_key(const RematJob *job, InstId id);

/* Whether a clone's original is still there and gives all that the clone gives: fusions lose
 * results that nobody takes. */
bool clone_can_be_undone(const Module *module, InstId clone, InstId original);

/* Lets the users of clones read the originals again where the peak stays within the limit, or, when
 * that is not met, where it does not rise. Removes what is dead then. The schedule lies in `out`.
 * O(clones * (uses + log instructions)), and as many recounts as the logarithm of their number. */
void derematerialize(RematJob *job, Arena *out, Arena *scratch);

#endif
