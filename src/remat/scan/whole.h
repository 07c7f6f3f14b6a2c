/* Fusions of a writing loop of which a value is only a part, and which must stay whole because
 * their sums would round otherwise without the rest (ROUND_BY_FUNCTION in
 * analysis/flow/rounding.h). A clone has all results of the fusion. Where it writes a slice of a
 * stack, the clone writes it into an array with room for a few slices (remat/scan/slots.h).
 *
 * Example: of (f32[8,4], f32[4]) fusion(stack, i, x), whose computation returns
 * dynamic-update-slice(stack, y, i) and z, values are y and z. A clone reads f32[3,4] instead of
 * the stack. Its first result has y as a slice, its second one is z. */
#ifndef REMAT_HLO_REMAT_SCAN_WHOLE_H
#define REMAT_HLO_REMAT_SCAN_WHOLE_H

#include "remat/scan/maker.h"

typedef struct WholeResult {
  InstId inst;      /* in the fused computation */
  InstId write;     /* the dynamic-update-slice of a stack that it is; NO_ID = it is none */
  uint32_t operand; /* of the fusion: the stack */
  uint32_t stack;
} WholeResult;

typedef VEC(WholeResult) WholeResults;

/* What the results of a fusion in the body of a loop are. False if the fusion does more with a
 * stack than to write a slice of it. */
bool whole_results(const Stacks *stacks, uint32_t loop, InstId fusion, WholeResults *results,
                   Arena *out);

/* The result that is the value of `inner`, an instruction of the fused computation, or writes it
 * into a stack; NO_ID if none does. */
uint32_t whole_result_of(const Module *module, const WholeResults *results, InstId inner);

/* By operand of the fusion: it is a stack of which a result writes a slice. */
bool *whole_narrowed(const Module *module, InstId fusion, const WholeResults *results, Arena *out);

/* The dimension along which such a result's dynamic-update-slice writes slices. */
uint32_t whole_write_dim(const Stacks *stacks, const WholeResult *result);

/* The value of `inner` as `shape`, from a clone of the fusion in the body of `reader`, whose
 * iterations are those of the writing loop in `iterations`. `operands` has the clone's operands,
 * but not the stacks. What was cloned for another value is used again. */
InstId whole_value(Maker *maker, uint32_t writer, const Loop *reader, const int64_t *iterations,
                   InstId fusion, InstId inner, ShapeId shape, InstId *operands, uint32_t position);

/* If a fusion with several results writes a stack, gives the writing loop an array with room for
 * a few slices instead of the stack, which nothing reads any more. `is_unread`, by stack, has all
 * of these. A fusion that is not needed either is removed later, like one that need not stay whole.
 */
void whole_shrink_stack(Maker *maker, const Stack *stack, const bool *is_unread);

/* Whether a clone is there already. */
bool whole_is_cloned(const Maker *maker, const Loop *reader, const int64_t *iterations,
                     InstId fusion);

#endif
