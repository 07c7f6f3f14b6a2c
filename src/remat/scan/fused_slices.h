/* Slices within fusions that XLA:TPU does more with than to take or write them.
 *
 * It converts them on the way: `bf16[8,4] dynamic-update-slice(bf16[8,4] stack, f32[1,4] x, i, 0)`
 * gets a convert of x, and a dynamic-slice that converts gets one behind it.
 *
 * And it lays arrays out anew. It holds predicates in tiles of 32 rows, and computes them in tiles
 * of 8, for which fusions copy the whole array, of which only a slice is read or written, so that
 * no memory is moved:
 *
 *   c = pred[48,256,256]{…T(8,128)(4,1)} fusion(stack), calls=copy
 *
 *   s = pred[1,256,256]{…T(8,128)(4,1)} dynamic-slice(c, i, 0, 0)
 *
 * of a stack in tiles of T(32,128)(4,1) becomes a copy of the slice of the stack; and a
 * dynamic-update-slice of such a copy becomes one of the stack, with a copy of what it writes. So a
 * mask, such as that of a relu or of a dropout, is a stack like others. */
#ifndef REMAT_HLO_REMAT_SCAN_FUSED_SLICES_H
#define REMAT_HLO_REMAT_SCAN_FUSED_SLICES_H

#include "analysis/loop/loop.h"
#include "ir/schedule.h"
#include "remat/rewrite/rewrite.h"

/* Whether fusions in the loop's body do that. */
bool fused_slices_hide_stack(const Loops *loops, const Loop *loop);

/* Opens them. updates: the module, and the schedule, whose order of the fused computations is that
 * of their instructions then. */
void fused_slices_open(Rewrite *rewrite, const CallGraph *graph, CompId body, Schedule *schedule,
                       Arena *scratch);

#endif
