/* What keeps recomputed values apart from the first ones, and in their places, when XLA compiles
 * the result. */
#ifndef REMAT_HLO_REMAT_PROTECT_PROTECT_H
#define REMAT_HLO_REMAT_PROTECT_PROTECT_H

#include "remat_hlo.h"

#include "remat/rewrite/rewrite.h"

/* What `how` comes to for a result of this form. */
rh_protect protect_resolve(rh_protect how, rh_emit emit);

/* Protects the clones of a module, `how` not being auto.
 *   control-deps: every clone waits for the instruction that the schedule has before it. XLA's
 *     schedulers obey that, and its common subexpression elimination leaves instructions with
 *     control dependencies alone.
 *   opt-barrier: what a group of clones in a row reads, and an array made just before it, go
 *     through one opt-barrier, as in jax.checkpoint; XLA merges nothing across it, and takes it
 *     away once the order is fixed.
 *   conditional: such a group is the taken branch of a conditional (JAX's pull request 2391).
 * Groups that a form cannot take get control dependencies.
 *
 * updates: module and schedule, together. cost: O(instructions + edges). */
void protect_clones(Rewrite *rewrite, Schedule *schedule, rh_protect how, Arena *out,
                    Arena *scratch);

#endif
