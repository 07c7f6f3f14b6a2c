/* Makes the report on a file. */
#include <stdlib.h>
#include <string.h>

#include "copies_warning.h"
#include "memory.h"
#include "messages.h"
#include "report/job.h"

static rh_status schedule(ReportJob *job) {
  const Loaded *loaded = &job->loaded;
  return rh_schedule(loaded->module, &loaded->settings, &job->options->schedule, &job->scheduled,
                     loaded->diags);
}

/* A module that leaves its stage open has the stage of the one that it is compared with. */
static rh_status take_stage(ReportJob *job, const ReportJob *before) {
  rh_module_info of_before = *rh_get_info(before->scheduled);
  rh_module_info info = *rh_get_info(job->scheduled);
  if (info.copies_are_sure || info.copies == of_before.copies) return RH_OK;
  job->loaded.settings.copies = of_before.copies;
  rh_module_free(job->scheduled);
  job->scheduled = NULL;
  messages_drop(&job->loaded.input, job->loaded.diags);
  job->loaded.diags = memory_need(rh_diags_new());
  return schedule(job);
}

bool report_is_small(const ReportJob *job) {
  return job->report && job->report->memory->peak_bytes < job->min_peak_bytes;
}

rh_status report_explain(ReportJob *job) {
  rh_status status = schedule(job);
  if (status == RH_OK && job->before) status = take_stage(job, job->before);
  if (status == RH_OK) {
    status = rh_report_make(job->scheduled, &job->loaded.settings, job->options->remat.memory_model,
                            &job->report, job->loaded.diags);
  }
  if (status == RH_OK && report_is_small(job)) {
    messages_drop(&job->loaded.input, job->loaded.diags);
    job->loaded.diags = memory_need(rh_diags_new());
    return RH_OK;
  }
  load_warn_of_figures(&job->loaded, job->options);
  if (status == RH_OK)
    copies_warn_of_peak(&job->loaded, job->scheduled, job->options,
                        job->report->memory->peak_bytes);
  return load_report(&job->loaded, status);
}

rh_status report_run(const char *path, int64_t min_peak_bytes, const Options *options,
                     const ReportJob *before, ReportJob *job) {
  *job = (ReportJob){.options = options, .min_peak_bytes = min_peak_bytes, .before = before};
  rh_status status = load_to_measure(path, options, &job->loaded);
  return status == RH_OK ? report_explain(job) : status;
}

void report_compare_sums(const ReportJob *job, rh_sums before, rh_sums after, rh_change_fn visit,
                         void *context) {
  rh_diags *diags = memory_need(rh_diags_new());
  (void)rh_compare_sums(before, after, visit, context, diags); /* fails only without memory */
  messages_drop(&job->loaded.input, diags);
}

void report_free(ReportJob *job) {
  rh_advice_free(job->advice);
  rh_report_free(job->report);
  rh_module_free(job->scheduled);
  load_free(&job->loaded);
}
