/* XLA's BFScheduler (hlo_memory_scheduler.cc): Kahn's algorithm with a queue.
 *
 * The order of the queue depends on the order of each instruction's users, which XLA keeps in the
 * order in which they were made. Of a text, that is the order of the text. A module that a hook of
 * JAX's returns has come out of a proto, and a proto has the instructions in post order
 * (HloComputation::ToProto), so there it is the post order; `bfs-proto` is for these. In a text
 * that XLA has printed without a schedule, the two are the same. What XLA itself has rewritten
 * since it was read may be in a third order, which its text does not show. */
#include "analysis/flow/traverse.h"
#include "ir/vec.h"
#include "schedule/scheduler.h"

/* An element of a list of users or of control successors. */
typedef struct Link {
  InstId to;
  uint32_t next; /* NO_ID at the end */
} Link;

typedef struct Lists {
  uint32_t *first, *last; /* by InstId: an index of `links`, NO_ID if the list is empty */
  VEC(Link) links;
} Lists;

typedef struct Bfs {
  const Module *module;
  uint32_t *pending; /* by InstId: operands and control predecessors that have not run */
  uint32_t *visited; /* by InstId, for inst_post_order(); NULL = users are in the module's order */
  Lists users, after;
  Sequence sequence; /* the queue: instructions from `next` on are ready */
  Arena *scratch;
} Bfs;

static Lists lists_new(const Module *module, Arena *scratch) {
  Lists lists = {.first = arena_array(scratch, uint32_t, module->insts.len),
                 .last = arena_array(scratch, uint32_t, module->insts.len)};
  for (InstId id = 0; id < module->insts.len; id++)
    lists.first[id] = lists.last[id] = NO_ID;
  return lists;
}

/* Adds an instruction to the list of another one, unless it is there: it comes once for each time
 * that it reads the other. */
static bool list_add(Lists *lists, InstId of, InstId id, Arena *scratch) {
  uint32_t last = lists->last[of], index = lists->links.len;
  if (last != NO_ID && lists->links.data[last].to == id) return false;
  *vec_push(scratch, &lists->links) = (Link){id, NO_ID};
  if (last == NO_ID) {
    lists->first[of] = index;
  } else {
    lists->links.data[last].next = index;
  }
  lists->last[of] = index;
  return true;
}

/* In the order of the users that the module has. */
static void list_users(Bfs *bfs, InstId id) {
  const Module *module = bfs->module;
  IdList users = inst_get(module, id)->users, after = inst_control(module, id)->successors;
  for (uint32_t i = 0; i < users.len; i++) {
    InstId user = id_list(module, users)[i];
    bfs->pending[user] += list_add(&bfs->users, id, user, bfs->scratch);
  }
  for (uint32_t i = 0; i < after.len; i++) {
    InstId next = id_list(module, after)[i];
    bfs->pending[next] += list_add(&bfs->after, id, next, bfs->scratch);
  }
}

/* In the order in which this is called for the users. */
static void list_dependencies(Bfs *bfs, InstId id) {
  const Module *module = bfs->module;
  IdList before = inst_control(module, id)->predecessors;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++)
    bfs->pending[id] += list_add(&bfs->users, inst_operand(module, id, i), id, bfs->scratch);
  for (uint32_t i = 0; i < before.len; i++)
    bfs->pending[id] += list_add(&bfs->after, id_list(module, before)[i], id, bfs->scratch);
}

static void drop_dependencies(Bfs *bfs, const Lists *lists, InstId of) {
  for (uint32_t i = lists->first[of]; i != NO_ID; i = lists->links.data[i].next) {
    InstId id = lists->links.data[i].to;
    if (--bfs->pending[id] == 0) bfs->sequence.ids[bfs->sequence.len++] = id;
  }
}

static void run_comp(Bfs *bfs, CompId comp, Sequence *sequence) {
  const Module *module = bfs->module;
  if (bfs->visited) {
    Sequence order = inst_post_order(module, comp, bfs->visited, bfs->scratch, bfs->scratch);
    for (uint32_t i = 0; i < order.len; i++)
      list_dependencies(bfs, order.ids[i]);
  } else {
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++)
      list_users(bfs, comp_inst(module, comp, i));
  }
  bfs->sequence = (Sequence){.ids = sequence->ids};
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId id = comp_inst(module, comp, i);
    if (bfs->pending[id] == 0) bfs->sequence.ids[bfs->sequence.len++] = id;
  }
  for (SchedPos next = 0; next < bfs->sequence.len; next++) {
    drop_dependencies(bfs, &bfs->users, bfs->sequence.ids[next]);
    drop_dependencies(bfs, &bfs->after, bfs->sequence.ids[next]);
  }
  *sequence = bfs->sequence;
}

static void run(const ScheduleContext *context, bool is_from_proto, Schedule *schedule, Arena *out,
                Arena *scratch) {
  const Module *module = context->module;
  schedule_init(context, schedule, out);
  ArenaMark mark = arena_mark(scratch);
  Bfs bfs = {.module = module,
             .pending = arena_zarray(scratch, uint32_t, module->insts.len),
             .visited = is_from_proto ? arena_array(scratch, uint32_t, module->insts.len) : NULL,
             .users = lists_new(module, scratch),
             .after = lists_new(module, scratch),
             .scratch = scratch};
  CompList comps = computations_to_schedule(module, scratch, scratch);
  for (uint32_t i = 0; i < comps.len; i++) {
    run_comp(&bfs, comps.ids[i], &schedule->of[comps.ids[i]]);
  }
  arena_reset(scratch, mark);
}

void schedule_bfs(const ScheduleContext *context, Schedule *result, Arena *out, Arena *scratch) {
  run(context, false, result, out, scratch);
}

void schedule_bfs_proto(const ScheduleContext *context, Schedule *result, Arena *out,
                        Arena *scratch) {
  run(context, true, result, out, scratch);
}
