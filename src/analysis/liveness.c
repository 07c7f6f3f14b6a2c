#include "analysis/liveness.h"

#include <stdlib.h>

#include "analysis/memory_model.h"

ValueAnalysis value_analysis_build(const Module *module, Arena *out, Arena *scratch) {
  ValueAnalysis analysis;
  analysis.graph = call_graph_build(module, out, scratch);
  analysis.flow = dataflow_build(module, &analysis.graph, out, scratch);
  analysis.buffers = hlo_buffers_build(module, &analysis.flow, out, scratch);
  return analysis;
}

/* The simulation of HeapSimulator::RunComputation. Values are defined and freed in the order of
 * (start, end, id); a value may take the memory of an operand that is freed in the same step. */
typedef struct Simulation {
  const Module *module;
  const ValueAnalysis *values;
  Liveness *result;
  SharedCount count;
  Arena *scratch;
  uint32_t *group_of;     /* by ValueId: values that ended up in one place */
  int64_t *group_bytes;   /* by group */
  uint32_t *group_live;   /* by group: values of it that are live */
  bool *is_buffer_placed; /* by BufferId */
  bool *is_freed_early;   /* by ValueId: an operand whose place was taken over */
  int64_t live_bytes;
} Simulation;

static void take(Simulation *sim, ValueId value) {
  uint32_t group = sim->group_of[value];
  if (sim->group_live[group]++ == 0 || sim->count == COUNT_SHARED_TWICE) {
    sim->live_bytes += sim->group_bytes[group];
  }
  LogicalTime time = sim->result->ranges.of[value].start;
  if (sim->live_bytes > sim->result->bytes_at[time]) sim->result->bytes_at[time] = sim->live_bytes;
}

static void release(Simulation *sim, ValueId value) {
  uint32_t group = sim->group_of[value];
  if (--sim->group_live[group] == 0 || sim->count == COUNT_SHARED_TWICE) {
    sim->live_bytes -= sim->group_bytes[group];
  }
}

static bool is_alone(const Simulation *sim, ValueId value) {
  const HloBuffers *buffers = &sim->values->buffers;
  BufferId buffer = buffers->of[value];
  return buffers->first_value[buffer + 1] - buffers->first_value[buffer] == 1;
}

static bool is_tracked(const Simulation *sim, ValueId value) {
  InstId inst = sim->values->flow.values.data[value].inst;
  return sim->result->ranges.of[value].start != NO_TIME &&
         inst_get(sim->module, inst)->opcode != OPCODE_CONSTANT;
}

/* The operand whose memory the value can have: it dies in this very step, nobody has taken it, and
 * the definer may write over it. NO_ID when there is none. */
static ValueId reusable_operand(const Simulation *sim, ValueId value) {
  const Dataflow *flow = &sim->values->flow;
  LiveRange *ranges = sim->result->ranges.of;
  const HloValue *defined = &flow->values.data[value];
  const Instruction *inst = inst_get(sim->module, defined->inst);
  if (inst->opcode == OPCODE_COPY) return NO_ID;
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    ValueId operand = dataflow_value(flow, inst_operand(sim->module, defined->inst, i), 0);
    if (!is_alone(sim, operand) || !is_tracked(sim, operand)) continue;
    if (ranges[operand].end != ranges[value].start || sim->is_freed_early[operand]) continue;
    const HloValue *held = &flow->values.data[operand];
    if (inst_count_operand(sim->module, defined->inst, held->inst) == 0) continue;
    if (can_share_operand_buffer(sim->module, flow, held->inst, held->part, defined->inst,
                                 defined->part, sim->scratch)) {
      return operand;
    }
  }
  return NO_ID;
}

static void define(Simulation *sim, ValueId value) {
  BufferId buffer = sim->values->buffers.of[value];
  if (!sim->is_buffer_placed[buffer] && is_alone(sim, value)) {
    ValueId operand = reusable_operand(sim, value);
    if (operand != NO_ID) {
      release(sim, operand);
      sim->is_freed_early[operand] = true;
      uint32_t group = sim->group_of[operand];
      int64_t bytes = sim->group_bytes[sim->group_of[value]];
      if (bytes > sim->group_bytes[group]) sim->group_bytes[group] = bytes;
      sim->group_of[value] = group;
      sim->result->ranges.of[operand].end = sim->result->ranges.of[value].end;
      sim->result->taken_at[operand] = sim->result->ranges.of[value].start;
      take(sim, value);
      return;
    }
  }
  sim->is_buffer_placed[buffer] = true;
  take(sim, value);
}

typedef struct Event {
  LogicalTime time;
  LogicalTime end;
  ValueId value;
} Event;

static int by_time_then_end_then_id(const void *pa, const void *pb) {
  const Event *a = pa, *b = pb;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  if (a->end != b->end) return a->end < b->end ? -1 : 1;
  return (a->value > b->value) - (a->value < b->value);
}

static void init_groups(Simulation *sim, Arena *scratch) {
  const HloBuffers *buffers = &sim->values->buffers;
  const Dataflow *flow = &sim->values->flow;
  uint32_t num_values = flow->values.len;
  sim->group_of = arena_array(scratch, uint32_t, num_values);
  sim->group_bytes = arena_zarray(scratch, int64_t, buffers->num_buffers);
  sim->group_live = arena_zarray(scratch, uint32_t, buffers->num_buffers);
  sim->is_buffer_placed = arena_zarray(scratch, bool, buffers->num_buffers);
  sim->is_freed_early = arena_zarray(scratch, bool, num_values);
  for (ValueId value = 0; value < num_values; value++) {
    uint32_t group = sim->group_of[value] = buffers->of[value];
    int64_t bytes = flow->values.data[value].bytes;
    if (bytes > sim->group_bytes[group]) sim->group_bytes[group] = bytes;
  }
}

/* Values that die at each time, in the order of (start, end, id), as lists. */
typedef struct Deaths {
  uint32_t *first; /* by time, one more than times + 1 */
  ValueId *values;
} Deaths;

static Deaths sort_deaths(const Event *events, uint32_t num_events, LogicalTime num_times,
                          Arena *scratch) {
  Deaths deaths = {.first = arena_zarray(scratch, uint32_t, (size_t)num_times + 2),
                   .values = arena_array(scratch, ValueId, num_events)};
  for (uint32_t i = 0; i < num_events; i++)
    deaths.first[events[i].end + 1]++;
  for (LogicalTime t = 0; t <= num_times; t++)
    deaths.first[t + 1] += deaths.first[t];
  uint32_t *next = arena_array(scratch, uint32_t, (size_t)num_times + 2);
  memcpy(next, deaths.first, ((size_t)num_times + 2) * sizeof *next);
  for (uint32_t i = 0; i < num_events; i++) {
    deaths.values[next[events[i].end]++] = events[i].value;
  }
  return deaths;
}

Liveness liveness_run(const Module *module, const ValueAnalysis *values, const Schedule *schedule,
                      SharedCount count, Arena *out, Arena *scratch) {
  Liveness result = {.peak_inst = NO_ID};
  result.ranges = live_ranges_build(module, &values->graph, &values->flow, &values->buffers,
                                    schedule, out, scratch);
  LogicalTime num_times = result.ranges.num_times;
  result.bytes_at = arena_zarray(out, int64_t, (size_t)num_times + 1);
  result.taken_at = arena_array(out, LogicalTime, values->flow.values.len);
  ArenaMark mark = arena_mark(scratch);
  Simulation sim = {
      .module = module, .values = values, .result = &result, .count = count, .scratch = scratch};
  init_groups(&sim, scratch);
  uint32_t num_values = values->flow.values.len, num_events = 0;
  for (ValueId value = 0; value < num_values; value++)
    result.taken_at[value] = NO_TIME;
  Event *events = arena_array(scratch, Event, num_values);
  for (ValueId value = 0; value < num_values; value++) {
    LiveRange range = result.ranges.of[value];
    if (is_tracked(&sim, value)) events[num_events++] = (Event){range.start, range.end, value};
  }
  qsort(events, num_events, sizeof *events, by_time_then_end_then_id);
  Deaths deaths = sort_deaths(events, num_events, num_times, scratch);

  uint32_t next = 0;
  for (LogicalTime time = 0; time <= num_times; time++) {
    result.bytes_at[time] = sim.live_bytes;
    for (; next < num_events && events[next].time == time; next++)
      define(&sim, events[next].value);
    if (result.bytes_at[time] > result.peak_bytes) {
      result.peak_bytes = result.bytes_at[time];
      result.peak_time = time;
    }
    for (uint32_t i = deaths.first[time]; i < deaths.first[time + 1]; i++) {
      if (!sim.is_freed_early[deaths.values[i]]) release(&sim, deaths.values[i]);
    }
  }
  if (result.peak_time < num_times) result.peak_inst = result.ranges.flat[result.peak_time];
  arena_reset(scratch, mark);
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
