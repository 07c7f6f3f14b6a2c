/* The public functions that fit a device profile to measured times. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/cost/calibrate.h"
#include "analysis/cost/model_error.h"
#include "api/calibration.h"
#include "api/call.h"
#include "api/measure.h"
#include "api/sized.h"

/* ---- errors ---- */

rh_model_error calibration_public_error(const ModelError *error) {
  return (rh_model_error){sizeof(rh_model_error), error->rank_correlation, error->median_error,
                          error->worst_error, error->sum_ratio};
}

static rh_status check_count(size_t count, size_t least, rh_diags *diags) {
  if (count >= least && count < UINT32_MAX) return RH_OK;
  return diag_fail(diags, RH_ERR_USAGE, DIAG_ABOUT(RH_CODE_BAD_OPTION, NO_OFFSET),
                   "there are %zu measurements, and at least %zu are needed", count, least);
}

rh_status rh_compare_seconds(const double *modeled, const double *measured, size_t count,
                             rh_model_error *error, rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  ArenaOptions memory = call_memory(call, 0);
  Arena *scratch = arena_new(&memory);
  rh_status status = sized_clear(error, "rh_model_error", diags);
  if (status == RH_OK) status = check_count(count, 0, diags);
  if (status == RH_OK) {
    ModelError found = model_error(modeled, measured, (uint32_t)count, scratch);
    rh_model_error own = calibration_public_error(&found);
    sized_write(error, &own, sizeof own);
  }
  arena_free(scratch);
  return call_close(call, status);
}

/* ---- calibration ---- */

typedef struct Calibration {
  Call *call;
  const rh_module *const *modules;
  const double *seconds;
  uint32_t count;
  const rh_settings *settings;
  const DeviceProfile *profile;
  const rh_calibrate_options *options;
  rh_diags *diags;
  Measurement *measurements;
  uint32_t num_groups;
  Arena *out, *scratch;
} Calibration;

static rh_status check_seconds(const double *seconds, size_t count, rh_diags *diags) {
  for (size_t i = 0; i < count; i++) {
    if (seconds[i] > 0 && isfinite(seconds[i])) continue;
    return diag_fail(diags, RH_ERR_USAGE, DIAG_ABOUT(RH_CODE_BAD_OPTION, NO_OFFSET),
                     "the time of measurement %zu is not a number above 0", i);
  }
  return RH_OK;
}

/* Modelled seconds of one module, by the whole model. `terms` may be NULL. */
static rh_status measure(const Calibration *job, uint32_t index, const DeviceProfile *profile,
                         double *seconds, WorkTerms *terms) {
  const rh_module *taken;
  rh_status status = call_take(job->call, job->modules[index], job->settings, &taken);
  if (status != RH_OK) return status;
  status = handle_check(taken, job->diags);
  if (status == RH_OK) {
    int64_t trips = job->options->default_trip_count;
    Arena *scratch = arena_new(arena_options(taken->arena));
    Arena *inner = arena_new(arena_options(scratch));
    CostTable table = cost_table_of(taken, profile, trips, inner, scratch);
    *seconds = cost_total_weighted(taken->module, &table, profile, trips, scratch).seconds;
    if (terms) {
      *terms = work_terms(taken->module, &table, profile, trips, job->scratch, scratch);
    }
    arena_free(inner);
    arena_free(scratch);
  }
  call_give_back(job->call);
  return status;
}

static bool is_of_group(const Calibration *job, uint32_t index, uint32_t other) {
  const char *const *groups = job->options->groups;
  return groups && strcmp(groups[index], groups[other]) == 0;
}

/* Numbers the groups in the order in which they come. O(measurements squared), of which there are
 * hundreds. */
static uint32_t group_of(Calibration *job, uint32_t index) {
  for (uint32_t other = 0; other < index; other++) {
    if (is_of_group(job, index, other)) return job->measurements[other].group;
  }
  return job->num_groups++;
}

static rh_status measure_before(Calibration *job, double *seconds) {
  rh_status status = RH_OK;
  job->measurements = arena_zarray(job->scratch, Measurement, job->count);
  for (uint32_t i = 0; i < job->count && status == RH_OK; i++) {
    Measurement *measurement = &job->measurements[i];
    measurement->seconds = job->seconds[i];
    measurement->group = group_of(job, i);
    status = measure(job, i, job->profile, &seconds[i], &measurement->terms);
  }
  return status;
}

/* Fits a profile to all measurements but those of a group, and measures those of the group with it;
 * with NO_ID, to all and with all. */
static rh_status fit(const Calibration *job, uint32_t group, DeviceProfile *profile,
                     double *seconds) {
  rh_status status = RH_OK;
  *profile = profile_fit(job->measurements, job->count, group, job->profile, job->scratch);
  for (uint32_t i = 0; i < job->count && status == RH_OK; i++) {
    if (group != NO_ID && job->measurements[i].group != group) continue;
    status = measure(job, i, profile, &seconds[i], NULL);
  }
  return status;
}

static rh_status hold_out(const Calibration *job, double *seconds) {
  rh_status status = RH_OK;
  for (uint32_t group = 0; group < job->num_groups && status == RH_OK; group++) {
    DeviceProfile ignored;
    status = fit(job, group, &ignored, seconds);
  }
  return status;
}

static const rh_model_error *error_of(const Calibration *job, const double *seconds) {
  ModelError error = model_error(seconds, job->seconds, job->count, job->scratch);
  rh_model_error *made = arena_alloc(job->out, sizeof *made);
  *made = calibration_public_error(&error);
  return made;
}

const char *calibration_error_text(const rh_model_error *error, Arena *out) {
  double correlation = error->rank_correlation;
  long hundredths = isnan(correlation) ? 0 : lround(100 * fabs(correlation));
  return arena_printf(out, "rank correlation %s%ld.%02ld, median error %.0f %%",
                      correlation < 0 ? "-" : "", hundredths / 100, hundredths % 100,
                      100 * error->median_error);
}

static void describe(const Calibration *job, const rh_calibration *made, DeviceProfile *profile) {
  profile->name = arena_strndup(job->out, job->options->name, strlen(job->options->name));
  profile->description =
      arena_printf(job->out, "Fitted to %u measured modules of %u programs, from %s", job->count,
                   job->num_groups, job->profile->name);
  profile->source = made->held_out
                        ? arena_printf(job->out, "measured times; %s; of what was held out: %s",
                                       calibration_error_text(made->fitted, job->out),
                                       calibration_error_text(made->held_out, job->out))
                        : arena_printf(job->out, "measured times; %s",
                                       calibration_error_text(made->fitted, job->out));
}

static rh_status calibrate(Calibration *job, rh_calibration *made) {
  double *before = arena_zarray(job->out, double, job->count);
  double *fitted = arena_zarray(job->out, double, job->count);
  double *held_out = arena_zarray(job->out, double, job->count);
  DeviceProfile profile = *job->profile;
  rh_status status = measure_before(job, before);
  if (status == RH_OK) status = fit(job, NO_ID, &profile, fitted);
  bool has_others = job->num_groups > 1;
  if (status == RH_OK && has_others) status = hold_out(job, held_out);
  if (status != RH_OK) return status;
  *made = (rh_calibration){.before_seconds = before,
                           .fitted_seconds = fitted,
                           .held_out_seconds = has_others ? held_out : NULL,
                           .before = error_of(job, before),
                           .fitted = error_of(job, fitted),
                           .held_out = has_others ? error_of(job, held_out) : NULL,
                           .num_groups = job->num_groups};
  describe(job, made, &profile);
  made->profile = profile_new(&profile, job->out);
  return RH_OK;
}

CalibrationHandle *calibration_new(ArenaOptions memory) {
  Arena *arena = arena_new(&memory);
  CalibrationHandle *handle = arena_zalloc(arena, sizeof *handle);
  handle->arena = arena;
  return handle;
}

rh_status calibration_give(CalibrationHandle *handle, rh_status status,
                           rh_calibration **calibration) {
  if (status == RH_OK) {
    *calibration = &handle->calibration;
  } else {
    arena_free(handle->arena);
  }
  return status;
}

rh_status rh_calibrate(const rh_module *const *modules, const double *seconds, size_t count,
                       const rh_settings *settings, const rh_profile *profile,
                       const rh_calibrate_options *given, rh_calibration **calibration,
                       rh_diags *diags) {
  *calibration = NULL;
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  rh_calibrate_options options = RH_CALIBRATE_OPTIONS_INIT;
  ArenaOptions memory = call_memory(call, 0);
  CalibrationHandle *handle = calibration_new(memory);
  Arena *out = handle->arena, *scratch = arena_new(&memory);
  rh_status status = sized_read(&options, sizeof options, given, "rh_calibrate_options", diags);
  if (status == RH_OK) status = check_count(count, 2, diags);
  if (status == RH_OK) status = check_seconds(seconds, count, diags);
  if (status == RH_OK) {
    Calibration job = {.call = call,
                       .modules = modules,
                       .seconds = seconds,
                       .count = (uint32_t)count,
                       .settings = settings,
                       .profile = profile_of(profile),
                       .options = &options,
                       .diags = diags,
                       .out = out,
                       .scratch = scratch};
    status = calibrate(&job, &handle->calibration);
  }
  arena_free(scratch);
  return call_close(call, calibration_give(handle, status, calibration));
}

void rh_calibration_free(rh_calibration *calibration) {
  if (calibration) arena_free(((CalibrationHandle *)calibration)->arena);
}
