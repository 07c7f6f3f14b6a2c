/* Keys of values: what two instructions have in common that compute the same in the program,
 * although XLA has written them differently, in the forward part and where a checkpoint computes it
 * again. Fusions are looked into; bitcasts, copies, transposes and the like do not count, nor do
 * layouts, dimensions and the order of the operands of a sum.
 *
 * Equal keys are no proof, and serve a simulation only: remat/verify has what is exact. */
#ifndef REMAT_HLO_ADVICE_VALUE_KEYS_H
#define REMAT_HLO_ADVICE_VALUE_KEYS_H

#include "ir/schedule.h"

typedef struct ValueKeys {
  const Module *module;
  uint64_t *of; /* by InstId; 0 = none. Those in fusions are of the last fusion that was read */
  uint64_t **elements; /* by InstId, of what has several results; NULL = none are known */
  Arena *arena;
} ValueKeys;

ValueKeys value_keys_new(const Module *module, Arena *arena);

/* Fills in the key of an instruction whose operands have theirs. Those of what is fused in it stay
 * until the next fusion that calls the same computation is read. */
void value_keys_read(ValueKeys *keys, InstId id);

#endif
