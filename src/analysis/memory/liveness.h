/* The memory model `liveness`: HeapSimulator::MinimumMemoryForModule, the bytes that are live at
 * the worst moment if nothing were lost to fragmentation. Parameters, outputs and temporaries live
 * together; constants do not count (xla/service/heap_simulator/heap_simulator.cc). */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_LIVENESS_H
#define REMAT_HLO_ANALYSIS_MEMORY_LIVENESS_H

#include "analysis/memory/heap_simulator.h"

/* What does not depend on the schedule: built once, used for any number of them. */
typedef struct ValueAnalysis {
  CallGraph graph;
  Dataflow flow;
  HloBuffers buffers;
} ValueAnalysis;

ValueAnalysis value_analysis_build(const Module *module, Arena *out, Arena *scratch);

typedef struct Liveness {
  int64_t peak_bytes;
  LogicalTime peak_time;
  InstId peak_inst;      /* that runs at that time; NO_ID for an empty module */
  LogicalTime *taken_at; /* by ValueId: when another value took over its memory, NO_TIME = never */
  int64_t *bytes_at;     /* by time: the most that is live while the instruction there runs */
  ValueId *place_of;     /* by ValueId: one of the values that have the same memory */
  int64_t *counted;      /* by ValueId: the bytes of that memory; 0 for what is not tracked */
  LiveRanges ranges;
} Liveness;

Liveness liveness_run(const Module *module, const ValueAnalysis *values, const Schedule *schedule,
                      SharedCount count, Arena *out, Arena *scratch);

#endif
