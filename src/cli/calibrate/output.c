/* Prints and writes how far a fitted profile is off. The manual page documents keys and columns. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/job.h"
#include "json_text.h"
#include "rows.h"
#include "terminal.h"

/* Of a folder, what XLA:TPU estimates. */
static double measured_seconds(const CalibrateJob *job, size_t index) {
  return job->measured.is_folder ? job->calibration->estimated_seconds[index]
                                 : job->measured.seconds[index];
}

/* ---- for people ---- */

static void add_row(Table *table, const char *profile, const rh_model_error *error,
                    const char *what) {
  table_text(table, (rh_text){profile, strlen(profile)});
  if (isnan(error->rank_correlation)) {
    table_format(table, "none");
  } else {
    table_format(table, "%.3f", error->rank_correlation);
  }
  table_format(table, "%.1f %%", 100 * error->median_error);
  table_format(table, "%.1f %%", 100 * error->worst_error);
  table_format(table, "%.3f", error->sum_ratio);
  table_format(table, "%s", what);
}

void calibrate_print(const CalibrateJob *job, const rh_profile *before, FILE *out) {
  const rh_calibration *made = job->calibration;
  const char *name = rh_profile_name(made->profile);
  Terminal terminal = terminal_of(out);
  char count[RH_FORMAT_CHARS], groups[RH_FORMAT_CHARS];
  Table table = {.columns = {{.title = "profile"},
                             {.title = "rank correlation", .is_number = true},
                             {.title = "median error", .is_number = true},
                             {.title = "worst", .is_number = true},
                             {.title = "sum", .is_number = true},
                             {.title = "of"}},
                 .num_columns = 6};
  bool has_estimates = job->measured.is_folder;
  rh_format_count(has_estimates ? made->num_instructions : job->measured.len, count);
  rh_format_count(made->num_groups, groups);
  fprintf(out, "%s: %s %s of %s programs\n", job->measured.input.path, count,
          has_estimates ? "instructions that XLA:TPU estimates," : "measurements", groups);
  add_row(&table, rh_profile_name(before), made->before, "all");
  add_row(&table, name, made->fitted, "all, which it was fitted to");
  if (made->held_out) add_row(&table, name, made->held_out, "each program by a fit to the others");
  table_print(&table, &terminal);
}

/* ---- for programs ---- */

/* JSON has no NaN and no infinity. */
static void add_number(cJSON *object, const char *key, double value) {
  if (isfinite(value)) {
    cJSON_AddNumberToObject(object, key, value);
  } else {
    cJSON_AddNullToObject(object, key);
  }
}

static void add_error(cJSON *object, const char *key, const rh_model_error *error) {
  if (!error) {
    cJSON_AddNullToObject(object, key);
    return;
  }
  cJSON *item = cJSON_AddObjectToObject(object, key);
  add_number(item, "rank_correlation", error->rank_correlation);
  add_number(item, "median_error", error->median_error);
  add_number(item, "worst_error", error->worst_error);
  add_number(item, "sum_ratio", error->sum_ratio);
}

static void add_measurement(cJSON *item, const CalibrateJob *job, size_t index) {
  const rh_calibration *made = job->calibration;
  const Measured *measured = &job->measured;
  json_add_text(item, "module", measured->paths[index], strlen(measured->paths[index]));
  json_add_text(item, "program", measured->groups[index], strlen(measured->groups[index]));
  cJSON_AddNumberToObject(item, "measured_seconds", measured_seconds(job, index));
  cJSON_AddNumberToObject(item, "before_seconds", made->before_seconds[index]);
  cJSON_AddNumberToObject(item, "fitted_seconds", made->fitted_seconds[index]);
  add_number(item, "held_out_seconds",
             made->held_out_seconds ? made->held_out_seconds[index] : NAN);
}

char *calibrate_json(const CalibrateJob *job, const rh_profile *before) {
  const rh_calibration *made = job->calibration;
  const char *path = job->measured.input.path, *device = rh_profile_name(before);
  cJSON *object = cJSON_CreateObject();
  json_add_text(object, "input", path, strlen(path));
  json_add_text(object, "device", device, strlen(device));
  json_add_int(object, "measurements", (int64_t)job->measured.len);
  json_add_int(object, "programs", (int64_t)made->num_groups);
  add_error(object, "before", made->before);
  add_error(object, "fitted", made->fitted);
  add_error(object, "held_out", made->held_out);
  cJSON *list = cJSON_AddArrayToObject(object, "by_measurement");
  for (size_t i = 0; i < job->measured.len; i++)
    add_measurement(json_add_item(list), job, i);
  char *text = cJSON_Print(object);
  cJSON_Delete(object);
  return text;
}

rh_status calibrate_write_csv(const CalibrateJob *job) {
  static const char *const columns[] = {
      "module",           "program", "measured_seconds", "before_seconds", "fitted_seconds",
      "held_out_seconds", NULL};
  const rh_calibration *made = job->calibration;
  Rows rows;
  rh_status status = rows_open(columns, job->options->csv, NULL, job->options, &rows);
  for (size_t i = 0; i < job->measured.len && status == RH_OK; i++) {
    rows_word(&rows, job->measured.paths[i]);
    rows_word(&rows, job->measured.groups[i]);
    rows_double(&rows, measured_seconds(job, i));
    rows_double(&rows, made->before_seconds[i]);
    rows_double(&rows, made->fitted_seconds[i]);
    if (made->held_out_seconds) {
      rows_double(&rows, made->held_out_seconds[i]);
    } else {
      rows_word(&rows, NULL);
    }
  }
  rh_status closed = rows_close(&rows, status == RH_OK);
  return closed > status ? closed : status;
}
