/* Where XLA puts every value of a scheduled module (xla/service/buffer_assignment.cc): parameters,
 * constants, results and tables of pointers have allocations of their own; other values go into one
 * of those as long as it is free, else into a heap that is packed from a simulation. */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_BUFFER_ASSIGNMENT_H
#define REMAT_HLO_ANALYSIS_MEMORY_BUFFER_ASSIGNMENT_H

#include "analysis/memory/allocation.h"
#include "analysis/memory/heap_simulator.h"
#include "analysis/memory/liveness.h"

typedef enum HeapDetail {
  HEAP_OFFSETS, /* where XLA puts every value */
  HEAP_SIZES,   /* how large its heaps are: offsets may be those of another packing of this size */
} HeapDetail;

typedef struct BufferAssignment {
  VEC(Allocation)
  allocations;            /* in XLA's order; temporaries of a color are one at the end, or
                             several if there is a limit */
  uint32_t num_temps;     /* of the allocations: the last ones */
  uint32_t *of;           /* by BufferId: its allocation */
  int64_t *offsets;       /* by ValueId: where it lies in its allocation */
  int64_t *heap_bytes_at; /* by time: live in heaps */
  LogicalTime *taken_at;  /* by ValueId: when a value in a heap lost its memory to another one
                             before it was freed, NO_TIME = never */
  int64_t parameter_bytes;
  int64_t output_bytes;  /* what holds the results, parameters among them too */
  int64_t aliased_bytes; /* parameters that hold results */
  int64_t constant_bytes;
  int64_t temp_bytes; /* heaps and tables, each at a multiple of the alignment */
  int64_t heap_bytes; /* of temp_bytes: the heaps alone */
  int64_t thread_local_bytes;
} BufferAssignment;

/* What packs the module's heaps. */
const Packer *heap_packer(const Module *module);

/* O(n log n) in values and operands, times the colors, and what heap_packer() takes. */
BufferAssignment buffer_assignment_run(const Module *module, const ValueAnalysis *values,
                                       const LiveRanges *ranges, int64_t alignment,
                                       HeapDetail detail, Arena *out, Arena *scratch);

#endif
