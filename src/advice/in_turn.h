/* Parts of a computation that do not need each other, such as microbatches in a loop of Python. */
#ifndef REMAT_HLO_ADVICE_IN_TURN_H
#define REMAT_HLO_ADVICE_IN_TURN_H

#include "advice/advisor.h"
#include "advice/layers.h"

/* By position of the computation, the number of the part that an instruction is of, NO_ID = none;
 * NULL if no parts are in memory at once. O(instructions). */
uint32_t *in_turn_parts(const Advisor *advisor, CompId comp, Arena *out);

/* Whether repetitions have something of several parts, and parts something of several repetitions:
 * then the order in which XLA goes through all parts at once was taken for that of the repetitions.
 */
bool in_turn_is_mixed(const uint32_t *parts, const Layers *layers, SchedPos end, Arena *scratch);

#endif
