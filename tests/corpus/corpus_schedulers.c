/* Schedulers against XLA's: the sequences of the training steps that XLA wrote, taken as
 * unscheduled, name by name, and the peaks of these and of the same steps as JAX gave them to XLA,
 * whose calls are inlined by us. Peaks are MinimumMemoryForModule. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "ir/handle.h"
#include "support.h"

static const char *const models[] = {
    "deepseek2_16b", "efficientnet", "gpt_j_6b", "llama3_8b", "resnet50", "vit",
};
static const char *const names[] = {"list", "dfs", "postorder", "bfs", "default"};

enum { NUM_MODELS = sizeof models / sizeof *models, NUM_SCHEDULERS = sizeof names / sizeof *names };

static rh_module *schedule(const rh_module *module, const char *scheduler) {
  rh_schedule_options options = RH_SCHEDULE_OPTIONS_INIT;
  options.scheduler = scheduler;
  options.ignore_schedule = true;
  rh_module *scheduled = NULL;
  ck_assert_int_eq(rh_schedule(module, NULL, &options, &scheduled, NULL), RH_OK);
  return scheduled;
}

static void check_peak(const rh_module *scheduled, const cJSON *peaks, const char *model,
                       const char *scheduler) {
  const cJSON *row = cJSON_GetObjectItemCaseSensitive(peaks, scheduler);
  int64_t wanted = (int64_t)corpus_number(row, "peak_min_memory");
  rh_memory memory = RH_MEMORY_INIT;
  ck_assert_int_eq(rh_measure_memory(scheduled, NULL, "liveness", &memory, NULL), RH_OK);
  ck_assert_msg(memory.peak_bytes == wanted, "%s, %s: peak %" PRId64 ", not %" PRId64, model,
                scheduler, memory.peak_bytes, wanted);
}

/* Lines `computation NAME`, each followed by the names of its instructions in their order. */
static void check_sequences(const rh_module *scheduled, char *lines, const char *what) {
  const Module *module = scheduled->module;
  Sequence sequence = {0};
  uint32_t next = 0, num_checked = 0;
  for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n")) {
    if (strncmp(line, "computation ", 12) == 0) {
      ck_assert_msg(next == sequence.len, "%s: more than wanted before %s", what, line);
      sequence = scheduled->schedule.of[find_comp(module, line + 12)];
      next = 0;
      continue;
    }
    ck_assert_msg(next < sequence.len, "%s: %s is missing", what, line);
    Str name = inst_name(module, sequence.ids[next++]);
    ck_assert_msg(str_is(name, line), "%s: %.*s, not %s", what, (int)name.len, name.data, line);
    num_checked++;
  }
  ck_assert_msg(next == sequence.len && num_checked > 100, "%s: more than wanted at the end", what);
}

START_TEST(sequences_equal_xla) {
  const char *model = models[_i];
  char name[200];
  snprintf(name, sizeof name, "scheduled/%s.hlo", model);
  CorpusModule loaded = corpus_load(name);
  cJSON *json = corpus_read_json("scheduled/xla.json");
  const cJSON *peaks = cJSON_GetObjectItemCaseSensitive(
      cJSON_GetObjectItemCaseSensitive(json, model), "schedulers_from_scheduled_text");
  for (int i = 0; i < NUM_SCHEDULERS; i++) {
    rh_module *scheduled = schedule(loaded.module, names[i]);
    check_peak(scheduled, peaks, model, names[i]);
    if (strcmp(names[i], "default") != 0) { /* that is one of the others */
      snprintf(name, sizeof name, "scheduled/order/%s.%s.txt", model, names[i]);
      size_t length;
      char *lines = corpus_read(name, &length);
      check_sequences(scheduled, lines, name);
      free(lines);
    }
    rh_module_free(scheduled);
  }
  cJSON_Delete(json);
  corpus_unload(&loaded);
}
END_TEST

START_TEST(peaks_before_optimization_equal_xla) {
  const char *model = models[_i];
  char name[200];
  snprintf(name, sizeof name, "train/%s_jit_train_step.hlo", model);
  CorpusModule loaded = corpus_load(name);
  cJSON *json = corpus_read_json("scheduled/xla.json");
  const cJSON *peaks =
      cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(json, model), "schedulers");
  for (int i = 0; i < NUM_SCHEDULERS; i++) {
    rh_module *scheduled = schedule(loaded.module, names[i]);
    check_peak(scheduled, peaks, model, names[i]);
    rh_module_free(scheduled);
  }
  cJSON_Delete(json);
  corpus_unload(&loaded);
}
END_TEST

int main(void) {
  if (!corpus_is_there()) return EXIT_SKIPPED;
  Suite *suite = suite_create("corpus_schedulers");
  TCase *tc = tcase_create("schedulers");
  tcase_set_timeout(tc, 120); /* the sanitizers are slow */
  tcase_add_loop_test(tc, sequences_equal_xla, 0, NUM_MODELS);
  tcase_add_loop_test(tc, peaks_before_optimization_equal_xla, 0, NUM_MODELS);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
