#include "remat/engine/scans.h"

#include <stdlib.h>

#include "analysis/memory/memory_model.h"
#include "ir/clock.h"
#include "loop_texts.h"
#include "remat/engine/judge.h"
#include "support.h"
#include "text/reparse.h"

/* What an algorithm makes of a variant is no module. */
static rh_status fail_on_variant(const Problem *problem, Findings *findings,
                                 const RematAlgorithm *algorithm, Attempt *best) {
  (void)findings, (void)algorithm, (void)best;
  return fail_internally(problem->diags, "made for the test");
}

/* Counts the runs of algorithms that recompute within the loops. Each variant stays as it is; with
 * `meets`, such a run is said to meet the budget in much time. */
static uint32_t num_finished;
static bool meets;

static rh_status count_finished(const Problem *problem, Findings *findings,
                                const RematAlgorithm *algorithm, Attempt *best) {
  const RematAlgorithm *none = remat_algorithm_find("none");
  num_finished += algorithm != none;
  Guide guide = {.memory_model = problem->request->memory_model};
  *best = attempt_new(problem, none, &guide);
  rh_status status = attempt_run(best, problem, findings);
  if (status == RH_OK) status = judge_attempt(best, problem, findings);
  if (status != RH_OK || algorithm == none || !meets) return status;
  best->score = (Score){.is_met = true, .bytes = best->score.bytes, .seconds = 1e9};
  return RH_OK;
}

/* Looks for variants of a module whose budget cannot be met. */
static rh_status try_variants_of(const char *text, int effort, RunFn run, rh_diags *diags) {
  rh_module *parsed = NULL, *input = NULL;
  ck_assert_int_eq(rh_parse(text, strlen(text), NULL, &parsed, NULL), RH_OK);
  ck_assert_int_eq(rh_schedule(parsed, NULL, NULL, &input, NULL), RH_OK);
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  options.limit_bytes = 1;
  options.effort = effort;
  RematRequest request = {.module = input,
                          .options = &options,
                          .algorithm = remat_algorithm_find("scan"),
                          .memory_model = memory_model_find("heap")};
  Problem problem;
  Findings findings;
  Patience patience;
  patience_begin(&patience, &options, seconds_now());
  ck_assert_int_eq(problem_prepare(&problem, &findings, &request, &patience, diags), RH_OK);
  ScanAttempt best = {0};
  rh_status status = scans_try(&problem, run, &best);
  scan_attempt_free(&best);
  problem_free(&problem);
  rh_module_free(input);
  rh_module_free(parsed);
  return status;
}

/* A fault of our own is no variant that is left out. */
START_TEST(faults_are_reported) {
  char *text = loop_text_edited("scan", loop_scan, (LoopEdit[]){{0}});
  rh_diags *diags = rh_diags_new();
  ck_assert_int_eq(try_variants_of(text, 5, fail_on_variant, diags), RH_ERR_INTERNAL);
  ck_assert_uint_eq(rh_diags_len(diags), 1);
  const rh_diag *said = rh_diags_get(diags, 0);
  ck_assert_int_eq(said->severity, RH_SEVERITY_ERROR);
  ck_assert_int_eq(said->code, RH_CODE_INTERNAL);
  ck_assert_ptr_nonnull(strstr(said->message, "internal error"));
  rh_diags_free(diags);
  free(text);
}
END_TEST

static uint32_t count_finished_with(int effort, bool meets_budget) {
  char *text = loop_text_edited("scan", loop_scan, (LoopEdit[]){{0}});
  num_finished = 0;
  meets = meets_budget;
  ck_assert_int_eq(try_variants_of(text, effort, count_finished, NULL), RH_OK);
  free(text);
  return num_finished;
}

/* Where the effort follows from the size, no other variant is searched once one meets the budget.
 */
START_TEST(a_variant_that_meets_the_budget_is_enough_in_a_compilation) {
  ck_assert_uint_eq(count_finished_with(RH_EFFORT_BY_SIZE, true), 1);
  ck_assert_uint_eq(count_finished_with(RH_EFFORT_BY_SIZE, false), 2);
  ck_assert_uint_eq(count_finished_with(5, true), 2);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("scans");
  TCase *tc = tcase_create("scans");
  tcase_add_test(tc, faults_are_reported);
  tcase_add_test(tc, a_variant_that_meets_the_budget_is_enough_in_a_compilation);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
