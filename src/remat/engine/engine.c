#include "remat/engine/engine.h"

#include "ir/clock.h"
#include "remat/engine/attempt.h"
#include "remat/engine/hardly.h"
#include "remat/engine/judge.h"
#include "remat/engine/kept_plan.h"
#include "remat/engine/reschedule.h"
#include "remat/engine/scans.h"
#include "remat/engine/ties.h"
#include "remat/engine/time_bound.h"
#include "remat/protect/protect.h"

/* ---- guide ---- */

/* The guide's limit is as far below the guide's peak of the input as the budget is below the figure
 * that the budget bounds. */
static Guide guide_by(const Problem *problem, const MemoryModel *model, CountedLimit limit) {
  const rh_module *input = problem->input;
  Guide guide = {.memory_model = model, .peak_limit = {INT64_MAX}};
  if (!problem_is_limited(problem)) return guide;
  guide.before_bytes =
      model == problem->request->memory_model
          ? problem->before.peak_bytes
          : problem_measure(problem, model, input->module, &input->schedule).peak_bytes;
  guide.uncounted_bytes = guide.before_bytes - problem_counted_bytes(problem, &problem->before);
  guide.peak_limit = limit_of_peak(limit, guide.uncounted_bytes);
  return guide;
}

/* ---- attempt and judge ---- */

/* Makes one attempt, from a copy of the input to the judged text. */
static rh_status try_once(Attempt *attempt, const Problem *problem, Findings *findings) {
  double start = seconds_now();
  rh_status status = attempt_run(attempt, problem, findings);
  if (status == RH_OK && !attempt->is_unsafe) status = judge_attempt(attempt, problem, findings);
  findings->remat_seconds += seconds_now() - start;
  return status;
}

/* The state of the engine between attempts. */
typedef struct Run {
  const Problem *problem;
  Findings *findings;
  Attempt best;  /* without a result as long as there is none */
  bool is_whole; /* not only a part that begins from a variant, whose best need not be the best */
  bool by_time;  /* of several that meet the budget, the fastest is the best */
} Run;

static bool is_met(const Run *run) {
  return run->best.result && run->best.score.is_met;
}

/* Whether an attempt is better than the best one. */
static bool is_better(Run *run, Attempt *tried) {
  if (!tried->result || !run->best.result) return tried->result;
  return score_is_better(judge_score(tried, run->problem), judge_score(&run->best, run->problem));
}

/* Keeps the better of an attempt and the best one, or the earlier one if both are equal, and frees
 * the other. */
static void keep_better(Run *run, Attempt *tried) {
  Attempt *best = &run->best;
  if (!is_better(run, tried)) {
    attempt_free(tried);
    return;
  }
  attempt_free(best);
  *best = *tried;
  if (!best->plan) attempt_free_work(best);
  if (run->is_whole) judge_report(best, run->problem);
}

/* Makes attempts with one guide. An algorithm that reached its guide's limit can still exceed the
 * budget: the text determines where compact get-tuple-elements are placed, and the guide's model
 * may count less than the model that judges. The next attempt gets a limit that is lower by the
 * excess. */
static rh_status try_guide(Run *run, const RematAlgorithm *algorithm, Guide guide) {
  const Problem *problem = run->problem;
  for (int i = 0; i < problem->parameters.engine_attempts; i++) {
    Attempt attempt = attempt_new(problem, algorithm, &guide);
    rh_status status = try_once(&attempt, problem, run->findings);
    bool may_go_on = status == RH_OK && attempt.result && !attempt.score.is_met && !problem->plan &&
                     !patience_is_stopped(problem->patience) &&
                     attempt_has_reached_goal(&attempt, problem);
    int64_t overshoot_bytes = attempt.score.bytes - problem->options->limit_bytes;
    if (status != RH_OK) {
      attempt_free(&attempt);
      return status;
    }
    keep_better(run, &attempt);
    if (!may_go_on || is_met(run) || guide.peak_limit.bytes == 0) break;
    guide.peak_limit.bytes -=
        overshoot_bytes < guide.peak_limit.bytes ? overshoot_bytes : guide.peak_limit.bytes;
  }
  return RH_OK;
}

/* Simpler models, by which guides may lead to better results where the judging model packs buffers:
 * packing and sharing can hide from an algorithm what a recomputation saves. The search looks at
 * what is judged by itself. It has one of them, for a budget that it misses, and then goes as low
 * as possible: so that what it comes to is the same for all budgets that are missed. */
static const struct {
  const char *name;
  bool is_for_search;
} simpler_models[] = {{"liveness-once", true}, {"xla-remat", false}};

/* Tries the judging model as the guide first. There is no attempt once the run is stopped, unless
 * that is all there is to do. */
static rh_status try_guides(Run *run, const RematAlgorithm *algorithm) {
  const Problem *problem = run->problem;
  const MemoryModel *judging = problem->request->memory_model;
  CountedLimit limit = limit_counted(problem->options);
  Patience *patience = problem->patience;
  bool is_decided = problem->plan || algorithm->traits & RH_TRAIT_IDLE;
  if (!is_decided && patience_is_stopped(patience)) return RH_OK;
  rh_status status = try_guide(run, algorithm, guide_by(problem, judging, limit));
  bool has_others = judging->traits & RH_TRAIT_PACKS && !is_decided;
  bool searches = algorithm->run == remat_search;
  if (searches) limit.bytes = 0;
  /* The solver packs by itself, and takes long. What changes nothing does so under any guide. */
  if (algorithm->traits & RH_TRAIT_NEEDS_SOLVER || algorithm->run == remat_none) has_others = false;
  for (size_t i = 0; has_others && i < sizeof simpler_models / sizeof *simpler_models; i++) {
    bool is_enough = is_met(run) || problem->is_met_otherwise;
    if (status != RH_OK || is_enough || patience_is_stopped(patience)) break;
    if (searches && !simpler_models[i].is_for_search) continue;
    patience_renew_shortly(patience, problem->input->module->insts.len, &problem->parameters);
    const MemoryModel *model = memory_model_find(simpler_models[i].name);
    status = try_guide(run, algorithm, guide_by(problem, model, limit));
  }
  return status;
}

/* The algorithms among which `auto` chooses, the cheap ones first. */
static const struct {
  const char *name;
  bool has_modes; /* it can do without recomputation, if only other modes are allowed */
} automatic[] = {{"path", false},
                 {"standard", true},
                 {"checkpoint=memory", false},
                 {"checkpoint=speed", false},
                 {"search", true}};

/* Runs the algorithm that is asked for, or all that `auto` chooses from. */
static rh_status try_algorithms(Run *run, const RematAlgorithm *asked) {
  if (!(asked->traits & RH_TRAIT_CHOOSES) || run->problem->plan) return try_guides(run, asked);
  rh_status status = RH_OK;
  for (size_t i = 0; i < sizeof automatic / sizeof *automatic && status == RH_OK; i++) {
    if (!automatic[i].has_modes && !(run->problem->options->modes & RH_REMAT_RECOMPUTE)) continue;
    Run one = {.problem = run->problem, .findings = run->findings};
    status = try_guides(&one, remat_algorithm_find(automatic[i].name));
    keep_better(run, &one.best);
  }
  return status;
}

/* Takes the input unchanged if no attempt is better: a greedy choice can make the module worse. */
static rh_status try_nothing(Run *run) {
  const Problem *problem = run->problem;
  bool is_worse = problem_is_limited(problem) && run->best.result &&
                  run->best.score.bytes > problem_counted_bytes(problem, &problem->before);
  if (problem->plan || (run->best.result && !is_worse)) return RH_OK;
  Guide guide = guide_by(problem, problem->request->memory_model, limit_counted(problem->options));
  return try_guide(run, remat_algorithm_find("none"), guide);
}

/* ---- variants ---- */

/* Runs an algorithm on a variant: a RunFn. */
static rh_status run_on_variant(const Problem *problem, Findings *findings,
                                const RematAlgorithm *algorithm, Attempt *best) {
  Run run = {.problem = problem, .findings = findings};
  run.by_time = algorithm->traits & RH_TRAIT_CHOOSES;
  rh_status status = try_algorithms(&run, algorithm);
  *best = run.best;
  return status;
}

/* Whether the best attempt runs whole loops again. */
static bool repeats_loops(const Run *run) {
  const rh_module *result = run->best.result;
  return result && module_count(result->module, OPCODE_WHILE) >
                       module_count(run->problem->input->module, OPCODE_WHILE);
}

/* An attempt on another module than the run's becomes the best one. */
static void take_attempt(Run *run, Attempt *tried, const Problem *problem) {
  attempt_free(&run->best);
  run->best = *tried;
  *tried = (Attempt){0};
  run->problem = problem;
}

/* Begins again from variants of the input in which loops recompute what others would have stored
 * for them. A variant is taken only if it is proven equivalent: what the verifier cannot follow
 * must not be lost on the way to a result. */
static rh_status try_variants(Run *run, ScanAttempt *scanned) {
  const Problem *problem = run->problem;
  bool is_wanted = problem->plan ? problem->plan->scans.list.len > 0
                                 : problem->request->algorithm->traits & RH_TRAIT_SCANS;
  if (!is_wanted) return RH_OK;
  /* To store less of what a loop stacks can be faster. */
  run->by_time |= is_met(run) && !problem->plan && repeats_loops(run);
  if (is_met(run) && !run->by_time) return RH_OK;
  if (!problem->plan && patience_is_stopped(problem->patience)) return RH_OK;
  double start = seconds_now();
  rh_status status = problem->plan ? scans_apply(problem, run_on_variant, scanned)
                                   : scans_try(problem, run_on_variant, scanned);
  run->findings->was_cut |= scanned->findings.was_cut;
  run->findings->remat_seconds += seconds_now() - start;
  Attempt *found = &scanned->attempt;
  bool is_taken = found->result && (problem->plan || is_better(run, found));
  if (status == RH_OK && is_taken) take_attempt(run, found, &scanned->problem);
  return status;
}

/* Begins again from the input with its fusions split where several compute the same values. */
static rh_status try_split(Run *run, ScanAttempt *split) {
  const Problem *problem = run->problem;
  const RematAlgorithm *algorithm = problem->request->algorithm;
  bool is_wanted = !problem->plan && problem_is_limited(problem) && !is_met(run) &&
                   algorithm->traits & RH_TRAIT_SCANS && algorithm->run != remat_none &&
                   problem->options->modes & RH_REMAT_RECOMPUTE;
  if (!is_wanted || problem->steps || patience_is_stopped(problem->patience)) return RH_OK;
  double start = seconds_now();
  rh_status status = scans_try_split(problem, run_on_variant, split);
  run->findings->remat_seconds += seconds_now() - start;
  bool is_taken = split->attempt.result && is_better(run, &split->attempt);
  if (status == RH_OK && is_taken) take_attempt(run, &split->attempt, &split->problem);
  return status;
}

/* ---- the order of attempts ---- */

/* Whether the budget is below what everything needs that leaves the input's loops as they are. */
static bool needs_variants(const Problem *problem) {
  bool is_open = !problem->plan && problem_is_limited(problem) &&
                 problem->request->algorithm->traits & RH_TRAIT_SCANS &&
                 problem->options->modes == RH_REMAT_RECOMPUTE;
  return is_open && module_count(problem->input->module, OPCODE_WHILE) > 1 &&
         problem_bound_with_loops(problem) > problem->options->limit_bytes;
}

/* Runs the algorithms on the module of the request, after its variants. */
static rh_status try_given(Run *run, const Problem *given) {
  Run one = {.problem = given, .findings = run->findings, .by_time = run->by_time};
  problem_renew_patience(given, 1);
  rh_status status = try_algorithms(&one, given->request->algorithm);
  if (!is_better(run, &one.best)) {
    attempt_free(&one.best);
    return status;
  }
  take_attempt(run, &one.best, given);
  judge_report(&run->best, given);
  return status;
}

/* Where only variants can meet the budget, they come first. The additional steps for a budget that
 * is missed are for the module of the request all the same, so that all who miss theirs end alike.
 */
static rh_status try_all(Run *run, ScanAttempt *scanned, ScanAttempt *split) {
  const Problem *given = run->problem;
  bool begins_from_variant = given->plan && given->plan->scans.list.len > 0;
  bool has_variants_first = needs_variants(given);
  rh_status status = RH_OK;
  uint64_t num_more = 0;
  if (has_variants_first) num_more = patience_set_more(given->patience, 0);
  if (!has_variants_first && !begins_from_variant)
    status = try_algorithms(run, given->request->algorithm);
  if (status == RH_OK) status = try_variants(run, scanned);
  if (has_variants_first) (void)patience_set_more(given->patience, num_more);
  if (status == RH_OK && has_variants_first && !is_met(run)) status = try_given(run, given);
  if (status == RH_OK) status = try_split(run, split);
  return status == RH_OK ? try_nothing(run) : status;
}

/* ---- finish ---- */

/* Keeps the record of what was done with loops' stacks, also where no plan is wanted. */
static void keep_steps(const Problem *problem, rh_module *result) {
  if (!problem->steps) return;
  ScanSteps *steps = arena_alloc(result->arena, sizeof *steps);
  scan_copy_steps(problem->steps, steps, result->arena);
  result->scans = steps;
}

/* Completes the plan that is kept, and verifies the result. */
static rh_status finish(Run *run) {
  const Problem *problem = run->problem;
  Attempt *best = &run->best;
  double start = seconds_now();
  if (best->plan) kept_plan_finish(best->plan, problem, best);
  double end = seconds_now();
  rh_status status = judge_verify(best, problem);
  run->findings->remat_seconds += end - start;
  run->findings->verify_seconds += seconds_now() - end;
  if (status == RH_OK && best->plan) kept_plan_hand_over(best->plan, best->result);
  return status;
}

/* The name of what gave the result. Loops that recompute what others would have stored are the
 * work of `scan`, unless another algorithm went on from there. */
static const char *name_of(const Run *run) {
  const RematAlgorithm *algorithm = run->best.algorithm;
  if (run->problem->plan) return NULL;
  return run->problem->steps && algorithm->run == remat_none ? "scan" : algorithm->name;
}

static rh_remat_result describe(const Run *run) {
  const Attempt *best = &run->best;
  return (rh_remat_result){.is_met = best->score.is_met,
                           .counted_bytes = best->score.bytes,
                           .xla_reported_after_bytes = best->stats.xla_reported_after_bytes,
                           .protect = run->problem->protect,
                           .remat_seconds = run->findings->remat_seconds,
                           .verify_seconds = run->findings->verify_seconds,
                           .algorithm = name_of(run),
                           .num_moved = best->num_moved,
                           .num_moves_lost = best->num_moves_lost,
                           .num_compressed = best->num_compressed,
                           .num_narrowed = best->num_narrowed,
                           .num_offloaded = best->num_offloaded,
                           .rounds_alike = best->rounds_alike,
                           .default_counted_bytes = -1,
                           .bfs_counted_bytes = -1,
                           .compiled_default_bytes = -1,
                           .compiled_bfs_bytes = -1};
}

/* Whether the result is not worth what it costs, beside the module of the request: what the best
 * attempt began from may be a variant, in which loops store less already. */
static bool is_hardly_worth(Run *run, const Problem *given) {
  if (!problem_is_limited(given) || run->best.score.is_met) return false;
  HardlyFigures figures = {
      .before_bytes = problem_counted_bytes(given, &given->before),
      .after_bytes = run->best.score.bytes,
      .limit_bytes = given->options->limit_bytes,
      .before_seconds = variant_seconds(given, given->original),
      .after_seconds = judge_score(&run->best, run->problem).seconds,
  };
  return hardly_helps(&figures);
}

/* What the result takes where XLA chooses the order. */
static void reschedule(const Run *run, rh_remat_result *info) {
  const Problem *problem = run->problem;
  bool is_open = problem->options->emit == RH_EMIT_UNSCHEDULED;
  bool is_new = problem_is_limited(problem) || problem->plan || info->num_moved;
  if (is_new && is_fused_later(problem->original->module))
    count_compiled_again(problem, run->best.result, info);
  if (!is_open || !is_new) return;
  const Module *module = run->best.result->module;
  info->default_counted_bytes = rescheduled_bytes(problem, module, "default");
  info->bfs_counted_bytes = rescheduled_bytes(problem, module, "bfs");
}

static void warn_of_solver(const SolverEnd *end, rh_diags *diags) {
  static const char *const hows[] = {
      [SOLVER_END_NOT_STARTED] = "could not be started (error",
      [SOLVER_END_SIGNAL] = "ended early (signal",
      [SOLVER_END_EXIT] = "ended early (exit status",
  };
  if (end->kind == SOLVER_END_USUAL) return;
  diag_warn(diags, DIAG_ABOUT(RH_CODE_ENDED_EARLY, NO_OFFSET),
            "CBC %s %d): the result and the bound of its added time are what is known without it",
            hows[end->kind], end->code);
}

rh_status remat_engine_run(const RematRequest *request, rh_module **result, rh_remat_result *info,
                           rh_diags *diags) {
  Problem problem;
  Findings findings;
  Patience patience;
  ScanAttempt scanned = {0}, split = {0};
  Run run = {.problem = &problem, .findings = &findings, .is_whole = true};
  run.by_time = !request->plan && request->algorithm->traits & RH_TRAIT_CHOOSES;
  *result = NULL;
  patience_begin(&patience, request->options, seconds_now());
  rh_status status = problem_prepare(&problem, &findings, request, &patience, diags);
  if (status == RH_OK) status = try_all(&run, &scanned, &split);
  if (status == RH_OK) status = finish(&run);
  if (findings.was_cut) {
    diag_warn(diags, DIAG_ABOUT(RH_CODE_ENDED_EARLY, NO_OFFSET),
              "%s recomputes so much that it was ended early", request->options->algorithm);
  }
  if (status == RH_OK) {
    *info = describe(&run);
    reschedule(&run, info);
    ties_count(&problem, info);
    info->is_out_of_steps = patience_is_spent(&patience);
    time_bound_find(run.problem, &findings, run.best.result, info);
    warn_of_solver(&findings.solver_end, diags);
    info->hardly_helps = is_hardly_worth(&run, &problem);
    /* To find the bound can be cut short, too. */
    info->is_interrupted = patience_was_interrupted(&patience);
    info->is_timed_out = patience_was_timed_out(&patience);
    *result = run.best.result;
    run.best.result = NULL;
    keep_steps(run.problem, *result);
  }
  attempt_free(&run.best);
  scan_attempt_free(&scanned);
  scan_attempt_free(&split);
  problem_free(&problem);
  return status;
}
