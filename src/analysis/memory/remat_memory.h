/* The memory model `xla-remat`: what HloRematerialization counts (hlo_rematerialization.cc,
 * MemoryUsageTracker and ComputePeakMemory; shared facts §1).
 *
 * A temporary of a computation lives from the instruction that defines it to the end of its last
 * user. Parameters and the buffers that the root returns cost nothing inside a computation: its
 * caller pays for them. A while reuses the buffers of its operand. A control-flow instruction also
 * costs the sum of the peaks of all computations that it calls. The module costs its entry's peak
 * plus its outputs.
 *
 * This is the slow, plain way: it recounts a schedule from scratch. analysis/memory/tracker.c
 * follows XLA's own bookkeeping step by step, and tests compare the two. */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_REMAT_MEMORY_H
#define REMAT_HLO_ANALYSIS_MEMORY_REMAT_MEMORY_H

#include "analysis/flow/call_graph.h"
#include "analysis/memory/memory_model.h"
#include "analysis/flow/points_to.h"

typedef struct RematInterval {
  LogicalId buffer;
  int64_t bytes;  /* 0 for parameters and live-outs */
  SchedPos begin; /* position of the instruction that defines the buffer */
  SchedPos last;  /* position of the last user, inclusive; `begin` when there is none */
  bool is_live_out;
} RematInterval;

typedef struct RematIntervals {
  RematInterval *list; /* in the order in which the sequence defines them */
  uint32_t len;
} RematIntervals;

/* The buffers of one computation under a sequence. Sets `positions`, by InstId, to the position of
 * each instruction of the sequence. */
RematIntervals remat_intervals(const Module *module, const PointsTo *points_to, Sequence sequence,
                               CompId comp, SchedPos *positions, Arena *out, Arena *scratch);

typedef struct CompMemory {
  int64_t peak_bytes; /* without outputs and parameters, callees included */
  SchedPos peak_pos;  /* the first position that reaches it */
  int64_t *bytes_at;  /* by position: bytes while the instruction runs, callees included */
} CompMemory;

typedef struct RematMemory {
  CompMemory *of;       /* by CompId, for the computations that run as sequences */
  int64_t output_bytes; /* of the module, tables of pointers included */
  int64_t peak_bytes;   /* of the module: the entry's peak and the outputs */
} RematMemory;

RematMemory remat_memory(const Module *module, const Schedule *schedule, Arena *out,
                         Arena *scratch);

/* The size function that the compiler gives to XLA's pass. A compiler whose layouts have tiles pads
 * them. */
const ShapeSizes *remat_sizes(const Module *module);

/* The upper limit of the bytes of an instruction's callees: nested conditionals can double the
 * figure at every level, and a sum of a few such figures must not overflow. */
#define MAX_CALLEE_BYTES (INT64_C(1) << 60)

/* Memory that an instruction's callees need while it runs. */
int64_t remat_callee_bytes(const Module *module, const CompMemory *of, InstId id);

/* The bytes that the result of an instruction takes of the device's memory, tables of pointers
 * included. */
int64_t result_device_bytes(const Module *module, InstId id);

#endif
