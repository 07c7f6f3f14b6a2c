/* The range of the integers in a constant's literal.
 *
 * Example: `s32[3] constant({1, -2, 7})` has the range [-2, 7]; `f32[2] constant({0.5, 1})` has
 * none. */
#ifndef REMAT_HLO_ANALYSIS_RANGE_LITERAL_RANGE_H
#define REMAT_HLO_ANALYSIS_RANGE_LITERAL_RANGE_H

#include "analysis/range/value_range.h"

/* The text of a longer literal is not read. */
enum { MAX_LITERAL_CHARS = 1 << 16 };

/* The range of a constant that is an array. Unknown when some number in its text is not an integer
 * or is a negative zero, when some elements are not in the text, or when the text is too long.
 * O(length). */
ValueRange literal_range(const Module *module, InstId id);

#endif
