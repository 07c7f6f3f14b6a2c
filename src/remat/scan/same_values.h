/* Values that a loop's body computes twice: the original and a clone, or two clones, are the same
 * expression of the same values. In the writing loop, one of them was stored in a stack, and the
 * other one, in another fusion, was read at once. */
#ifndef REMAT_HLO_REMAT_SCAN_SAME_VALUES_H
#define REMAT_HLO_REMAT_SCAN_SAME_VALUES_H

#include "analysis/loop/loop.h"
#include "ir/schedule.h"
#include "remat/rewrite/rewrite.h"

/* In all bodies of `loops`, which are those of the module as it is now, lets the readers of a value
 * read the earlier one. Only loop fusions and slices are compared. Slices are the same if they
 * begin at the same indices in all iterations. With `only_slices`, nothing else is compared. The
 * later value is left without users.
 *
 * updates: module and schedule. O(instructions of the bodies and of their fusions). */
void same_values_merge(Rewrite *rewrite, const Loops *loops, Schedule *schedule, bool only_slices,
                       Arena *scratch);

#endif
