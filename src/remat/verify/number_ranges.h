/* Finds conversions that undo each other among numbered values. A value that is converted to
 * integers of fewer bits and back is the same value if all its elements fit into these bits: s32 to
 * s8 and back is the identity for elements in -128 … 127.
 *
 * The range of the elements follows from the operations that compute the value
 * (analysis/range/range_facts.h). A fact from one module holds in the other, too, because equal
 * numbers are equal values. */
#ifndef REMAT_HLO_REMAT_VERIFY_NUMBER_RANGES_H
#define REMAT_HLO_REMAT_VERIFY_NUMBER_RANGES_H

#include "analysis/range/range_facts.h"
#include "remat/verify/value_number.h"

typedef struct NumberRanges {
  Arena *arena;
  VEC(RangeFact) facts; /* by ValueNumber */
  /* by ValueNumber, for a conversion: the value that is converted; NO_ID for all others */
  VEC(ValueNumber) converted;
} NumberRanges;

/* Records the facts that follow for `value`, which instruction `id` computes from its operands
 * `args`. `facts` belongs to the instruction's module. */
void number_ranges_note(NumberRanges *ranges, RangeFacts *facts, InstId id, ValueNumber value,
                        const ValueNumber *args);

/* If `arg` is a conversion that loses nothing, and its operand has type `type`, that operand;
 * otherwise NO_ID. */
ValueNumber number_ranges_undo(const NumberRanges *ranges, const Numbering *numbering,
                               ElementType type, ValueNumber arg);

/* Whether the module has a conversion to integers of fewer bits. */
bool module_has_narrowing(const Module *module);

#endif
