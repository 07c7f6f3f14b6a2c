#include "command.h"
#include "path.h"
#include "report_job.h"

static rh_status check_outputs(const Options *options) {
  const char *paths[] = {options->json, options->csv};
  rh_status status = output_check(paths, 2);
  if (status != RH_OK) return status;
  if (!options->csv || (options->num_files == 1 && !path_is_directory(options->files[0]))) {
    return RH_OK;
  }
  fputs("remat-hlo: error: --csv takes one file\n", stderr);
  return RH_ERR_USAGE;
}

static rh_status write_csv(const ReportJob *job) {
  Output output;
  rh_status status = output_open(job->options->csv, job->options, &output);
  if (status != RH_OK) return status;
  report_write_csv(job->report, &output);
  return output_close(&output, true);
}

static Terminal terminal_beside(const Options *options) {
  return terminal_of(output_is_stdout(options->json) || output_is_stdout(options->csv) ? stderr
                                                                                       : stdout);
}

static rh_status report_file(const Options *options) {
  ReportJob job;
  rh_status status = report_run(options->files[0], options, &job);
  if (status == RH_OK && options->json)
    status = report_write_json(report_json(&job, false), options->json, options);
  if (status == RH_OK && options->csv) status = write_csv(&job);
  if (status == RH_OK && !options->quiet) {
    Terminal terminal = terminal_beside(options);
    report_print(&job, &terminal);
  }
  report_free(&job);
  return status;
}

static rh_status report_difference(const Options *options) {
  ReportJob before = {0}, after = {0};
  rh_status status = report_run(options->files[0], options, &before);
  if (status == RH_OK) status = report_run(options->files[1], options, &after);
  if (status == RH_OK && options->json) {
    status = report_write_json(report_difference_json(&before, &after), options->json, options);
  }
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
