/* Which integers a constant's literal has. */
#ifndef REMAT_HLO_ANALYSIS_RANGE_LITERAL_RANGE_H
#define REMAT_HLO_ANALYSIS_RANGE_LITERAL_RANGE_H

#include "analysis/range/value_range.h"

/* Literals with a longer text are not read. */
enum { MAX_LITERAL_CHARS = 1 << 16 };

/* Of a constant that is an array: not known when some number in its text is no integer or a
 * negative zero, when some are not in the text, or when it is too long. O(length). */
ValueRange literal_range(const Module *module, InstId id);

#endif
