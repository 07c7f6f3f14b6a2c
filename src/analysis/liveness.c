#include "analysis/liveness.h"

#include "analysis/heap_simulator.h"
#include "analysis/memory_model.h"

ValueAnalysis value_analysis_build(const Module *module, Arena *out, Arena *scratch) {
  ValueAnalysis analysis;
  analysis.graph = call_graph_build(module, out, scratch);
  analysis.flow = dataflow_build(module, &analysis.graph, out, scratch);
  analysis.buffers = hlo_buffers_build(module, &analysis.flow, out, scratch);
  return analysis;
}

/* Adds up a trace. Values that have one piece of memory are a group, named after the first. */
typedef struct Counter {
  SharedCount count;
  ValueId *group_of;    /* by ValueId */
  int64_t *group_bytes; /* by group: what counts for it while it lives */
  uint32_t *group_live; /* by group: values of it that are live */
  int64_t live_bytes;
} Counter;

static void take(Counter *counter, const HeapEvent *event) {
  ValueId group = event->kind == HEAP_SHARE ? counter->group_of[event->with] : event->value;
  counter->group_of[event->value] = group;
  if (counter->group_live[group]++ == 0 || counter->count == COUNT_SHARED_TWICE) {
    counter->group_bytes[group] = event->bytes;
    counter->live_bytes += event->bytes;
  }
}

static void release(Counter *counter, const HeapEvent *event) {
  ValueId group = counter->group_of[event->value];
  if (--counter->group_live[group] == 0 || counter->count == COUNT_SHARED_TWICE) {
    counter->live_bytes -= counter->group_bytes[group];
  }
}

static void count_bytes(const HeapTrace *trace, SharedCount count, Liveness *result,
                        uint32_t num_values, Arena *scratch) {
  Counter counter = {.count = count,
                     .group_of = arena_array(scratch, ValueId, num_values),
                     .group_bytes = arena_array(scratch, int64_t, num_values),
                     .group_live = arena_zarray(scratch, uint32_t, num_values)};
  const HeapEvent *event = trace->events.data, *end = event + trace->events.len;
  for (LogicalTime time = 0; time <= result->ranges.num_times; time++) {
    int64_t *bytes = &result->bytes_at[time];
    *bytes = counter.live_bytes;
    for (; event < end && event->time == time; event++) {
      if (event->kind == HEAP_FREE) {
        release(&counter, event);
        continue;
      }
      take(&counter, event);
      if (counter.live_bytes > *bytes) *bytes = counter.live_bytes;
      /* An operand is freed right before its memory is handed on. */
      bool is_handed_on = event->kind == HEAP_SHARE && event > trace->events.data &&
                          event[-1].kind == HEAP_FREE && event[-1].time == time &&
                          event[-1].value == event->with;
      if (is_handed_on) result->taken_at[event->with] = time;
    }
    if (*bytes > result->peak_bytes) {
      result->peak_bytes = *bytes;
      result->peak_time = time;
    }
  }
}

Liveness liveness_run(const Module *module, const ValueAnalysis *values, const Schedule *schedule,
                      SharedCount count, Arena *out, Arena *scratch) {
  uint32_t num_values = values->flow.values.len;
  Liveness result = {.peak_inst = NO_ID};
  result.ranges = live_ranges_build(module, &values->graph, &values->flow, &values->buffers,
                                    schedule, out, scratch);
  result.bytes_at = arena_zarray(out, int64_t, (size_t)result.ranges.num_times + 1);
  result.taken_at = arena_array(out, LogicalTime, num_values);
  for (ValueId value = 0; value < num_values; value++)
    result.taken_at[value] = NO_TIME;
  Arena *inner = arena_new(arena_options(scratch));
  HeapQuery query = {.module = module,
                     .flow = &values->flow,
                     .buffers = &values->buffers,
                     .ranges = &result.ranges};
  HeapTrace trace = heap_simulate(&query, inner, scratch);
  count_bytes(&trace, count, &result, num_values, inner);
  if (result.peak_time < result.ranges.num_times) {
    result.peak_inst = result.ranges.flat[result.peak_time];
  }
  arena_free(inner);
  return result;
}

/* ---- as a memory model ---- */

static MemoryProfile measure(const Module *module, const Schedule *schedule, SharedCount count,
                             Arena *out, Arena *scratch) {
  MemoryProfile profile;
  memory_profile_init(&profile, module, out, scratch);
  profile.counts_params = true;
  Arena *arena = arena_new(arena_options(scratch));
  ValueAnalysis values = value_analysis_build(module, arena, scratch);
  Liveness liveness = liveness_run(module, &values, schedule, count, arena, scratch);
  profile.peak_bytes = liveness.peak_bytes;
  profile.peak_inst = liveness.peak_inst;
  for (LogicalTime time = 0; time < liveness.ranges.num_times; time++) {
    profile.bytes_at[liveness.ranges.flat[time]] = liveness.bytes_at[time];
  }
  arena_free(arena);
  return profile;
}

static LiveSet live_at_peak(const Module *module, const Schedule *schedule, SharedCount count,
                            Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  ValueAnalysis values = value_analysis_build(module, arena, scratch);
  Liveness liveness = liveness_run(module, &values, schedule, count, arena, scratch);
  uint32_t num_values = values.flow.values.len;
  LiveSet live = {.list = arena_array(out, LiveBuffer, num_values)};
  for (ValueId id = 0; id < num_values; id++) {
    const HloValue *value = &values.flow.values.data[id];
    LiveRange range = liveness.ranges.of[id];
    bool is_live = range.start != NO_TIME && range.start <= liveness.peak_time &&
                   range.end >= liveness.peak_time &&
                   (liveness.taken_at[id] == NO_TIME || liveness.taken_at[id] > liveness.peak_time);
    if (!is_live || value->bytes == 0) continue;
    if (inst_get(module, value->inst)->opcode == OPCODE_CONSTANT) continue;
    live.list[live.len++] = (LiveBuffer){value->inst, value->part, value->bytes};
  }
  live_set_sort(&live);
  arena_free(arena);
  return live;
}

MemoryProfile measure_liveness(const Module *module, const Schedule *schedule, Arena *out,
                               Arena *scratch) {
  return measure(module, schedule, COUNT_SHARED_TWICE, out, scratch);
}

LiveSet live_at_peak_liveness(const Module *module, const Schedule *schedule, Arena *out,
                              Arena *scratch) {
  return live_at_peak(module, schedule, COUNT_SHARED_TWICE, out, scratch);
}

MemoryProfile measure_liveness_once(const Module *module, const Schedule *schedule, Arena *out,
                                    Arena *scratch) {
  return measure(module, schedule, COUNT_SHARED_ONCE, out, scratch);
}

LiveSet live_at_peak_liveness_once(const Module *module, const Schedule *schedule, Arena *out,
                                   Arena *scratch) {
  return live_at_peak(module, schedule, COUNT_SHARED_ONCE, out, scratch);
}
