/* Conversions that undo each other, among numbered values: what is converted to integers of fewer
 * bits and back is the same value, where all its elements are such integers.
 *
 * That they are is told from the operations that make the value (analysis/range/range_facts.h), in
 * whatever module it was met: equal numbers are equal values. */
#ifndef REMAT_HLO_REMAT_VERIFY_NUMBER_RANGES_H
#define REMAT_HLO_REMAT_VERIFY_NUMBER_RANGES_H

#include "analysis/range/range_facts.h"
#include "remat/verify/value_number.h"

typedef struct NumberRanges {
  Arena *arena;
  VEC(RangeFact) facts;       /* by ValueNumber */
  VEC(ValueNumber) converted; /* by ValueNumber, of a conversion: of what; NO_ID for all else */
} NumberRanges;

/* Notes what follows for `value`, which an instruction makes of its operands `args`. `facts` is of
 * the instruction's module. */
void number_ranges_note(NumberRanges *ranges, RangeFacts *facts, InstId id, ValueNumber value,
                        const ValueNumber *args);

/* The value whose conversion `arg` is, if it is of `type` and came through that conversion
 * unharmed; NO_ID for any other. */
ValueNumber number_ranges_undo(const NumberRanges *ranges, const Numbering *numbering,
                               ElementType type, ValueNumber arg);

/* Whether there is a conversion to integers of fewer bits. */
bool module_has_narrowing(const Module *module);

#endif
