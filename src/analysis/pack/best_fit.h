/* Best fit in a given order: each buffer goes into the smallest gap between the buffers that were
 * placed before and live at the same time, the lowest of equal gaps; above all of these buffers
 * when no gap is large enough.
 *
 * Example: a at [0, 32) and c at [48, 80) live with a new buffer of 16 bytes; it goes into the gap
 * [32, 48). A buffer of 20 bytes goes to 80. */
#ifndef REMAT_HLO_ANALYSIS_PACK_BEST_FIT_H
#define REMAT_HLO_ANALYSIS_PACK_BEST_FIT_H

#include "analysis/pack/heaps.h"

/* Sets the offsets of the buffers in `order`, without regard to other buffers. O(log n + gaps) for
 * each range, where gaps are those between the buffers that live at its time, of which there are
 * few if the packing is dense. Counts steps in `budget`, but does not stop when they are spent. */
void best_fit(const PackSections *sections, const uint32_t *order, uint32_t len, int64_t *offsets,
              PackBudget *budget, Arena *scratch);

/* Fills an empty heap with buffers of `order`: a buffer is put into it if the value that is
 * allocated in the buffer ends within the limit; the first buffer always is. The other buffers stay
 * in `order`; returns their number. All buffers must have bytes. Costs as much as best_fit(). */
uint32_t best_fit_heap(const PackSections *sections, uint32_t *order, uint32_t len, PackHeap *heap,
                       Packing *packing, PackBudget *budget, Arena *scratch);

#endif
