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
static Guide guide_by(const Problem *problem, const MemoryModel *model) {
  const rh_module *input = problem->input;
  Guide guide = {.memory_model = model, .peak_limit_bytes = INT64_MAX};
  if (!problem_is_limited(problem)) return guide;
  guide.before_bytes =
      model == problem->request->memory_model
          ? problem->before.peak_bytes
          : problem_measure(problem, model, input->module, &input->schedule).peak_bytes;
  int64_t budget_bytes = problem->options->limit_bytes;
  int64_t uncounted_bytes = guide.before_bytes - problem_counted_bytes(problem, &problem->before);
  guide.uncounted_bytes = uncounted_bytes;
  bool has_end = uncounted_bytes <= 0 || budget_bytes < INT64_MAX - uncounted_bytes;
  if (has_end) {
    int64_t limit_bytes = budget_bytes + uncounted_bytes;
    guide.peak_limit_bytes = limit_bytes > 0 ? limit_bytes : 0;
  }
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
typedef struct Search {
  const Problem *problem;
  Findings *findings;
  Attempt best;  /* without a result as long as there is none */
  bool is_whole; /* not only a part that begins from a variant, whose best need not be the best */
  bool by_time;  /* of several that meet the budget, the fastest is the best */
} Search;

static bool is_met(const Search *search) {
  return search->best.result && search->best.score.is_met;
}

/* Tells the caller about the best attempt. */
static void report(Search *search) {
  const Problem *problem = search->problem;
  if (!search->is_whole || !patience_is_watched(problem->patience)) return;
  Score best = judge_score(&search->best, problem);
  patience_report(problem->patience, best.bytes, best.is_met,
                  best.seconds - variant_seconds(problem, problem->original));
}

/* Whether an attempt is better than the best one. */
static bool is_better(Search *search, Attempt *tried) {
  if (!tried->result || !search->best.result) return tried->result;
  return score_is_better(judge_score(tried, search->problem),
                         judge_score(&search->best, search->problem));
}

/* Keeps the better of an attempt and the best one, or the earlier one if both are equal, and frees
 * the other. */
static void keep_better(Search *search, Attempt *tried) {
  Attempt *best = &search->best;
  if (!is_better(search, tried)) {
    attempt_free(tried);
    return;
  }
  attempt_free(best);
  *best = *tried;
  if (!best->plan) attempt_free_work(best);
  report(search);
}

/* Makes attempts with one guide. An algorithm that reached its guide's limit can still exceed the
 * budget: the text determines where compact get-tuple-elements are placed, and the guide's model
 * may count less than the model that judges. The next attempt gets a limit that is lower by the
 * excess. */
static rh_status try_guide(Search *search, const RematAlgorithm *algorithm,
                           const MemoryModel *model) {
  const Problem *problem = search->problem;
  Guide guide = guide_by(problem, model);
  for (int i = 0; i < problem->parameters.engine_attempts; i++) {
    Attempt attempt = attempt_new(problem, algorithm, &guide);
    rh_status status = try_once(&attempt, problem, search->findings);
    bool may_go_on = status == RH_OK && attempt.result && !attempt.score.is_met && !problem->plan &&
                     !patience_is_stopped(problem->patience) &&
                     attempt_has_reached_goal(&attempt, problem);
    int64_t overshoot_bytes = attempt.score.bytes - problem->options->limit_bytes;
    if (status != RH_OK) {
      attempt_free(&attempt);
      return status;
    }
    keep_better(search, &attempt);
    if (!may_go_on || is_met(search) || guide.peak_limit_bytes == 0) break;
    guide.peak_limit_bytes -=
        overshoot_bytes < guide.peak_limit_bytes ? overshoot_bytes : guide.peak_limit_bytes;
  }
  return RH_OK;
}

/* Tries the judging model as the guide first. If that model packs buffers, packing and sharing can
 * hide from an algorithm what a recomputation saves; simpler models then give better results. There
 * is no attempt once the run is stopped, unless that is all there is to do. */
static rh_status try_guides(Search *search, const RematAlgorithm *algorithm) {
  static const char *const simpler_models[] = {"liveness-once", "xla-remat"};
  const RematRequest *request = search->problem->request;
  Patience *patience = search->problem->patience;
  bool is_decided = search->problem->plan || algorithm->traits & RH_TRAIT_IDLE;
  if (!is_decided && patience_is_stopped(patience)) return RH_OK;
  rh_status status = try_guide(search, algorithm, request->memory_model);
  bool has_others = request->memory_model->traits & RH_TRAIT_PACKS && !is_decided;
  /* It packs by itself, and takes long. */
  if (algorithm->traits & RH_TRAIT_NEEDS_SOLVER) has_others = false;
  for (size_t i = 0; has_others && i < sizeof simpler_models / sizeof *simpler_models; i++) {
    if (status != RH_OK || is_met(search) || patience_is_stopped(patience)) break;
    patience_renew_shortly(patience, search->problem->input->module->insts.len,
                           &search->problem->parameters);
    status = try_guide(search, algorithm, memory_model_find(simpler_models[i]));
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
static rh_status try_algorithms(Search *search, const RematAlgorithm *asked) {
  if (!(asked->traits & RH_TRAIT_CHOOSES) || search->problem->plan)
    return try_guides(search, asked);
  rh_status status = RH_OK;
  for (size_t i = 0; i < sizeof automatic / sizeof *automatic && status == RH_OK; i++) {
    if (!automatic[i].has_modes && !(search->problem->options->modes & RH_REMAT_RECOMPUTE))
      continue;
    Search one = {.problem = search->problem, .findings = search->findings};
    status = try_guides(&one, remat_algorithm_find(automatic[i].name));
    keep_better(search, &one.best);
  }
  return status;
}

/* Takes the input unchanged if no attempt is better: a greedy choice can make the module worse. */
static rh_status try_nothing(Search *search) {
  const Problem *problem = search->problem;
  bool is_worse = problem_is_limited(problem) && search->best.result &&
                  search->best.score.bytes > problem_counted_bytes(problem, &problem->before);
  if (problem->plan || (search->best.result && !is_worse)) return RH_OK;
  return try_guide(search, remat_algorithm_find("none"), problem->request->memory_model);
}

/* ---- variants ---- */

/* Runs an algorithm on a variant: a RunFn. */
static rh_status run_on_variant(const Problem *problem, Findings *findings,
                                const RematAlgorithm *algorithm, Attempt *best) {
  Search search = {.problem = problem, .findings = findings};
  search.by_time = algorithm->traits & RH_TRAIT_CHOOSES;
  rh_status status = try_algorithms(&search, algorithm);
  *best = search.best;
  return status;
}

/* Whether the best attempt runs whole loops again. */
static bool repeats_loops(const Search *search) {
  const rh_module *result = search->best.result;
  return result && module_count(result->module, OPCODE_WHILE) >
                       module_count(search->problem->input->module, OPCODE_WHILE);
}

/* Begins again from variants of the input in which loops recompute what others would have stored
 * for them. A variant is taken only if it is proven equivalent: what the verifier cannot follow
 * must not be lost on the way to a result. */
static rh_status try_variants(Search *search, ScanAttempt *scanned) {
  const Problem *problem = search->problem;
  bool is_wanted = problem->plan ? problem->plan->scans.list.len > 0
                                 : problem->request->algorithm->traits & RH_TRAIT_SCANS;
  if (!is_wanted) return RH_OK;
  /* To store less of what a loop stacks can be faster. */
  search->by_time |= is_met(search) && !problem->plan && repeats_loops(search);
  if (is_met(search) && !search->by_time) return RH_OK;
  if (!problem->plan && patience_is_stopped(problem->patience)) return RH_OK;
  double start = seconds_now();
  rh_status status = problem->plan ? scans_apply(problem, run_on_variant, scanned)
                                   : scans_try(problem, run_on_variant, scanned);
  search->findings->was_cut |= scanned->findings.was_cut;
  search->findings->remat_seconds += seconds_now() - start;
  Attempt *found = &scanned->attempt;
  bool is_taken = found->result && (problem->plan || is_better(search, found));
  if (status != RH_OK || !is_taken) return status;
  attempt_free(&search->best);
  search->best = *found;
  *found = (Attempt){0};
  search->problem = &scanned->problem;
  return RH_OK;
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
static rh_status finish(Search *search) {
  const Problem *problem = search->problem;
  Attempt *best = &search->best;
  double start = seconds_now();
  if (best->plan) kept_plan_finish(best->plan, problem, best);
  double end = seconds_now();
  rh_status status = judge_verify(best, problem);
  search->findings->remat_seconds += end - start;
  search->findings->verify_seconds += seconds_now() - end;
  if (status == RH_OK && best->plan) kept_plan_hand_over(best->plan, best->result);
  return status;
}

/* The name of what gave the result. Loops that recompute what others would have stored are the
 * work of `scan`, unless another algorithm went on from there. */
static const char *name_of(const Search *search) {
  const RematAlgorithm *algorithm = search->best.algorithm;
  if (search->problem->plan) return NULL;
  return search->problem->steps && algorithm->run == remat_none ? "scan" : algorithm->name;
}

static rh_remat_result describe(const Search *search) {
  const Attempt *best = &search->best;
  return (rh_remat_result){.is_met = best->score.is_met,
                           .counted_bytes = best->score.bytes,
                           .xla_reported_after_bytes = best->stats.xla_reported_after_bytes,
                           .protect = search->problem->protect,
                           .remat_seconds = search->findings->remat_seconds,
                           .verify_seconds = search->findings->verify_seconds,
                           .algorithm = name_of(search),
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

/* Whether the result is not worth what it costs. */
static bool is_hardly_worth(Search *search) {
  const Problem *problem = search->problem;
  if (!problem_is_limited(problem) || search->best.score.is_met) return false;
  HardlyFigures figures = {
      .before_bytes = problem_counted_bytes(problem, &problem->before),
      .after_bytes = search->best.score.bytes,
      .limit_bytes = problem->options->limit_bytes,
      .before_seconds = variant_seconds(problem, problem->original),
      .after_seconds = judge_score(&search->best, problem).seconds,
  };
  return hardly_helps(&figures);
}

/* What the result takes where XLA chooses the order. */
static void reschedule(const Search *search, rh_remat_result *info) {
  const Problem *problem = search->problem;
  bool is_open = problem->options->emit == RH_EMIT_UNSCHEDULED;
  bool is_new = problem_is_limited(problem) || problem->plan || info->num_moved;
  if (is_new && is_fused_later(problem->original->module))
    count_compiled_again(problem, search->best.result, info);
  if (!is_open || !is_new) return;
  const Module *module = search->best.result->module;
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
  ScanAttempt scanned = {0};
  Search search = {.problem = &problem, .findings = &findings, .is_whole = true};
  search.by_time = !request->plan && request->algorithm->traits & RH_TRAIT_CHOOSES;
  *result = NULL;
  patience_begin(&patience, request->options, seconds_now());
  rh_status status = problem_prepare(&problem, &findings, request, &patience, diags);
  bool begins_from_variant = request->plan && request->plan->scans.list.len > 0;
  if (status == RH_OK && !begins_from_variant) status = try_algorithms(&search, request->algorithm);
  if (status == RH_OK) status = try_variants(&search, &scanned);
  if (status == RH_OK) status = try_nothing(&search);
  if (status == RH_OK) status = finish(&search);
  if (findings.was_cut) {
    diag_warn(diags, DIAG_ABOUT(RH_CODE_ENDED_EARLY, NO_OFFSET),
              "%s recomputes so much that it was ended early", request->options->algorithm);
  }
  if (status == RH_OK) {
    *info = describe(&search);
    reschedule(&search, info);
    ties_count(&problem, info);
    info->is_out_of_steps = patience_is_spent(&patience);
    time_bound_find(search.problem, &findings, search.best.result, info);
    warn_of_solver(&findings.solver_end, diags);
    info->hardly_helps = is_hardly_worth(&search);
    /* To find the bound can be cut short, too. */
    info->is_interrupted = patience_was_interrupted(&patience);
    info->is_timed_out = patience_was_timed_out(&patience);
    *result = search.best.result;
    search.best.result = NULL;
    keep_steps(search.problem, *result);
  }
  attempt_free(&search.best);
  scan_attempt_free(&scanned);
  problem_free(&problem);
  return status;
}
