/* What lives at the peak sums up to the peak under every memory model, and so do all sums of it;
 * with `liveness`, which has one time for the module, values live where the peak is. What takes
 * time sums up to the modelled time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "property.h"

static void check_lives(const rh_report *report, const char *what, const Sample *sample) {
  for (size_t i = 0; i < report->num_live; i++) {
    const rh_live_value *value = report->live[i];
    ck_assert_msg(value->begin <= report->peak_position && value->end >= report->peak_position,
                  "%s: %.*s does not live at the peak\n%s", what, (int)value->name.length,
                  value->name.data, sample_shown(sample));
  }
}

static void check_report(const rh_report *report, const char *what, const Sample *sample) {
  int64_t bytes = 0, peak = report->memory->peak_bytes;
  bool is_held = strcmp(report->memory_model, "heap") == 0;
  if (is_held) peak -= report->unused_bytes;
  for (size_t i = 0; i < report->num_live; i++)
    bytes += report->live[i]->bytes;
  ck_assert_int_ge(report->unused_bytes, 0);
  ck_assert_msg(bytes == peak, "%s: the live set has %lld bytes, the peak %lld\n%s", what,
                (long long)bytes, (long long)peak, sample_shown(sample));
  for (int kind = 0; kind < RH_NUM_SUMS; kind++) {
    bytes = 0;
    for (size_t i = 0; i < report->sums[kind].len; i++)
      bytes += report->sums[kind].list[i]->bytes;
    ck_assert_msg(bytes == peak, "%s: sums of kind %d\n%s", what, kind, sample_shown(sample));
  }
  bytes = 0;
  for (size_t i = 0; i < report->num_scopes; i++)
    bytes += report->scopes[i]->depth ? 0 : report->scopes[i]->bytes;
  ck_assert_msg(bytes == peak, "%s: scopes\n%s", what, sample_shown(sample));
}

static void check_memory_sums_up(const Sample *sample, uint64_t *state) {
  rh_schedule_options options = RH_SCHEDULE_OPTIONS_INIT;
  options.ignore_schedule = random_below(state, 2);
  options.inline_calls = (rh_inline_calls)random_below(state, 3);
  rh_module *scheduled = NULL;
  ck_assert_int_eq(rh_schedule(sample->module, NULL, &options, &scheduled, NULL), RH_OK);
  const rh_entry *model;
  for (size_t i = 0; (model = rh_list(RH_MEMORY_MODELS, i)); i++) {
    rh_report *report = NULL;
    ck_assert_int_eq(rh_report_make(scheduled, NULL, model->name, &report, NULL), RH_OK);
    check_report(report, model->name, sample);
    if (strncmp(model->name, "liveness", 8) == 0) check_lives(report, model->name, sample);
    rh_report_free(report);
  }
  rh_module_free(scheduled);
}

/* ---- time ---- */

static const char device[] =
    "{\"name\": \"toy\", \"description\": \"a toy\", \"source\": \"none\", \"memory_bytes\": 1000,"
    " \"memory_bandwidth\": 1e3, \"flops\": {\"default\": 1e4}, \"vector_flops\": {\"default\": "
    "100},"
    " \"transcendentals\": 50, \"host_to_device\": 10, \"device_to_host\": 10,"
    " \"interconnect\": 10, \"kernel_seconds\": 0.1}";

static void check_seconds(double seconds, double wanted, const char *what, const Sample *sample) {
  ck_assert_msg(fabs(seconds - wanted) <= 1e-9 * fabs(wanted), "%s: %.17g seconds, not %.17g\n%s",
                what, seconds, wanted, sample_shown(sample));
}

static void check_cost(const rh_cost_report *report, double wanted, const Sample *sample) {
  double seconds = 0;
  check_seconds(report->total->seconds, wanted, "all", sample);
  for (size_t i = 0; i < report->num_instructions; i++)
    seconds += report->instructions[i]->share->seconds;
  check_seconds(seconds, wanted, "instructions", sample);
  for (int kind = 0; kind < RH_NUM_SUMS; kind++) {
    if (kind == RH_BY_CATEGORY) continue;
    seconds = 0;
    for (size_t i = 0; i < report->sums[kind].len; i++)
      seconds += report->sums[kind].list[i]->seconds;
    check_seconds(seconds, wanted, "sums", sample);
  }
  seconds = 0;
  for (size_t i = 0; i < report->num_scopes; i++)
    seconds += report->scopes[i]->depth ? 0 : report->scopes[i]->share->seconds;
  check_seconds(seconds, wanted, "scopes", sample);
}

static void check_time_sums_up(const rh_module *module, const Sample *sample) {
  rh_profile *profile = NULL;
  ck_assert_int_eq(rh_profile_parse(device, strlen(device), NULL, &profile, NULL), RH_OK);
  rh_cost cost = RH_COST_INIT;
  ck_assert_int_eq(rh_measure_cost(module, NULL, profile, 7, &cost, NULL), RH_OK);
  rh_cost_report *report = NULL;
  ck_assert_int_eq(rh_cost_report_make(module, NULL, profile, 7, &report, NULL), RH_OK);
  check_cost(report, cost.seconds, sample);
  rh_cost_report_free(report);
  rh_profile_free(profile);
}

/* ---- both ---- */

START_TEST(reports_sum_up) {
  Sample sample = sample_make((uint64_t)_i, 2000, GENERATE_ALL | GENERATE_ASYNC);
  uint64_t state = seed_state(sample.seed);
  check_memory_sums_up(&sample, &state);
  check_time_sums_up(sample.module, &sample);
  sample_free(&sample);
}
END_TEST

int main(void) {
  return run_property("report", reports_sum_up, 1500);
}
