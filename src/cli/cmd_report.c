#include <assert.h>
#include <string.h>

#include "command.h"
#include "device.h"
#include "path.h"
#include "pictures.h"
#include "report/job.h"

static rh_status check_outputs(const Options *options) {
  const char *what = NULL, *others[] = {options->json, options->csv};
  static_assert(sizeof others / sizeof *others <= MAX_OTHER_OUTPUTS, "pictures_check has room");
  bool is_folder = options->num_files == 1 && path_is_directory(options->files[0]);
  rh_status status = pictures_check(options, others, sizeof others / sizeof *others);
  if (status != RH_OK) return status;
  bool chooses = options->module || options->min_peak_bytes >= 0;
  if (chooses && !is_folder) what = "--module and --min-peak choose among the modules of a folder";
  if (options->shard.count && !is_folder) what = "--shard takes a part of the modules of a folder";
  if (pictures_are_wanted(options) && is_folder) what = "pictures are of one file, or of two";
  if (!what) return RH_OK;
  fprintf(stderr, "remat-hlo: error: %s\n", what);
  return RH_ERR_USAGE;
}

static rh_status write_csv(const ReportJob *job) {
  Output output;
  rh_status status = output_open(job->options->csv, job->options, &output);
  if (status != RH_OK) return status;
  report_write_csv(job->report, &output);
  return output_close(&output, true);
}

static rh_status write_picture(const Options *options, const rh_picture *picture,
                               rh_picture_format format, rh_diags *diags) {
  Output output;
  if (!options->pictures[format]) return RH_OK;
  rh_status status = output_open(options->pictures[format], options, &output);
  if (status != RH_OK) return status;
  status = rh_emit_picture(picture, format, output_write, &output, diags);
  rh_status closed = output_close(&output, status == RH_OK);
  return closed != RH_OK || output.is_closed_pipe ? closed : status;
}

static PictureSide side_of(const ReportJob *job) {
  return (PictureSide){job->scheduled, &job->loaded.settings, job->loaded.input.path};
}

/* Writes the pictures of one module, or of two modules next to each other; `after` may be NULL. */
static rh_status write_pictures(ReportJob *before, const ReportJob *after) {
  const Options *options = before->options;
  if (!pictures_are_wanted(options)) return RH_OK;
  rh_picture picture = RH_PICTURE_INIT;
  picture.limit_bytes = options->max_peak_bytes;
  picture.advice = before->advice;
  PictureSide sides[2] = {side_of(before)};
  if (after) sides[1] = side_of(after);
  rh_status status =
      pictures_map(&picture, &sides[0], after ? &sides[1] : NULL, before->loaded.diags);
  for (int i = 0; i < RH_NUM_PICTURE_FORMATS && status == RH_OK; i++)
    status = write_picture(options, &picture, (rh_picture_format)i, before->loaded.diags);
  pictures_free(&picture);
  return load_report(&before->loaded, status);
}

static Terminal terminal_beside(const Options *options) {
  bool is_taken = output_is_stdout(options->json) || output_is_stdout(options->csv) ||
                  pictures_take_stdout(options);
  return terminal_of(is_taken ? stderr : stdout);
}

/* Advice is for people, and for the memory that a device would need. It measures a module again for
 * each change, so that a large one is not advised on here: a report takes no longer than to read it
 * a few times. Seconds are those of the device and trip counts that `advise` would take. */
static rh_status advise(ReportJob *job) {
  enum { MOST_INSTRUCTIONS = 50000 };
  const Options *options = job->options;
  bool is_wanted = !options->quiet || options->pictures[RH_PICTURE_HTML];
  if (!is_wanted || strcmp(options->remat.memory_model, "heap") != 0) return RH_OK;
  job->is_advice_left = rh_get_info(job->scheduled)->num_instructions > MOST_INSTRUCTIONS;
  if (job->is_advice_left) return RH_OK;
  rh_advice_options request = RH_ADVICE_OPTIONS_INIT;
  request.max_steps = 1;
  request.default_trip_count = options->trip_count;
  rh_profile *profile = NULL;
  bool is_assumed;
  rh_status status = device_load_for(options, &job->loaded.input, job->loaded.settings.target,
                                     &profile, &is_assumed);
  request.profile = profile;
  if (status == RH_OK)
    status = rh_advice_make(job->scheduled, &job->loaded.settings, &request, &job->advice,
                            job->loaded.diags);
  rh_profile_free(profile);
  return load_report(&job->loaded, status);
}

static rh_status report_file(const Options *options) {
  ReportJob job;
  rh_status status = report_run(options->files[0], 0, options, NULL, &job);
  if (status == RH_OK) status = advise(&job);
  if (status == RH_OK && options->json)
    status = output_write_json(report_json(&job, false), options->json, options);
  if (status == RH_OK && options->csv) status = write_csv(&job);
  if (status == RH_OK) status = write_pictures(&job, NULL);
  if (status == RH_OK && !options->quiet) {
    Terminal terminal = terminal_beside(options);
    report_print(&job, &terminal);
  }
  report_free(&job);
  return status;
}

static rh_status report_difference(const Options *options) {
  ReportJob before = {0}, after = {0};
  rh_status status = report_run(options->files[0], 0, options, NULL, &before);
  if (status == RH_OK) status = report_run(options->files[1], 0, options, &before, &after);
  if (status == RH_OK && options->json) {
    status = output_write_json(report_difference_json(&before, &after), options->json, options);
  }
  if (status == RH_OK && options->csv) status = report_write_difference_csv(&before, &after);
  if (status == RH_OK) status = write_pictures(&before, &after);
  if (status == RH_OK && !options->quiet) {
    Terminal terminal = terminal_beside(options);
    report_print_difference(&before, &after, &terminal);
  }
  report_free(&after);
  report_free(&before);
  return status;
}

rh_status cmd_report(const Options *options) {
  rh_status status = check_outputs(options);
  if (status != RH_OK) return status;
  if (options->num_files > 1) return report_difference(options);
  if (!path_is_directory(options->files[0])) return report_file(options);
  Terminal terminal = terminal_beside(options);
  return report_folder(options->files[0], options, &terminal);
}
