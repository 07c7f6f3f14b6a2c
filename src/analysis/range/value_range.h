/* Intervals of integers that the elements of an array can be: the interval of an operation's
 * result, computed from those of its operands. Also for floating-point arrays that contain only
 * integers: masks, counts, indices.
 *
 * Example: if a is in [0, 9] and b is in [-2, 3], then add(a, b) is in [-2, 12], multiply(a, b) is
 * in [-18, 27], and minimum(a, b) is in [-2, 3]. */
#ifndef REMAT_HLO_ANALYSIS_RANGE_VALUE_RANGE_H
#define REMAT_HLO_ANALYSIS_RANGE_VALUE_RANGE_H

#include <string.h>

#include "ir/bytes.h"
#include "ir/module.h"

/* Every element is an integer in [low, high], inclusive, and has only one bit pattern: it is not a
 * negative zero. */
typedef struct ValueRange {
  int64_t low, high; /* low > high: unknown */
} ValueRange;

#define UNKNOWN_RANGE ((ValueRange){1, 0})

static inline bool range_is_known(ValueRange range) {
  return range.low <= range.high;
}

/* Whether every value in `inner` is in `outer`. An unknown range contains every value. */
static inline bool range_contains(ValueRange outer, ValueRange inner) {
  if (!range_is_known(outer)) return true;
  return range_is_known(inner) && outer.low <= inner.low && inner.high <= outer.high;
}

/* The smallest range that contains both; unknown if one of them is unknown. */
ValueRange range_join(ValueRange a, ValueRange b);

/* The range of an integer type or pred; unknown for u64 and for types that are not integers. */
ValueRange range_of_type(ElementType type);

/* `range` if the type represents all its integers exactly, else the range of the type. */
ValueRange range_fit(ElementType type, ValueRange range);

/* The range of the result of an instruction that is an array and has no callees; for a parameter,
 * that of its type. Follows HLO's semantics exactly: integers wrap, floating-point numbers are
 * rounded. */
ValueRange range_of_operation(const Module *module, InstId id, const ValueRange *operands);

#endif
