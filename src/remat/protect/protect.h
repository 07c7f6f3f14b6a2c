/* Protection of clones: it prevents XLA from merging recomputed values with the original ones, and
 * from moving them, when XLA compiles the result.
 *
 * Example: XLA's common subexpression elimination would merge `exp.remat` with `exp` if both are
 * exp(p). If the clone reads p through an opt-barrier, the two are different expressions. */
#ifndef REMAT_HLO_REMAT_PROTECT_PROTECT_H
#define REMAT_HLO_REMAT_PROTECT_PROTECT_H

#include "remat_hlo.h"

#include "remat/rewrite/rewrite.h"

/* Resolves `how` if it is auto, for a result of the form `emit`. */
rh_protect protect_resolve(rh_protect how, rh_emit emit);

/* Whether XLA has yet to fuse the module; the negation of the rule in rh_module_info. */
bool is_fused_later(const Module *module);

/* Protects the clones of a module. `how` must not be auto.
 *   - control-deps: every clone waits for the instruction that precedes it in the schedule. XLA's
 *     schedulers obey control dependencies, and its common subexpression elimination does not touch
 *     instructions that have some.
 *   - opt-barrier: clones that are adjacent in the schedule form a group. The operands of the
 *     group, and an array that is computed just before it, pass through one opt-barrier, as in
 *     jax.checkpoint. XLA merges nothing across the barrier, and removes it when the order is
 *     fixed.
 *   - conditional: such a group becomes the branch of a conditional that is always taken (JAX's
 *     pull request 2391).
 * Groups for which a form is not possible get control dependencies.
 *
 * updates: module and schedule, together. cost: O(instructions + edges). */
void protect_clones(Rewrite *rewrite, Schedule *schedule, rh_protect how, Arena *out,
                    Arena *scratch);

/* Holds instructions at their places in a schedule by control dependencies. Each one that has moved
 * waits for what runs before it and counts, and what runs behind it waits for it; what has not
 * moved is left to XLA, which makes much the same of it as before. With NULL as `is_moved`, by
 * InstId, the whole order is held. No dependency is added where operands, or others, lead to the
 * same. None is added to what takes no time. They agree with the schedule, so that there is no
 * cycle.
 *
 * updates: module. cost: O(instructions + edges). */
void protect_order(Rewrite *rewrite, const Schedule *schedule, const bool *is_moved,
                   Arena *scratch);

#endif
