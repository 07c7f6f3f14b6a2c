/* Calls that are cancelled at any question, or run out of time, have a result all the same: whole,
 * proven, and no worse than the module that was given. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remat_hlo.h"
#include "sample.h"
#include "support.h"

/* A caller who answers the question number `cancels_at` with yes; 0 = never. */
typedef struct Caller {
  uint64_t num_questions, cancels_at;
  uint64_t num_reports;
  rh_progress last;
} Caller;

static bool ask(void *context) {
  Caller *caller = context;
  bool was_cancelled = caller->cancels_at && caller->num_questions >= caller->cancels_at;
  ck_assert_msg(!was_cancelled, "a caller who has cancelled is asked again");
  return ++caller->num_questions == caller->cancels_at;
}

static void hear(void *context, const rh_progress *progress) {
  Caller *caller = context;
  const rh_progress *last = &caller->last;
  bool is_faster = progress->added_seconds < last->added_seconds;
  bool is_better = progress->best_bytes < last->best_bytes || progress->is_met ||
                   (progress->best_bytes == last->best_bytes && is_faster);
  ck_assert(caller->num_reports == 0 || is_better);
  caller->num_reports++;
  caller->last = *progress;
}

typedef struct Text {
  char *data;
  size_t length;
} Text;

static int append(void *context, const char *data, size_t length) {
  Text *text = context;
  text->data = realloc(text->data, text->length + length + 1);
  if (!text->data) return 1;
  memcpy(text->data + text->length, data, length);
  text->length += length;
  return 0;
}

static rh_module *parse(const char *text, size_t length) {
  rh_module *module = NULL;
  ck_assert_int_eq(rh_parse(text, length, NULL, &module, NULL), RH_OK);
  return module;
}

static rh_module *schedule(const rh_module *module) {
  rh_module *scheduled = NULL;
  ck_assert_int_eq(rh_schedule(module, NULL, NULL, &scheduled, NULL), RH_OK);
  return scheduled;
}

static int64_t counted_bytes(const rh_module *module) {
  rh_memory memory = RH_MEMORY_INIT;
  ck_assert_int_eq(rh_measure_memory(module, NULL, "heap", &memory, NULL), RH_OK);
  return rh_counted_bytes(&memory, RH_COUNT_TOTAL);
}

/* What one run gave. */
typedef struct Run {
  rh_remat_result info;
  Text text;
} Run;

static Run run(const rh_module *input, const rh_remat_options *options) {
  Run run = {.info = RH_REMAT_RESULT_INIT};
  rh_module *result = NULL;
  rh_diags *diags = rh_diags_new();
  rh_status status = rh_remat(input, NULL, options, &result, &run.info, diags);
  const rh_diag *diag = rh_diags_get(diags, 0);
  ck_assert_msg(status == RH_OK || status == RH_OVER_LIMIT, "%s: %s: %s", options->algorithm,
                rh_status_name(status), diag ? diag->message : "");
  ck_assert_int_eq(run.info.is_met, status == RH_OK);
  ck_assert_int_eq(rh_print(result, append, &run.text, NULL), RH_OK);
  ck_assert_int_eq(run.info.counted_bytes, counted_bytes(result));
  rh_module_free(result);
  rh_diags_free(diags);
  return run;
}

/* What was written is a module that computes the same. */
static void check_written(const rh_module *input, const Text *text, const char *algorithm,
                          uint64_t number) {
  rh_module *read = parse(text->data, text->length), *scheduled = schedule(read);
  rh_status status = rh_verify(input, scheduled, NULL, NULL, NULL);
  ck_assert_msg(status == RH_OK, "%s, cancelled at question %llu: %s", algorithm,
                (unsigned long long)number, rh_status_name(status));
  rh_module_free(scheduled);
  rh_module_free(read);
}

static bool is_same_text(const Text *a, const Text *b) {
  return a->length == b->length && memcmp(a->data, b->data, a->length) == 0;
}

/* Cancels at the question `number`. Returns false if there were fewer. */
static bool cancel_at(const rh_module *input, const rh_remat_options *given, uint64_t number,
                      const Run *whole) {
  Caller caller = {.cancels_at = number};
  rh_remat_options options = *given;
  options.cancel = ask;
  options.progress = hear;
  options.context = &caller;
  Run cut = run(input, &options);
  bool was_cancelled = caller.num_questions >= number;
  ck_assert_int_eq(cut.info.is_interrupted, was_cancelled);
  ck_assert(!cut.info.is_timed_out);
  ck_assert_int_le(cut.info.counted_bytes, counted_bytes(input));
  ck_assert_uint_gt(caller.num_reports, 0);
  ck_assert_int_eq(caller.last.best_bytes, cut.info.counted_bytes);
  ck_assert_int_eq(caller.last.is_met, cut.info.is_met);
  if (was_cancelled) {
    check_written(input, &cut.text, options.algorithm, number);
  } else {
    ck_assert(is_same_text(&cut.text, &whole->text));
  }
  free(cut.text.data);
  return was_cancelled;
}

typedef struct Case {
  const char *file; /* NULL = the sample */
  const char *algorithm;
  /* Each question, or each that is so many times, and one, behind the one before. */
  double growth;
  bool clones_callees;
} Case;

static const Case cases[] = {
    {NULL, "path", 1, true},
    {NULL, "path-compat", 1, false},
    {NULL, "standard", 1, true},
    {NULL, "peak-priority", 1, false},
    {NULL, "checkpoint=memory", 1, false},
    {NULL, "checkpoint=speed", 1, false},
    {NULL, "scan", 1, false},
    {NULL, "none", 1, false},
    {"tests/golden/shared_callees/input.hlo", "standard", 1, true},
    {"tests/golden/shared_callees/input.hlo", "path", 1, true},
    {"tests/golden/layers/input.hlo", "path", 1.3, false},
    {"tests/golden/layers/input.hlo", "path-compat", 1.3, false},
    {"tests/golden/layers/input.hlo", "standard", 1.3, false},
    {"tests/golden/layers/input.hlo", "peak-priority", 1.3, false},
    {"tests/golden/layers/input.hlo", "checkpoint=memory", 1.3, false},
    {"tests/golden/while_loop/input.hlo", "path", 1, false},
    {"hlo_samples/gpt_scan.after_optimizations.hlo", "path", 2, false},
    {"hlo_samples/gpt_scan.after_optimizations.hlo", "checkpoint=memory", 3, false},
    {"hlo_samples/mlp_checkpoint.after_optimizations.hlo", "path-compat", 2, false},
    {"hlo_samples/lstm.after_optimizations.hlo", "peak-priority", 2, false},
    {"hlo_samples/lstm.after_optimizations.hlo", "scan", 2, false},
};

/* Reads a file of the source tree. */
static Text read_text(const char *name) {
  char path[1000];
  Text text = {0};
  char part[4096];
  snprintf(path, sizeof path, "%s/%s", TEST_SOURCE_DIR, name);
  FILE *file = fopen(path, "rb");
  ck_assert_msg(file, "%s cannot be read", path);
  for (size_t length; (length = fread(part, 1, sizeof part, file)) > 0;)
    ck_assert_int_eq(append(&text, part, length), 0);
  fclose(file);
  return text;
}

static Text text_of(const Case *row) {
  Text text = {0};
  if (row->file) return read_text(row->file);
  append(&text, SAMPLE_TEXT, sizeof SAMPLE_TEXT - 1);
  return text;
}

static rh_remat_options options_of(const Case *row) {
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  options.algorithm = row->algorithm;
  options.clone_callees = row->clones_callees;
  options.limit_bytes = 0;
  options.small_node_bytes = 0;
  return options;
}

START_TEST(calls_end_at_any_question) {
  const Case *row = &cases[_i];
  Text text = text_of(row);
  rh_module *module = parse(text.data, text.length), *input = schedule(module);
  rh_remat_options options = options_of(row);
  Run whole = run(input, &options);
  uint64_t number = 1;
  while (cancel_at(input, &options, number, &whole))
    number = (uint64_t)((double)number * row->growth) + 1;
  rh_module_free(input);
  rh_module_free(module);
  free(whole.text.data);
  free(text.data);
}
END_TEST

/* A plan is carried out as a whole, or it would be another plan. */
START_TEST(plans_are_not_cut) {
  rh_module *module = parse(SAMPLE_TEXT, sizeof SAMPLE_TEXT - 1), *input = schedule(module);
  rh_module *kept = NULL, *result = NULL;
  rh_remat_options options = options_of(&cases[0]);
  Text text = {0}, wanted = {0}, got = {0};
  rh_plan *plan = NULL;
  Caller caller = {.cancels_at = 1};
  options.keep_plan = true;
  ck_assert_int_eq(rh_remat(input, NULL, &options, &kept, NULL, NULL), RH_OVER_LIMIT);
  ck_assert_int_eq(rh_print(kept, append, &wanted, NULL), RH_OK);
  ck_assert_int_eq(rh_emit_plan(kept, NULL, NULL, 1, append, &text, NULL), RH_OK);
  ck_assert_int_eq(rh_plan_parse(text.data, text.length, &plan, NULL), RH_OK);
  options.keep_plan = false;
  options.cancel = ask;
  options.context = &caller;
  ck_assert_int_eq(rh_apply_plan(input, NULL, plan, &options, &result, NULL, NULL), RH_OVER_LIMIT);
  ck_assert_int_eq(rh_print(result, append, &got, NULL), RH_OK);
  ck_assert(is_same_text(&got, &wanted));
  rh_plan_free(plan);
  rh_module_free(result);
  rh_module_free(kept);
  rh_module_free(input);
  rh_module_free(module);
  free(text.data);
  free(wanted.data);
  free(got.data);
}
END_TEST

/* Of no time at all, everything is too late; a long time changes nothing. */
START_TEST(time_runs_out) {
  rh_module *module = parse(SAMPLE_TEXT, sizeof SAMPLE_TEXT - 1), *input = schedule(module);
  rh_remat_options options = options_of(&cases[_i]);
  Run whole = run(input, &options);
  options.time_limit_seconds = 1e-9;
  Run late = run(input, &options);
  ck_assert(late.info.is_timed_out && !late.info.is_interrupted);
  ck_assert_int_eq(late.info.counted_bytes, counted_bytes(input));
  check_written(input, &late.text, options.algorithm, 0);
  options.time_limit_seconds = 1e9;
  Run early = run(input, &options);
  ck_assert(!early.info.is_timed_out && !early.info.is_interrupted);
  ck_assert(is_same_text(&early.text, &whole.text));
  free(whole.text.data);
  free(late.text.data);
  free(early.text.data);
  rh_module_free(input);
  rh_module_free(module);
}
END_TEST

START_TEST(limits_are_checked) {
  static const struct {
    int effort;
    double seconds;
    rh_status status;
  } limits[] = {{0, 0, RH_OK},
                {9, 0, RH_OK},
                {RH_EFFORT_BY_SIZE, 0, RH_OK},
                {10, 0, RH_ERR_USAGE},
                {-2, 0, RH_ERR_USAGE},
                {5, -1, RH_ERR_USAGE},
                {5, -1e-300, RH_ERR_USAGE},
                {5, 0.0 / 0.0, RH_ERR_USAGE}};
  rh_module *module = parse(SAMPLE_TEXT, sizeof SAMPLE_TEXT - 1), *result = NULL;
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    rh_remat_options options = RH_REMAT_OPTIONS_INIT;
    rh_diags *diags = rh_diags_new();
    options.effort = limits[i].effort;
    options.time_limit_seconds = limits[i].seconds;
    ck_assert_int_eq(rh_remat(module, NULL, &options, &result, NULL, diags), limits[i].status);
    ck_assert_uint_eq(rh_diags_len(diags), limits[i].status != RH_OK);
    if (limits[i].status != RH_OK)
      ck_assert_int_eq(rh_diags_get(diags, 0)->code, RH_CODE_BAD_OPTION);
    rh_module_free(result);
    rh_diags_free(diags);
  }
  rh_module_free(module);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("cancel");
  TCase *tc = tcase_create("cancel");
  tcase_set_timeout(tc, 300);
  tcase_add_loop_test(tc, calls_end_at_any_question, 0, sizeof cases / sizeof *cases);
  tcase_add_test(tc, plans_are_not_cut);
  tcase_add_loop_test(tc, time_runs_out, 0, 7);
  tcase_add_test(tc, limits_are_checked);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
