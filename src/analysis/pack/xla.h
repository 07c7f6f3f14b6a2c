/* The orders in which XLA places buffers, and best fit in one of them by itself. */
#ifndef REMAT_HLO_ANALYSIS_PACK_XLA_H
#define REMAT_HLO_ANALYSIS_PACK_XLA_H

#include "analysis/pack/sections.h"

typedef enum PackOrder {
  PACK_SPATIAL,  /* by first_bytes, then by how long the value that is allocated lives */
  PACK_TEMPORAL, /* by the time from the first tick of what is colocated to the last, then by
                    first_bytes */
  PACK_BY_START, /* by the first tick of what is colocated, that least first; then by first_bytes */
} PackOrder;

/* Sorts buffers, the largest first, of equal ones the first. */
void pack_xla_sort(const PackProblem *problem, PackOrder by, uint32_t *buffers, uint32_t len,
                   Arena *scratch);

/* Sets the offsets; returns the height. */
int64_t pack_xla_in_order(const PackSections *sections, PackOrder by, int64_t *offsets,
                          PackBudget *budget, Arena *scratch);

typedef enum HeapRule {
  HEAP_OF_LIMIT, /* XLA's */
  HEAP_OF_FIRST, /* one that its first buffer makes larger than the limit takes others up to that */
} HeapRule;

/* Best fit into one heap after the other; each gets what still fits. Sets offsets, heaps and their
 * sum. */
void pack_xla_fill_heaps(const PackSections *sections, PackOrder by, HeapRule rule,
                         Packing *packing, PackBudget *budget, Arena *scratch);

#endif
