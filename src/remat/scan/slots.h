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

#include "analysis/loop/stack_view.h"
#include "remat/scan/maker.h"

/* Whether the array has one slice, and is the slice itself: XLA:TPU does not compile by LLVM, and
 * where nothing is contracted, it does not matter in which order LLVM has the operands of a sum. */
bool slots_are_single(const Target *target);

/* The shape of the array that takes the place of a stack, and of one with the bytes of a view of it
 * (analysis/loop/stack_view.h). */
ShapeId slots_shape(Maker *maker, const Stack *stack);
ShapeId slots_view_shape(Maker *maker, const Stack *stack, ShapeId view);

/* Where the slice that an instruction of a fused computation takes along `dim` begins. */
SlicePlace slots_place_of(const Module *module, InstId slice, uint32_t dim);

/* Whether all arrays of which the computation takes slices at this place may become smaller,
 * because it reads nothing else of them. Those in `is_narrowed`, by parameter, do; NULL = none. */
bool slots_fit_all(const Module *module, CompId comp, SlicePlace place, const bool *is_narrowed);

/* Whether these are all arrays of which it takes slices at this place. */
bool slots_fit_only(const Module *module, CompId comp, SlicePlace place, const bool *is_narrowed);

/* What takes the slice of a stack in a fusion that reads it. */
StackView slots_cut_of(const Module *module, const Stack *stack, const StackRead *read,
                       Arena *scratch);

/* Gives a fusion of a loop's body an array, which holds the slice `value`, instead of a stack.
 * `position` is the fusion's. With `is_same_loop`, the loop may carry the array, so that only a
 * slice of it is written; an array that is made anew lives shorter, which lean rewrites prefer. */
void slots_narrow_read(Maker *maker, const StackRead *read, InstId value, uint32_t position,
                       bool is_same_loop);

/* An array for a clone of a fusion that writes slices of `stack`. The element of the loop's state
 * that is to hand it on is stored in `element`; NO_ID if the array is made anew. */
InstId slots_begin(Maker *maker, const Loop *loop, const Stack *stack, uint32_t position,
                   uint32_t *element);

/* In a fused computation, makes what it sees of the stack as small as the array, from `last`, which
 * it returns, back to the parameter. */
void slots_narrow_views(Maker *maker, const Stack *stack, InstId last);

/* Gives a fusion arrays of slots also for what else it takes slices of at the place; another fusion
 * takes the slice out before. */
void slots_narrow_others(Maker *maker, const NarrowedFusion *narrowed);

/* Gives the fusions of slots_narrow_read() such arrays also for what else they take slices of at
 * the same place. */
void slots_finish_reads(Maker *maker);

#endif
