/* Allocations: pieces of memory, each of which holds one HloBuffer after the other
 * (BufferAllocation and BufferAssigner::MaybeAssignBuffer in xla/service/buffer_assignment.cc).
 *
 * Example: the parameter f32[256] p is donated to an output. Its allocation of 1024 bytes holds p
 * until time 3 and the output from time 7 on. A temporary f32[128] that lives from time 5 to time 6
 * can be put into the allocation. */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_ALLOCATION_H
#define REMAT_HLO_ANALYSIS_MEMORY_ALLOCATION_H

#include "analysis/memory/live_range.h"
#include "analysis/pack/free_time.h"

typedef enum AllocationKind {
  ALLOCATION_PLAIN,
  ALLOCATION_PARAMETER, /* of the entry */
  ALLOCATION_CONSTANT,
  ALLOCATION_TUPLE, /* a table of pointers; holds nothing else */
  ALLOCATION_HEAP,  /* temporaries, packed */
  ALLOCATION_THREAD_LOCAL,
} AllocationKind;

typedef struct Allocation {
  uint32_t id;      /* its index in the list when it was created */
  uint8_t kind;     /* AllocationKind */
  bool is_donated;  /* an output aliases this parameter, so it may be overwritten */
  bool is_live_out; /* holds a part of the entry's result */
  int64_t color;    /* the memory space S(n) */
  int64_t bytes;
  ValueId values;     /* root of the tree of the values in it, NO_ID = none */
  InstId inst;        /* the instruction that an allocation without values belongs to, else NO_ID */
  uint32_t reusable;  /* its place in the index of allocations to be reused, NO_ID = none */
  FreeTime free_time; /* when it may hold another value; says too much rather than too little */
} Allocation;

typedef struct Allocations {
  const Module *module;
  const Dataflow *flow;
  const HloBuffers *buffers;
  const LiveRanges *ranges;
  Arena *out;
  Arena *scratch;
  VEC(Allocation) list;
  uint32_t *of;          /* by BufferId: its allocation, NO_ID = none yet */
  int64_t *buffer_bytes; /* by BufferId: bytes of its largest value */
  bool *is_live_out;     /* by BufferId */
  ValueId *left, *right; /* by ValueId: children in the tree (a treap) of an allocation's values by
                            live range */
} Allocations;

/* The list and the arrays by BufferId are allocated in `out`, everything else in `scratch`. */
Allocations allocations_init(const Module *module, const Dataflow *flow, const HloBuffers *buffers,
                             const LiveRanges *ranges, Arena *out, Arena *scratch);

/* Creates an allocation of the buffer's size that holds the buffer. It is empty when `buffer` is
 * NO_ID. */
uint32_t allocations_new(Allocations *allocations, AllocationKind kind, BufferId buffer);

/* The memory space of a buffer's values. */
int64_t allocations_color(const Allocations *allocations, BufferId buffer);

/* Puts the buffer into the allocation if the allocation is large enough, may be written, and holds
 * nothing at the time. A buffer that is live out needs an allocation of exactly its size. O(values
 * · log(values in the allocation)). */
bool allocations_try(Allocations *allocations, uint32_t allocation, BufferId buffer);

/* The longest live range of the buffer's values; its start is NO_TIME if no value runs. */
LiveRange allocations_longest(const Allocations *allocations, BufferId buffer);

#endif
