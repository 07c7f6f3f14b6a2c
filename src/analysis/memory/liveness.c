#include "analysis/memory/liveness.h"

#include "analysis/memory/memory_model.h"

ValueAnalysis value_analysis_build(const Module *module, Arena *out, Arena *scratch) {
  ValueAnalysis analysis;
  analysis.graph = call_graph_build(module, out, scratch);
  analysis.flow = dataflow_build(module, &analysis.graph, out, scratch);
  analysis.buffers = hlo_buffers_build(module, &analysis.flow, out, scratch);
  return analysis;
}

Liveness liveness_run(const Module *module, const ValueAnalysis *values, const Schedule *schedule,
                      SharedCount count, Arena *out, Arena *scratch) {
  uint32_t num_values = values->flow.values.len;
  Liveness result = {.peak_inst = NO_ID};
  result.ranges = live_ranges_build(module, &values->graph, &values->flow, &values->buffers,
                                    schedule, out, scratch);
  result.bytes_at = arena_zarray(out, int64_t, (size_t)result.ranges.num_times + 1);
  result.taken_at = arena_array(out, LogicalTime, num_values);
  result.place_of = arena_array(out, ValueId, num_values);
  result.counted = arena_zarray(out, int64_t, num_values);
  for (ValueId value = 0; value < num_values; value++)
    result.taken_at[value] = NO_TIME;
  Arena *inner = arena_new(arena_options(scratch));
  HeapQuery query = {.module = module,
                     .flow = &values->flow,
                     .buffers = &values->buffers,
                     .ranges = &result.ranges};
  HeapTrace trace = heap_simulate(&query, inner, scratch);
  HeapCount live = {.bytes_at = result.bytes_at,
                    .taken_at = result.taken_at,
                    .place_of = result.place_of,
                    .counted = result.counted};
  heap_count_live(&trace, count, result.ranges.num_times, num_values, &live, inner);
  for (LogicalTime time = 0; time <= result.ranges.num_times; time++) {
    if (result.bytes_at[time] > result.peak_bytes) {
      result.peak_bytes = result.bytes_at[time];
      result.peak_time = time;
    }
  }
  if (result.peak_time < result.ranges.num_times) {
    result.peak_inst = result.ranges.flat[result.peak_time];
  }
  arena_free(inner);
  return result;
}

/* ---- as a memory model ---- */

static LiveSet live_at_peak(const Module *module, const ValueAnalysis *values,
                            const Liveness *liveness, SharedCount count, Arena *out,
                            Arena *scratch) {
  uint32_t num_values = values->flow.values.len;
  LiveSet live = {.list = arena_array(out, LiveBuffer, num_values)};
  bool *is_counted = arena_zarray(scratch, bool, num_values);
  for (ValueId id = 0; id < num_values; id++) {
    const HloValue *value = &values->flow.values.data[id];
    LiveRange range = liveness->ranges.of[id];
    LogicalTime taken = liveness->taken_at[id];
    bool is_live = range.start != NO_TIME && range.start <= liveness->peak_time &&
                   range.end >= liveness->peak_time &&
                   (taken == NO_TIME || taken > liveness->peak_time);
    if (!is_live || liveness->counted[id] == 0) continue;
    if (inst_get(module, value->inst)->opcode == OPCODE_CONSTANT) continue;
    ValueId place = liveness->place_of[id];
    if (is_counted[place] && count == COUNT_SHARED_ONCE) continue;
    is_counted[place] = true;
    InstId first = liveness->ranges.flat[range.start];
    InstId last = range.end < liveness->ranges.num_times ? liveness->ranges.flat[range.end] : NO_ID;
    live.list[live.len++] =
        (LiveBuffer){value->inst, value->part, liveness->counted[id], first, last};
  }
  live_set_sort(&live);
  return live;
}

static MemoryProfile measure(const Module *module, const Schedule *schedule, SharedCount count,
                             LiveSet *live, Arena *out, Arena *scratch) {
  MemoryProfile profile;
  memory_profile_init(&profile, module, &plain_sizes, out, scratch);
  profile.is_flat = true;
  profile.counts_params = true;
  profile.joins_values = true;
  Arena *arena = arena_new(arena_options(scratch));
  ValueAnalysis values = value_analysis_build(module, arena, scratch);
  Liveness liveness = liveness_run(module, &values, schedule, count, arena, scratch);
  profile.peak_bytes = liveness.peak_bytes;
  profile.peak_inst = liveness.peak_inst;
  for (LogicalTime time = 0; time < liveness.ranges.num_times; time++) {
    profile.bytes_at[liveness.ranges.flat[time]] = liveness.bytes_at[time];
  }
  if (live) *live = live_at_peak(module, &values, &liveness, count, out, arena);
  arena_free(arena);
  return profile;
}

MemoryProfile measure_liveness(const Module *module, const Schedule *schedule, LiveSet *live,
                               Arena *out, Arena *scratch) {
  return measure(module, schedule, COUNT_SHARED_TWICE, live, out, scratch);
}

MemoryProfile measure_liveness_once(const Module *module, const Schedule *schedule, LiveSet *live,
                                    Arena *out, Arena *scratch) {
  return measure(module, schedule, COUNT_SHARED_ONCE, live, out, scratch);
}
