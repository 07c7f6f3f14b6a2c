/* HloBuffers: sets of HloValues that must share one piece of memory
 * (xla/hlo/analysis/hlo_alias_analysis.cc, alias_info.cc).
 *
 * Part by part, a loop's initial value, its parameters, what its body returns and its result are
 * one buffer. So are a conditional's result and what its branches return, an entry parameter and
 * the output that aliases it, and the operand and the result of an operation that works in place.
 *
 * Example: in u = f32[8] dynamic-update-slice(a, b, i) the values of a and u are one HloBuffer, and
 * those of b and i are two others. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_ALIAS_H
#define REMAT_HLO_ANALYSIS_FLOW_ALIAS_H

#include "analysis/flow/dataflow.h"

typedef uint32_t BufferId;

typedef struct HloBuffers {
  BufferId *of; /* by ValueId; buffers are numbered in the order of their first values */
  uint32_t num_buffers;
  uint32_t *first_value; /* by BufferId, one entry more: range in `values`, ascending */
  ValueId *values;
} HloBuffers;

HloBuffers hlo_buffers_build(const Module *module, const Dataflow *dataflow, Arena *out,
                             Arena *scratch);

/* Whether a buffer has only one value. */
static inline bool hlo_buffer_is_alone(const HloBuffers *buffers, BufferId buffer) {
  return buffers->first_value[buffer + 1] - buffers->first_value[buffer] == 1;
}

/* By ValueId: whether the value is an entry parameter that no output aliases. Such a parameter
 * remains the caller's: it is never written, and it lives to the end. */
bool *values_of_callers(const Module *module, const Dataflow *dataflow, Arena *out);

/* An operand that must share memory with a result (AliasInfo::GetInPlaceInputOutputPairs). */
typedef struct InPlacePair {
  uint32_t operand;
  uint32_t operand_part;
  uint32_t output_part;
} InPlacePair;

typedef struct InPlacePairs {
  VEC(InPlacePair) list;
} InPlacePairs;

/* Appends the pairs of output_to_operand_aliasing, in their order. Pairs of parts that do not
 * exist, which XLA's parser accepts, are left out. */
void annotated_alias_pairs(const Module *module, InstId id, InPlacePairs *pairs, Arena *out);

/* Appends the in-place pairs of an instruction, including those found inside a fused
 * computation. */
void in_place_pairs(const Module *module, InstId id, InPlacePairs *pairs, Arena *out);

/* Whether `user` may write part `user_part` of its result into the memory of part `operand_part` of
 * its operand, if the operand dies there. A rule of the target's backend takes precedence over the
 * general rules (HloDataflowAnalysis::CanShareOperandBufferWithUser). */
bool can_share_operand_buffer(const Module *module, const Dataflow *dataflow, InstId operand,
                              uint32_t operand_part, InstId user, uint32_t user_part,
                              Arena *scratch);

#endif
