/* Where a computation ends from its forward part to its backward part: what is read again behind
 * the forward_end was saved for the gradients. */
#ifndef REMAT_HLO_REMAT_ALGORITHMS_FORWARD_END_H
#define REMAT_HLO_REMAT_ALGORITHMS_FORWARD_END_H

#include "ir/schedule.h"

/* By InstId: dots, convolutions, custom calls, collectives, and whatever calls a computation that
 * has some, fusions and loops. O(instructions). */
bool *find_heavy(const Module *module, Arena *out, Arena *scratch);

/* What a waiting value counts. None of them is right for all modules. */
typedef enum ForwardEndRule {
  FORWARD_END_BY_BYTES, /* transients of early layers can be larger than what late ones save */
  FORWARD_END_BY_BYTES_AND_TIME, /* late where early layers are much larger */
  FORWARD_END_BY_NUMBER,
  NUM_FORWARD_END_RULES,
} ForwardEndRule;

/* The last position of the forward part, NO_ID when no value waits for a reader. `positions` gives
 * the place of each of the sequence's instructions. O(instructions + edges).
 *
 * Told from the flow of data: backward passes read last what forward passes made first, so the
 * times for which saved values wait are nested, and the forward_end is where the most of them is
 * waited through, by bytes times positions. Only readers count from which something heavy is still
 * to come: gradients and the state of the optimizer wait for one another, too, but only at the end.
 */
SchedPos find_forward_end(const Module *module, Sequence sequence, const SchedPos *positions,
                          const bool *is_heavy, ForwardEndRule rule, Arena *scratch);

/* Whether at least `wanted` of the values that wait at the forward_end wait one inside the other:
 * what was made later is read again earlier. O(n log n). */
bool is_nested_at(const Module *module, Sequence sequence, const SchedPos *positions,
                  SchedPos forward_end, uint32_t wanted, Arena *scratch);

#endif
