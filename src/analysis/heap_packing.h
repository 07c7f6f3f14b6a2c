/* Offsets for pieces of memory whose times are known, by XLA's best fit
 * (GlobalDecreasingSizeBestFit- Heap in xla/service/heap_simulator/heap_simulator.cc): one piece
 * after the other, in an order of size or of time, into the smallest gap that is free as long as it
 * lives. Both orders are tried and the smaller heap is taken, as BufferAssigner does. */
#ifndef REMAT_HLO_ANALYSIS_HEAP_PACKING_H
#define REMAT_HLO_ANALYSIS_HEAP_PACKING_H

#include "ir/arena.h"
#include "ir/ids.h"

typedef struct HeapInterval {
  int64_t bytes;  /* > 0 */
  uint32_t begin; /* in ticks of a clock; no two intervals begin or end at one tick */
  uint32_t end;   /* inclusive */
  uint32_t with;  /* the interval whose offset it must have, NO_ID = its own; no cycles */
} HeapInterval;

typedef struct HeapPacking {
  int64_t *offsets; /* by interval, multiples of the alignment */
  int64_t bytes;    /* the end of the last one, not rounded up */
} HeapPacking;

typedef enum HeapOrder {
  HEAP_SPATIAL,  /* large ones first, then those that live long */
  HEAP_TEMPORAL, /* those that live long first, with all that share their memory; then large ones */
  HEAP_BEST,     /* what gives the smaller heap, SPATIAL if both do */
} HeapOrder;

/* Equal sizes and durations are placed in the order of the list. O(intervals · (log intervals +
 * gaps)): gaps, between what lives beside an interval, are few as long as the heap is dense. */
HeapPacking heap_pack(const HeapInterval *intervals, uint32_t num_intervals, HeapOrder order,
                      int64_t alignment, Arena *out, Arena *scratch);

#endif
