/* Random numbers that XLA:CPU computes by loops: no clone is made of a loop, but under a checkpoint
 * they are computed again like everything else, and do not wait for the backward part. */
#ifndef REMAT_HLO_ADVICE_RANDOM_LOOPS_H
#define REMAT_HLO_ADVICE_RANDOM_LOOPS_H

#include "advice/scope_study.h"

/* Has what is behind the forward part read something else in place of the results of loops of
 * integers that a repetition with a checkpoint runs. Returns whether something was changed. */
bool random_loops_drop(const Study *study, const Proposal *proposal, Cloning *cloning,
                       Arena *scratch);

#endif
