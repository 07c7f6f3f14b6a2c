#include "remat/legality/safe_order.h"

#include <stdlib.h>

#include "analysis/flow/placed.h"
#include "remat/rewrite/paths.h"

enum {
  /* scheduling rounds; each round can reveal overwritten reads of other memory */
  MAX_ROUNDS = 16,
  /* a read without a path of at most this length gets a control dependency */
  SHORT_PATH_STEPS = 64,
};

/* ---- keeping the order of the instructions that use one buffer ---- */

typedef struct Order {
  Module *module; /* a copy, which receives the control dependencies */
  ValueAnalysis values;
  LiveRanges ranges;  /* in the module's own order */
  bool *is_chained;   /* by BufferId */
  InstId *caller;     /* by CompId: the instruction that runs there in `round` */
  uint32_t *round_of; /* by CompId: the round in which `caller` was set */
  uint32_t round;
  Arena *scratch;
} Order;

/* Makes `later` wait for `earlier`. If they are in different computations, their callers in the
 * innermost common computation get the control dependency. */
static void add_wait(Order *order, InstId earlier, InstId later) {
  const CallGraph *graph = &order->values.graph;
  Module *module = order->module;
  order->round++;
  while (earlier != NO_ID) {
    CompId comp = inst_get(module, earlier)->parent;
    order->caller[comp] = earlier;
    order->round_of[comp] = order->round;
    earlier = only_caller_of(graph, comp);
  }
  while (later != NO_ID && order->round_of[inst_get(module, later)->parent] != order->round)
    later = only_caller_of(graph, inst_get(module, later)->parent);
  if (later == NO_ID) return;
  earlier = order->caller[inst_get(module, later)->parent];
  const LogicalTime *time_of = order->ranges.time_of;
  if (time_of[earlier] == NO_TIME || time_of[earlier] >= time_of[later]) return;
  module_add_control(module, earlier, later);
}

/* A read or a write of a buffer. */
typedef struct Event {
  LogicalTime time;
  bool is_write; /* a write comes after the reads of the same instruction */
  InstId inst;
} Event;

typedef struct Events {
  VEC(Event) list;
  Order *order;
} Events;

static int by_time(const void *pa, const void *pb) {
  const Event *a = pa, *b = pb;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  if (a->is_write != b->is_write) return a->is_write ? 1 : -1;
  return (a->inst > b->inst) - (a->inst < b->inst);
}

static void add_event(Events *events, InstId id, bool is_write) {
  LogicalTime time = events->order->ranges.time_of[id];
  if (time == NO_TIME) return;
  *vec_push(events->order->scratch, &events->list) = (Event){time, is_write, id};
}

static void add_reader(void *context, InstId user, HloPosition position) {
  (void)position;
  add_event(context, user, false);
}

/* Makes each writer of the buffer wait for all readers of the previous value, and makes these
 * readers wait for the writer of that value. */
static void chain(Order *order, BufferId buffer) {
  const HloBuffers *buffers = &order->values.buffers;
  const Dataflow *flow = &order->values.flow;
  if (order->is_chained[buffer]) return;
  order->is_chained[buffer] = true;
  ArenaMark mark = arena_mark(order->scratch);
  Events events = {.order = order};
  for (uint32_t i = buffers->first_value[buffer]; i < buffers->first_value[buffer + 1]; i++) {
    ValueId value = buffers->values[i];
    add_event(&events, flow->values.data[value].inst, true);
    dataflow_visit_uses(order->module, flow, value, add_reader, &events);
  }
  if (events.list.len) qsort(events.list.data, events.list.len, sizeof *events.list.data, by_time);
  uint32_t last_write = NO_ID, first_reader = 0;
  for (uint32_t i = 0; i < events.list.len; i++) {
    const Event *event = &events.list.data[i];
    if (last_write != NO_ID) add_wait(order, events.list.data[last_write].inst, event->inst);
    if (!event->is_write) continue;
    for (uint32_t k = first_reader; k < i; k++) {
      if (!events.list.data[k].is_write) add_wait(order, events.list.data[k].inst, event->inst);
    }
    last_write = i;
    first_reader = i + 1;
  }
  arena_reset(order->scratch, mark);
}

static bool chain_all(Order *order, const OverwrittenReads *reads) {
  bool is_new = false;
  for (uint32_t i = 0; i < reads->list.len; i++) {
    BufferId buffer = order->values.buffers.of[reads->list.data[i].value];
    is_new |= !order->is_chained[buffer];
    chain(order, buffer);
  }
  return is_new;
}

/* ---- what the compiler has placed ---- */

/* Makes each instruction that is placed in another memory wait for the one before it. Returns
 * whether there are any. */
static bool chain_placed(Order *order, const Schedule *own) {
  Module *module = order->module;
  PlacedInsts placed = placed_build(module, order->scratch, order->scratch);
  if (!placed.of_comp) return false;
  for (CompId comp = 0; comp < own->num_comps; comp++) {
    InstId last = NO_ID;
    for (SchedPos pos = 0; pos < own->of[comp].len; pos++) {
      InstId id = own->of[comp].ids[pos];
      if (inst_get(module, id)->opcode == OPCODE_PARAMETER) continue;
      if (!inst_is_placed(module, &placed, id)) continue;
      if (last != NO_ID) add_wait(order, last, id);
      last = id;
    }
  }
  return true;
}

/* ---- reads that the module's own order does not have ---- */

static int by_ids(const void *pa, const void *pb) {
  const OverwrittenRead *a = pa, *b = pb;
  if (a->reader != b->reader) return a->reader < b->reader ? -1 : 1;
  if (a->value != b->value) return a->value < b->value ? -1 : 1;
  return (a->holder > b->holder) - (a->holder < b->holder);
}

static void sort_reads(OverwrittenReads *reads) {
  if (reads->list.len) qsort(reads->list.data, reads->list.len, sizeof *reads->list.data, by_ids);
}

static OverwrittenReads new_reads(const Order *order, const OverwrittenReads *known,
                                  const Schedule *schedule, Arena *arena) {
  OverwrittenReads reads =
      overwritten_reads_find(order->module, &order->values, schedule, arena, order->scratch);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < reads.list.len; i++) {
    OverwrittenRead read = reads.list.data[i];
    if (known->list.len &&
        bsearch(&read, known->list.data, known->list.len, sizeof *known->list.data, by_ids)) {
      continue;
    }
    reads.list.data[kept++] = read;
  }
  reads.list.len = kept;
  return reads;
}

static void run_scheduler(const Scheduler *scheduler, Module *module, Schedule *schedule,
                          Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  ScheduleContext context = schedule_context_build(module, arena, scratch);
  scheduler->run(&context, schedule, out, scratch);
  arena_free(arena);
}

/* Schedules again until there is no overwritten read that the module's own order does not have. */
static void schedule_in_order(const Scheduler *scheduler, Order *order, const Schedule *own,
                              Schedule *schedule, Arena *out) {
  Arena *arena = order->scratch;
  OverwrittenReads known =
      overwritten_reads_find(order->module, &order->values, own, arena, order->scratch);
  sort_reads(&known);
  bool has_waits = chain_placed(order, own);
  has_waits |= chain_all(order, &known);
  for (int round = 0; round < MAX_ROUNDS; round++) {
    if (round || has_waits) run_scheduler(scheduler, order->module, schedule, out, order->scratch);
    OverwrittenReads found = new_reads(order, &known, schedule, arena);
    if (found.list.len == 0) return;
    if (!chain_all(order, &found)) break;
  }
  *schedule = schedule_copy(own, order->module, out);
}

void schedule_safely(const Scheduler *scheduler, Module *module, const Schedule *own,
                     Schedule *schedule, Arena *out, Arena *scratch) {
  run_scheduler(scheduler, module, schedule, out, scratch);
  if (!own) return;
  Arena *arena = arena_new(arena_options(scratch));
  Order order = {.module = module_copy(module), .scratch = arena};
  order.values = value_analysis_build(order.module, arena, scratch);
  order.ranges =
      live_ranges_raw(order.module, &order.values.graph, &order.values.flow, own, arena, scratch);
  order.is_chained = arena_zarray(arena, bool, order.values.buffers.num_buffers);
  order.caller = arena_array(arena, InstId, module->comps.len);
  order.round_of = arena_zarray(arena, uint32_t, module->comps.len);
  schedule_in_order(scheduler, &order, own, schedule, out);
  module_free(order.module);
  arena_free(arena);
}

/* ---- for a module whose order XLA chooses ---- */

static void check_pair(Paths *paths, OpenReads *open, OpenRead pair, Arena *out) {
  if (pair.overwriter == pair.reader) return;
  /* A read that comes after the overwriter in this order, too, has no order to keep. */
  if (paths->positions[pair.overwriter] < paths->positions[pair.reader]) return;
  if (must_follow(paths, pair.reader, pair.overwriter)) return;
  *vec_push(out, &open->list) = pair;
}

/* Checks what `reader` has of `operand` against all that overwrite a part of it. */
static void check_pairs(Paths *paths, const AllOverwriters *overwriters, OpenReads *open,
                        InstId reader, InstId operand, Arena *out) {
  IdSpan found = all_overwriters_of(overwriters, operand);
  for (uint32_t i = 0; i < found.len; i++)
    check_pair(paths, open, (OpenRead){reader, operand, found.ids[i]}, out);
}

OpenReads open_reads(const Module *module, const Schedule *schedule, uint32_t max_steps, Arena *out,
                     Arena *scratch) {
  OpenReads open = {0};
  Arena *arena = arena_new(arena_options(scratch));
  ValueAnalysis values = value_analysis_build(module, arena, scratch);
  AllOverwriters overwriters = all_overwriters_find(module, &values, schedule, arena, scratch);
  Paths paths = paths_begin(module, schedule, max_steps, arena);
  for (CompId comp = 0; comp < schedule->num_comps; comp++) {
    for (SchedPos pos = 0; pos < schedule->of[comp].len; pos++) {
      InstId id = schedule->of[comp].ids[pos];
      Opcode opcode = (Opcode)inst_get(module, id)->opcode;
      bool is_given = opcode == OPCODE_PARAMETER || opcode == OPCODE_CONSTANT;
      if (is_given || opcode_only_passes_on(opcode)) continue;
      /* The instruction's own write must come before the overwriter even if the value has no
       * reader. */
      check_pairs(&paths, &overwriters, &open, id, id, out);
      for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++)
        check_pairs(&paths, &overwriters, &open, id, inst_operand(module, id, i), out);
    }
  }
  arena_free(arena);
  return open;
}

bool has_closed_reads(const Module *module, const Schedule *schedule, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  OpenReads open = open_reads(module, schedule, SHORT_PATH_STEPS, arena, scratch);
  bool is_closed = open.list.len == 0;
  arena_free(arena);
  return is_closed;
}

void close_reads(Module *module, const Schedule *schedule, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  OpenReads open = open_reads(module, schedule, SHORT_PATH_STEPS, arena, scratch);
  for (uint32_t i = 0; i < open.list.len; i++)
    module_add_control(module, open.list.data[i].reader, open.list.data[i].overwriter);
  arena_free(arena);
}
