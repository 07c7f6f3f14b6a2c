/* Heap simulator: the requests that a heap gets while a module runs
 * (xla/service/heap_simulator/heap_simulator.cc, RunComputation). Memory for a value is requested
 * where the value is defined and returned where the value is read for the last time.
 *
 * A value gets the memory of another one if both belong to one HloBuffer, or if an operand that
 * dies at this very instruction may be overwritten. In the second case the operand is freed first.
 *
 * Example:
 *   a = f32[8] parameter(0)     alloc a
 *   b = f32[8] negate(a)        alloc b            (a is the caller's and is not overwritten)
 *   c = f32[8] sine(b)          free b, share c with b
 *   ROOT d = f32[8] add(a, c)   free c, share d with c
 *   the end                     free a, free d */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_HEAP_SIMULATOR_H
#define REMAT_HLO_ANALYSIS_MEMORY_HEAP_SIMULATOR_H

#include "analysis/memory/live_range.h"
#include "analysis/pack/packing.h"

typedef enum HeapEventKind {
  HEAP_ALLOC,
  HEAP_SHARE,
  HEAP_FREE,
} HeapEventKind;

typedef struct HeapEvent {
  uint8_t kind; /* HeapEventKind */
  LogicalTime time;
  ValueId value;
  ValueId with;  /* for HEAP_SHARE: the value that has the memory already */
  int64_t bytes; /* size of the memory: that of the HloBuffer's largest value */
} HeapEvent;

typedef struct HeapTrace {
  VEC(HeapEvent) events; /* by time; at one time definitions come before frees */
} HeapTrace;

typedef struct HeapQuery {
  const Module *module;
  const Dataflow *flow;
  const HloBuffers *buffers;
  const LiveRanges *ranges;
  const bool
      *is_wanted; /* by ValueId: whether the value is to be placed; NULL = all but constants */
  bool without_barriers; /* as if each opt-barrier, and a tuple in front of it, were gone */
} HeapQuery;

/* Every value that is defined is also freed. O(values + operands), plus can_share_operand_buffer()
 * for operands that die. */
HeapTrace heap_simulate(const HeapQuery *query, Arena *out, Arena *scratch);

typedef enum SharedCount {
  /* Where one value of a buffer passes its memory on to the next, XLA counted both at that time, up
   * to August 2026. XLA's `default` scheduler judged by this figure, so ours does, too. */
  COUNT_SHARED_TWICE,
  COUNT_SHARED_ONCE,
} SharedCount;

/* The counts, in arrays of the caller. */
typedef struct HeapCount {
  int64_t *bytes_at;     /* by time: the largest number of bytes live at it is added */
  LogicalTime *taken_at; /* by ValueId: when an operand's memory was given to another value */
  ValueId
      *place_of;    /* by ValueId: a representative of the values in the same memory; may be NULL */
  int64_t *counted; /* by ValueId: the bytes of that memory; may be NULL */
} HeapCount;

/* Counts the live bytes of a trace of `num_values` values up to the time `num_times`. */
void heap_count_live(const HeapTrace *trace, SharedCount count, LogicalTime num_times,
                     uint32_t num_values, const HeapCount *result, Arena *scratch);

/* A trace as a packing problem. All values in the same memory are one buffer. Buffers are in the
 * order of the ids of the values that are allocated, and each event is one tick. Values without
 * bytes need no buffer. */
typedef struct HeapRequests {
  PackProblem problem;
  ValueId *values; /* by range: the value that has this range */
} HeapRequests;

HeapRequests heap_requests(const HeapTrace *trace, uint32_t num_values, int64_t alignment,
                           Arena *out, Arena *scratch);

#endif
