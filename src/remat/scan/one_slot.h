/* Fusions that write slices of stacks, computed again as they are. How the sums of a fusion round
 * may depend on the whole of it (ROUND_BY_FUNCTION in analysis/flow/rounding.h). Such a fusion is
 * not reduced to the value that is wanted: it keeps all its results, and writes slices into arrays
 * that have room for one slice.
 *
 * Example: `f32[8,4] dynamic-update-slice(f32[8,4] stack, f32[1,4] x, i, 0)` at the root of a
 * fusion becomes `f32[1,4] dynamic-update-slice(f32[1,4] array, f32[1,4] x, i, 0)`, which is x,
 * because XLA clamps i to 0. */
#ifndef REMAT_HLO_REMAT_SCAN_ONE_SLOT_H
#define REMAT_HLO_REMAT_SCAN_ONE_SLOT_H

#include "remat/scan/maker.h"

/* The result of a fusion, or the element of the tuple that it returns, which is `inner` or a stack
 * into which only `inner` is written; NO_ID if there is none, or if the fusion has a form that
 * cannot be computed again with arrays of one slot. */
uint32_t one_slot_result(const Module *module, CompId comp, InstId inner);

/* Whether a parameter of the fused computation is an array that is only written to. */
bool one_slot_is_array(const Module *module, InstId param);

/* An array of one slot for such a parameter, before `position` of the computation `comp`. */
InstId one_slot_array(Maker *maker, InstId param, CompId comp, uint32_t position);

/* Gives the arrays of a clone, whose operands have been replaced, one slot, and returns its result
 * number `result` as `shape`. The clone has been inserted before `position`. */
InstId one_slot_shrink(Maker *maker, InstId clone, uint32_t result, ShapeId shape,
                       uint32_t position);

#endif
