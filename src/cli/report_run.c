/* From a file to its report. */
#include "report_job.h"

static rh_status schedule(ReportJob *job) {
  const Options *options = job->options;
  rh_schedule_options wanted = {.scheduler = options->scheduler,
                                .ignore_schedule = options->ignore_schedule,
                                .inline_calls = (rh_inline_calls)options->inline_calls,
                                .unfuse = (unsigned)options->unfuse};
  return rh_schedule(job->loaded.module, &wanted, &job->scheduled, job->loaded.diags);
}

rh_status report_run(const char *path, const Options *options, ReportJob *job) {
  *job = (ReportJob){.options = options};
  rh_status status = load_module(path, options, &job->loaded);
  if (status == RH_OK) load_warn_of_figures(&job->loaded, options);
  if (status == RH_OK) status = schedule(job);
  if (status == RH_OK) {
    status = rh_report_make(job->scheduled, options->memory_model, &job->report, job->loaded.diags);
  }
  return load_report(&job->loaded, status);
}

void report_free(ReportJob *job) {
  rh_report_free(job->report);
  rh_module_free(job->scheduled);
  load_free(&job->loaded);
}
