/* Range facts: what is known about the numbers in a value, which may be an array, a tuple, or the
 * result of a called computation.
 *
 * Example:
 *   i = s32[10] iota(), iota_dimension=0      range [0, 9]
 *   c = s32[] constant(3)                     range [3, 3]
 *   t = (s32[10], s32[]) tuple(i, c)          elements {[0, 9], [3, 3]}
 *   b = s32[10] broadcast(c), dimensions={}   range [3, 3]
 *   s = s32[10] add(i, b)                     range [3, 12] */
#ifndef REMAT_HLO_ANALYSIS_RANGE_RANGE_FACTS_H
#define REMAT_HLO_ANALYSIS_RANGE_RANGE_FACTS_H

#include "analysis/range/value_range.h"
#include "ir/schedule.h"

typedef struct RangeFact {
  ValueRange range;           /* of an array's elements */
  const ValueRange *elements; /* by element of a tuple, unknown for an element that is a tuple
                                 itself; NULL = nothing is known */
} RangeFact;

/* The state of the analysis of one module, which must not change meanwhile. */
typedef struct RangeFacts {
  const Module *module;
  Sequence *orders; /* by CompId; ids is NULL until the order is computed */
  uint32_t *place;  /* by InstId: its position in its computation's order */
  uint32_t *visited;
  uint32_t steps, depth; /* steps left and current depth in callees of the current instruction */
  Arena *out, *scratch;
} RangeFacts;

RangeFacts range_facts_begin(const Module *module, Arena *out, Arena *scratch);

/* The instructions of a computation, operands before their users. */
Sequence range_facts_order(RangeFacts *facts, CompId comp);

/* The fact about an instruction's result that follows from the facts about its operands; for a
 * parameter, the range of its type. Fusions, calls and reductions are analysed inside, up to a
 * bounded number of instructions. */
RangeFact range_fact_of(RangeFacts *facts, InstId id, const RangeFact *operands);

#endif
