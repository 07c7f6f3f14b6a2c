/* Says what to change in the program that a module was made from. */
#include <stdlib.h>
#include <string.h>

#include "advise/job.h"
#include "command.h"
#include "copies_warning.h"
#include "device.h"
#include "memory.h"
#include "module_list.h"
#include "output.h"
#include "path.h"

static rh_status load_and_schedule(const char *path, const Options *options, AdviseJob *job) {
  *job = (AdviseJob){.options = options};
  rh_status status = load_to_measure(path, options, &job->loaded);
  if (status != RH_OK) return status;
  status = rh_schedule(job->loaded.module, &job->loaded.settings, &options->schedule,
                       &job->scheduled, job->loaded.diags);
  return status == RH_OK ? status : load_report(&job->loaded, status);
}

static void free_job(AdviseJob *job) {
  rh_advice_free(job->advice);
  rh_module_free(job->scheduled);
  rh_profile_free(job->profile);
  load_free(&job->loaded);
}

/* ---- advice ---- */

static rh_status advise(AdviseJob *job) {
  const Options *options = job->options;
  const Loaded *loaded = &job->loaded;
  rh_memory memory = RH_MEMORY_INIT;
  rh_advice_options request = RH_ADVICE_OPTIONS_INIT;
  rh_status status = device_load_for(options, &loaded->input, loaded->settings.target,
                                     &job->profile, &job->is_device_assumed);
  if (status == RH_OK)
    status = rh_measure_memory(job->scheduled, &loaded->settings, "heap", &memory, loaded->diags);
  if (status == RH_OK) {
    if (options->limit_counts >= 0) request.limit_counts = (rh_limit_counts)options->limit_counts;
    if (options->limit.kind != BUDGET_MIN)
      request.limit_bytes =
          budget_bytes(options->limit, rh_counted_bytes(&memory, request.limit_counts),
                       rh_counted_bound_bytes(&memory, request.limit_counts));
    request.profile = job->profile;
    request.default_trip_count = options->trip_count;
    status =
        rh_advice_make(job->scheduled, &loaded->settings, &request, &job->advice, loaded->diags);
  }
  load_warn_of_figures(&job->loaded, options);
  return load_report(&job->loaded, status);
}

static rh_status write_json(const AdviseJob *job) {
  Output output;
  rh_status status = output_open(job->options->json, job->options, &output);
  if (status != RH_OK) return status;
  status = rh_advice_print(job->advice, output_write, &output, job->loaded.diags);
  rh_status closed = output_close(&output, status == RH_OK);
  return closed != RH_OK || output.is_closed_pipe ? closed : status;
}

static rh_status advise_file(const char *path, const Options *options) {
  AdviseJob job;
  rh_status status = load_and_schedule(path, options, &job), written = RH_OK;
  if (status == RH_OK) status = advise(&job);
  if (job.advice && options->json) written = write_json(&job);
  if (job.advice && written == RH_OK && !options->quiet) {
    Terminal terminal = terminal_of(output_is_stdout(options->json) ? stderr : stdout);
    advise_print(&job, &terminal);
  }
  free_job(&job);
  return written == RH_OK ? status : written;
}

/* ---- folders ---- */

/* Returns the peak of a module, -1 if it has none that can be measured. */
static int64_t peak_of(const char *path, const Options *options, rh_status *status) {
  AdviseJob job;
  rh_memory memory = RH_MEMORY_INIT;
  *status = load_and_schedule(path, options, &job);
  if (*status == RH_OK)
    *status =
        rh_measure_memory(job.scheduled, &job.loaded.settings, "heap", &memory, job.loaded.diags);
  int64_t bytes = *status == RH_OK ? memory.peak_bytes : -1;
  free_job(&job);
  return bytes;
}

/* Advises on the module with the largest peak. */
static rh_status advise_folder(const Options *options) {
  ModuleList list;
  rh_status worst = module_list_read(options, &list);
  const char *largest = NULL;
  int64_t most = -1;
  for (size_t i = 0; i < list.len; i++) {
    rh_status status = RH_OK;
    int64_t bytes = list.len == 1 ? 0 : peak_of(list.modules[i].path, options, &status);
    if (status > worst) worst = status;
    if (bytes <= most) continue;
    most = bytes;
    largest = list.modules[i].path;
  }
  rh_status status = largest ? advise_file(largest, options) : RH_OK;
  module_list_free(&list);
  return status > worst ? status : worst;
}

rh_status cmd_advise(const Options *options) {
  const char *path = options->files[0];
  if (path_is_directory(path)) return advise_folder(options);
  if (!options->module) return advise_file(path, options);
  fputs("remat-hlo: error: --module chooses among the modules of a folder\n", stderr);
  return RH_ERR_USAGE;
}
