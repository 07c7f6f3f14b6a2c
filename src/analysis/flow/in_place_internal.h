/* What the files of buffer sharing know of each other. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_IN_PLACE_INTERNAL_H
#define REMAT_HLO_ANALYSIS_FLOW_IN_PLACE_INTERNAL_H

#include "analysis/flow/dataflow.h"

/* The parameter that an operand is in a fused computation; NO_ID for one beyond them. */
InstId fused_param(const Module *module, InstId fusion, uint32_t operand);

/* HloInstruction::IsElementwiseOnOperand; `nesting` counts the fusions around. */
bool is_elementwise_on(const Module *module, InstId user, uint32_t operand, int nesting,
                       Arena *scratch);

typedef enum ShareHint {
  SHARE_UNDECIDED, /* the general rules say */
  SHARE_YES,
  SHARE_NO,
} ShareHint;

/* What XLA:GPU says of a result that would take the place of an operand, the `index`th of `user`.
 */
ShareHint gpu_share_hint(const Module *module, InstId user, uint32_t user_part, uint32_t index,
                         Arena *scratch);

#endif
