/* Arrays that fit a narrower type: an s32 or f32 that holds a mask, an index into a dimension, a
 * count … is the same, bit for bit, after it was converted to that type and back.
 *
 * Only to integers. A floating-point array that was converted from a narrower floating-point type
 * is not narrowed, though its numbers would fit: converting it again may change the payload of a
 * NaN, and devices differ in what they do with subnormal numbers. To compute the conversion again
 * from its source gets the same without. */
#ifndef REMAT_HLO_ANALYSIS_RANGE_NARROW_H
#define REMAT_HLO_ANALYSIS_RANGE_NARROW_H

#include "analysis/range/value_range.h"

/* The narrowest integer type that has all numbers of the range, of 8 bits at least, unsigned if it
 * can be; `type` itself when none is narrower. */
ElementType narrow_type(ElementType type, ValueRange range);

/* By InstId: the shape that an instruction's result could be converted to and back; its own shape
 * when no narrower one is known. Layouts stay; what a narrower type's tiles are only a compiler
 * knows, so an array with tiles is left alone. O(instructions), and what range_fact_of takes for
 * fusions, calls and reductions. */
ShapeId *narrow_shapes(Module *module, Arena *out, Arena *scratch);

#endif
