/* The barriers of checkpoints that are there, which XLA has removed from the module that it prints:
 * what is computed again waits for the gradient that enters its repetition. */
#ifndef REMAT_HLO_ADVICE_PRESENT_BARRIERS_H
#define REMAT_HLO_ADVICE_PRESENT_BARRIERS_H

#include "ir/schedule.h"

/* Whether anything is computed again by a checkpoint that is there. */
bool present_has_recomputed(const Module *module);

/* Adds control dependencies in place of these barriers. Each one goes from an earlier instruction
 * of the sequence to a later one: the order itself says for which gradient something has waited.
 * What is computed from an instruction that is no older than `first_new` waits for that one. */
void present_barriers_add(Module *module, Sequence sequence, InstId first_new, Arena *scratch);

#endif
