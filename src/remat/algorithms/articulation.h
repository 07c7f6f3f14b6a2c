/* Articulation points of the beginning of a computation: values that every path from the earlier
 * instructions to the later ones passes through. If they are kept, a recomputation never has to go
 * back further than the nearest one (Chen et al., "Training Deep Nets with Sublinear Memory Cost";
 * biconnected components as in Hopcroft and Tarjan, 1973).
 *
 * Example: in a chain of layers, the output of each layer is an articulation point; a value inside
 * a residual block is none, because the skip connection leads around it. */
#ifndef REMAT_HLO_REMAT_ALGORITHMS_ARTICULATION_H
#define REMAT_HLO_REMAT_ALGORITHMS_ARTICULATION_H

#include "ir/schedule.h"

/* Marks, by InstId in `is_point`, the articulation points among the first `len` instructions of the
 * sequence. Parameters and constants are ignored. Edges that carry at most `min_bytes` are ignored,
 * too: a shared scale or mask would connect everything. `positions` gives the position of each of
 * the sequence's instructions. O(instructions + edges). */
void mark_articulation_points(const Module *module, Sequence sequence, uint32_t len,
                              const SchedPos *positions, int64_t min_bytes, bool *is_point,
                              Arena *scratch);

#endif
