/* HloBuffers: values that must share one piece of memory (xla/hlo/analysis/hlo_alias_analysis.cc,
 * alias_info.cc).
 *
 * A loop's initial value, its parameters, what its body returns and its result are one buffer, part
 * by part; so are a conditional's results and what its branches return, an entry parameter and the
 * output that aliases it, and the operand and the result of an operation that works in place. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_ALIAS_H
#define REMAT_HLO_ANALYSIS_FLOW_ALIAS_H

#include "analysis/flow/dataflow.h"

typedef uint32_t BufferId;

typedef struct HloBuffers {
  BufferId *of; /* by ValueId; numbered by their first values */
  uint32_t num_buffers;
  uint32_t *first_value; /* by BufferId, one more: range in `values`, ascending */
  ValueId *values;
} HloBuffers;

HloBuffers hlo_buffers_build(const Module *module, const Dataflow *dataflow, Arena *out,
                             Arena *scratch);

/* By ValueId: whether it is an entry parameter that no output takes over. Such a one stays the
 * caller's: it is never written, and lives to the end. */
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

/* Appends the pairs that output_to_operand_aliasing names, in its order; XLA's parser takes pairs
 * of what is not there, which this leaves out. */
void annotated_alias_pairs(const Module *module, InstId id, InPlacePairs *pairs, Arena *out);

/* Appends the pairs of an instruction, those found inside a fusion's computation included. */
void in_place_pairs(const Module *module, InstId id, InPlacePairs *pairs, Arena *out);

/* Whether `user` may put its result's part `user_part` where the part `operand_part` of its operand
 * is, if that dies there; what the target's backend says goes before the general rules
 * (HloDataflowAnalysis::CanShareOperandBufferWithUser). */
bool can_share_operand_buffer(const Module *module, const Dataflow *dataflow, InstId operand,
                              uint32_t operand_part, InstId user, uint32_t user_part,
                              Arena *scratch);

#endif
