/* Stacks that get another layout between the loop that writes them and the loop that reads them.
 * XLA:GPU chooses layouts for each loop by itself, and transposes a whole stack where two loops do
 * not agree:
 *
 *   t = f32[2,8,4]{2,1,0} fusion(first#3), calls=transpose     (bitcast, transpose, bitcast)
 *   second = while(tuple(…, t, …))
 *
 * While that runs, the stack is there twice, and what reads a slice of t is no reader of what the
 * first loop stacks. Instead, the second loop is given the stack as it is, and what takes a slice
 * transposes the slice. */
#ifndef REMAT_HLO_REMAT_SCAN_LAYOUTS_H
#define REMAT_HLO_REMAT_SCAN_LAYOUTS_H

#include "analysis/loop/loop.h"
#include "ir/schedule.h"
#include "remat/rewrite/rewrite.h"

/* The array that a value has the elements of: before a fusion that transposes it, or bitcasts. */
InstId layouts_before(const Module *module, InstId value);

/* Whether a loop is given a stack that was transposed for it, and only takes slices of it. */
bool layouts_hide_stack(const Loops *loops, const Loop *loop, Arena *scratch);

/* Has all loops take slices of such stacks as they are. Also between loops that a rewrite has
 * brought beside each other: an inner loop that is run again beside the one that reads its stacks.
 * Between those, what gives a value another shape and takes that back is left out, too.
 *
 * updates: module and schedule, whose new arrays are in `out`, and which then has dead instructions
 * in it. */
void layouts_open(Rewrite *rewrite, Schedule *schedule, Arena *out, Arena *scratch);

#endif
