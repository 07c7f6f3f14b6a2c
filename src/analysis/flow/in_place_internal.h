/* Declarations shared by the files that decide buffer sharing. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_IN_PLACE_INTERNAL_H
#define REMAT_HLO_ANALYSIS_FLOW_IN_PLACE_INTERNAL_H

#include "analysis/flow/dataflow.h"

/* The parameter of the fused computation for an operand of the fusion; NO_ID if it has none. */
InstId fused_param(const Module *module, InstId fusion, uint32_t operand);

/* HloInstruction::IsElementwiseOnOperand. `nesting` is the number of enclosing fusions. */
bool is_elementwise_on(const Module *module, InstId user, uint32_t operand, int nesting,
                       Arena *scratch);

typedef enum ShareHint {
  SHARE_UNDECIDED, /* the general rules decide */
  SHARE_YES,
  SHARE_NO,
} ShareHint;

/* XLA:GPU's rule for a result that would take the memory of operand number `index` of `user`. */
ShareHint gpu_share_hint(const Module *module, InstId user, uint32_t user_part, uint32_t index,
                         Arena *scratch);

#endif
