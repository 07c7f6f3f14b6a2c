/* Articulation points of a computation's beginning: values that everything computed before passes
 * through on its way to everything computed after. Keeping them bounds how far back a recomputation
 * must go (Chen et al., "Training Deep Nets with Sublinear Memory Cost"; biconnected components as
 * in Hopcroft and Tarjan, 1973). */
#ifndef REMAT_HLO_REMAT_ALGORITHMS_ARTICULATION_H
#define REMAT_HLO_REMAT_ALGORITHMS_ARTICULATION_H

#include "ir/schedule.h"

/* Marks, by InstId in `is_point`, the articulation points among the first `len` instructions of the
 * sequence. Parameters and constants are left out, and so are edges that carry at most `min_bytes`:
 * a shared scale or mask would tie everything together. `positions` gives the place of each of the
 * sequence's instructions. O(instructions + edges). */
void mark_articulation_points(const Module *module, Sequence sequence, uint32_t len,
                              const SchedPos *positions, int64_t min_bytes, bool *is_point,
                              Arena *scratch);

#endif
