/* Fusions of a reading loop that are given less than a stack: the slice that they take of it, or an
 * array with room for a few slices. What lies between the operand and their dynamic-slices, in
 * fusions within fusions too, becomes as small (analysis/loop/stack_view.h). */
#ifndef REMAT_HLO_REMAT_SCAN_NARROW_H
#define REMAT_HLO_REMAT_SCAN_NARROW_H

#include "remat/scan/maker.h"

/* The shape of `count` slices of an array along `dim`. */
ShapeId narrow_shape(Module *module, ShapeId array, uint32_t dim, int64_t count, Arena *scratch);

/* The shape of one slice of a stack as an element of a loop's state. */
ShapeId narrow_slice_shape(Maker *maker, const Stack *stack);

/* Makes the fusion read `value`, which has the bytes of the slice, without slicing it. What takes a
 * part of the slice goes on to do that: its start along the stack's dimension is clamped to 0. */
void narrow_to_slice(Maker *maker, const StackRead *read, InstId value, uint32_t position);

/* The same of a dynamic-slice, outside of fusions, that takes a part of a slice along `dim`. */
void narrow_part(Maker *maker, InstId part, uint32_t dim, InstId value, uint32_t position);

/* Makes the fusion read `array`, which has `count` slices, of which it goes on to take one. */
void narrow_to_slots(Maker *maker, const StackRead *read, InstId array, int64_t count,
                     uint32_t position);

/* The same for any operand of a fusion of which it takes slices along `dim`, and an array with the
 * shape of so many slices of it. */
void narrow_operand(Maker *maker, InstId fusion, uint32_t operand, uint32_t dim, InstId array,
                    int64_t count);

#endif
