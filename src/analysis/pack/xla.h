/* The orders in which XLA places buffers, and best fit in one of these orders. */
#ifndef REMAT_HLO_ANALYSIS_PACK_XLA_H
#define REMAT_HLO_ANALYSIS_PACK_XLA_H

#include "analysis/pack/sections.h"

typedef enum PackOrder {
  PACK_SPATIAL,  /* by first_bytes, then by how long the value that is allocated lives */
  PACK_TEMPORAL, /* by the length of pack_whole_range(), then by first_bytes */
  PACK_BY_START, /* by the first tick of pack_whole_range(), the earliest first; then by first_bytes
                  */
  PACK_SHORTEST, /* by the length of pack_whole_range(), the shortest first; then by first_bytes */
} PackOrder;

/* Sorts buffers, the largest key first; of equal ones the smallest id first. */
void pack_xla_sort(const PackProblem *problem, PackOrder by, uint32_t *buffers, uint32_t len,
                   Arena *scratch);

/* Sets the offsets; returns the height. */
int64_t pack_xla_in_order(const PackSections *sections, PackOrder by, int64_t *offsets,
                          PackBudget *budget, Arena *scratch);

typedef enum HeapRule {
  HEAP_OF_LIMIT, /* XLA's */
  HEAP_OF_FIRST, /* a heap that its first buffer makes larger than the limit takes other buffers up
                    to that size */
} HeapRule;

/* Fills one heap after the other by best fit; each gets the buffers that still fit. Sets offsets,
 * heaps and the sum of their heights. */
void pack_xla_fill_heaps(const PackSections *sections, PackOrder by, HeapRule rule,
                         Packing *packing, PackBudget *budget, Arena *scratch);

#endif
