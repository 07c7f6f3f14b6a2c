#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "cost/job.h"
#include "device.h"
#include "times_file.h"

/* What the module takes, if the profile says what was allocated. */
static rh_status measure_memory(CostJob *job) {
  size_t count = 0;
  if (job->loaded.times) rh_times_allocators(job->loaded.times, &count);
  if (count == 0 || !rh_get_info(job->loaded.module)->is_scheduled) return RH_OK;
  job->memory = (rh_memory)RH_MEMORY_INIT;
  job->has_memory = true;
  return rh_measure_memory(job->loaded.module, &job->loaded.settings, "heap", &job->memory,
                           job->loaded.diags);
}

static rh_status explain(CostJob *job) {
  const Options *options = job->options;
  rh_status status = times_file_load(options->files[0], options, &job->loaded);
  if (status != RH_OK) return status;
  status = device_load_for(options, &job->loaded.input, job->loaded.settings.target, &job->profile,
                           &job->is_device_assumed);
  if (status == RH_OK)
    status = times_file_scale(options, &job->loaded, job->profile, &job->profile);
  if (status != RH_OK) return status;
  status = rh_cost_report_make(job->loaded.module, &job->loaded.settings, job->profile,
                               options->trip_count, &job->report, job->loaded.diags);
  if (status == RH_OK) status = measure_memory(job);
  return load_report(&job->loaded, status);
}

static rh_status write_csv(const CostJob *job) {
  Output output;
  rh_status status = output_open(job->options->csv, job->options, &output);
  if (status != RH_OK) return status;
  cost_write_csv(job->report, &output);
  return output_close(&output, true);
}

static rh_status run(const Options *options) {
  CostJob job = {.options = options};
  rh_status status = explain(&job);
  if (status == RH_OK && options->json)
    status = output_write_json(cost_json(&job), options->json, options);
  if (status == RH_OK && options->csv) status = write_csv(&job);
  if (status == RH_OK && !options->quiet) {
    bool is_taken = output_is_stdout(options->json) || output_is_stdout(options->csv);
    Terminal terminal = terminal_of(is_taken ? stderr : stdout);
    cost_print(&job, &terminal);
  }
  rh_cost_report_free(job.report);
  rh_profile_free(job.profile);
  load_free(&job.loaded);
  return status;
}

rh_status cmd_cost(const Options *options) {
  const char *outputs[] = {options->json, options->csv};
  rh_status status = output_check(outputs, sizeof outputs / sizeof *outputs);
  return status == RH_OK ? run(options) : status;
}
