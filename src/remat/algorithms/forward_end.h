/* Finds where a computation goes from its forward part to its backward part. Values that are
 * computed before that position and read again after it were saved for the gradients.
 *
 * Example: in `a = f(x); b = g(a); db = g'(b); da = f'(a, db)`, the forward part ends at b, and a
 * waits across its end. */
#ifndef REMAT_HLO_REMAT_ALGORITHMS_FORWARD_END_H
#define REMAT_HLO_REMAT_ALGORITHMS_FORWARD_END_H

#include "ir/schedule.h"

/* Whether an instruction is a custom call that is no product of a library, of which the names begin
 * with two underscores (`__cublas$gemm`): others, such as a sort or the solver of a system of
 * equations, may do anything with their operands. */
bool is_unknown_call(const Module *module, InstId id);

/* By InstId: whether an instruction is a dot, convolution, custom call or collective, or calls a
 * computation that contains one, as fusions and loops do. O(instructions). */
bool *find_heavy(const Module *module, Arena *out, Arena *scratch);

/* The same without collectives: what a layer multiplies by its weights, for instance. */
bool *find_products(const Module *module, Arena *out, Arena *scratch);

/* The same for products, gathers and scatters: what reads of weights or tables may need all of
 * them. */
bool *find_whole_users(const Module *module, Arena *out, Arena *scratch);

/* The weight of a value that waits for a reader. No rule is right for all modules. */
typedef enum ForwardEndRule {
  /* early layers can have temporary values that are larger than what late layers save */
  FORWARD_END_BY_BYTES,
  FORWARD_END_BY_BYTES_AND_TIME, /* gives a late position if early layers are much larger */
  FORWARD_END_BY_NUMBER,
  NUM_FORWARD_END_RULES,
} ForwardEndRule;

/* The last position of the forward part; NO_ID if no value waits for a reader. `positions` gives
 * the position of each of the sequence's instructions. O(instructions + edges).
 *
 * The position is found from the data flow. The backward part reads last what the forward part
 * computed first, so the intervals in which saved values wait are nested, and the forward part ends
 * where the waiting values have the largest total weight. A reader only counts if a heavy
 * instruction depends on it: gradients and the optimizer's state also wait for each other, but only
 * at the end. */
SchedPos find_forward_end(const Module *module, Sequence sequence, const SchedPos *positions,
                          const bool *is_heavy, ForwardEndRule rule, Arena *scratch);

/* Whether at least `wanted` of the values that wait at `forward_end` are nested: of two such
 * values, the one that is computed later is read again earlier. O(n log n). */
bool is_nested_at(const Module *module, Sequence sequence, const SchedPos *positions,
                  SchedPos forward_end, uint32_t wanted, Arena *scratch);

#endif
