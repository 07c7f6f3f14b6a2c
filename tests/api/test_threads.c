/* Threads that do everything to one module at the same time, each with settings of its own, get
 * what each would get alone. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "remat_hlo.h"
#include "sample.h"
#include "support.h"

enum { NUM_THREADS = 8, NUM_TURNS = 20 };

typedef struct Outcome {
  int64_t peak_bytes, total_bytes, counted_bytes;
  double seconds;
  uint64_t text;
  bool has_failed;
} Outcome;

typedef struct Worker {
  const rh_module *module;
  const rh_profile *profile;
  rh_settings settings;
  rh_known_cost cost;
  Outcome wanted;
  int num_different;
} Worker;

static int hash(void *context, const char *data, size_t length) {
  uint64_t *hash = context;
  for (size_t i = 0; i < length; i++)
    *hash = (*hash ^ (unsigned char)data[i]) * UINT64_C(0x100000001b3);
  return 0;
}

static Outcome run(const Worker *worker) {
  Outcome outcome = {.text = 1};
  const rh_settings *settings = &worker->settings;
  rh_module *scheduled = NULL, *result = NULL;
  rh_diags *diags = rh_diags_new();
  rh_memory memory = RH_MEMORY_INIT;
  rh_cost cost = RH_COST_INIT;
  rh_remat_result info = RH_REMAT_RESULT_INIT;
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  options.limit_bytes = 1;
  options.small_node_bytes = 0;
  rh_status status = rh_check(worker->module, diags);
  if (status == RH_OK) status = rh_schedule(worker->module, settings, NULL, &scheduled, diags);
  if (status == RH_OK) {
    status = rh_measure_memory(worker->module, settings, "heap", &memory, diags);
  }
  if (status == RH_OK) {
    status = rh_measure_cost(worker->module, settings, worker->profile, 1, &cost, diags);
  }
  if (status == RH_OK) status = rh_remat(scheduled, settings, &options, &result, &info, diags);
  if (status == RH_OVER_LIMIT) status = rh_print(result, hash, &outcome.text, diags);
  outcome.has_failed = status != RH_OK;
  outcome.peak_bytes = memory.peak_bytes;
  outcome.total_bytes = memory.total_bytes;
  outcome.counted_bytes = info.counted_bytes;
  outcome.seconds = cost.seconds;
  rh_module_free(result);
  rh_module_free(scheduled);
  rh_diags_free(diags);
  return outcome;
}

static bool is_same(Outcome a, Outcome b) {
  return a.peak_bytes == b.peak_bytes && a.total_bytes == b.total_bytes &&
         a.counted_bytes == b.counted_bytes && a.text == b.text && !a.has_failed &&
         a.seconds >= b.seconds && a.seconds <= b.seconds;
}

static void *work(void *context) {
  Worker *worker = context;
  for (int i = 0; i < NUM_TURNS; i++)
    worker->num_different += !is_same(run(worker), worker->wanted);
  return NULL;
}

START_TEST(threads_share_a_module) {
  static const char *const targets[] = {"cpu", "gpu", "tpu", "auto"};
  rh_module *module = NULL;
  rh_profile *profile = NULL;
  const char *text = SAMPLE_TEXT, *device = SAMPLE_PROFILE;
  ck_assert_int_eq(rh_parse(text, strlen(text), NULL, &module, NULL), RH_OK);
  ck_assert_int_eq(rh_profile_parse(device, strlen(device), NULL, &profile, NULL), RH_OK);
  Worker workers[NUM_THREADS];
  pthread_t threads[NUM_THREADS];
  for (int i = 0; i < NUM_THREADS; i++) {
    Worker *worker = &workers[i];
    *worker = (Worker){.module = module, .profile = profile, .settings = RH_SETTINGS_INIT};
    worker->cost = (rh_known_cost){"^negate$", 1000 * i, -1, -1};
    worker->settings.target = targets[i % 4];
    worker->settings.heap_limit_bytes = i < 4 ? -1 : 5000;
    worker->settings.costs = &worker->cost;
    worker->settings.num_costs = 1;
    worker->wanted = run(worker);
    ck_assert(!worker->wanted.has_failed);
  }
  ck_assert(!is_same(workers[0].wanted, workers[1].wanted)); /* settings matter */
  for (int i = 0; i < NUM_THREADS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  for (int i = 0; i < NUM_THREADS; i++) {
    pthread_join(threads[i], NULL);
    ck_assert_int_eq(workers[i].num_different, 0);
  }
  rh_profile_free(profile);
  rh_module_free(module);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("threads");
  TCase *tc = tcase_create("threads");
  tcase_set_timeout(tc, 120);
  tcase_add_test(tc, threads_share_a_module);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
