#include "remat/safe_order.h"

#include "analysis/interference.h"

/* Each round of waiting can bring up others; they end, because all of them are in the module's own
 * order, but not always soon. */
enum { MAX_ROUNDS = 16 };

typedef struct Order {
  const Schedule *own;
  Module *module; /* where instructions wait */
  ValueAnalysis values;
  LiveRanges ranges;  /* in the module's own order */
  InstId *caller;     /* by CompId: what runs there for `round` */
  uint32_t *round_of; /* by CompId */
  uint32_t round;
  InstId later; /* that waits */
  uint32_t num_added;
} Order;

/* NO_ID for the entry, and for what several call. */
static InstId only_caller(const CallGraph *graph, CompId comp) {
  uint32_t first = graph->first_caller[comp];
  return graph->first_caller[comp + 1] - first == 1 ? graph->callers[first] : NO_ID;
}

/* Makes one wait for the other; where they are in several computations, who calls them there. */
static void add_wait(Order *order, InstId earlier, InstId later) {
  const CallGraph *graph = &order->values.graph;
  Module *module = order->module;
  order->round++;
  while (earlier != NO_ID) {
    CompId comp = inst_get(module, earlier)->parent;
    order->caller[comp] = earlier;
    order->round_of[comp] = order->round;
    earlier = only_caller(graph, comp);
  }
  while (later != NO_ID && order->round_of[inst_get(module, later)->parent] != order->round)
    later = only_caller(graph, inst_get(module, later)->parent);
  if (later == NO_ID) return;
  earlier = order->caller[inst_get(module, later)->parent];
  const LogicalTime *time_of = order->ranges.time_of;
  if (time_of[earlier] == NO_TIME || time_of[earlier] >= time_of[later]) return;
  uint32_t before = inst_control(module, earlier)->successors.len;
  module_add_control(module, earlier, later);
  order->num_added += inst_control(module, earlier)->successors.len - before;
}

static void wait_for_reader(void *context, InstId user, HloPosition position) {
  Order *order = context;
  (void)position;
  add_wait(order, user, order->later);
}

static void keep_apart(Order *order, ValueId first, ValueId second) {
  const Dataflow *flow = &order->values.flow;
  LiveRange a = order->ranges.of[first], b = order->ranges.of[second];
  if (a.start == NO_TIME || b.start == NO_TIME) return;
  bool is_first_earlier = a.end <= b.start;
  if (!is_first_earlier && b.end > a.start) return;
  ValueId earlier = is_first_earlier ? first : second;
  order->later = flow->values.data[is_first_earlier ? second : first].inst;
  add_wait(order, flow->values.data[earlier].inst, order->later);
  dataflow_visit_uses(order->module, flow, earlier, wait_for_reader, order);
}

/* False when nothing could be added. */
static bool keep_all_apart(Order *order, const Interferences *found) {
  order->num_added = 0;
  for (uint32_t i = 0; i < found->list.len; i++)
    keep_apart(order, found->list.data[i].first, found->list.data[i].second);
  return order->num_added > 0;
}

/* Schedules again until nothing interferes. */
static void schedule_apart(const Scheduler *scheduler, Order *order, const Interferences *found,
                           Schedule *schedule, Arena *out, Arena *scratch) {
  Interferences left = *found;
  Arena *arena = arena_new(arena_options(scratch));
  for (int round = 0; left.list.len; round++) {
    if (round == MAX_ROUNDS || !keep_all_apart(order, &left)) {
      *schedule = schedule_copy(order->own, order->module, out);
      break;
    }
    arena_free(arena);
    arena = arena_new(arena_options(scratch));
    ScheduleContext context = schedule_context_build(order->module, arena, scratch);
    scheduler->run(&context, schedule, out, scratch);
    left = interferences_find(order->module, &order->values, schedule, arena, scratch);
  }
  arena_free(arena);
}

void schedule_safely(const Scheduler *scheduler, Module *module, const Schedule *own,
                     Schedule *schedule, Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  ScheduleContext context = schedule_context_build(module, arena, scratch);
  scheduler->run(&context, schedule, out, scratch);
  Interferences found = {0}, of_own = {0};
  if (own) found = interferences_find(module, &context.values, schedule, arena, scratch);
  if (found.list.len) of_own = interferences_find(module, &context.values, own, arena, scratch);
  if (found.list.len && of_own.list.len == 0) {
    Order order = {.own = own,
                   .module = module_copy(module),
                   .values = context.values,
                   .ranges = of_own.ranges,
                   .caller = arena_array(arena, InstId, module->comps.len),
                   .round_of = arena_zarray(arena, uint32_t, module->comps.len)};
    schedule_apart(scheduler, &order, &found, schedule, out, scratch);
    module_free(order.module);
  }
  arena_free(arena);
}
