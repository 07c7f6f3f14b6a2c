/* XLA's DFSMemoryScheduler (hlo_memory_scheduler.cc): depth first from the root. Of an
 * instruction's operands, the one whose ancestors have the largest fan-out is visited first, then
 * the one with the most bytes, then by name. Both figures count shared ancestors once per path, so
 * they are clamped. */
#include <stdlib.h>

#include "analysis/flow/traverse.h"
#include "schedule/scheduler.h"

enum { NEW, VISITING, VISITED };

typedef struct Stats {
  int64_t extra_users; /* users beyond the first, of this instruction and all its ancestors */
  int64_t total_bytes;
} Stats;

typedef struct Child {
  Stats stats;
  Str name;
  InstId id;
} Child;

typedef struct Dfs {
  const ScheduleContext *context;
  Stats *stats;    /* by InstId */
  uint8_t *state;  /* by InstId */
  InstId *seen_by; /* by InstId: the last user that counted it */
  VEC(InstId) stack;
  VEC(Child) children;
  Sequence sequence;
  Arena *scratch;
} Dfs;

/* Bytes of the values that the instruction defines: a while defines only its phis. Reducers have no
 * values, so their logical buffers are counted, which are equivalent. */
static int64_t defined_bytes(const ScheduleContext *context, InstId id) {
  const Dataflow *flow = &context->values.flow;
  const PointsTo *points_to = &context->points_to;
  int64_t bytes = 0;
  if (dataflow_covers(flow, id)) {
    for (uint32_t part = 0; part < inst_shape(context->module, id)->num_parts; part++) {
      const HloValue *value = &flow->values.data[dataflow_value(flow, id, part)];
      if (value->inst == id && value->part == part) bytes += value->bytes;
    }
    return bytes;
  }
  for (uint32_t i = 0; i < points_to->num_defined[id]; i++) {
    bytes += points_to->buffers.data[points_to->first_buffer[id] + i].bytes;
  }
  return bytes;
}

static int64_t clamped_sum(int64_t a, int64_t b, int64_t limit) {
  return a >= limit - b ? limit : a + b;
}

static void compute_stats(Dfs *dfs, Sequence post_order) {
  const Module *module = dfs->context->module;
  int64_t all_bytes = 0;
  for (uint32_t i = 0; i < post_order.len; i++) {
    InstId id = post_order.ids[i];
    const Instruction *inst = inst_get(module, id);
    Stats *stats = &dfs->stats[id];
    *stats = (Stats){0};
    if (inst->opcode == OPCODE_PARAMETER || inst->opcode == OPCODE_CONSTANT) continue;
    int64_t own_bytes = defined_bytes(dfs->context, id);
    all_bytes += own_bytes;
    stats->extra_users = inst->users.len ? inst->users.len - 1 : 0;
    if (stats->extra_users > post_order.len) stats->extra_users = post_order.len;
    stats->total_bytes = own_bytes;
    for (uint32_t k = 0; k < inst->num_operands; k++) {
      InstId operand = inst_operand(module, id, k);
      if (dfs->seen_by[operand] == id) continue;
      dfs->seen_by[operand] = id;
      const Stats *other = &dfs->stats[operand];
      stats->extra_users = clamped_sum(stats->extra_users, other->extra_users, post_order.len);
      stats->total_bytes = clamped_sum(stats->total_bytes, other->total_bytes, all_bytes);
    }
  }
}

static int by_stats_then_name(const void *pa, const void *pb) {
  const Child *a = pa, *b = pb;
  if (a->stats.extra_users != b->stats.extra_users) {
    return a->stats.extra_users > b->stats.extra_users ? -1 : 1;
  }
  if (a->stats.total_bytes != b->stats.total_bytes) {
    return a->stats.total_bytes > b->stats.total_bytes ? -1 : 1;
  }
  int order = str_compare(a->name, b->name);
  return order ? order : (a->id > b->id) - (a->id < b->id);
}

static void add_child(Dfs *dfs, InstId id) {
  if (dfs->state[id] == VISITED) return;
  *vec_push(dfs->scratch, &dfs->children) =
      (Child){dfs->stats[id], inst_name(dfs->context->module, id), id};
}

static void push_children(Dfs *dfs, InstId id) {
  const Module *module = dfs->context->module;
  dfs->children.len = 0;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    add_child(dfs, inst_operand(module, id, i));
  }
  IdList before = inst_control(module, id)->predecessors;
  for (uint32_t i = 0; i < before.len; i++)
    add_child(dfs, id_list(module, before)[i]);
  if (dfs->children.len > 1) {
    qsort(dfs->children.data, dfs->children.len, sizeof(Child), by_stats_then_name);
  }
  for (uint32_t i = dfs->children.len; i-- > 0;) {
    *vec_push(dfs->scratch, &dfs->stack) = dfs->children.data[i].id;
  }
}

static void visit_from(Dfs *dfs, InstId root) {
  *vec_push(dfs->scratch, &dfs->stack) = root;
  while (dfs->stack.len) {
    InstId id = dfs->stack.data[dfs->stack.len - 1];
    if (dfs->state[id] == NEW) {
      dfs->state[id] = VISITING;
      push_children(dfs, id);
      continue;
    }
    dfs->stack.len--;
    if (dfs->state[id] == VISITING) dfs->sequence.ids[dfs->sequence.len++] = id;
    dfs->state[id] = VISITED;
  }
}

/* Visits dead instructions first, in their order, then the root. */
static void run_comp(Dfs *dfs, CompId comp, Sequence *sequence) {
  const Module *module = dfs->context->module;
  InstId root = comp_get(module, comp)->root;
  dfs->sequence = (Sequence){.ids = sequence->ids};
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId id = comp_inst(module, comp, i);
    bool is_used = inst_get(module, id)->users.len || inst_control(module, id)->successors.len;
    if (!is_used && id != root) visit_from(dfs, id);
  }
  visit_from(dfs, root);
  *sequence = dfs->sequence;
}

void schedule_dfs(const ScheduleContext *context, Schedule *schedule, Arena *out, Arena *scratch) {
  const Module *module = context->module;
  uint32_t num_insts = module->insts.len;
  schedule_init(context, schedule, out);
  ArenaMark mark = arena_mark(scratch);
  Dfs dfs = {.context = context,
             .stats = arena_array(scratch, Stats, num_insts),
             .state = arena_zarray(scratch, uint8_t, num_insts),
             .seen_by = arena_array(scratch, InstId, num_insts),
             .scratch = scratch};
  memset(dfs.seen_by, 0xff, num_insts * sizeof *dfs.seen_by);
  uint32_t *visited = arena_array(scratch, uint32_t, num_insts);
  CompList comps = computations_to_schedule(module, scratch, scratch);
  for (uint32_t i = 0; i < comps.len; i++) {
    CompId comp = comps.ids[i];
    compute_stats(&dfs, inst_post_order(module, comp, visited, scratch, scratch));
    run_comp(&dfs, comp, &schedule->of[comp]);
  }
  arena_reset(scratch, mark);
}
