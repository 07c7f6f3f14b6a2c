/* Arrays whose values fit a narrower type: an s32 or f32 that holds a mask, an index into a
 * dimension, a count … is the same, bit for bit, after it was converted to that type and back.
 *
 * Example: p = pred[8] compare(…), m = f32[8] convert(p): the elements of m are 0 or 1, so m fits
 * u8[8].
 *
 * Only integer types are considered. A floating-point array that was converted from a narrower
 * floating-point type is not narrowed, although its numbers would fit: another conversion may
 * change the payload of a NaN, and devices differ in how they treat subnormal numbers. Recomputing
 * the conversion from its source has the same effect without these problems. */
#ifndef REMAT_HLO_ANALYSIS_RANGE_NARROW_H
#define REMAT_HLO_ANALYSIS_RANGE_NARROW_H

#include "analysis/range/value_range.h"

/* The narrowest integer type that contains all numbers of the range, with at least 8 bits, unsigned
 * if possible; `type` itself when no type is narrower. */
ElementType narrow_type(ElementType type, ValueRange range);

/* By InstId: the shape that an instruction's result could be converted to and back; its own shape
 * when no narrower one is known. Layouts stay. An array with tiles is not narrowed, because only a
 * compiler knows the tiles of a narrower type. O(instructions), plus range_fact_of() for fusions,
 * calls and reductions. */
ShapeId *narrow_shapes(Module *module, Arena *out, Arena *scratch);

#endif
