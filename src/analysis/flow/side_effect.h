/* Side effects: the instructions that do more than compute their result, and therefore must run
 * exactly once and in their order. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_SIDE_EFFECT_H
#define REMAT_HLO_ANALYSIS_FLOW_SIDE_EFFECT_H

#include "ir/module.h"

typedef struct SideEffects {
  const bool
      *of_comp; /* by CompId: whether some instruction in it or in its callees has a side effect */
  const bool *are_counted; /* by CompId: the same without what may happen more than once */
  const bool *is_alone;    /* by CompId: whether it runs in a call that XLA:CPU compiles as one
                              function, so that all of it decides how its sums round (rounding.h) */
  uint32_t num_comps; /* number of computations at the time; a copy made later is like its origin */
} SideEffects;

SideEffects side_effects_build(const Module *module, Arena *out, Arena *scratch);

/* Whether the instruction is compiled within such a call. */
bool inst_is_compiled_alone(const Module *module, const SideEffects *effects, InstId id);

/* HloInstruction::HasSideEffectNoRecurse: the instruction itself, without its callees. */
bool inst_has_own_side_effect(const Module *module, InstId id);

/* HloInstruction::HasSideEffect. */
bool inst_has_side_effect(const Module *module, const SideEffects *effects, InstId id);

/* Whether an instruction, without its callees, has a side effect that must happen exactly once. A
 * collective has none: all devices repeat it together. */
bool inst_has_own_counted_effect(const Module *module, InstId id);

/* The same with its callees. */
bool inst_has_counted_effect(const Module *module, const SideEffects *effects, InstId id);

/* Whether an instruction runs in the same sequence with others of its kind in every order:
 * collectives, and what has a side effect. */
bool inst_keeps_sequence(const Module *module, const SideEffects *effects, InstId id);

#endif
