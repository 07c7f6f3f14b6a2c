/* Live ranges of all values on one time axis for the whole module
 * (xla/hlo/utils/hlo_live_range.cc). The axis is the entry's schedule, in which the instructions of
 * a called computation are laid out immediately before the call.
 *
 * Example: a = negate(p), c = call(a), to_apply=f, ROOT n = negate(c), where f is q = parameter(0),
 * ROOT y = sine(q):
 *   time          0  1  2  3  4  5
 *   instruction   p  a  q  y  c  n
 * a lives in [1, 3] because y reads it through q. y, which is also the result of c, lives in [3, 5]
 * because n reads it. p is the caller's and lives to the end, [0, 6]. */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_LIVE_RANGE_H
#define REMAT_HLO_ANALYSIS_MEMORY_LIVE_RANGE_H

#include "analysis/flow/alias.h"
#include "ir/schedule.h"

typedef uint32_t LogicalTime;
#define NO_TIME UINT32_MAX

typedef struct LiveRange {
  LogicalTime start; /* NO_TIME for a value that is not tracked */
  LogicalTime end;   /* inclusive */
} LiveRange;

typedef struct LiveRanges {
  LiveRange *of; /* by ValueId */
  InstId *flat;  /* the instruction at each time */
  LogicalTime num_times;
  LogicalTime *time_of; /* by InstId, NO_TIME for an instruction that does not run */
} LiveRanges;

LiveRanges live_ranges_build(const Module *module, const CallGraph *graph, const Dataflow *dataflow,
                             const HloBuffers *buffers, const Schedule *schedule, Arena *out,
                             Arena *scratch);

/* The live ranges before the values of one buffer are made to follow each other: each lasts from
 * the definition to the last read. A loop reads its initial value where its condition begins. */
LiveRanges live_ranges_raw(const Module *module, const CallGraph *graph, const Dataflow *dataflow,
                           const Schedule *schedule, Arena *out, Arena *scratch);

typedef struct RangedValue {
  LiveRange range;
  ValueId value;
} RangedValue;

typedef struct RangedValues {
  RangedValue *list;
  uint32_t len;
} RangedValues;

/* The tracked values of a buffer, sorted by start, end and id. Empty when the buffer has only one
 * value. */
RangedValues live_ranges_sharing(const LiveRanges *ranges, const HloBuffers *buffers,
                                 BufferId buffer, Arena *out);

/* The instruction whose computations run when `id` does: `id` itself, or none (NO_ID) for an
 * async-start without operands, whose computation runs with the async-update that brings them
 * (XLA:TPU's SparseCore); for that update it is the start. */
InstId inst_whose_callees_run_at(const Module *module, InstId id);

/* Whether the value is what XLA:TPU keeps in the device's memory beside operands and results while
 * something runs asynchronously, on a SparseCore for example. */
bool value_is_async_state(const Module *module, const HloValue *value);

#endif
