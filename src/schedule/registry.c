#include "schedule/scheduler.h"

const Scheduler schedulers[] = {
#define SCHEDULER(id, name, summary) {name, summary, schedule_##id},
#include "schedule/algos.def"
};

const size_t num_schedulers = sizeof schedulers / sizeof *schedulers;

const Scheduler *scheduler_find(const char *name) {
  for (size_t i = 0; i < num_schedulers; i++) {
    if (strcmp(schedulers[i].name, name) == 0) return &schedulers[i];
  }
  return NULL;
}

ScheduleContext schedule_context_build(const Module *module, Arena *out, Arena *scratch) {
  ScheduleContext context = {.module = module};
  context.points_to = points_to_build(module, out, scratch);
  context.values = value_analysis_build(module, out, scratch);
  return context;
}

CompList computations_to_schedule(const Module *module, Arena *out, Arena *scratch) {
  CompList list = {.ids = arena_array(out, CompId, module->comps.len)};
  ArenaMark mark = arena_mark(scratch);
  bool *is_fused = arena_zarray(scratch, bool, module->comps.len);
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->opcode != OPCODE_FUSION || inst->flags & INST_DEAD) continue;
    is_fused[inst_callees(module, id)[0]] = true;
  }
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    bool is_dead = comp_get(module, comp)->flags & COMP_DEAD;
    if (!is_dead && !is_fused[comp]) list.ids[list.len++] = comp;
  }
  arena_reset(scratch, mark);
  return list;
}

void schedule_init(const ScheduleContext *context, Schedule *schedule, Arena *out) {
  *schedule = schedule_in_text_order(context->module, out);
}

void schedule_input(const ScheduleContext *context, Schedule *schedule, Arena *out,
                    Arena *scratch) {
  (void)scratch;
  schedule_init(context, schedule, out);
}
