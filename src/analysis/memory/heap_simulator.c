#include "analysis/memory/heap_simulator.h"

typedef struct Simulation {
  const HeapQuery *query;
  HeapTrace trace;
  Arena *out;
  Arena *scratch;
  int64_t *buffer_bytes; /* by BufferId */
  ValueId *holder;       /* by BufferId: the first of its values that got memory, NO_ID = none */
  bool *is_taken;        /* by ValueId: its memory went to another value before it was freed */
} Simulation;

static bool is_placed(const HeapQuery *query, ValueId value) {
  if (query->ranges->of[value].start == NO_TIME) return false;
  if (query->is_wanted) return query->is_wanted[value];
  InstId inst = query->flow->values.data[value].inst;
  return inst_get(query->module, inst)->opcode != OPCODE_CONSTANT;
}

static void record(Simulation *sim, HeapEventKind kind, LogicalTime time, ValueId value,
                   ValueId with) {
  *vec_push(sim->out, &sim->trace.events) =
      (HeapEvent){.kind = (uint8_t)kind,
                  .time = time,
                  .value = value,
                  .with = with,
                  .bytes = sim->buffer_bytes[sim->query->buffers->of[value]]};
}

/* What a reader of `id` reads when barriers are gone, with the tuples that are taken apart behind
 * them. */
static InstId read_without_barriers(const Module *module, InstId id) {
  enum { MAX_STEPS = 256 }; /* so that many readers of one long chain take no quadratic time */
  InstId read = id;
  int64_t element = -1; /* of the tuple `id`, which `read` is */
  bool has_barrier = false;
  for (int i = 0; i < MAX_STEPS; i++) {
    const Instruction *inst = inst_get(module, id);
    switch (inst->opcode) {
      case OPCODE_OPT_BARRIER:
        has_barrier = true;
        id = inst_operand(module, id, 0);
        break;
      case OPCODE_GET_TUPLE_ELEMENT:
        if (element >= 0) return read;
        element = inst->index;
        has_barrier = false;
        id = inst_operand(module, id, 0);
        break;
      case OPCODE_TUPLE:
        if (element < 0 || !has_barrier) return read;
        id = inst_operand(module, id, (uint32_t)element);
        element = -1;
        break;
      default: return read;
    }
    if (element < 0) read = id;
  }
  return read;
}

/* Whether an operand will be `source` itself when barriers are gone, and no other operand is the
 * same value. */
static bool will_read(const HeapQuery *query, InstId user, uint32_t operand, InstId source) {
  const Module *module = query->module;
  if (!query->without_barriers) return false;
  InstId id = inst_operand(module, user, operand);
  ValueId value = dataflow_value(query->flow, id, 0);
  for (uint32_t i = 0; i < inst_get(module, user)->num_operands; i++) {
    ValueId other = dataflow_value(query->flow, inst_operand(module, user, i), 0);
    if (i != operand && other == value) return false;
  }
  return read_without_barriers(module, id) == source;
}

/* The operand whose memory the value can have. It dies at this very instruction, no other value has
 * taken its memory, and the definer, which reads the operand itself and not only a part of a tuple
 * that contains it, may overwrite it. NO_ID when there is none. */
static ValueId reusable_operand(const Simulation *sim, ValueId value) {
  const HeapQuery *query = sim->query;
  const Module *module = query->module;
  const HloValue *defined = &query->flow->values.data[value];
  const Instruction *inst = inst_get(module, defined->inst);
  if (inst->opcode == OPCODE_COPY) return NO_ID;
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    InstId id = inst_operand(module, defined->inst, i);
    ValueId operand = dataflow_value(query->flow, id, 0);
    if (query->ranges->of[operand].end != query->ranges->of[value].start) continue;
    if (sim->is_taken[operand] || !hlo_buffer_is_alone(query->buffers, query->buffers->of[operand]))
      continue;
    if (!is_placed(query, operand)) continue;
    const HloValue *held = &query->flow->values.data[operand];
    bool is_direct = held->inst == id || inst_count_operand(module, defined->inst, held->inst) > 0;
    if (!is_direct && !will_read(query, defined->inst, i, held->inst)) continue;
    if (can_share_operand_buffer(module, query->flow, is_direct ? held->inst : id,
                                 is_direct ? held->part : 0, defined->inst, defined->part,
                                 sim->scratch)) {
      return operand;
    }
  }
  return NO_ID;
}

static void define(Simulation *sim, ValueId value) {
  const HeapQuery *query = sim->query;
  LogicalTime time = query->ranges->of[value].start;
  BufferId buffer = query->buffers->of[value];
  if (sim->holder[buffer] != NO_ID) {
    record(sim, HEAP_SHARE, time, value, sim->holder[buffer]);
    return;
  }
  ValueId operand = hlo_buffer_is_alone(query->buffers, query->buffers->of[value])
                        ? reusable_operand(sim, value)
                        : NO_ID;
  if (operand == NO_ID) {
    record(sim, HEAP_ALLOC, time, value, NO_ID);
    sim->holder[buffer] = value;
    return;
  }
  record(sim, HEAP_FREE, time, operand, NO_ID);
  sim->is_taken[operand] = true;
  int64_t *bytes = &sim->buffer_bytes[buffer];
  int64_t operand_bytes = sim->buffer_bytes[query->buffers->of[operand]];
  if (operand_bytes > *bytes) *bytes = operand_bytes;
  record(sim, HEAP_SHARE, time, value, operand);
}

static void init_buffers(Simulation *sim) {
  const HloBuffers *buffers = sim->query->buffers;
  const Dataflow *flow = sim->query->flow;
  sim->buffer_bytes = arena_zarray(sim->scratch, int64_t, buffers->num_buffers);
  sim->holder = arena_array(sim->scratch, ValueId, buffers->num_buffers);
  sim->is_taken = arena_zarray(sim->scratch, bool, flow->values.len);
  for (BufferId buffer = 0; buffer < buffers->num_buffers; buffer++)
    sim->holder[buffer] = NO_ID;
  for (ValueId value = 0; value < flow->values.len; value++) {
    int64_t *bytes = &sim->buffer_bytes[buffers->of[value]];
    if (flow->values.data[value].bytes > *bytes) *bytes = flow->values.data[value].bytes;
  }
}

/* Values sorted by a time of each. Values of the same time keep their order. */
typedef struct TimeOrder {
  ValueId *values;
  uint32_t *first; /* by time, one more than the last time: range in `values` */
} TimeOrder;

static LogicalTime time_of(const LiveRanges *ranges, ValueId value, bool by_end) {
  return by_end ? ranges->of[value].end : ranges->of[value].start;
}

static TimeOrder sort_by_time(const ValueId *values, uint32_t num_values, const LiveRanges *ranges,
                              bool by_end, Arena *scratch) {
  size_t num_times = (size_t)ranges->num_times + 1;
  TimeOrder order = {.values = arena_array(scratch, ValueId, num_values),
                     .first = arena_zarray(scratch, uint32_t, num_times + 2)};
  uint32_t *next = order.first + 1; /* each list begins where the one before will end */
  for (uint32_t i = 0; i < num_values; i++)
    next[time_of(ranges, values[i], by_end) + 1]++;
  for (size_t time = 0; time < num_times; time++)
    next[time + 1] += next[time];
  for (uint32_t i = 0; i < num_values; i++)
    order.values[next[time_of(ranges, values[i], by_end)]++] = values[i];
  return order;
}

HeapTrace heap_simulate(const HeapQuery *query, Arena *out, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  Simulation sim = {.query = query, .out = out, .scratch = scratch};
  init_buffers(&sim);
  uint32_t num_values = 0;
  ValueId *values = arena_array(scratch, ValueId, query->flow->values.len);
  for (ValueId value = 0; value < query->flow->values.len; value++) {
    if (is_placed(query, value)) values[num_values++] = value;
  }
  vec_reserve(out, &sim.trace.events, 2 * num_values);
  /* births and deaths are both sorted by (start, end, id) within a time */
  TimeOrder by_end = sort_by_time(values, num_values, query->ranges, true, scratch);
  TimeOrder births = sort_by_time(by_end.values, num_values, query->ranges, false, scratch);
  TimeOrder deaths = sort_by_time(births.values, num_values, query->ranges, true, scratch);
  for (LogicalTime time = 0; time <= query->ranges->num_times; time++) {
    for (uint32_t i = births.first[time]; i < births.first[time + 1]; i++)
      define(&sim, births.values[i]);
    for (uint32_t i = deaths.first[time]; i < deaths.first[time + 1]; i++) {
      if (!sim.is_taken[deaths.values[i]]) record(&sim, HEAP_FREE, time, deaths.values[i], NO_ID);
    }
  }
  arena_reset(scratch, mark);
  return sim.trace;
}

/* ---- what is live ---- */

/* Sums up a trace. The values in one piece of memory are a group, which is named after the first of
 * them. */
typedef struct Counter {
  SharedCount count;
  ValueId *group_of;    /* by ValueId */
  int64_t *group_bytes; /* by group: bytes counted for it while it lives */
  uint32_t *group_live; /* by group: number of its values that are live */
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

void heap_count_live(const HeapTrace *trace, SharedCount count, LogicalTime num_times,
                     uint32_t num_values, const HeapCount *result, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  Counter counter = {.count = count,
                     .group_of = arena_array(scratch, ValueId, num_values),
                     .group_bytes = arena_array(scratch, int64_t, num_values),
                     .group_live = arena_zarray(scratch, uint32_t, num_values)};
  uint32_t next = 0;
  for (LogicalTime time = 0; time <= num_times; time++) {
    int64_t most = counter.live_bytes;
    for (; next < trace->events.len && trace->events.data[next].time == time; next++) {
      const HeapEvent *event = &trace->events.data[next];
      if (event->kind == HEAP_FREE) {
        release(&counter, event);
        continue;
      }
      take(&counter, event);
      ValueId place = counter.group_of[event->value];
      if (result->place_of) result->place_of[event->value] = place;
      if (result->counted) result->counted[event->value] = counter.group_bytes[place];
      if (counter.live_bytes > most) most = counter.live_bytes;
      /* An operand is freed immediately before its memory is given to another value. */
      bool is_passed_on = event->kind == HEAP_SHARE && next > 0 && event[-1].kind == HEAP_FREE &&
                          event[-1].time == time && event[-1].value == event->with;
      if (is_passed_on) result->taken_at[event->with] = time;
    }
    result->bytes_at[time] += most;
  }
  arena_reset(scratch, mark);
}

/* For each value that has bytes, the value that is allocated for it; NO_ID for other values. */
static ValueId *find_leaders(const HeapTrace *trace, uint32_t num_values, Arena *scratch) {
  ValueId *leaders = arena_array(scratch, ValueId, num_values);
  memset(leaders, 0xff, num_values * sizeof *leaders);
  for (uint32_t i = 0; i < trace->events.len; i++) {
    const HeapEvent *event = &trace->events.data[i];
    if (event->kind == HEAP_FREE || event->bytes == 0) continue;
    ValueId leader = event->kind == HEAP_SHARE ? leaders[event->with] : NO_ID;
    leaders[event->value] = leader == NO_ID ? event->value : leader;
  }
  return leaders;
}

/* Creates a buffer for each leader, without ranges but with room for them. */
static PackBuffer *list_buffers(const ValueId *leaders, uint32_t num_values, int64_t alignment,
                                uint32_t *buffer_of, PackProblem *problem, Arena *out) {
  for (ValueId value = 0; value < num_values; value++) {
    if (leaders[value] == value) buffer_of[value] = problem->num_buffers++;
  }
  PackBuffer *buffers = arena_zarray(out, PackBuffer, problem->num_buffers);
  for (ValueId value = 0; value < num_values; value++) {
    if (leaders[value] == NO_ID) continue;
    buffer_of[value] = buffer_of[leaders[value]];
    buffers[buffer_of[value]].num_ranges++;
  }
  for (uint32_t i = 0; i < problem->num_buffers; i++) {
    buffers[i].alignment = alignment;
    buffers[i].first_range = problem->num_ranges;
    problem->num_ranges += buffers[i].num_ranges;
    buffers[i].num_ranges = 0;
  }
  problem->buffers = buffers;
  return buffers;
}

HeapRequests heap_requests(const HeapTrace *trace, uint32_t num_values, int64_t alignment,
                           Arena *out, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  HeapRequests requests = {.problem = {0}};
  const ValueId *leaders = find_leaders(trace, num_values, scratch);
  uint32_t *buffer_of = arena_array(scratch, uint32_t, num_values);
  PackBuffer *buffers =
      list_buffers(leaders, num_values, alignment, buffer_of, &requests.problem, out);
  PackRange *ranges = arena_array(out, PackRange, requests.problem.num_ranges);
  requests.problem.ranges = ranges;
  requests.values = arena_array(out, ValueId, requests.problem.num_ranges);
  uint32_t *range_of = arena_array(scratch, uint32_t, num_values);
  int64_t tick = 0;
  for (uint32_t i = 0; i < trace->events.len; i++) {
    const HeapEvent *event = &trace->events.data[i];
    if (leaders[event->value] == NO_ID) continue;
    if (event->kind == HEAP_FREE) {
      ranges[range_of[event->value]].end = ++tick;
      continue;
    }
    PackBuffer *buffer = &buffers[buffer_of[event->value]];
    if (buffer->num_ranges == 0) buffer->first_bytes = event->bytes;
    if (event->bytes > buffer->bytes) buffer->bytes = event->bytes;
    uint32_t range = buffer->first_range + buffer->num_ranges++;
    range_of[event->value] = range;
    ranges[range].begin = tick++;
    requests.values[range] = event->value;
  }
  arena_reset(scratch, mark);
  return requests;
}
