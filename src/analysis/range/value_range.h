/* Which integers the elements of an array can be: an interval for the result of each operation, out
 * of those of its operands. Also of floating-point arrays that hold nothing but integers: masks,
 * counts, indices. */
#ifndef REMAT_HLO_ANALYSIS_RANGE_VALUE_RANGE_H
#define REMAT_HLO_ANALYSIS_RANGE_VALUE_RANGE_H

#include <string.h>

#include "ir/bytes.h"
#include "ir/module.h"

/* Every element is an integer in [low, high], inclusive, and has one bit pattern only: none is a
 * negative zero. */
typedef struct ValueRange {
  int64_t low, high; /* low > high: not known */
} ValueRange;

#define UNKNOWN_RANGE ((ValueRange){1, 0})

static inline bool range_is_known(ValueRange range) {
  return range.low <= range.high;
}

/* Whether whatever is in `inner` is in `outer`; what is not known may be anything. */
static inline bool range_contains(ValueRange outer, ValueRange inner) {
  if (!range_is_known(outer)) return true;
  return range_is_known(inner) && outer.low <= inner.low && inner.high <= outer.high;
}

/* Not known if one of them is not. */
ValueRange range_join(ValueRange a, ValueRange b);

/* What an integer or pred can be; of u64 and of what is no integer nothing is known. */
ValueRange range_of_type(ElementType type);

/* The same range where the type has all these integers exactly, else that of the type. */
ValueRange range_fit(ElementType type, ValueRange range);

/* The result of an instruction that is an array and calls nothing; parameters as their types have
 * it. Exact in the sense of HLO: integers wrap, floating-point numbers are rounded. */
ValueRange range_of_operation(const Module *module, InstId id, const ValueRange *operands);

#endif
