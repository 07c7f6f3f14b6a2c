#include "remat/engine/scans_internal.h"

#include "remat/engine/judge.h"
#include "text/reparse.h"

void scan_attempt_free(ScanAttempt *tried) {
  attempt_free(&tried->attempt);
  if (tried->is_open) problem_free(&tried->problem);
  variant_free(&tried->variant);
  *tried = (ScanAttempt){0};
}

/* How an algorithm runs on a variant. */
typedef struct Manner {
  const RematAlgorithm *algorithm;
  uint32_t divisor; /* with so small a part of the steps that are left */
  bool is_quiet;    /* of what algorithms warn, once is enough */
  bool is_met;      /* another variant meets the budget */
} Manner;

static rh_status run_with_part(ScanAttempt *tried, RunFn run, const Manner *manner) {
  Patience *whole = tried->problem.patience;
  const RematAlgorithm *algorithm = manner->algorithm;
  if (manner->divisor < 2)
    return run(&tried->problem, &tried->findings, algorithm, &tried->attempt);
  Patience part = patience_part(whole, patience_steps_left(whole) / manner->divisor);
  tried->problem.patience = &part;
  rh_status status = run(&tried->problem, &tried->findings, algorithm, &tried->attempt);
  tried->problem.patience = whole;
  patience_join(whole, &part);
  return status;
}

/* Runs an algorithm on the variant of `tried`. */
static rh_status run_on_variant_of(const Problem *problem, RunFn run, const Manner *manner,
                                   ScanAttempt *tried) {
  tried->is_open = true;
  rh_status status = problem_prepare_variant(&tried->problem, &tried->findings, problem,
                                             tried->variant.module, &tried->variant.steps);
  tried->problem.is_met_otherwise = manner->is_met;
  if (manner->is_quiet) tried->problem.diags = NULL;
  if (status == RH_OK) status = run_with_part(tried, run, manner);
  tried->problem.diags = problem->diags;
  return status;
}

/* Makes a variant and runs an algorithm on it. `tried` must not move as long as it is used. */
static rh_status try_goal(const Problem *problem, RunFn run, const VariantGoal *goal,
                          const Manner *manner, ScanAttempt *tried) {
  *tried = (ScanAttempt){0};
  rh_status status = variant_make(problem, goal, &tried->variant);
  if (status != RH_OK || !tried->variant.module) return status;
  tried->goal = *goal;
  status = run_on_variant_of(problem, run, manner, tried);
  if (status == RH_ERR_INTERNAL && !goal->plan)
    status = fail_internally(problem->diags, "what was made of rewritten loops is no module");
  return status;
}

/* Whether an attempt is better than the best one. Without a budget that needs it, a parameter says
 * what segments must be worth for the time of their forward passes. */
static bool is_better(const Scans *scans, ScanAttempt *tried) {
  ScanAttempt *best = scans->best;
  if (!tried->attempt.result || !best->attempt.result) return tried->attempt.result;
  const rh_remat_options *options = scans->problem->options;
  bool is_to_gain = tried->goal.segment > 0 && best->goal.segment <= 0 && options->limit_bytes <= 0;
  int64_t best_bytes = best->attempt.score.bytes;
  if (is_to_gain) {
    int64_t gain = best_bytes / 100 * scans->problem->parameters.scan_segment_gain;
    return tried->attempt.score.bytes < best_bytes - gain;
  }
  return score_is_better(judge_score(&tried->attempt, &tried->problem),
                         judge_score(&best->attempt, &best->problem));
}

/* What the verifier cannot follow is left out, and another variant may do. */
static bool is_proven(Scans *scans, const ScanAttempt *tried) {
  bool is_proven = judge_can_prove(&tried->attempt, &tried->problem);
  scans->num_unproven += !is_proven;
  return is_proven;
}

static uint32_t num_cut_in(const ScanSteps *steps) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < steps->list.len; i++)
    count += steps->list.data[i].segment > 0;
  return count;
}

/* Without a budget, the lowest peak comes first, with what a forward pass must be worth. */
static double promise_of(const Scans *scans, ScanAttempt *tried) {
  Score score = judge_score(&tried->attempt, &tried->problem);
  int64_t limit_bytes = scans->problem->options->limit_bytes;
  double gain = tried->goal.segment > 0 ? (double)scans->problem->parameters.scan_segment_gain : 0;
  if (limit_bytes <= 0) return (double)score.bytes * (1 + gain / 100);
  return score_promise(score, limit_bytes);
}

/* Keeps an attempt if it is the best one, and returns whether it meets the budget. */
static bool note_tried(Scans *scans, ScanAttempt *tried, const RematAlgorithm *algorithm) {
  bool is_chosen = is_better(scans, tried);
  if (is_chosen && !is_proven(scans, tried)) {
    attempt_free(&tried->attempt);
    is_chosen = false;
  }
  bool has_result = tried->attempt.result;
  bool is_met = has_result && tried->attempt.score.is_met;
  if (algorithm->run == remat_none && has_result && !is_met) {
    Score score = judge_score(&tried->attempt, &tried->problem);
    *vec_push(scans->arena, &scans->unfinished) = (Unfinished){.goal = tried->goal,
                                                               .bytes = score.bytes,
                                                               .promise = promise_of(scans, tried),
                                                               .seconds = score.seconds,
                                                               .num_cut = scans->num_cut,
                                                               .number = scans->unfinished.len};
  }
  if (!is_chosen) {
    scan_attempt_free(tried);
    return is_met;
  }
  scan_attempt_free(scans->best);
  *scans->best = *tried;
  scans->best->problem.steps = &scans->best->variant.steps;
  judge_report(&scans->best->attempt, &scans->best->problem);
  return is_met;
}

/* An attempt refers to the problem that is beside it, so they move as a whole or not at all: both
 * are on the heap of the arena. Once the run is stopped, or has failed, nothing meets the budget
 * any more, which soon ends whoever tries. */
bool scans_try_goal(Scans *scans, const VariantGoal *goal, const RematAlgorithm *algorithm,
                    uint32_t divisor) {
  ScanAttempt tried;
  Manner manner = {algorithm, divisor, true, scans->best->attempt.score.is_met};
  if (scans->status != RH_OK || patience_is_stopped(scans->problem->patience)) return false;
  scans->status = try_goal(scans->problem, scans->run, goal, &manner, &tried);
  scans->num_cut = num_cut_in(&tried.variant.steps);
  if (scans->status == RH_OK) return note_tried(scans, &tried, algorithm);
  scan_attempt_free(&tried);
  return false;
}

/* ---- single attempts ---- */

rh_status scans_try_split(const Problem *problem, RunFn run, ScanAttempt *best) {
  Manner manner = {problem->request->algorithm, 1, true, false};
  *best = (ScanAttempt){0};
  rh_status status = variant_split(problem, &best->variant.module);
  if (status != RH_OK || !best->variant.module) return status;
  problem_renew_patience(problem, 1);
  status = run_on_variant_of(problem, run, &manner, best);
  if (status != RH_OK || !best->attempt.result) return status;
  if (!judge_can_prove(&best->attempt, &best->problem)) attempt_free(&best->attempt);
  return RH_OK;
}

rh_status scans_apply(const Problem *problem, RunFn run, ScanAttempt *best) {
  rh_module *opened;
  rh_status status = variant_open(problem, &opened);
  VariantGoal goal = {.plan = problem->plan, .opened = opened};
  Manner manner = {problem->request->algorithm, 1, false, false};
  if (status == RH_OK) status = try_goal(problem, run, &goal, &manner, best);
  rh_module_free(opened);
  return status;
}
