/* HloComputation::MakeInstructionPostOrder, XLA's PostOrderScheduler. */
#include "analysis/flow/traverse.h"
#include "schedule/scheduler.h"

void schedule_postorder(const ScheduleContext *context, Schedule *schedule, Arena *out,
                        Arena *scratch) {
  const Module *module = context->module;
  schedule_init(context, schedule, out);
  ArenaMark mark = arena_mark(scratch);
  uint8_t *visited = arena_zarray(scratch, uint8_t, module->insts.len);
  CompList comps = computations_to_schedule(module, scratch, scratch);
  for (uint32_t i = 0; i < comps.len; i++) {
    schedule->of[comps.ids[i]] = inst_post_order(module, comps.ids[i], visited, out, scratch);
  }
  arena_reset(scratch, mark);
}
