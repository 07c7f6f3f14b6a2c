/* The public function that fits a device profile to estimates of XLA:TPU. */
#include <string.h>

#include "analysis/cost/calibrate_estimates.h"
#include "api/calibration.h"
#include "api/call.h"
#include "api/measure.h"
#include "api/sized.h"
#include "ir/vec.h"

typedef struct Calibration {
  Call *call;
  const rh_module *const *modules;
  uint32_t count;
  const rh_settings *settings;
  const DeviceProfile *profile;
  const rh_calibrate_options *options;
  rh_diags *diags;
  VEC(EstimatedWork) works;
  uint32_t *groups; /* by module */
  uint32_t *begin;  /* by module: its first work; one more, the end of the last */
  uint32_t num_groups;
  Arena *out, *scratch;
} Calibration;

/* ---- the instructions ---- */

static rh_status read_module(Calibration *job, uint32_t index) {
  const rh_module *taken;
  rh_status status = call_take(job->call, job->modules[index], job->settings, &taken);
  if (status != RH_OK) return status;
  status = handle_check(taken, job->diags);
  if (status == RH_OK) {
    Arena *scratch = arena_new(arena_options(taken->arena));
    Arena *inner = arena_new(arena_options(scratch));
    CostTable table = cost_analyze(taken->module, inner, scratch);
    EstimatedWork *works;
    uint32_t len =
        estimated_works(taken->module, &table, job->groups[index], &works, inner, scratch);
    for (uint32_t i = 0; i < len; i++)
      *vec_push(job->scratch, &job->works) = works[i];
    arena_free(inner);
    arena_free(scratch);
  }
  call_give_back(job->call);
  return status;
}

/* Numbers the groups in the order in which they come. O(modules squared), of which there are
 * hundreds. */
static uint32_t group_of(Calibration *job, uint32_t index) {
  const char *const *groups = job->options->groups;
  for (uint32_t other = 0; groups && other < index; other++) {
    if (strcmp(groups[index], groups[other]) == 0) return job->groups[other];
  }
  return job->num_groups++;
}

static rh_status read_modules(Calibration *job) {
  rh_status status = RH_OK;
  job->groups = arena_zarray(job->scratch, uint32_t, job->count);
  job->begin = arena_zarray(job->scratch, uint32_t, (size_t)job->count + 1);
  for (uint32_t i = 0; i < job->count && status == RH_OK; i++) {
    job->groups[i] = group_of(job, i);
    status = read_module(job, i);
    job->begin[i + 1] = job->works.len;
  }
  if (status != RH_OK || job->works.len > 0) return status;
  return diag_fail(job->diags, RH_ERR_INPUT, DIAG_NOWHERE,
                   "no instruction has an estimate of XLA:TPU");
}

/* ---- errors ---- */

/* Fills the seconds of the works of one group; NO_ID = of all. */
static void time_works(const Calibration *job, const DeviceProfile *profile, uint32_t group,
                       double *seconds) {
  for (uint32_t i = 0; i < job->works.len; i++) {
    if (group != NO_ID && job->works.data[i].group != group) continue;
    InstWork work = job->works.data[i].work;
    work.cycles = 0;
    seconds[i] = work_time(&work, profile).seconds;
  }
}

static const double *sums_of(const Calibration *job, const double *seconds) {
  double *sums = arena_zarray(job->out, double, job->count);
  for (uint32_t module = 0; module < job->count; module++) {
    for (uint32_t i = job->begin[module]; i < job->begin[module + 1]; i++)
      sums[module] += seconds[i];
  }
  return sums;
}

static const rh_model_error *error_of(const Calibration *job, const double *seconds,
                                      const double *estimated) {
  ModelError error = model_error(seconds, estimated, job->works.len, job->scratch);
  rh_model_error *made = arena_alloc(job->out, sizeof *made);
  *made = calibration_public_error(&error);
  return made;
}

/* ---- the fit ---- */

static DeviceProfile fit(const Calibration *job, uint32_t held_out) {
  DeviceProfile made = *job->profile;
  UnitPrices begin = unit_prices_begin();
  begin.cores = job->profile->cycles.cores;
  ArenaMark mark = arena_mark(job->scratch);
  EstimatedWork *works = arena_array(job->scratch, EstimatedWork, job->works.len);
  for (uint32_t i = 0; i < job->works.len; i++) {
    works[i] = job->works.data[i];
    works[i].work.units = work_units(&works[i].work, job->profile);
  }
  made.has_units = true;
  made.cycles = prices_fit(works, job->works.len, held_out, &begin, job->scratch);
  arena_reset(job->scratch, mark);
  return made;
}

static void describe(const Calibration *job, const rh_calibration *made, DeviceProfile *profile) {
  profile->name = arena_strndup(job->out, job->options->name, strlen(job->options->name));
  profile->description = arena_printf(
      job->out, "Fitted to XLA:TPU's estimates of %u instructions of %u programs, from %s",
      job->works.len, job->num_groups, job->profile->name);
  const char *held_out = made->held_out
                             ? arena_printf(job->out, "; of programs that were held out: %s",
                                            calibration_error_text(made->held_out, job->out))
                             : "";
  profile->source = arena_printf(job->out, "XLA:TPU's estimated_cycles; %s%s",
                                 calibration_error_text(made->fitted, job->out), held_out);
}

static void calibrate(const Calibration *job, rh_calibration *made) {
  double *seconds = arena_zarray(job->scratch, double, job->works.len);
  double *estimated = arena_zarray(job->scratch, double, job->works.len);
  for (uint32_t i = 0; i < job->works.len; i++)
    estimated[i] = job->works.data[i].work.cycles / job->profile->clock;
  *made = (rh_calibration){.num_groups = job->num_groups,
                           .num_instructions = job->works.len,
                           .estimated_seconds = sums_of(job, estimated)};
  time_works(job, job->profile, NO_ID, seconds);
  made->before_seconds = sums_of(job, seconds);
  made->before = error_of(job, seconds, estimated);
  DeviceProfile profile = fit(job, NO_ID);
  time_works(job, &profile, NO_ID, seconds);
  made->fitted_seconds = sums_of(job, seconds);
  made->fitted = error_of(job, seconds, estimated);
  for (uint32_t group = 0; job->num_groups > 1 && group < job->num_groups; group++) {
    DeviceProfile without = fit(job, group);
    time_works(job, &without, group, seconds);
  }
  if (job->num_groups > 1) {
    made->held_out_seconds = sums_of(job, seconds);
    made->held_out = error_of(job, seconds, estimated);
  }
  describe(job, made, &profile);
  made->profile = profile_new(&profile, job->out);
}

static rh_status check(const Calibration *job, size_t count) {
  if (count == 0 || count >= UINT32_MAX) {
    return diag_fail(job->diags, RH_ERR_USAGE, DIAG_ABOUT(RH_CODE_BAD_OPTION, NO_OFFSET),
                     "there are no modules to fit to");
  }
  if (job->profile->clock > 0) return RH_OK;
  return diag_fail(job->diags, RH_ERR_USAGE, DIAG_ABOUT(RH_CODE_BAD_OPTION, NO_OFFSET),
                   "the profile '%s' has no clock, in whose cycles XLA:TPU estimates times",
                   job->profile->name);
}

rh_status rh_calibrate_estimates(const rh_module *const *modules, size_t count,
                                 const rh_settings *settings, const rh_profile *profile,
                                 const rh_calibrate_options *given, rh_calibration **calibration,
                                 rh_diags *diags) {
  *calibration = NULL;
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  rh_calibrate_options options = RH_CALIBRATE_OPTIONS_INIT;
  ArenaOptions memory = call_memory(call, 0);
  CalibrationHandle *handle = calibration_new(memory);
  Arena *out = handle->arena, *scratch = arena_new(&memory);
  Calibration job = {.call = call,
                     .modules = modules,
                     .count = (uint32_t)count,
                     .settings = settings,
                     .profile = profile_of(profile),
                     .options = &options,
                     .diags = diags,
                     .out = out,
                     .scratch = scratch};
  rh_status status = sized_read(&options, sizeof options, given, "rh_calibrate_options", diags);
  if (status == RH_OK) status = check(&job, count);
  if (status == RH_OK) status = read_modules(&job);
  if (status == RH_OK) calibrate(&job, &handle->calibration);
  arena_free(scratch);
  return call_close(call, calibration_give(handle, status, calibration));
}
