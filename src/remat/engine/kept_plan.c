#include "remat/engine/kept_plan.h"

#include "remat/engine/attempt.h"
#include "remat/plan/capture.h"
#include "text/print.h"

static CaptureSource source_of(const KeptPlan *kept, const Attempt *attempt) {
  return (CaptureSource){.before = kept->cloned.module,
                         .before_schedule = &kept->cloned_schedule,
                         .clones = &attempt->clones,
                         .rewrite = &attempt->rewrite,
                         .schedule = &attempt->schedule};
}

/* Records how the module was prepared and what was allowed. */
static void note_conditions(Plan *plan, const Problem *problem, Arena *kept_arena) {
  const rh_module *input = problem->input;
  const rh_remat_options *options = problem->options;
  const Plan *applied = problem->plan;
  const rh_module *original = problem->original;
  bool is_split = input->preparation.unfuse != original->preparation.unfuse;
  plan->fingerprint = plan_fingerprint(original->module);
  /* Which fusions a preparation makes follows from the text; computations are numbered otherwise
   * once what it gives was printed and parsed. */
  if (!is_split)
    plan->order_fingerprint = plan_order_fingerprint(original->module, &original->schedule);
  if (problem->steps) scan_copy_steps(problem->steps, &plan->scans, kept_arena);
  plan->preparation = input->preparation;
  plan->preparation.scheduler = input->scheduler ? input->scheduler : "input";
  plan->copies = input->requested_copies;
  plan->allow_collectives = options->remat_collectives || (applied && applied->allow_collectives);
}

KeptPlan *kept_plan_begin(const Problem *problem, const Attempt *attempt) {
  Arena *arena = arena_new(arena_options(problem->scratch)), *scratch = problem->scratch;
  KeptPlan *kept = arena_zalloc(arena, sizeof *kept);
  kept->arena = arena;
  kept->plan_arena = arena_new(arena_options(problem->request->module->arena));
  kept->plan = arena_zalloc(kept->plan_arena, sizeof *kept->plan);
  kept->cloned = rewrite_begin(module_copy(problem->input->module));
  kept->cloned_schedule =
      schedule_copy(&problem->input->schedule, kept->cloned.module, kept->arena);
  plan_clone_again(&kept->cloned, &kept->cloned_schedule, &attempt->clones, attempt->rewrite.module,
                   arena, scratch);
  CaptureSource source = source_of(kept, attempt);
  Arena *inner = arena_new(arena_options(scratch));
  CallMemory memory = call_memory_measure(problem->request->memory_model, source.before,
                                          source.before_schedule, inner, scratch);
  source.memory = &memory;
  plan_capture(kept->plan, &source, kept->plan_arena, scratch);
  arena_free(inner);
  note_conditions(kept->plan, problem, kept->plan_arena);
  return kept;
}

static bool gives_same_text(const Plan *plan, const Problem *problem, const Attempt *attempt) {
  Guide guide = {.memory_model = attempt->guide.memory_model, .peak_limit.bytes = INT64_MAX};
  Attempt again = attempt_new(problem, &plan_algorithm, &guide);
  bool is_same = attempt_run_plan(&again, problem, plan) == RH_OK &&
                 text_hash(again.rewrite.module, &again.schedule, problem->scratch) ==
                     text_hash(attempt->rewrite.module, &attempt->schedule, problem->scratch);
  attempt_free(&again);
  return is_same;
}

void kept_plan_finish(KeptPlan *kept, const Problem *problem, const Attempt *attempt) {
  CaptureSource source = source_of(kept, attempt);
  plan_fill_names(kept->plan, &source, &kept->cloned, kept->plan_arena, problem->scratch);
  if (gives_same_text(kept->plan, problem, attempt)) return;
  diag_warn(problem->diags, DIAG_ABOUT(RH_CODE_PLAN_INCOMPLETE, NO_OFFSET),
            "the plan does not contain everything that was done: applying it gives another module");
}

void kept_plan_hand_over(KeptPlan *kept, rh_module *result) {
  result->plan = kept->plan;
  result->plan_arena = kept->plan_arena;
  kept->plan = NULL;
  kept->plan_arena = NULL;
}

void kept_plan_free(KeptPlan *kept) {
  if (!kept) return;
  module_free(kept->cloned.module);
  if (kept->plan_arena) arena_free(kept->plan_arena);
  arena_free(kept->arena);
}
