/* Buffer assignment: where XLA puts every value of a scheduled module
 * (xla/service/buffer_assignment.cc). Parameters, constants, results and tables of pointers have
 * allocations of their own. Another value goes into one of these as long as it is free, else into a
 * heap whose offsets are packed after a simulation of the heap.
 *
 * Example: the parameter f32[256] p is donated to an output, dies at time 3, and the output is
 * defined at time 7. A temporary f32[128] that lives from time 5 to time 6 goes into p's
 * allocation; a temporary f32[512] goes into the heap. */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_BUFFER_ASSIGNMENT_H
#define REMAT_HLO_ANALYSIS_MEMORY_BUFFER_ASSIGNMENT_H

#include "analysis/memory/allocation.h"
#include "analysis/memory/heap_simulator.h"
#include "analysis/memory/liveness.h"

typedef enum HeapDetail {
  HEAP_OFFSETS, /* where XLA puts every value */
  HEAP_SIZES, /* how large XLA's heaps are; the offsets may be those of another packing of that size
               */
} HeapDetail;

typedef struct BufferAssignment {
  VEC(Allocation)
  allocations; /* in XLA's order; the temporaries of one color are one allocation at the end, or
                  several if there is a limit */
  uint32_t num_temps;     /* number of allocations of temporaries, which are the last ones */
  uint32_t *of;           /* by BufferId: its allocation */
  int64_t *offsets;       /* by ValueId: its offset in its allocation */
  int64_t *heap_bytes_at; /* by time: bytes that are live in the heaps */
  LogicalTime *taken_at; /* by ValueId: when another value took over the memory of a value in a heap
                            before it was freed, NO_TIME = never */
  int64_t parameter_bytes;
  int64_t output_bytes;  /* allocations that hold results, including parameters that do */
  int64_t aliased_bytes; /* parameters that hold results */
  int64_t constant_bytes;
  int64_t temp_bytes;        /* heaps and tables, each rounded up to the alignment */
  int64_t heap_bytes;        /* the part of temp_bytes that is heaps */
  int64_t heap_bytes_beside; /* the same if XLA:TPU puts into VMEM what lives the shortest; 0 where
                                that has happened, or cannot */
  int64_t thread_local_bytes;
} BufferAssignment;

/* The packing algorithm for the module's heaps. */
const Packer *heap_packer(const Module *module);

/* O(n log n) in values and operands, times the number of colors, plus the time of heap_packer(). */
BufferAssignment buffer_assignment_run(const Module *module, const ValueAnalysis *values,
                                       const LiveRanges *ranges, int64_t alignment,
                                       HeapDetail detail, Arena *out, Arena *scratch);

/* Whether XLA:TPU has yet to put values into VMEM. Afterwards there are some in every module. */
bool awaits_vmem(const Module *module);

#endif
