/* XLA's DefaultMemoryScheduler, and its PostOrderScheduler, which is the simplest of its
 * candidates. */
#include "analysis/flow/traverse.h"
#include "schedule/scheduler.h"

/* HloComputation::MakeInstructionPostOrder, XLA's PostOrderScheduler. */
void schedule_postorder(const ScheduleContext *context, Schedule *schedule, Arena *out,
                        Arena *scratch) {
  const Module *module = context->module;
  schedule_init(context, schedule, out);
  ArenaMark mark = arena_mark(scratch);
  uint32_t *visited = arena_array(scratch, uint32_t, module->insts.len);
  CompList comps = computations_to_schedule(module, scratch, scratch);
  for (uint32_t i = 0; i < comps.len; i++) {
    schedule->of[comps.ids[i]] = inst_post_order(module, comps.ids[i], visited, out, scratch);
  }
  arena_reset(scratch, mark);
}

/* XLA's DefaultMemoryScheduler: runs list, dfs and postorder and keeps the schedule whose
 * MinimumMemoryForModule is smallest, the first in this order if several are equal. It judges by
 * that figure whatever memory model the user chose. */
void schedule_default(const ScheduleContext *context, Schedule *schedule, Arena *out,
                      Arena *scratch) {
  static const SchedulerFn candidates[] = {schedule_list, schedule_dfs, schedule_postorder};
  int64_t least_bytes = INT64_MAX;
  Arena *inner = arena_new(arena_options(scratch));
  for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
    Schedule candidate;
    ArenaMark mark = arena_mark(scratch);
    candidates[i](context, &candidate, scratch, inner);
    Liveness liveness = liveness_run(context->module, &context->values, &candidate,
                                     COUNT_SHARED_TWICE, scratch, inner);
    if (liveness.peak_bytes < least_bytes) {
      least_bytes = liveness.peak_bytes;
      *schedule = schedule_copy(&candidate, context->module, out);
    }
    arena_reset(scratch, mark);
  }
  arena_free(inner);
}
