/* The live set at the peak of every real dump sums up to the peak, under every memory model. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "support.h"

static const char *const folders[] = {"hlo", "infer", "scheduled", "train", "memory"};
enum { NUM_FOLDERS = sizeof folders / sizeof *folders };

static void check_report(const rh_module *module, const char *model, const char *what) {
  rh_report *report = NULL;
  ck_assert_int_eq(rh_report_make(module, NULL, model, &report, NULL), RH_OK);
  int64_t bytes = 0;
  for (size_t i = 0; i < report->num_live; i++)
    bytes += report->live[i]->bytes;
  bool is_held = strcmp(report->memory_model, "heap") == 0;
  if (is_held) ck_assert_int_ge(report->unused_bytes, 0);
  ck_assert_msg(is_held || bytes == report->memory->peak_bytes,
                "%s, %s: the live set has %" PRId64 " bytes, the peak %" PRId64, what, model, bytes,
                report->memory->peak_bytes);
  rh_report_free(report);
}

/* What cannot be scheduled is left out; what XLA's parser takes need not be consistent. */
static bool check_file(const char *name) {
  size_t length;
  char *text = corpus_read(name, &length);
  rh_module *module = NULL, *scheduled = NULL;
  bool is_done = (length < 600000 || !corpus_is_slow_build()) &&
                 rh_parse(text, length, NULL, &module, NULL) == RH_OK;
  if (is_done) corpus_set_copies(module, name);
  is_done = is_done && rh_schedule(module, NULL, NULL, &scheduled, NULL) == RH_OK;
  const rh_entry *model;
  for (size_t i = 0; is_done && (model = rh_list(RH_MEMORY_MODELS, i)); i++)
    check_report(scheduled, model->name, name);
  rh_module_free(scheduled);
  rh_module_free(module);
  free(text);
  return is_done;
}

START_TEST(live_sets_sum_up_to_the_peak) {
  CorpusFiles files = corpus_list(folders[_i], ".hlo");
  size_t num_done = 0;
  for (size_t i = 0; i < files.count; i++)
    num_done += check_file(files.names[i]);
  ck_assert_uint_gt(num_done, corpus_is_slow_build() ? 0 : files.count / 2);
  corpus_list_free(&files);
}
END_TEST

int main(void) {
  if (!corpus_is_there()) return EXIT_SKIPPED;
  Suite *suite = suite_create("report");
  TCase *tests = tcase_create("corpus");
  tcase_set_timeout(tests, 600);
  tcase_add_loop_test(tests, live_sets_sum_up_to_the_peak, 0, NUM_FOLDERS);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
