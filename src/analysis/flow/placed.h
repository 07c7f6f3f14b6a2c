/* What XLA:TPU's memory-space assignment has placed: instructions whose result or operand is in
 * VMEM or another memory apart from the device's. That assignment fills these memories to the last
 * byte, for one order, with copies from and to the device's memory at chosen places. So these
 * instructions keep their order, and none of them is computed again: each value there is live while
 * the same others are. Instructions that are not placed may run between them. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_PLACED_H
#define REMAT_HLO_ANALYSIS_FLOW_PLACED_H

#include "ir/module.h"

typedef struct PlacedInsts {
  const bool *of_comp; /* by CompId: whether some instruction in it or in its callees is placed;
                          NULL = the module is from before the assignment */
  uint32_t num_comps; /* number of computations at the time; a copy made later is like its origin */
} PlacedInsts;

/* Whether a value is in VMEM, which only the assignment puts there. */
bool module_is_placed(const Module *module);

PlacedInsts placed_build(const Module *module, Arena *out, Arena *scratch);

/* Whether the result of an instruction or one of its operands is in another memory than the
 * device's, on targets that have more of them than the host's. */
bool inst_reaches_other_memory(const Module *module, InstId id);

/* Whether the instruction, or what runs in the computations that it calls, is placed. */
bool inst_is_placed(const Module *module, const PlacedInsts *placed, InstId id);

#endif
