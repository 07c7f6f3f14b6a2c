#include "remat/engine/reschedule.h"

#include "remat/rewrite/merge_clones.h"
#include "schedule/scheduler.h"
#include "text/reparse.h"

static void run_scheduler(const Problem *problem, const Module *module, const char *scheduler,
                          Schedule *schedule, Arena *out) {
  Arena *arena = arena_new(arena_options(problem->scratch));
  ScheduleContext context = schedule_context_build(module, arena, problem->scratch);
  scheduler_find(scheduler)->run(&context, schedule, out, problem->scratch);
  arena_free(arena);
}

Schedule order_without_us(const Problem *problem, Arena *out) {
  const rh_module *input = problem->input;
  bool is_searched = input->scheduler && strcmp(input->scheduler, "search") == 0;
  if (!is_searched) return schedule_copy(&input->schedule, input->module, out);
  Schedule schedule = schedule_in_text_order(input->module, out);
  InstId bad;
  bool keeps_text =
      input->module->source->header.is_scheduled && !input->preparation.ignore_schedule;
  if (keeps_text && schedule_is_valid(input->module, &schedule, &bad, problem->scratch))
    return schedule;
  run_scheduler(problem, input->module, "default", &schedule, out);
  return schedule;
}

static rh_memory measure_rescheduled(const Problem *problem, const MemoryModel *model,
                                     const Module *module, const char *scheduler) {
  Arena *arena = arena_new(arena_options(problem->scratch));
  Schedule schedule;
  run_scheduler(problem, module, scheduler, &schedule, arena);
  rh_memory memory = problem_measure(problem, model, module, &schedule);
  arena_free(arena);
  return memory;
}

int64_t rescheduled_bytes(const Problem *problem, const Module *module, const char *scheduler) {
  const MemoryModel *model = problem->request->memory_model;
  rh_memory memory = measure_rescheduled(problem, model, module, scheduler);
  return problem_counted_bytes(problem, &memory);
}

void count_compiled_again(const Problem *problem, const rh_module *result, rh_remat_result *info) {
  Module *module = module_copy(result->module);
  Rewrite rewrite = rewrite_begin(module);
  Arena *arena = arena_new(arena_options(problem->scratch));
  info->num_merged = merge_clones(&rewrite, result->marks, arena);
  if (problem->options->emit == RH_EMIT_UNSCHEDULED) {
    info->compiled_default_bytes = rescheduled_bytes(problem, module, "default");
    info->compiled_bfs_bytes = rescheduled_bytes(problem, module, "bfs");
  }
  arena_free(arena);
  module_free(module);
}

bool reschedule_keeps_peak(const Problem *problem, const Module *module, const Schedule *schedule) {
  static const char *const names[] = {"default", "bfs"};
  const MemoryModel *model = memory_model_find("liveness-once");
  Module *read;
  /* What cannot be read is an error when the attempt is judged. */
  if (module_reparse(module, schedule, PRINT_UNSCHEDULED, &read, NULL, problem->scratch) != RH_OK)
    return false;
  Arena *arena = arena_new(arena_options(problem->scratch));
  Schedule order = schedule_in_text_order(read, arena);
  int64_t peak_bytes = problem_measure(problem, model, read, &order).peak_bytes;
  bool keeps_peak = true;
  for (size_t i = 0; keeps_peak && i < sizeof names / sizeof *names; i++)
    keeps_peak = measure_rescheduled(problem, model, read, names[i]).peak_bytes <= peak_bytes;
  arena_free(arena);
  module_free(read);
  return keeps_peak;
}
