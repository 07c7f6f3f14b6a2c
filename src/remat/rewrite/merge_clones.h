/* What XLA's common subexpression elimination (xla/service/hlo_cse.cc) undoes of a result that is
 * compiled from the start. */
#ifndef REMAT_HLO_REMAT_REWRITE_MERGE_CLONES_H
#define REMAT_HLO_REMAT_REWRITE_MERGE_CLONES_H

#include "ir/marks.h"
#include "remat/rewrite/rewrite.h"

/* Drops all control dependencies, which StableHLO does not have, merges clones with their originals
 * and with each other where they read the same operands, and removes dead code. What the program
 * itself computes twice is left alone. Operands must come before users in the lists of
 * instructions, as they do in a module that was read from a text in topological order. `marks` are
 * those of the module; NULL = there are no clones. Returns the number of clones that were merged.
 *
 * updates: the module. breaks: schedules and every analysis. cost: O(instructions + edges). */
uint32_t merge_clones(Rewrite *rewrite, RematMarks marks, Arena *scratch);

#endif
