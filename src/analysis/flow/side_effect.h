/* Which instructions do more than compute their result: what must run exactly once, in its order.
 */
#ifndef REMAT_HLO_ANALYSIS_FLOW_SIDE_EFFECT_H
#define REMAT_HLO_ANALYSIS_FLOW_SIDE_EFFECT_H

#include "ir/module.h"

typedef struct SideEffects {
  const bool *of_comp; /* by CompId: some instruction in it, or in what it calls, has one */
  uint32_t num_comps;  /* that the module had; a copy made later is like its origin */
} SideEffects;

SideEffects side_effects_build(const Module *module, Arena *out, Arena *scratch);

/* HloInstruction::HasSideEffectNoRecurse: the instruction itself, whatever it calls. */
bool inst_has_own_side_effect(const Module *module, InstId id);

/* HloInstruction::HasSideEffect. */
bool inst_has_side_effect(const Module *module, const SideEffects *effects, InstId id);

#endif
