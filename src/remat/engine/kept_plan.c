#include "remat/engine/kept_plan.h"

#include "ir/hash.h"
#include "remat/engine/attempt.h"
#include "remat/plan/capture.h"
#include "text/print.h"

static CaptureSource source_of(const KeptPlan *kept, const Problem *problem,
                               const Attempt *attempt) {
  const Module *cloned = kept->cloned.module;
  return (CaptureSource){
      .before = cloned ? cloned : problem->input.module,
      .before_schedule = cloned ? &kept->cloned_schedule : &problem->input.schedule,
      .rewrite = &attempt->rewrite,
      .schedule = &attempt->schedule};
}

/* The steps are told of the input with its copies of computations, as the plan makes them. */
static void clone_callees_of_plan(KeptPlan *kept, const Problem *problem) {
  if (kept->plan->clones.len == 0) return;
  kept->cloned = rewrite_begin(module_copy(problem->input.module));
  kept->cloned_schedule = schedule_copy(&problem->input.schedule, kept->cloned.module, kept->arena);
  RematJob job = {.rewrite = &kept->cloned,
                  .schedule = &kept->cloned_schedule,
                  .plan = kept->plan,
                  .parameters = &problem->parameters};
  CalleeClones clones = {0};
  plan_clone_callees(&job, &clones, kept->arena, problem->scratch);
}

/* How the module was prepared, and what was allowed. */
static void note_conditions(Plan *plan, const Problem *problem) {
  const rh_module *input = &problem->input;
  const rh_remat_options *options = problem->options;
  const Plan *applied = problem->plan;
  plan->order_fingerprint = plan_order_fingerprint(input->module, &input->schedule);
  plan->preparation = input->preparation;
  plan->preparation.scheduler = input->scheduler;
  bool is_open = applied && options->copies == RH_COPIES_AUTO;
  plan->copies = is_open ? applied->copies : options->copies;
  plan->allow_collectives = options->remat_collectives || (applied && applied->allow_collectives);
}

KeptPlan *kept_plan_begin(const Problem *problem, const Attempt *attempt) {
  Arena *arena = arena_new(arena_options(problem->scratch));
  KeptPlan *kept = arena_zalloc(arena, sizeof *kept);
  kept->arena = arena;
  kept->plan_arena = arena_new(arena_options(problem->request->module->arena));
  kept->plan = arena_zalloc(kept->plan_arena, sizeof *kept->plan);
  plan_capture_clones(kept->plan, attempt->rewrite.module, &attempt->clones, kept->plan_arena);
  clone_callees_of_plan(kept, problem);
  CaptureSource source = source_of(kept, problem, attempt);
  Arena *inner = arena_new(arena_options(problem->scratch));
  CallMemory memory = call_memory_measure(problem->request->memory_model, source.before,
                                          source.before_schedule, inner, problem->scratch);
  source.memory = &memory;
  plan_capture(kept->plan, &source, kept->plan_arena, problem->scratch);
  arena_free(inner);
  note_conditions(kept->plan, problem);
  return kept;
}

static int hash_text(void *context, const char *data, size_t length) {
  uint64_t *hash = context;
  for (size_t i = 0; i < length; i++)
    *hash = hash_mix(*hash, (unsigned char)data[i]);
  return 0;
}

/* Of the text that the rewritten module is printed as. */
static uint64_t hash_of_text(const Attempt *attempt, Arena *scratch) {
  uint64_t hash = HASH_SEED;
  Writer *writer = arena_alloc(scratch, sizeof *writer);
  writer_init(writer, hash_text, &hash);
  text_print(attempt->rewrite.module, &attempt->schedule, PRINT_SCHEDULED, writer, scratch);
  (void)writer_finish(writer);
  return hash;
}

/* Does the plan. Whether that gives the same text; else names are added to the plan. */
static bool check(KeptPlan *kept, const Problem *problem, const Attempt *attempt) {
  Guide guide = {.memory_model = attempt->guide.memory_model, .peak_limit_bytes = INT64_MAX};
  Attempt again = attempt_new(problem, &plan_algorithm, &guide);
  bool is_same = false;
  if (attempt_run_plan(&again, problem, kept->plan) == RH_OK) {
    is_same = hash_of_text(&again, problem->scratch) == hash_of_text(attempt, problem->scratch);
    if (!is_same) {
      plan_fill_callees(kept->plan, attempt->rewrite.module, again.rewrite.module, kept->plan_arena,
                        problem->scratch);
    }
  }
  attempt_free(&again);
  return is_same;
}

/* Names come last. Those that follow from the order in which all was tried are found by doing it
 * again. */
void kept_plan_finish(KeptPlan *kept, const Problem *problem, const Attempt *attempt) {
  CaptureSource source = source_of(kept, problem, attempt);
  plan_fill_names(kept->plan, &source, kept->plan_arena);
  if (check(kept, problem, attempt) || check(kept, problem, attempt)) return;
  diag_warn(problem->diags, DIAG_NOWHERE,
            "the plan does not tell all that was done: it gives another module");
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
