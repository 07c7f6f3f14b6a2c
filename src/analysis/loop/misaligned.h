/* Loops that stack values in other steps than those in which other loops read them.
 *
 * A scan of which each iteration does several steps (jax.lax.scan with `unroll`) has a rest if
 * these do not divide the number of steps: 8 steps by 3 are a loop of 2 iterations, and 2 steps
 * behind it. The backward loop begins at the other end, so that its iterations are others: it does
 * the steps 7 6 5 and 4 3 2, and 1 0 behind it. What it reads is
 *
 *   slice(concatenate(reshape(stack), step 6, step 7)), of which iteration t reads a slice,
 *
 * and no slice of it is what one iteration has written. If the iterations are written out, the
 * steps are in one sequence (remat/scan/unroll.h). */
#ifndef REMAT_HLO_ANALYSIS_LOOP_MISALIGNED_H
#define REMAT_HLO_ANALYSIS_LOOP_MISALIGNED_H

#include "analysis/flow/side_effect.h"
#include "analysis/loop/stack.h"

/* Whether a loop's iterations may be written out: it has a few, and nothing in them has a side
 * effect, or a channel. */
bool loop_may_unroll(const Loops *loops, const SideEffects *effects, uint32_t loop, Arena *scratch);

/* The loops, by index and ascending, that write stacks which others read in pieces that are no
 * slices, and these others. Loops that may not be written out, or whose iterations have more than
 * `max_insts` instructions together, are left out. */
IdVec loops_misaligned(const Stacks *stacks, const SideEffects *effects, int64_t max_insts,
                       Arena *out, Arena *scratch);

#endif
