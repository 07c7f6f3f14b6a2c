#include "remat/engine/scans.h"

#include <stdlib.h>

#include "analysis/memory/memory_model.h"
#include "ir/clock.h"
#include "loop_texts.h"
#include "support.h"
#include "text/reparse.h"

/* What an algorithm makes of a variant is no module. */
static rh_status fail_on_variant(const Problem *problem, Findings *findings,
                                 const RematAlgorithm *algorithm, Attempt *best) {
  (void)findings, (void)algorithm, (void)best;
  return fail_internally(problem->diags, "made for the test");
}

/* A fault of our own is no variant that is left out. */
START_TEST(faults_are_reported) {
  char *text = loop_text_edited("scan", loop_scan, (LoopEdit[]){{0}});
  rh_module *parsed = NULL, *input = NULL;
  ck_assert_int_eq(rh_parse(text, strlen(text), NULL, &parsed, NULL), RH_OK);
  ck_assert_int_eq(rh_schedule(parsed, NULL, NULL, &input, NULL), RH_OK);
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  options.limit_bytes = 1;
  RematRequest request = {.module = input,
                          .options = &options,
                          .algorithm = remat_algorithm_find("scan"),
                          .memory_model = memory_model_find("heap")};
  rh_diags *diags = rh_diags_new();
  Problem problem;
  Findings findings;
  Patience patience;
  patience_begin(&patience, &options, seconds_now());
  ck_assert_int_eq(problem_prepare(&problem, &findings, &request, &patience, diags), RH_OK);
  ScanAttempt best = {0};
  ck_assert_int_eq(scans_try(&problem, fail_on_variant, &best), RH_ERR_INTERNAL);
  ck_assert_uint_eq(rh_diags_len(diags), 1);
  const rh_diag *said = rh_diags_get(diags, 0);
  ck_assert_int_eq(said->severity, RH_SEVERITY_ERROR);
  ck_assert_int_eq(said->code, RH_CODE_INTERNAL);
  ck_assert_ptr_nonnull(strstr(said->message, "internal error"));
  scan_attempt_free(&best);
  problem_free(&problem);
  rh_diags_free(diags);
  rh_module_free(input);
  rh_module_free(parsed);
  free(text);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("scans");
  TCase *tc = tcase_create("scans");
  tcase_add_test(tc, faults_are_reported);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
