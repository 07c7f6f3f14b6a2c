/* XLA's BFScheduler (hlo_memory_scheduler.cc): Kahn's algorithm with a queue. */
#include "schedule/scheduler.h"

typedef struct Bfs {
  const Module *module;
  uint32_t *pending; /* by InstId: operands and control predecessors that have not run */
  Sequence sequence; /* the queue: instructions from `next` on are ready */
} Bfs;

static void add_dependency(Bfs *bfs, InstId id) {
  bfs->pending[id]++;
}

static void drop_dependency(Bfs *bfs, InstId id) {
  if (--bfs->pending[id] == 0) bfs->sequence.ids[bfs->sequence.len++] = id;
}

static void for_successors(Bfs *bfs, InstId id, void (*visit)(Bfs *, InstId)) {
  const Module *module = bfs->module;
  IdList users = inst_get(module, id)->users, after = inst_control(module, id)->successors;
  for (uint32_t i = 0; i < users.len; i++)
    visit(bfs, id_list(module, users)[i]);
  for (uint32_t i = 0; i < after.len; i++)
    visit(bfs, id_list(module, after)[i]);
}

static void run_comp(Bfs *bfs, CompId comp, Sequence *sequence) {
  const Module *module = bfs->module;
  uint32_t num_insts = comp_num_insts(module, comp);
  bfs->sequence = (Sequence){.ids = sequence->ids};
  for (uint32_t i = 0; i < num_insts; i++) {
    for_successors(bfs, comp_inst(module, comp, i), add_dependency);
  }
  for (uint32_t i = 0; i < num_insts; i++) {
    InstId id = comp_inst(module, comp, i);
    if (bfs->pending[id] == 0) bfs->sequence.ids[bfs->sequence.len++] = id;
  }
  for (SchedPos next = 0; next < bfs->sequence.len; next++) {
    for_successors(bfs, bfs->sequence.ids[next], drop_dependency);
  }
  *sequence = bfs->sequence;
}

void schedule_bfs(const ScheduleContext *context, Schedule *schedule, Arena *out, Arena *scratch) {
  const Module *module = context->module;
  schedule_init(context, schedule, out);
  ArenaMark mark = arena_mark(scratch);
  Bfs bfs = {.module = module, .pending = arena_zarray(scratch, uint32_t, module->insts.len)};
  CompList comps = computations_to_schedule(module, scratch, scratch);
  for (uint32_t i = 0; i < comps.len; i++) {
    run_comp(&bfs, comps.ids[i], &schedule->of[comps.ids[i]]);
  }
  arena_reset(scratch, mark);
}
