/* What a loop writes into one of its stacks in each iteration. */
#ifndef REMAT_HLO_ADVICE_STACK_SOURCE_H
#define REMAT_HLO_ADVICE_STACK_SOURCE_H

#include "ir/module.h"

typedef struct StackSource {
  InstId maker;     /* what the slice is computed from by operations that XLA fuses: a product or a
                       reduction, or a fusion of several arrays; NO_ID = from the state alone */
  uint32_t carried; /* the slice is this element of the state as it was, perhaps in another type;
                       NO_ID = it is computed */
} StackSource;

/* Of an element of a body's result, which has one parameter, a tuple. O(depth). */
StackSource stack_source_of(const Module *module, CompId body, uint32_t element);

#endif
