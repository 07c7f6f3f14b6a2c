/* XLA's DefaultMemoryScheduler: runs list, dfs and postorder and keeps the schedule whose
 * MinimumMemoryForModule is smallest, the first in this order if several are equal. It judges by
 * that figure whatever memory model the user chose. */
#include "schedule/scheduler.h"

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
