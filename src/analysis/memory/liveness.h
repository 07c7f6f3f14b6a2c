/* The memory model `liveness` (HeapSimulator::MinimumMemoryForModule in
 * xla/service/heap_simulator/heap_simulator.cc): the largest number of bytes live at one time, that
 * is, the memory a module needs if nothing is lost to fragmentation. Parameters, outputs and
 * temporaries are counted together; constants are not counted. */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_LIVENESS_H
#define REMAT_HLO_ANALYSIS_MEMORY_LIVENESS_H

#include "analysis/memory/heap_simulator.h"

/* The analyses that do not depend on the schedule. They are built once and used for any number of
 * schedules. */
typedef struct ValueAnalysis {
  CallGraph graph;
  Dataflow flow;
  HloBuffers buffers;
} ValueAnalysis;

ValueAnalysis value_analysis_build(const Module *module, Arena *out, Arena *scratch);

typedef struct Liveness {
  int64_t peak_bytes;
  LogicalTime peak_time;
  InstId peak_inst;      /* the instruction that runs at peak_time; NO_ID for an empty module */
  LogicalTime *taken_at; /* by ValueId: when another value took over its memory, NO_TIME = never */
  int64_t
      *bytes_at; /* by time: the largest number of bytes live while the instruction there runs */
  ValueId *place_of; /* by ValueId: a representative of the values in the same memory */
  int64_t *counted;  /* by ValueId: the bytes of that memory; 0 for a value that is not tracked */
  LiveRanges ranges;
} Liveness;

Liveness liveness_run(const Module *module, const ValueAnalysis *values, const Schedule *schedule,
                      SharedCount count, Arena *out, Arena *scratch);

#endif
