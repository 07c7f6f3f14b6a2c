/* Fusions that read or write slices of stacks, and stay as they are. How the sums of a fusion round
 * may depend on the whole of it (ROUND_BY_FUNCTION in analysis/flow/rounding.h), down to how a
 * slice's address is computed: with a constant address LLVM ranks the loaded value otherwise, and
 * swaps the operands of a sum. Such a fusion goes on to read or write slices, but of an array with
 * room for a few of them, which the loop carries. XLA clamps the start of a slice to the array.
 *
 * All arrays of the fusion of which the same start is clamped to the same number get such arrays,
 * because LLVM computes the address once for them.
 *
 * Example: `f32[8,4] dynamic-update-slice(f32[8,4] stack, f32[1,4] x, i, 0)` at the root of a
 * fusion becomes `f32[3,4] dynamic-update-slice(f32[3,4] array, f32[1,4] x, i, 0)`. A dynamic-slice
 * of the array from i on is x. */
#ifndef REMAT_HLO_REMAT_SCAN_SLOTS_H
#define REMAT_HLO_REMAT_SCAN_SLOTS_H

#include "remat/scan/maker.h"

/* Whether `inner`, under whatever shape, is what the root of the fused computation writes into a
 * stack, a parameter that nothing else reads. */
bool slots_fit_write(const Module *module, CompId comp, InstId inner);

/* Whether all arrays of which the computation takes slices at the same place as of `array`, a
 * parameter with slices along `dim`, may become smaller, because it reads nothing else of them. */
bool slots_fit_all(const Module *module, CompId comp, InstId array, uint32_t dim);

/* Gives a fusion of a loop's body an array, which holds the slice `value`, instead of a stack.
 * `position` is the fusion's. */
void slots_narrow_read(Maker *maker, const StackRead *read, InstId value, uint32_t position);

/* An array that a loop carries, for a clone of the fusion that writes slices of `stack`. The
 * element of the loop's state is stored in `element`. */
InstId slots_carry(Maker *maker, const Loop *loop, const Stack *stack, uint32_t *element);

/* Makes `made->array`, a clone that has such an array as an operand instead of the stack and is to
 * stand before `made->position`, write slices of it, and returns the slice that it writes as
 * `shape`. `at` is the number of the slice. Fusions that read this slice later get the same array.
 */
InstId slots_narrow_write(Maker *maker, const SlotArray *made, uint32_t element, InstId at,
                          ShapeId shape);

/* Gives the fusions of slots_narrow_read() such arrays also for what else they take slices of at
 * the same place. */
void slots_finish_reads(Maker *maker);

#endif
