/* Random scans whose stacks are not stored any more compute what they computed. Each result is
 * verified by the engine; here it is run on arrays besides, and no rewrite may contradict itself:
 * RH_ERR_INTERNAL is a failure. */
#include <stdlib.h>
#include <string.h>

#include "evaluate.h"
#include "generate_scan.h"
#include "property.h"

enum { MAX_SHOWN = 1800, NUM_BUDGETS = 4, SEEDS_THAT_COUNT = 40 };

static bool differ(Evaluation a, Evaluation b) {
  return a.is_known && b.is_known && (a.result != b.result || a.effects != b.effects);
}

/* Returns whether loops were rewritten. */
static bool check_budget(const rh_module *input, Evaluation wanted, Text text, uint64_t seed,
                         rh_remat_options options) {
  rh_module *result = NULL;
  rh_remat_result info = RH_REMAT_RESULT_INIT;
  rh_diags *diags = rh_diags_new();
  rh_status status = rh_remat(input, NULL, &options, &result, &info, diags);
  const char *said = rh_diags_len(diags) ? rh_diags_get(diags, 0)->message : "";
  ck_assert_msg(status == RH_OK || status == RH_OVER_LIMIT, "seed %llu, %s: status %s: %s\n%.*s",
                (unsigned long long)seed, options.algorithm, rh_status_name(status), said,
                MAX_SHOWN, text.data);
  Text printed = print_text(result);
  rh_module *fresh = parse_text(printed, "the result");
  Evaluation got = evaluate_module(fresh->module);
  ck_assert_msg(got.is_known && !differ(wanted, got), "seed %llu, %s: %s\n%.*s\n%.*s",
                (unsigned long long)seed, options.algorithm,
                got.is_known ? "another result" : "the result cannot be run", MAX_SHOWN, text.data,
                MAX_SHOWN, printed.data);
  /* XLA:GPU copies a slice from where its number says, and clamps nothing (maker_read_slice_or). */
  ck_assert_msg(wanted.num_clamped || !got.num_clamped,
                "seed %llu, %s: %u slices begin outside of their arrays\n%.*s\n%.*s",
                (unsigned long long)seed, options.algorithm, got.num_clamped, MAX_SHOWN, text.data,
                MAX_SHOWN, printed.data);
  bool is_rewritten = info.num_scans > 0;
  rh_module_free(fresh);
  free(printed.data);
  rh_module_free(result);
  rh_diags_free(diags);
  return is_rewritten;
}

/* Returns how many of the budgets lead to rewritten loops. */
static int check_scan(uint64_t seed) {
  static const char *const algorithms[] = {"scan", "scan", "path", "search", "auto"};
  uint64_t state = seed_state(seed);
  Text text = {.data = generate_scan(seed, &text.length)};
  rh_module *parsed = parse_text(text, "a scan"), *input = NULL;
  Evaluation wanted = evaluate_module(parsed->module);
  ck_assert_msg(wanted.is_known, "seed %llu cannot be run\n%.*s", (unsigned long long)seed,
                MAX_SHOWN, text.data);
  ck_assert_int_eq(rh_schedule(parsed, NULL, NULL, &input, NULL), RH_OK);
  rh_memory memory = RH_MEMORY_INIT;
  ck_assert_int_eq(rh_measure_memory(input, NULL, "heap", &memory, NULL), RH_OK);
  int num_rewritten = 0;
  for (int i = 0; i < NUM_BUDGETS; i++) {
    rh_remat_options options = RH_REMAT_OPTIONS_INIT;
    options.algorithm = algorithms[i ? random_below(&state, 5) : 0];
    options.small_node_bytes = 0;
    options.effort = 0;
    /* The interpreter contracts nothing, so that fusions may be merged and cut everywhere, too. */
    if (i % 2 == 0) options.parameters = "fuse.any-rounding=1";
    options.limit_bytes =
        i < 2 ? 0 : memory.total_bytes / 100 * (int64_t)(40 + random_below(&state, 60));
    options.emit = i && random_below(&state, 3) == 0 ? RH_EMIT_UNSCHEDULED : RH_EMIT_SCHEDULED;
    /* conditionals cannot be run on arrays */
    if (i) options.protect = (rh_protect)random_below(&state, RH_PROTECT_CONDITIONAL);
    num_rewritten += check_budget(input, wanted, text, seed, options);
  }
  rh_module_free(input);
  rh_module_free(parsed);
  free(text.data);
  return num_rewritten;
}

START_TEST(scans_compute_the_same) {
  (void)check_scan((uint64_t)_i);
}
END_TEST

/* The loops above are ones that are rewritten, and not only read. */
START_TEST(many_scans_are_rewritten) {
  int num_rewritten = 0;
  for (uint64_t seed = 1; seed <= SEEDS_THAT_COUNT; seed++)
    num_rewritten += check_scan(seed) > 0;
  ck_assert_int_ge(num_rewritten, SEEDS_THAT_COUNT / 3);
}
END_TEST

int main(void) {
  int seeds = run_property("scans", scans_compute_the_same, 100);
  Suite *suite = suite_create("scans that are rewritten");
  TCase *tc = tcase_create("scans");
  tcase_set_timeout(tc, 120);
  tcase_add_test(tc, many_scans_are_rewritten);
  suite_add_tcase(suite, tc);
  SRunner *runner = srunner_create(suite);
  if (!getenv("REMAT_HLO_SEED")) srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return seeds == EXIT_SUCCESS && failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
