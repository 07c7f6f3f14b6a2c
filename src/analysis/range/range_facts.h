/* What is known of the numbers in a value, be it an array, a tuple, or what a called computation
 * makes of its operands. */
#ifndef REMAT_HLO_ANALYSIS_RANGE_RANGE_FACTS_H
#define REMAT_HLO_ANALYSIS_RANGE_RANGE_FACTS_H

#include "analysis/range/value_range.h"
#include "ir/schedule.h"

typedef struct RangeFact {
  ValueRange range;           /* of an array's elements */
  const ValueRange *elements; /* of a tuple's elements that are arrays; NULL: nothing is known */
} RangeFact;

/* For one module that does not change meanwhile. */
typedef struct RangeFacts {
  const Module *module;
  Sequence *orders; /* by CompId; ids NULL = not made yet */
  uint32_t *place;  /* by InstId: in its computation's order */
  uint8_t *visited;
  uint32_t steps, depth; /* of called computations, for the instruction that is looked at */
  Arena *out, *scratch;
} RangeFacts;

RangeFacts range_facts_begin(const Module *module, Arena *out, Arena *scratch);

/* Operands before their users. */
Sequence range_facts_order(RangeFacts *facts, CompId comp);

/* What holds of an instruction's result whenever `operands` hold; of a parameter what its type
 * says. Fusions, calls and reductions are looked into, up to a bounded number of instructions. */
RangeFact range_fact_of(RangeFacts *facts, InstId id, const RangeFact *operands);

#endif
