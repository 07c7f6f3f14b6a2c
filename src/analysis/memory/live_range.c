#include "analysis/memory/live_range.h"

#include <stdlib.h>

typedef struct CompSpan {
  LogicalTime start, end; /* end: one past the last */
} CompSpan;

typedef struct Builder {
  const Module *module;
  const CallGraph *graph;
  const Dataflow *flow;
  const Schedule *schedule;
  LiveRanges *ranges;
  CompSpan *span_of;      /* by CompId; start is NO_TIME until it is laid out */
  CompId *async_context;  /* by CompId: the async computation in which it runs, NO_ID = none */
  const bool *is_callers; /* by ValueId: values_of_callers() */
  bool is_raw;            /* ranges for interference (live_ranges_raw()), not for sizes */
  Arena *scratch;
} Builder;

/* ---- flattening ---- */

typedef struct Frame {
  CompId comp;
  CompId async_context;
  SchedPos pos;    /* the next instruction */
  uint32_t callee; /* index of its next callee to lay out */
} Frame;

typedef struct Frames {
  VEC(Frame) stack;
} Frames;

InstId inst_whose_callees_run_at(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode == OPCODE_ASYNC_START && inst->num_operands == 0) {
    const IdList users = inst->users;
    for (uint32_t i = 0; i < users.len; i++) {
      const Instruction *user = inst_get(module, id_list(module, users)[i]);
      if (user->opcode == OPCODE_ASYNC_UPDATE && user->num_operands > 1) return NO_ID;
    }
    return id;
  }
  if (inst->opcode != OPCODE_ASYNC_UPDATE || inst->num_operands < 2) return id;
  InstId start = inst_operand(module, id, 0);
  const Instruction *started = inst_get(module, start);
  return started->opcode == OPCODE_ASYNC_START && started->num_operands == 0 ? start : id;
}

/* Callee number `index` of the instruction, if it is to be laid out before the instruction; NO_ID
 * when there is none. */
static CompId callee_before(const Module *module, InstId id, uint32_t index) {
  InstId runner = inst_whose_callees_run_at(module, id);
  if (runner == NO_ID || !inst_runs_callees(module, runner)) return NO_ID;
  if (index >= inst_get(module, runner)->num_callees) return NO_ID;
  return inst_callee_to_run(module, runner, index);
}

static void push_frame(Builder *builder, Frames *frames, CompId comp, CompId async_context) {
  builder->span_of[comp].start = builder->ranges->num_times;
  builder->async_context[comp] = async_context;
  *vec_push(builder->scratch, &frames->stack) =
      (Frame){.comp = comp, .async_context = async_context};
}

static void flatten(Builder *builder) {
  const Module *module = builder->module;
  LiveRanges *ranges = builder->ranges;
  Frames frames = {0};
  push_frame(builder, &frames, module->entry, NO_ID);
  while (frames.stack.len) {
    Frame *frame = &frames.stack.data[frames.stack.len - 1];
    Sequence sequence = builder->schedule->of[frame->comp];
    if (frame->pos == sequence.len) {
      builder->span_of[frame->comp].end = ranges->num_times;
      frames.stack.len--;
      continue;
    }
    InstId id = sequence.ids[frame->pos];
    CompId callee = callee_before(module, id, frame->callee);
    if (callee != NO_ID) {
      frame->callee++;
      if (builder->span_of[callee].start != NO_TIME || builder->schedule->of[callee].len == 0) {
        continue;
      }
      bool is_async =
          inst_get(module, inst_whose_callees_run_at(module, id))->opcode == OPCODE_ASYNC_START;
      push_frame(builder, &frames, callee, is_async ? callee : frame->async_context);
      continue;
    }
    ranges->time_of[id] = ranges->num_times;
    ranges->flat[ranges->num_times++] = id;
    frame->pos++;
    frame->callee = 0;
  }
}

/* ---- ranges ---- */

static LogicalTime later(LogicalTime a, LogicalTime b) {
  return a > b ? a : b;
}

/* The end of an instruction's definition. A root is defined until the end of its computation. */
static LogicalTime end_at(const Builder *builder, InstId id) {
  CompId comp = inst_get(builder->module, id)->parent;
  if (inst_is_root(builder->module, id)) return builder->span_of[comp].end;
  return builder->ranges->time_of[id];
}

/* The buffers of an async computation are held until its async-done. */
static LogicalTime async_end(const Builder *builder, CompId context) {
  const Module *module = builder->module;
  IdSpan callers = callers_of(builder->graph, context);
  LogicalTime end = 0;
  for (uint32_t i = 0; i < callers.len; i++) {
    InstId id = callers.ids[i], done = NO_ID;
    /* Goes from the start through updates to the done. */
    for (bool moved = true; moved;) {
      moved = false;
      for (uint32_t k = 0; k < inst_get(module, id)->users.len; k++) {
        InstId user = inst_users(module, id)[k];
        Opcode opcode = (Opcode)inst_get(module, user)->opcode;
        if (opcode == OPCODE_ASYNC_DONE) done = user;
        if (opcode == OPCODE_ASYNC_UPDATE) {
          id = user;
          moved = true;
          break;
        }
      }
    }
    bool has_done = done != NO_ID && builder->ranges->time_of[done] != NO_TIME;
    end = later(end, has_done ? builder->ranges->time_of[done] : builder->span_of[context].end);
  }
  return end;
}

typedef struct LastUse {
  const Builder *builder;
  LogicalTime time;
  bool has_use;
} LastUse;

static void note_use(void *context, InstId user, HloPosition position) {
  LastUse *last = context;
  const Module *module = last->builder->module;
  (void)position;
  const Instruction *inst = inst_get(module, user);
  /* A call is flattened, so the uses in its computation count instead. A loop's initial value is
   * taken over by the body as soon as the body begins, which in XLA's order is after the
   * condition. */
  if (inst->opcode == OPCODE_CALL) return;
  LogicalTime time = last->builder->ranges->time_of[user];
  if (inst->opcode == OPCODE_WHILE) {
    const CompId *callees = inst_callees(module, user);
    InstId param = id_list(module, comp_get(module, callees[0])->params)[0];
    time = last->builder->is_raw ? last->builder->span_of[callees[1]].start
                                 : last->builder->ranges->time_of[param];
  }
  if (time == NO_TIME) return;
  last->time = last->has_use ? later(last->time, time) : time;
  last->has_use = true;
}

bool value_is_async_state(const Module *module, const HloValue *value) {
  enum { FIRST_STATE = 2 }; /* the element after the operands and the results */
  Opcode opcode = (Opcode)inst_get(module, value->inst)->opcode;
  bool is_async = opcode == OPCODE_ASYNC_START || opcode == OPCODE_ASYNC_UPDATE;
  if (!module->backend.target->has_spaces || !is_async || value->part == 0) return false;
  const Shape *shape = shape_get(&module->shapes, value->shape);
  return shape_element_of_part(inst_shape(module, value->inst), value->part) >= FIRST_STATE &&
         !shape_is_tuple(shape) &&
         target_memory_space(module->backend.target, shape) == DEVICE_MEMORY_SPACE;
}

/* XLA:TPU gives the memory of the state to the next one as soon as the update runs. */
static bool ends_at_once(const Builder *builder, const HloValue *value) {
  return !builder->is_raw &&
         inst_get(builder->module, value->inst)->opcode == OPCODE_ASYNC_UPDATE &&
         value_is_async_state(builder->module, value);
}

static LiveRange range_of(const Builder *builder, ValueId id) {
  const Dataflow *flow = builder->flow;
  const HloValue *value = &flow->values.data[id];
  const LiveRanges *ranges = builder->ranges;
  CompId comp = inst_get(builder->module, value->inst)->parent;
  LogicalTime time = ranges->time_of[value->inst];
  if (time == NO_TIME) return (LiveRange){NO_TIME, NO_TIME};
  bool is_param = inst_get(builder->module, value->inst)->opcode == OPCODE_PARAMETER;
  LiveRange range = {.start = is_param ? builder->span_of[comp].start : time};
  if (builder->is_callers[id]) {
    range.end = ranges->num_times;
    return range;
  }
  range.end = end_at(builder, value->inst);
  if (ends_at_once(builder, value)) return range;
  if (builder->async_context[comp] != NO_ID) {
    range.end = later(range.end, async_end(builder, builder->async_context[comp]));
  }
  for (uint32_t i = flow->first_position[id] + 1; i < flow->first_position[id + 1]; i++) {
    InstId holder = flow->positions[i].inst;
    if (ranges->time_of[holder] != NO_TIME) range.end = later(range.end, end_at(builder, holder));
  }
  LastUse last = {.builder = builder};
  dataflow_visit_uses(builder->module, flow, id, note_use, &last);
  if (last.has_use) range.end = later(range.end, last.time);
  return range;
}

static int by_range_then_id(const void *pa, const void *pb) {
  const RangedValue *a = pa, *b = pb;
  if (a->range.start != b->range.start) return a->range.start < b->range.start ? -1 : 1;
  if (a->range.end != b->range.end) return a->range.end < b->range.end ? -1 : 1;
  return (a->value > b->value) - (a->value < b->value);
}

RangedValues live_ranges_sharing(const LiveRanges *ranges, const HloBuffers *buffers,
                                 BufferId buffer, Arena *out) {
  uint32_t begin = buffers->first_value[buffer];
  uint32_t count = buffers->first_value[buffer + 1] - begin;
  if (count < 2) return (RangedValues){0};
  RangedValues values = {.list = arena_array(out, RangedValue, count)};
  for (uint32_t i = 0; i < count; i++) {
    ValueId value = buffers->values[begin + i];
    LiveRange range = ranges->of[value];
    if (range.start != NO_TIME) values.list[values.len++] = (RangedValue){range, value};
  }
  if (values.len) qsort(values.list, values.len, sizeof *values.list, by_range_then_id);
  return values;
}

/* Makes the values of one buffer follow each other: each ends where the next one begins. */
static void normalize_buffer(const HloBuffers *buffers, BufferId buffer, LiveRanges *ranges,
                             Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  RangedValues values = live_ranges_sharing(ranges, buffers, buffer, scratch);
  for (uint32_t i = 0; i + 1 < values.len; i++) {
    LiveRange *a = &values.list[i].range, *b = &values.list[i + 1].range;
    b->end = later(a->end, b->end);
    if (a->end > b->start) a->end = b->start;
  }
  for (uint32_t i = 0; i < values.len; i++)
    ranges->of[values.list[i].value] = values.list[i].range;
  arena_reset(scratch, mark);
}

static void prefetch_users(const Module *module, InstId id) {
  uint32_t num_users = inst_get(module, id)->users.len;
  for (uint32_t i = 0; i < num_users && i < FETCH_AHEAD; i++)
    inst_prefetch(module, inst_users(module, id)[i]);
}

static LiveRanges build(const Module *module, const CallGraph *graph, const Dataflow *flow,
                        const Schedule *schedule, bool is_raw, Arena *out, Arena *scratch) {
  LiveRanges ranges = {.of = arena_array(out, LiveRange, flow->values.len),
                       .flat = arena_array(out, InstId, module->insts.len),
                       .time_of = arena_array(out, LogicalTime, module->insts.len)};
  memset(ranges.time_of, 0xff, module->insts.len * sizeof *ranges.time_of);
  ArenaMark mark = arena_mark(scratch);
  Builder builder = {.module = module,
                     .graph = graph,
                     .flow = flow,
                     .schedule = schedule,
                     .ranges = &ranges,
                     .span_of = arena_array(scratch, CompSpan, module->comps.len),
                     .async_context = arena_array(scratch, CompId, module->comps.len),
                     .is_callers = values_of_callers(module, flow, scratch),
                     .is_raw = is_raw,
                     .scratch = scratch};
  memset(builder.span_of, 0xff, module->comps.len * sizeof *builder.span_of);
  memset(builder.async_context, 0xff, module->comps.len * sizeof *builder.async_context);
  flatten(&builder);
  for (ValueId value = 0; value < flow->values.len; value++) {
    if (value + FETCH_AHEAD < flow->values.len)
      inst_prefetch(module, flow->values.data[value + FETCH_AHEAD].inst);
    if (value + FETCH_AHEAD / 2 < flow->values.len)
      prefetch_users(module, flow->values.data[value + FETCH_AHEAD / 2].inst);
    ranges.of[value] = range_of(&builder, value);
  }
  arena_reset(scratch, mark);
  return ranges;
}

LiveRanges live_ranges_build(const Module *module, const CallGraph *graph, const Dataflow *flow,
                             const HloBuffers *buffers, const Schedule *schedule, Arena *out,
                             Arena *scratch) {
  LiveRanges ranges = build(module, graph, flow, schedule, false, out, scratch);
  for (BufferId buffer = 0; buffer < buffers->num_buffers; buffer++) {
    normalize_buffer(buffers, buffer, &ranges, scratch);
  }
  return ranges;
}

LiveRanges live_ranges_raw(const Module *module, const CallGraph *graph, const Dataflow *flow,
                           const Schedule *schedule, Arena *out, Arena *scratch) {
  return build(module, graph, flow, schedule, true, out, scratch);
}
