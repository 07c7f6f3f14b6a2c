/* Best fit in a given order: each buffer goes into the smallest gap between those that were placed
 * before and live at the same time, the lowest of equal ones; above all of them when none fits. */
#ifndef REMAT_HLO_ANALYSIS_PACK_BEST_FIT_H
#define REMAT_HLO_ANALYSIS_PACK_BEST_FIT_H

#include "analysis/pack/heaps.h"

/* Sets the offsets of the buffers in `order`, as if there were no others. O(log n + gaps) for each
 * range: gaps, between what lives beside it, are few as long as the packing is dense. Counts steps
 * in `budget`, but does not stop. */
void best_fit(const PackSections *sections, const uint32_t *order, uint32_t len, int64_t *offsets,
              PackBudget *budget, Arena *scratch);

/* Fills an empty heap: of the buffers in `order` those go into it whose value that is allocated
 * ends within the limit, and the first one in any case. The others stay in `order`; returns how
 * many. Needs bytes in all of them. As best_fit(), for each of them. */
uint32_t best_fit_heap(const PackSections *sections, uint32_t *order, uint32_t len, PackHeap *heap,
                       Packing *packing, PackBudget *budget, Arena *scratch);

#endif
