/* What a heap is asked for while a module runs (xla/service/heap_simulator/heap_simulator.cc,
 * RunComputation): memory for each value where it is defined, its return where the value is read
 * for the last time.
 *
 * A value gets the memory of another one when both belong to one HloBuffer, or when an operand that
 * dies in this very step may be written over; the operand is freed first. */
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
  ValueId with;  /* of HEAP_SHARE: who has the memory already */
  int64_t bytes; /* of the memory: the largest value of the HloBuffer */
} HeapEvent;

typedef struct HeapTrace {
  VEC(HeapEvent) events; /* by time; in a step first what is defined, then what is freed */
} HeapTrace;

typedef struct HeapQuery {
  const Module *module;
  const Dataflow *flow;
  const HloBuffers *buffers;
  const LiveRanges *ranges;
  const bool *is_wanted; /* by ValueId: values to be placed; NULL = all but constants */
} HeapQuery;

/* Every value that is defined is freed. O(values + operands) and what can_share_operand_buffer
 * takes for operands that die. */
HeapTrace heap_simulate(const HeapQuery *query, Arena *out, Arena *scratch);

typedef enum SharedCount {
  /* Where one value of a buffer hands over to the next, XLA counted both for that step, up to
   * August 2026. Its `default` scheduler judged by this figure, so does ours. */
  COUNT_SHARED_TWICE,
  COUNT_SHARED_ONCE,
} SharedCount;

/* What is counted, in arrays of the caller's. */
typedef struct HeapCount {
  int64_t *bytes_at;     /* by time: the most that is live at it is added */
  LogicalTime *taken_at; /* by ValueId: when an operand's memory went to another value */
  ValueId *place_of;     /* by ValueId: one of the values that have the same memory; may be NULL */
  int64_t *counted;      /* by ValueId: the bytes of that memory; may be NULL */
} HeapCount;

/* Follows a trace of `num_values` values up to `num_times`. */
void heap_count_live(const HeapTrace *trace, SharedCount count, LogicalTime num_times,
                     uint32_t num_values, const HeapCount *result, Arena *scratch);

/* What a trace asks for: a buffer for all values that have the same memory, in the order of the ids
 * of those that are allocated; a tick for each event. Values without bytes ask for nothing. */
typedef struct HeapRequests {
  PackProblem problem;
  ValueId *values; /* by range */
} HeapRequests;

HeapRequests heap_requests(const HeapTrace *trace, uint32_t num_values, int64_t alignment,
                           Arena *out, Arena *scratch);

#endif
