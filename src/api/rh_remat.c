/* The public functions that rematerialize. */
#include "analysis/flow/copy_stage.h"
#include "ir/clock.h"
#include "ir/diag.h"
#include "ir/handle.h"
#include "remat/job/algorithm.h"
#include "remat/job/clone_callees.h"
#include "remat/legality/collection.h"
#include "remat/rewrite/dce.h"
#include "api/measure.h"
#include "remat/rewrite/mark_result.h"
#include "api/names.h"
#include "remat/plan/capture.h"
#include "remat/protect/protect.h"
#include "api/rh_reparse.h"
#include "remat/legality/safe_order.h"
#include "remat/legality/safe_reads.h"
#include "remat/legality/steering.h"
#include "remat/verify/verify.h"
#include "text/print.h"

/* When an algorithm has done what it was asked for and the result is still above the limit, it is
 * asked for that much more: the text decides where compact get-tuple-elements stand, and what
 * guides the algorithm may count less than the model that judges. */
enum { MAX_ATTEMPTS = 3 };

/* ---- running an algorithm ---- */

typedef struct Run {
  const rh_module *input;
  const rh_remat_options *options;
  const RematAlgorithm *wanted, *algorithm; /* the latter is `none` where that does harm */
  const MemoryModel *model;                 /* that judges */
  rh_memory before;    /* of the input, as that sees it; only where there is a limit */
  RematOptions limits; /* in the figures of the model that guides the algorithm */
  int64_t guide_bytes; /* peak of the input, as that sees it */
  Rewrite rewrite;
  Schedule schedule;
  RematStats stats;
  rh_protect protect;     /* not auto */
  bool is_restructured;   /* by protection; then the model that guides saw before whether */
  bool was_within_limit;  /* the algorithm's result is within the limit */
  KnownReads known_reads; /* of the input; only where it has its copies */
  bool was_cut;           /* some algorithm that ran */
  bool clones_callees;
  CalleeClones clones; /* of `rewrite` */
  Rewrite cloned;      /* if a plan is kept: the input with these */
  Schedule cloned_schedule;
  Collection collection;
  bool *is_kept;        /* by InstId of the input: remat/legality/safe_reads.h */
  bool *is_refused;     /* likewise: legality_refuse() */
  const uint8_t *asked; /* likewise: remat/legality/steering.h */
  const Plan *plan;     /* that is applied; NULL = `wanted` decides */
  Plan *kept;           /* of what was done, if that is asked for, in an arena of its own */
  Arena *kept_arena;
  Arena *arena, *scratch;
  rh_diags *diags;
} Run;

static rh_memory measure(const Run *run, const MemoryModel *model, const Module *module,
                         const Schedule *schedule) {
  Arena *arena = arena_new(arena_options(run->scratch));
  MemoryProfile profile = model->measure(module, schedule, NULL, arena, run->scratch);
  rh_memory memory = memory_of_profile(&profile);
  arena_free(arena);
  return memory;
}

static bool is_limited(const Run *run) {
  return run->options->limit_bytes != INT64_MAX;
}

/* What the budget bounds. */
static int64_t counted_of(const Run *run, const rh_memory *memory) {
  return rh_counted_bytes(memory, run->options->limit_counts);
}

/* As the model that guides sees it. */
static bool is_within_limit(const Run *run) {
  const RematOptions *limits = &run->limits;
  return limits->limit_bytes == INT64_MAX ||
         measure(run, limits->memory_model, run->rewrite.module, &run->schedule).peak_bytes <=
             limits->limit_bytes;
}

static double block_factor_of(const rh_remat_options *options) {
  if (options->block_factor > 0) return options->block_factor;
  return options->block_size_limit > 8 ? options->block_size_limit / 8.0 : 1.0;
}

/* The limit is as far below the guide's peak of the input as it is below what the budget bounds. */
static void set_guide(Run *run, const MemoryModel *guide) {
  const rh_remat_options *options = run->options;
  const rh_module *input = run->input;
  int64_t limit_bytes = options->limit_bytes;
  if (is_limited(run)) {
    run->guide_bytes = guide == run->model
                           ? run->before.peak_bytes
                           : measure(run, guide, input->module, &input->schedule).peak_bytes;
    int64_t uncounted_bytes = run->guide_bytes - counted_of(run, &run->before);
    bool has_end = uncounted_bytes <= 0 || limit_bytes < INT64_MAX - uncounted_bytes;
    limit_bytes = has_end ? limit_bytes + uncounted_bytes : INT64_MAX;
  }
  bool free_parameters = run->model->traits & RH_TRAIT_FREE_PARAMETERS; /* as XLA's pass counts */
  run->limits = (RematOptions){.limit_bytes = limit_bytes > 0 ? limit_bytes : 0,
                               .memory_model = guide,
                               .small_node_bytes = options->small_node_bytes,
                               .allow_collectives = options->remat_collectives,
                               .min_remat_bytes = options->min_remat_bytes,
                               .block_size_limit = options->block_size_limit,
                               .block_factor = block_factor_of(options),
                               .modes = run->wanted->modes ? run->wanted->modes : options->modes,
                               .is_per_caller = !options->callees_once && !free_parameters,
                               .profile = options->profile ? profile_of(options->profile) : NULL,
                               .path_depth = options->path_depth,
                               .collection = &run->collection,
                               .plan = run->plan,
                               .diags = run->diags};
}

/* A person's plan is not held to what is only for algorithms. */
static Legality legality_of(const Run *run, const Module *module) {
  const RematOptions *limits = &run->limits;
  bool allows_collectives = run->plan && run->plan->allow_collectives;
  return (Legality){.module = module,
                    .effects = side_effects_build(module, run->arena, run->scratch),
                    .allow_collectives = limits->allow_collectives || allows_collectives,
                    .small_node_bytes = run->plan ? 0 : limits->small_node_bytes,
                    .is_kept = run->is_kept,
                    .num_kept = run->input->module->insts.len,
                    .asked = run->asked};
}

/* What is kept is kept in clones of callees, too. */
static void keep_twins(Run *run, Legality *legality) {
  uint32_t num_insts = run->rewrite.module->insts.len, num_kept = legality->num_kept;
  if (num_insts == num_kept) return;
  bool *is_kept = arena_zarray(run->arena, bool, num_insts);
  uint8_t *asked = legality->asked ? arena_zarray(run->arena, uint8_t, num_insts) : NULL;
  for (InstId id = 0; id < num_insts; id++) {
    InstId twin = rewrite_twin(&run->rewrite, id);
    is_kept[id] = twin < num_kept && legality->is_kept[twin];
    if (asked && twin < num_kept) asked[id] = legality->asked[twin];
  }
  legality->is_kept = is_kept;
  legality->asked = asked;
  legality->num_kept = num_insts;
}

/* What was refused in a callee's clone was refused in the callee. */
static void note_refused(Run *run, const Legality *legality) {
  for (InstId id = 0; id < legality->num_kept; id++) {
    InstId twin = rewrite_twin(&run->rewrite, id);
    if (legality->is_refused[id] && twin < run->input->module->insts.len)
      run->is_refused[twin] = true;
  }
}

/* Runs the algorithm on a copy of the input; the copy is in run->rewrite. */
static void run_algorithm(Run *run) {
  run->rewrite = rewrite_begin(module_copy(run->input->module));
  Module *module = run->rewrite.module;
  run->schedule = schedule_copy(&run->input->schedule, module, run->arena);
  run->stats = (RematStats){.xla_reported_after_bytes = -1};
  run->clones = (CalleeClones){0};
  bool is_within = !is_limited(run) || run->guide_bytes <= run->limits.limit_bytes;
  if (!run->plan && is_within) return;
  Legality legality = legality_of(run, module);
  CostTable costs = cost_analyze(module, run->arena, run->scratch);
  RematJob job = {.rewrite = &run->rewrite,
                  .schedule = &run->schedule,
                  .options = &run->limits,
                  .legality = &legality,
                  .costs = &costs};
  if (run->plan) {
    run->stats.status = plan_clone_callees(&job, &run->clones, run->arena, run->scratch);
    if (run->stats.status != RH_OK) return;
  } else if (run->clones_callees) {
    run->clones = clone_callees(&job, run->arena, run->scratch);
  }
  keep_twins(run, &legality);
  Arena *arena = arena_new(arena_options(run->scratch));
  Overwriters overwriters;
  if (copies_are_inserted(module)) {
    ValueAnalysis values = value_analysis_build(module, arena, run->scratch);
    overwriters = overwriters_find(module, &values, &run->schedule, arena, run->scratch);
    legality.overwriters = &overwriters;
  }
  legality.is_refused = arena_zarray(arena, bool, legality.num_kept);
  run->algorithm->run(&job, &run->stats, run->arena, run->scratch);
  note_refused(run, &legality);
  arena_free(arena);
  run->was_cut |= run->stats.is_cut;
  if (run->stats.status != RH_OK) return;
  if (run->stats.num_steps) dce_run(&run->rewrite, run->scratch);
  dce_update_schedule(module, &run->schedule, run->arena);
  if (!run->plan) share_callees(&job, &run->clones, run->arena, run->scratch);
}

static SafeReads judge_reads(const Run *run) {
  return safe_reads_judge(&run->rewrite, &run->schedule, &run->known_reads, run->is_kept,
                          run->input->module->insts.len, run->scratch);
}

static rh_status fail_reads(const Run *run) {
  return plan_fail_reads(run->plan, run->input->module, run->is_kept, run->input->module->insts.len,
                         run->diags);
}

/* Until no clone reads what has been overwritten. Each round keeps at least one instruction more;
 * when that is not over soon, nothing is recomputed. */
static rh_status rematerialize(Run *run) {
  enum { MAX_ROUNDS = 16 };
  for (int round = 0;; round++) {
    run_algorithm(run);
    if (run->stats.status != RH_OK) return run->stats.status;
    if (run->stats.num_steps == 0 && run->clones_callees) { /* then nothing has changed */
      run->clones_callees = false;
      module_free(run->rewrite.module);
      continue;
    }
    bool is_idle = run->algorithm->traits & RH_TRAIT_IDLE && !run->plan;
    if (is_idle || !copies_are_inserted(run->rewrite.module)) return RH_OK;
    SafeReads reads = judge_reads(run);
    if (reads == READS_SAFE) return RH_OK;
    if (run->plan) return fail_reads(run);
    bool is_over = reads == READS_HOPELESS || round == MAX_ROUNDS;
    if (is_over && !run->clones_callees) run->algorithm = remat_algorithm_find("none");
    if (is_over) run->clones_callees = false; /* a clone lies elsewhere in time */
    module_free(run->rewrite.module);
  }
}

/* Does to the rewritten module what is left to do before it is printed. */
static void finish_rewrite(Run *run) {
  run->is_restructured = run->stats.num_steps && run->protect >= RH_PROTECT_OPT_BARRIER;
  run->was_within_limit = run->is_restructured && is_within_limit(run);
  protect_clones(&run->rewrite, &run->schedule, run->protect, run->arena, run->scratch);
  /* Conditionals have computations of their own. */
  if (run->is_restructured) dce_update_schedule(run->rewrite.module, &run->schedule, run->arena);
  /* XLA's own dependencies are enough for a module that was unscheduled and is as it was. */
  bool is_changed = run->stats.num_steps || run->input->module->source->header.is_scheduled;
  bool is_open = run->options->emit == RH_EMIT_UNSCHEDULED && is_changed;
  if (is_open && copies_are_inserted(run->rewrite.module))
    close_reads(run->rewrite.module, &run->schedule, run->scratch);
  rewrite_write_out_elements(&run->rewrite, run->scratch);
}

/* ---- plans ---- */

static CaptureSource capture_source(const Run *run) {
  return (CaptureSource){.before = run->cloned.module,
                         .before_schedule = &run->cloned_schedule,
                         .clones = &run->clones,
                         .rewrite = &run->rewrite,
                         .schedule = &run->schedule};
}

/* Of what stands in the rewritten module before it is protected: that is done again likewise. */
static void begin_plan(Run *run) {
  if (!run->options->keep_plan) return;
  run->kept_arena = arena_new(arena_options(run->input->arena));
  const rh_module *input = run->input;
  run->kept = arena_zalloc(run->kept_arena, sizeof *run->kept);
  run->cloned = rewrite_begin(module_copy(input->module));
  run->cloned_schedule = schedule_copy(&input->schedule, run->cloned.module, run->arena);
  plan_clone_again(&run->cloned, &run->cloned_schedule, &run->clones, run->rewrite.module,
                   run->arena, run->scratch);
  CaptureSource source = capture_source(run);
  Arena *arena = arena_new(arena_options(run->scratch));
  CallMemory memory =
      call_memory_measure(run->model, source.before, source.before_schedule, arena, run->scratch);
  source.memory = &memory;
  plan_capture(run->kept, &source, run->kept_arena, run->scratch);
  arena_free(arena);
  run->kept->order_fingerprint = plan_order_fingerprint(input->module, &input->schedule);
  run->kept->preparation = run->input->preparation;
  run->kept->preparation.scheduler = run->input->scheduler ? run->input->scheduler : "input";
  bool is_open = run->plan && run->options->copies == RH_COPIES_AUTO;
  run->kept->copies = is_open ? run->plan->copies : run->options->copies;
  run->kept->allow_collectives =
      run->options->remat_collectives || (run->plan && run->plan->allow_collectives);
}

/* Names come last. */
static void finish_plan(Run *run) {
  if (!run->kept) return;
  CaptureSource source = capture_source(run);
  plan_fill_names(run->kept, &source, &run->cloned, run->kept_arena, run->scratch);
}

static void drop_plan(Run *run) {
  module_free(run->cloned.module);
  run->cloned = (Rewrite){0};
  if (run->kept_arena) arena_free(run->kept_arena);
  run->kept_arena = NULL;
  run->kept = NULL;
}

/* ---- the result ---- */

/* A plan can ask for what no algorithm does, such as side effects in another order. */
static rh_status fail_verification(const Run *run, const char *what) {
  if (!run->plan) return fail_internally(run->diags, what);
  return diag_fail(run->diags, RH_ERR_INPUT, DIAG_NOWHERE, "with this plan %s", what);
}

/* What is measured and verified from here on is the text. */
static rh_status reparse(Run *run, rh_module **result) {
  PrintOrder order =
      run->options->emit == RH_EMIT_UNSCHEDULED ? PRINT_UNSCHEDULED : PRINT_SCHEDULED;
  Module *parsed = NULL;
  rh_status status =
      module_reparse(run->rewrite.module, &run->schedule, order, &parsed, run->diags, run->scratch);
  if (status != RH_OK) return status;
  rh_module *handle = handle_new(parsed);
  handle->schedule = schedule_in_text_order(parsed, handle->arena);
  handle->has_schedule = true;
  handle->scheduler = run->input->scheduler;
  *result = handle;
  return RH_OK;
}

/* ---- all together ---- */

static const Module *module_that_was_parsed(const Module *module) {
  while (module->parent)
    module = module->parent;
  return module;
}

/* Whoever asks for another order than that of a scheduled module lets side effects change places.
 */
static bool keeps_order(const rh_module *input) {
  return !input->scheduler || strcmp(input->scheduler, "input") == 0;
}

/* Protection gives clones other places, and conditionals memory that is shared: what that spoils is
 * kept, as in rematerialize(). */
static rh_status rematerialize_and_protect(Run *run) {
  for (;;) {
    rh_status status = rematerialize(run);
    if (status != RH_OK) return status;
    begin_plan(run);
    finish_rewrite(run);
    if (!run->is_restructured || !copies_are_inserted(run->rewrite.module)) return RH_OK;
    SafeReads reads = judge_reads(run);
    if (reads == READS_SAFE) return RH_OK;
    if (run->plan) return fail_reads(run);
    if (reads == READS_HOPELESS) run->algorithm = remat_algorithm_find("none");
    drop_plan(run);
    module_free(run->rewrite.module);
  }
}

/* XLA will choose the order of a module that is written without one. */
static rh_status verify_reads(const Run *run, const rh_module *result) {
  const rh_module *input = run->input;
  if (!copies_are_inserted(input->module)) return RH_OK;
  bool is_scheduled = input->module->source->header.is_scheduled;
  OrderedModule before = {input->module, &input->schedule, !is_scheduled};
  bool is_open = run->options->emit == RH_EMIT_UNSCHEDULED;
  OrderedModule after = {result->module, &result->schedule, is_open};
  return safe_reads_verify(&before, &after, run->diags, run->scratch);
}

/* One attempt: `*result` is a new handle when it succeeds. */
static rh_status attempt(Run *run, rh_module **result, rh_remat_result *info) {
  double start = seconds_now();
  rh_status status = rematerialize_and_protect(run);
  if (status != RH_OK) return status;
  finish_plan(run);
  status = reparse(run, result);
  info->remat_seconds += seconds_now() - start;
  if (status != RH_OK) return status;
  for (InstId id = 0; id < run->input->module->insts.len; id++)
    run->is_refused[id] |= run->is_kept[id];
  mark_result(&run->rewrite, run->is_refused, run->input->module->insts.len, *result, run->arena);
  (*result)->plan = run->kept;
  (*result)->plan_arena = run->kept_arena;
  run->kept = NULL;
  run->kept_arena = NULL;
  start = seconds_now();
  if (handle_check(*result, run->diags) != RH_OK) {
    status = fail_verification(run, "the rewritten module contradicts itself");
  } else if (verify_modules(module_that_was_parsed(run->input->module), (*result)->module,
                            keeps_order(run->input), run->diags, run->scratch) != RH_OK) {
    status = fail_verification(run, "the rewritten module computes something else");
  } else if (verify_reads(run, *result) != RH_OK) {
    status = fail_verification(run, "the rewritten module reads overwritten memory");
  }
  info->verify_seconds += seconds_now() - start;
  *(*result)->is_checked = true;
  if (status == RH_OK) {
    rh_memory after = measure(run, run->model, (*result)->module, &(*result)->schedule);
    info->counted_bytes = counted_of(run, &after);
    info->is_met = info->counted_bytes <= run->options->limit_bytes;
    info->xla_reported_after_bytes = run->stats.xla_reported_after_bytes;
  } else {
    rh_module_free(*result);
    *result = NULL;
  }
  return status;
}

/* Attempts under one guide. `*result` and `*info` are the best of all attempts up to now. */
static rh_status run_attempts(Run *run, const MemoryModel *guide, rh_module **result,
                              rh_remat_result *info) {
  set_guide(run, guide);
  for (int i = 0; i < MAX_ATTEMPTS; i++) {
    rh_module *tried = NULL;
    rh_remat_result tried_info = *info;
    run->algorithm = run->wanted;
    run->clones_callees =
        run->options->clone_callees && !run->plan && !(run->wanted->traits & RH_TRAIT_IDLE);
    rh_status status = attempt(run, &tried, &tried_info);
    bool was_met = status == RH_OK && !tried_info.is_met &&
                   (run->is_restructured ? run->was_within_limit : is_within_limit(run));
    module_free(run->rewrite.module);
    drop_plan(run);
    if (status != RH_OK) return status;
    int64_t overshoot = tried_info.counted_bytes - run->options->limit_bytes;
    bool is_better = !*result || tried_info.counted_bytes < info->counted_bytes;
    rh_module *worse = is_better ? *result : tried;
    info->remat_seconds = tried_info.remat_seconds;
    info->verify_seconds = tried_info.verify_seconds;
    if (is_better) {
      *result = tried;
      *info = tried_info;
    }
    rh_module_free(worse);
    if (info->is_met || !was_met || run->plan || run->limits.limit_bytes == 0) break;
    run->limits.limit_bytes -=
        overshoot < run->limits.limit_bytes ? overshoot : run->limits.limit_bytes;
  }
  return RH_OK;
}

/* The model that judges guides, too. Where packing and sharing hide from an algorithm what a
 * recomputation saves, simpler models lead further. */
static rh_status run_guides(Run *run, rh_module **result, rh_remat_result *info) {
  static const char *const others[] = {"liveness-once", "xla-remat"};
  rh_status status = run_attempts(run, run->model, result, info);
  bool is_idle = run->plan || run->wanted->traits & RH_TRAIT_IDLE;
  bool packs = run->model->traits & RH_TRAIT_PACKS;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (is_idle || !packs || status != RH_OK || info->is_met) break;
    status = run_attempts(run, memory_model_find(others[i]), result, info);
  }
  return status;
}

/* The input as it is to be taken, if somebody says whether it has its copies: a copy, which the
 * caller frees. Else NULL. */
static Module *take_copies_as(const rh_module *module, const Plan *plan,
                              const rh_remat_options *options) {
  rh_copies copies = options->copies;
  if (plan && copies == RH_COPIES_AUTO) copies = plan->copies;
  if (copies == RH_COPIES_AUTO) return NULL;
  Module *copy = module_copy(module->module);
  copy->backend.copies = (CopyStage)copies;
  return copy;
}

/* Rematerializes by an algorithm, or by a plan. */
static rh_status run_all(const rh_module *module, const Plan *plan, const rh_remat_options *options,
                         rh_module **result, rh_remat_result *result_info, rh_diags *diags) {
  Module *taken = take_copies_as(module, plan, options);
  rh_module input = *module;
  if (taken) input.module = taken;
  Run run = {.input = &input,
             .options = options,
             .plan = plan,
             .wanted = plan ? &plan_algorithm : remat_algorithm_find(options->algorithm),
             .protect = protect_resolve(options->protect, options->emit),
             .diags = diags};
  rh_status status = RH_OK;
  if (!run.wanted) status = fail_unknown_name(RH_ALGORITHMS, options->algorithm, diags);
  if (status == RH_OK) status = find_model(module, options->memory_model, &run.model, diags);
  if (status != RH_OK) {
    module_free(taken);
    return status;
  }
  run.arena = arena_new(arena_options(module->arena));
  run.scratch = handle_scratch(module);
  *result = NULL;
  rh_remat_result info = {.protect = run.protect};
  if (copies_are_inserted(input.module))
    run.known_reads = known_reads_find(input.module, &input.schedule, run.arena, run.scratch);
  if (is_limited(&run)) run.before = measure(&run, run.model, input.module, &input.schedule);
  run.is_kept = arena_zarray(run.arena, bool, module->module->insts.len);
  run.is_refused = arena_zarray(run.arena, bool, module->module->insts.len);
  status = collection_parse(options->collection, &run.collection, diags, run.arena);
  if (status == RH_OK) {
    status = steering_find(module->module, options->pin, options->never, &run.asked, diags,
                           run.arena, run.scratch);
  }
  if (status == RH_OK) status = run_guides(&run, result, &info);
  bool is_worse = !plan && is_limited(&run) && info.counted_bytes > counted_of(&run, &run.before);
  if (status == RH_OK && is_worse) { /* a greedy choice can make it so */
    run.wanted = remat_algorithm_find("none");
    status = run_attempts(&run, run.model, result, &info);
  }
  if (run.was_cut) {
    diag_warn(diags, DIAG_NOWHERE, "%s recomputes so much that it was ended early",
              options->algorithm);
  }
  collection_free(&run.collection);
  arena_free(run.scratch);
  arena_free(run.arena);
  module_free(taken);
  if (status != RH_OK) {
    rh_module_free(*result);
    *result = NULL;
  }
  if (result_info) *result_info = info;
  if (status != RH_OK) return status;
  return info.is_met ? RH_OK : RH_NO;
}

rh_status rh_remat(const rh_module *module, const rh_remat_options *options, rh_module **result,
                   rh_remat_result *result_info, rh_diags *diags) {
  return run_all(module, NULL, options, result, result_info, diags);
}

rh_status rh_apply_plan(const rh_module *module, const rh_plan *plan,
                        const rh_remat_options *options, rh_module **result,
                        rh_remat_result *result_info, rh_diags *diags) {
  rh_status status = handle_check_scheduled(module, diags);
  if (status != RH_OK) return status;
  plan_warn_of_module(&plan->plan, module->module, &module->schedule, diags);
  return run_all(module, &plan->plan, options, result, result_info, diags);
}
