/* Programs that were compiled with another version of the header: their structs are shorter or
 * longer than the library's. */
#include <check.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "remat_hlo.h"
#include "sample.h"
#include "support.h"

static rh_module *parse(void) {
  rh_module *module = NULL;
  ck_assert_int_eq(rh_parse(SAMPLE_TEXT, sizeof SAMPLE_TEXT - 1, NULL, &module, NULL), RH_OK);
  return module;
}

/* ---- what the caller gives ---- */

/* What `pin` and all behind it say is not there yet: as if they were NULL. */
START_TEST(older_options_have_the_defaults_of_now) {
  rh_module *module = parse(), *result = NULL;
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  rh_diags *diags = rh_diags_new();
  options.pin = "(";
  ck_assert_int_eq(rh_remat(module, NULL, &options, &result, NULL, diags), RH_ERR_USAGE);
  options.struct_size = offsetof(rh_remat_options, pin);
  ck_assert_int_eq(rh_remat(module, NULL, &options, &result, NULL, diags), RH_OK);
  rh_module_free(result);
  rh_diags_free(diags);
  rh_module_free(module);
}
END_TEST

static bool cancel(void *context) {
  (void)context;
  return true;
}

/* A program from before calls could be cancelled has neither the limits nor what became of them,
 * whatever lies behind its structs. */
START_TEST(older_calls_are_not_cancelled) {
  rh_module *module = parse(), *result = NULL;
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  rh_remat_result info = RH_REMAT_RESULT_INIT;
  options.limit_bytes = 0;
  options.small_node_bytes = 0;
  options.effort = 77;
  options.cancel = cancel;
  options.struct_size = offsetof(rh_remat_options, effort);
  ck_assert_int_eq(rh_remat(module, NULL, &options, &result, &info, NULL), RH_OVER_LIMIT);
  ck_assert(!info.is_interrupted);
  int64_t least_bytes = info.counted_bytes;
  rh_module_free(result);
  options.struct_size = sizeof options;
  ck_assert_int_eq(rh_remat(module, NULL, &options, &result, &info, NULL), RH_ERR_USAGE);
  options.effort = 5;
  ck_assert_int_eq(rh_remat(module, NULL, &options, &result, &info, NULL), RH_OVER_LIMIT);
  ck_assert(info.is_interrupted && info.counted_bytes > least_bytes);
  rh_module_free(result);
  info.is_interrupted = info.is_timed_out = false;
  info.struct_size = offsetof(rh_remat_result, is_interrupted);
  ck_assert_int_eq(rh_remat(module, NULL, &options, &result, &info, NULL), RH_OVER_LIMIT);
  ck_assert(!info.is_interrupted && info.counted_bytes > least_bytes);
  rh_module_free(result);
  rh_module_free(module);
}
END_TEST

/* A field that the library does not know must not ask for anything. */
START_TEST(newer_options_must_be_zero_behind_ours) {
  struct {
    rh_schedule_options known;
    uint64_t added;
  } options = {RH_SCHEDULE_OPTIONS_INIT, 0};
  rh_module *module = parse(), *scheduled = NULL;
  rh_diags *diags = rh_diags_new();
  options.known.struct_size = sizeof options;
  options.known.scheduler = "list";
  ck_assert_int_eq(rh_schedule(module, NULL, &options.known, &scheduled, diags), RH_OK);
  ck_assert_str_eq(rh_get_info(scheduled)->scheduler, "list");
  rh_module_free(scheduled);
  options.added = 1;
  ck_assert_int_eq(rh_schedule(module, NULL, &options.known, &scheduled, diags), RH_ERR_USAGE);
  ck_assert_ptr_null(scheduled);
  ck_assert_int_eq(rh_diags_get(diags, rh_diags_len(diags) - 1)->code, RH_CODE_STRUCT_SIZE);
  rh_diags_free(diags);
  rh_module_free(module);
}
END_TEST

/* Elements of a list that the caller makes may be longer than ours. */
START_TEST(lists_of_the_caller_have_their_own_stride) {
  const struct {
    rh_known_cost known;
    uint64_t added;
  } costs[] = {{{"^negate$", 5000, -1, -1}, 7}, {{"^bcast$", 600, -1, -1}, 7}};
  rh_settings settings = RH_SETTINGS_INIT;
  settings.costs = &costs[0].known;
  settings.num_costs = 2;
  settings.cost_size = sizeof *costs;
  rh_module *module = parse();
  rh_cost before = RH_COST_INIT, after = RH_COST_INIT;
  ck_assert_int_eq(rh_measure_cost(module, NULL, NULL, 1, &before, NULL), RH_OK);
  ck_assert_int_eq(rh_measure_cost(module, &settings, NULL, 1, &after, NULL), RH_OK);
  ck_assert_double_eq(after.flops_weighted, before.flops_weighted - 1024 + 5000 + 600);
  rh_module_free(module);
}
END_TEST

START_TEST(sizes_must_be_set) {
  static const size_t wrong[] = {0, 1, sizeof(size_t), 1 << 20, SIZE_MAX};
  rh_module *module = parse();
  rh_diags *diags = rh_diags_new();
  rh_settings settings = RH_SETTINGS_INIT;
  rh_memory memory = RH_MEMORY_INIT;
  settings.struct_size = wrong[_i];
  ck_assert_int_eq(rh_check_settings(&settings, diags), RH_ERR_USAGE);
  memory.struct_size = wrong[_i];
  ck_assert_int_eq(rh_measure_memory(module, NULL, "heap", &memory, diags), RH_ERR_USAGE);
  ck_assert_uint_eq(rh_diags_len(diags), 2);
  for (size_t i = 0; i < 2; i++)
    ck_assert_int_eq(rh_diags_get(diags, i)->code, RH_CODE_STRUCT_SIZE);
  rh_diags_free(diags);
  rh_module_free(module);
}
END_TEST

/* A value of an enumeration that was invented later. */
START_TEST(unknown_choices_are_refused) {
  rh_module *module = parse(), *made = NULL;
  rh_diags *diags = rh_diags_new();
  rh_settings settings = RH_SETTINGS_INIT;
  rh_schedule_options schedule = RH_SCHEDULE_OPTIONS_INIT;
  rh_remat_options remat = RH_REMAT_OPTIONS_INIT;
  settings.copies = (rh_copies)7;
  ck_assert_int_eq(rh_check_settings(&settings, diags), RH_ERR_USAGE);
  schedule.inline_calls = (rh_inline_calls)7;
  ck_assert_int_eq(rh_schedule(module, NULL, &schedule, &made, diags), RH_ERR_USAGE);
  remat.protect = (rh_protect)7;
  ck_assert_int_eq(rh_remat(module, NULL, &remat, &made, NULL, diags), RH_ERR_USAGE);
  ck_assert_int_eq(rh_emit_memlog(module, NULL, "heap", (rh_memlog_format)7, NULL, NULL, diags),
                   RH_ERR_USAGE);
  ck_assert_uint_eq(rh_diags_len(diags), 4);
  for (size_t i = 0; i < 4; i++) {
    ck_assert_int_eq(rh_diags_get(diags, i)->code, RH_CODE_BAD_OPTION);
    ck_assert_ptr_nonnull(strstr(rh_diags_get(diags, i)->message, "has no value 7"));
  }
  rh_diags_free(diags);
  rh_module_free(module);
}
END_TEST

/* ---- what the library fills in ---- */

START_TEST(older_results_are_filled_as_far_as_they_go) {
  rh_module *module = parse();
  rh_memory whole = RH_MEMORY_INIT, part = RH_MEMORY_INIT;
  part.struct_size = offsetof(rh_memory, total_bytes);
  part.total_bytes = 77;
  ck_assert_int_eq(rh_measure_memory(module, NULL, "heap", &whole, NULL), RH_OK);
  ck_assert_int_eq(rh_measure_memory(module, NULL, "heap", &part, NULL), RH_OK);
  ck_assert_int_eq(part.peak_bytes, whole.peak_bytes);
  ck_assert_int_eq(part.constant_bytes, whole.constant_bytes);
  ck_assert_int_eq(part.total_bytes, 77);
  ck_assert_uint_eq(part.struct_size, offsetof(rh_memory, total_bytes));
  rh_module_free(module);
}
END_TEST

START_TEST(newer_results_are_zero_behind_ours) {
  struct {
    rh_memory known;
    int64_t added;
  } memory = {RH_MEMORY_INIT, 77};
  memory.known.struct_size = sizeof memory;
  rh_module *module = parse();
  ck_assert_int_eq(rh_measure_memory(module, NULL, "heap", &memory.known, NULL), RH_OK);
  ck_assert_int_gt(memory.known.peak_bytes, 0);
  ck_assert_int_eq(memory.added, 0);
  ck_assert_uint_eq(memory.known.struct_size, sizeof memory);
  rh_module_free(module);
}
END_TEST

/* `added_seconds_bound` and all behind it are not there yet. */
START_TEST(older_remat_results_have_no_bound) {
  rh_module *module = parse(), *made = NULL;
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  rh_remat_result whole = RH_REMAT_RESULT_INIT, part = RH_REMAT_RESULT_INIT;
  options.memory_model = "liveness";
  options.limit_bytes = 1;
  options.small_node_bytes = 0;
  ck_assert_int_eq(rh_remat(module, NULL, &options, &made, &whole, NULL), RH_OVER_LIMIT);
  rh_module_free(made);
  ck_assert_double_infinite(whole.added_seconds_bound);
  ck_assert_str_eq(whole.bound_kind, "this order, originals in place");
  part.struct_size = offsetof(rh_remat_result, added_seconds_bound);
  part.added_seconds_bound = 77;
  ck_assert_int_eq(rh_remat(module, NULL, &options, &made, &part, NULL), RH_OVER_LIMIT);
  rh_module_free(made);
  ck_assert_int_eq(part.counted_bytes, whole.counted_bytes);
  ck_assert_double_eq(part.added_seconds_bound, 77);
  ck_assert_ptr_null(part.bound_kind);
  rh_module_free(module);
}
END_TEST

/* Without a budget there is nothing to add, and XLA's pass counts something else. */
START_TEST(bound_is_not_always_known) {
  static const char *const models[] = {"liveness", "xla-remat"};
  rh_module *module = parse(), *made = NULL;
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  rh_remat_result info = RH_REMAT_RESULT_INIT;
  options.memory_model = models[_i];
  if (_i == 1) options.limit_bytes = 1;
  rh_status status = rh_remat(module, NULL, &options, &made, &info, NULL);
  ck_assert_int_eq(status, _i == 1 ? RH_OVER_LIMIT : RH_OK);
  ck_assert_ptr_null(info.bound_kind);
  ck_assert_double_eq(info.added_seconds_bound, 0);
  rh_module_free(made);
  rh_module_free(module);
}
END_TEST

/* Whatever fails leaves nothing in its results. */
START_TEST(results_are_nothing_after_a_failure) {
  rh_module *module = parse(), *made = module;
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  rh_remat_result info = RH_REMAT_RESULT_INIT;
  rh_profile *profile = (rh_profile *)(void *)module;
  rh_plan *plan = (rh_plan *)(void *)module;
  rh_report *report = (rh_report *)(void *)module;
  rh_live_ranges *ranges = (rh_live_ranges *)(void *)module;
  info.counted_bytes = 7;
  options.algorithm = "nothing";
  ck_assert_int_eq(rh_remat(module, NULL, &options, &made, &info, NULL), RH_ERR_USAGE);
  ck_assert_ptr_null(made);
  ck_assert_int_eq(info.counted_bytes, 0);
  made = module;
  ck_assert_int_eq(rh_parse("x", 1, NULL, &made, NULL), RH_ERR_INPUT);
  ck_assert_ptr_null(made);
  ck_assert_int_eq(rh_profile_parse("{", 1, NULL, &profile, NULL), RH_ERR_INPUT);
  ck_assert_ptr_null(profile);
  ck_assert_int_eq(rh_plan_parse("{", 1, &plan, NULL), RH_ERR_INPUT);
  ck_assert_ptr_null(plan);
  ck_assert_int_eq(rh_report_make(module, NULL, "none", &report, NULL), RH_ERR_USAGE);
  ck_assert_ptr_null(report);
  ck_assert_int_eq(rh_live_ranges_parse("x", 1, NULL, &ranges, NULL), RH_ERR_INPUT);
  ck_assert_ptr_null(ranges);
  rh_module_free(module);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("sizes");
  TCase *tc = tcase_create("sizes");
  tcase_add_test(tc, older_options_have_the_defaults_of_now);
  tcase_add_test(tc, older_calls_are_not_cancelled);
  tcase_add_test(tc, newer_options_must_be_zero_behind_ours);
  tcase_add_test(tc, lists_of_the_caller_have_their_own_stride);
  tcase_add_loop_test(tc, sizes_must_be_set, 0, 5);
  tcase_add_test(tc, unknown_choices_are_refused);
  tcase_add_test(tc, older_results_are_filled_as_far_as_they_go);
  tcase_add_test(tc, newer_results_are_zero_behind_ours);
  tcase_add_test(tc, older_remat_results_have_no_bound);
  tcase_add_loop_test(tc, bound_is_not_always_known, 0, 2);
  tcase_add_test(tc, results_are_nothing_after_a_failure);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
