/* Allocations: pieces of memory that hold one HloBuffer after the other (BufferAllocation and
 * BufferAssigner::MaybeAssignBuffer in xla/service/buffer_assignment.cc). */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_ALLOCATION_H
#define REMAT_HLO_ANALYSIS_MEMORY_ALLOCATION_H

#include "analysis/memory/live_range.h"

typedef enum AllocationKind {
  ALLOCATION_PLAIN,
  ALLOCATION_PARAMETER, /* of the entry */
  ALLOCATION_CONSTANT,
  ALLOCATION_TUPLE, /* a table of pointers; never holds anything else */
  ALLOCATION_HEAP,  /* temporaries, packed */
  ALLOCATION_THREAD_LOCAL,
} AllocationKind;

typedef struct Allocation {
  uint32_t id;      /* its index when it was made */
  uint8_t kind;     /* AllocationKind */
  bool is_donated;  /* a parameter that an output takes over: may be written */
  bool is_live_out; /* holds a part of the entry's result */
  int64_t color;    /* the memory space S(n) */
  int64_t bytes;
  ValueId values;       /* root of the tree of its values, NO_ID = none */
  InstId inst;          /* what an allocation without values is for, else NO_ID */
  uint64_t busy_slices; /* bits of slices of the whole time: taken from begin to end */
  LiveRange longest;    /* of its values; from NO_TIME on if there is none */
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
  int64_t *buffer_bytes; /* by BufferId: of its largest value */
  bool *is_live_out;     /* by BufferId */
  ValueId *left, *right; /* by ValueId: the values of an allocation by their live ranges, a treap */
  LogicalTime slice_time; /* of a slice of the time, for busy_slices */
} Allocations;

/* `out` keeps the list and what is by buffer, the rest lives in `scratch`. */
Allocations allocations_init(const Module *module, const Dataflow *flow, const HloBuffers *buffers,
                             const LiveRanges *ranges, Arena *out, Arena *scratch);

/* A new allocation, of the buffer's size and with it inside; empty when `buffer` is NO_ID. */
uint32_t allocations_new(Allocations *allocations, AllocationKind kind, BufferId buffer);

/* The memory space of a buffer's values. */
int64_t allocations_color(const Allocations *allocations, BufferId buffer);

/* Puts the buffer into the allocation if it is large enough, may be written, and holds nothing at
 * the time; what lives out needs one of its very size. O(values · log(values there)). */
bool allocations_try(Allocations *allocations, uint32_t allocation, BufferId buffer);

/* Slices of the time in which the buffer lives: an allocation with a busy one cannot take it. */
uint64_t allocations_slices(const Allocations *allocations, BufferId buffer);

/* The longest live range of its values; from NO_TIME on if none runs. */
LiveRange allocations_longest(const Allocations *allocations, BufferId buffer);

#endif
