#include "calibrate/job.h"
#include "command.h"
#include "device.h"
#include "memory.h"
#include "messages.h"
#include "path.h"

static rh_status calibrate(CalibrateJob *job, const rh_profile *before) {
  const Measured *measured = &job->measured;
  rh_calibrate_options options = RH_CALIBRATE_OPTIONS_INIT;
  options.name = job->options->profile_name;
  options.default_trip_count = job->options->trip_count;
  options.groups = measured->groups;
  rh_diags *diags = memory_need(rh_diags_new());
  const rh_settings *settings = &measured->loaded[0].settings;
  rh_status status = measured->is_folder
                         ? rh_calibrate_estimates(measured->modules, measured->len, settings,
                                                  before, &options, &job->calibration, diags)
                         : rh_calibrate(measured->modules, measured->seconds, measured->len,
                                        settings, before, &options, &job->calibration, diags);
  messages_print(&measured->input, diags);
  rh_diags_free(diags);
  return status;
}

static rh_status write_profile(const CalibrateJob *job) {
  const char *path = job->options->output ? job->options->output : "-";
  Output output;
  rh_status status = output_open(path, job->options, &output);
  if (status != RH_OK) return status;
  status = rh_profile_print(job->calibration->profile, output_write, &output, NULL);
  return output_close(&output, status == RH_OK);
}

static rh_status write_all(const CalibrateJob *job, const rh_profile *before) {
  const Options *options = job->options;
  rh_status status = write_profile(job);
  if (status == RH_OK && options->json)
    status = output_write_json(calibrate_json(job, before), options->json, options);
  if (status == RH_OK && options->csv) status = calibrate_write_csv(job);
  if (status != RH_OK || options->quiet) return status;
  bool is_taken = !options->output || output_is_stdout(options->output) ||
                  output_is_stdout(options->json) || output_is_stdout(options->csv);
  calibrate_print(job, before, is_taken ? stderr : stdout);
  return RH_OK;
}

/* Estimates are of the device that the dumps are of, which is known only when they have been read.
 */
static rh_status load_all(CalibrateJob *job, rh_profile **before) {
  Measured *measured = &job->measured;
  bool is_folder = path_is_directory(job->options->files[0]), is_assumed;
  rh_status status = is_folder ? RH_OK : device_load(job->options, before);
  if (status == RH_OK) status = measured_read(job->options, measured);
  if (status != RH_OK || !is_folder) return status;
  const Loaded *first = &measured->loaded[0];
  return device_load_for(job->options, &first->input, first->settings.target, before, &is_assumed);
}

rh_status cmd_calibrate(const Options *options) {
  const char *outputs[] = {options->output ? options->output : "-", options->json, options->csv};
  CalibrateJob job = {.options = options};
  rh_profile *before = NULL;
  rh_status status = output_check(outputs, sizeof outputs / sizeof *outputs);
  if (status == RH_OK) status = load_all(&job, &before);
  if (status == RH_OK) status = calibrate(&job, before);
  if (status == RH_OK) status = write_all(&job, before);
  rh_calibration_free(job.calibration);
  measured_free(&job.measured);
  rh_profile_free(before);
  return status;
}
