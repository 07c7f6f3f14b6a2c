#include "schedule/scheduler.h"

void schedule_input(const ScheduleContext *context, Schedule *schedule, Arena *out,
                    Arena *scratch) {
  (void)scratch;
  schedule_init(context, schedule, out);
}
