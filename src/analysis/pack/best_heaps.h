/* The packing best where heaps have a limit. */
#ifndef REMAT_HLO_ANALYSIS_PACK_BEST_HEAPS_H
#define REMAT_HLO_ANALYSIS_PACK_BEST_HEAPS_H

#include "analysis/pack/packing.h"

/* Starts from a packing by xla, with heaps, and never makes it higher. A heap that a buffer makes
 * larger than the limit may hold others of that size. Steps as for pack_best(). */
void pack_best_heaps(const PackProblem *problem, int64_t capacity_bytes, PackBudget *budget,
                     Packing *packing, Arena *scratch);

#endif
