/* From a file to its report. */
#include <stdlib.h>
#include <string.h>

#include "report_job.h"

static rh_status schedule(ReportJob *job) {
  const Options *options = job->options;
  rh_schedule_options wanted = options->schedule;
  wanted.copies = options->remat.copies;
  return rh_schedule(job->loaded.module, &wanted, &job->scheduled, job->loaded.diags);
}

rh_status report_explain(ReportJob *job) {
  load_warn_of_figures(&job->loaded, job->options);
  rh_status status = schedule(job);
  if (status == RH_OK) {
    status = rh_report_make(job->scheduled, job->options->remat.memory_model, &job->report,
                            job->loaded.diags);
  }
  return load_report(&job->loaded, status);
}

rh_status report_run(const char *path, const Options *options, ReportJob *job) {
  *job = (ReportJob){.options = options};
  rh_status status = load_to_measure(path, options, &job->loaded);
  return status == RH_OK ? report_explain(job) : status;
}

void report_free(ReportJob *job) {
  rh_report_free(job->report);
  rh_module_free(job->scheduled);
  load_free(&job->loaded);
}
