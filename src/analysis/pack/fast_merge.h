/* One heap of the packing fast-merge, for others that finish theirs in its way. */
#ifndef REMAT_HLO_ANALYSIS_PACK_FAST_MERGE_H
#define REMAT_HLO_ANALYSIS_PACK_FAST_MERGE_H

#include "analysis/pack/heaps.h"

/* Buffers and when all that is colocated in them has ended; by that. */
typedef struct PackEnd {
  int64_t end;
  uint32_t buffer;
} PackEnd;

PackEnd *pack_sort_ends(const PackProblem *problem, const uint32_t *order, uint32_t len,
                        Arena *out);

/* Puts buffers of `order`, which is PACK_BY_START, into a heap, above what it has. Those that would
 * end above the limit stay in `order`; returns how many. `ends` has them all. */
uint32_t fast_merge_heap(const PackProblem *problem, uint32_t *order, uint32_t len,
                         const PackEnd *ends, PackHeap *heap, Packing *packing, PackBudget *budget,
                         Arena *scratch);

#endif
