/* When values live, in one time for the whole module (xla/hlo/utils/hlo_live_range.cc): the entry's
 * schedule with the computations that it calls laid out before the call. */
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
  LogicalTime *time_of; /* by InstId, NO_TIME for one that does not run */
} LiveRanges;

LiveRanges live_ranges_build(const Module *module, const CallGraph *graph, const Dataflow *dataflow,
                             const HloBuffers *buffers, const Schedule *schedule, Arena *out,
                             Arena *scratch);

/* The same before values of one buffer are made to follow each other: from where each is defined to
 * where it is read for the last time. A loop's initial value is read where its condition begins. */
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

/* The tracked values of a buffer, by start, end and id; none when it is the buffer of one value
 * only.
 */
RangedValues live_ranges_sharing(const LiveRanges *ranges, const HloBuffers *buffers,
                                 BufferId buffer, Arena *out);

#endif
