/* Makes a module that fits from a file, step by step. */
#include <string.h>
#include <time.h>

#include "copies_warning.h"
#include "device.h"
#include "memory.h"
#include "messages.h"
#include "remat/run.h"
#include "times_file.h"

double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

rh_status job_end_phase(RematRun *job, Phase phase, double start, rh_status status) {
  job->phase_seconds[phase] += seconds_now() - start;
  return status;
}

static void warn(const RematRun *job, const char *text) {
  if (!job->options->quiet) messages_say(&job->loaded.input, RH_SEVERITY_WARNING, "%s", text);
}

/* Reports properties that limit what the figures mean or what the result can be used for. */
static rh_status judge(const RematRun *job) {
  rh_module_info info = *rh_get_info(job->loaded.module);
  if (info.num_elided_literals && job->options->require_runnable) {
    messages_say(&job->loaded.input, RH_SEVERITY_ERROR,
                 "constants are elided, constant({...}); dump with --xla_dump_large_constants");
    return RH_ERR_INPUT;
  }
  if (info.num_elided_literals && job->options->output) {
    warn(job,
         "constants are elided, constant({...}): the result is for inspection, not for "
         "running; dump with --xla_dump_large_constants");
  }
  load_warn_of_figures(&job->loaded, job->options);
  return RH_OK;
}

rh_status job_read(RematRun *job, const char *path) {
  double start = seconds_now();
  rh_status status = times_file_load(path, job->options, &job->loaded);
  if (status == RH_OK && !job->profile) {
    status = device_load_for(job->options, &job->loaded.input, job->loaded.settings.target,
                             &job->own_profile, &job->is_device_assumed);
    job->profile = job->own_profile;
  }
  if (status == RH_OK && job->loaded.settings.times) {
    status = times_file_scale(job->options, &job->loaded, job->profile, &job->own_profile);
    if (status == RH_OK) job->profile = job->own_profile;
  }
  if (status == RH_OK) status = judge(job);
  return job_end_phase(job, PHASE_PARSE, start, status);
}

rh_status job_schedule(RematRun *job) {
  double start = seconds_now();
  const Options *options = job->options;
  const Loaded *loaded = &job->loaded;
  const rh_schedule_options *wanted = &options->schedule;
  rh_status status =
      rh_schedule(loaded->module, &loaded->settings, wanted, &job->scheduled, loaded->diags);
  bool is_baseline = strcmp(wanted->scheduler, "auto") == 0 && !wanted->ignore_schedule &&
                     wanted->inline_calls == RH_INLINE_AUTO && !wanted->unfuse;
  rh_schedule_options baseline = RH_SCHEDULE_OPTIONS_INIT;
  baseline.fuse = wanted->fuse;
  if (status == RH_OK && is_baseline) {
    job->baseline = job->scheduled;
  } else if (status == RH_OK && !job->baseline) {
    /* The call above has already reported what there is to report on this module. */
    rh_diags *ignored = memory_need(rh_diags_new());
    status = rh_schedule(loaded->module, &loaded->settings, &baseline, &job->baseline, ignored);
    (status == RH_OK ? messages_drop : messages_print_and_free)(&loaded->input, ignored);
  }
  return job_end_phase(job, PHASE_SCHEDULE, start, status);
}

rh_status job_measure(RematRun *job, const rh_module *module, Figures *figures) {
  double start = seconds_now();
  rh_diags *diags = job->loaded.diags;
  const rh_settings *settings = &job->loaded.settings;
  const char *model = job->options->remat.memory_model;
  figures->info = *rh_get_info(module);
  figures->memory = (rh_memory)RH_MEMORY_INIT;
  figures->cost = (rh_cost)RH_COST_INIT;
  rh_status status = rh_measure_memory(module, settings, model, &figures->memory, diags);
  if (status == RH_OK) {
    status = rh_measure_cost(module, settings, job->profile, job->options->trip_count,
                             &figures->cost, diags);
  }
  figures->counted_bytes = rh_counted_bytes(&figures->memory, job->remat.limit_counts);
  return job_end_phase(job, PHASE_MEASURE, start, status);
}

rh_status job_measure_before(RematRun *job) {
  rh_status status = job_measure(job, job->scheduled, &job->middle);
  job->before = job->middle;
  if (status == RH_OK) {
    status = spaces_collect(job->baseline, &job->loaded.settings, &job->spaces_before,
                            job->loaded.diags);
  }
  if (status == RH_OK)
    copies_warn_of_peak(&job->loaded, job->scheduled, job->options, job->middle.memory.peak_bytes);
  if (status != RH_OK || job->baseline == job->scheduled) return status;
  return job_measure(job, job->baseline, &job->before);
}

/* Whether the result is the scheduled module as it was, which the library has measured again. */
static bool is_as_it_was(const RematRun *job) {
  return job->outcome.algorithm && strcmp(job->outcome.algorithm, "none") == 0 &&
         job->outcome.counted_bytes == job->middle.counted_bytes;
}

rh_status job_measure_after(RematRun *job) {
  rh_status status =
      spaces_collect(job->result, &job->loaded.settings, &job->spaces_after, job->loaded.diags);
  if (status != RH_OK) return status;
  if (!is_as_it_was(job)) return job_measure(job, job->result, &job->after);
  job->after = job->middle;
  job->after.info = *rh_get_info(job->result);
  return RH_OK;
}

int64_t job_limit(const RematRun *job) {
  return budget_bytes(job->options->limit, job->before.counted_bytes, job_lower_bound(job));
}

rh_status job_rematerialize(RematRun *job) {
  double start = seconds_now();
  job->remat.limit_bytes = job_limit(job);
  job->remat.profile = job->profile;
  const rh_settings *settings = &job->loaded.settings;
  job->outcome = (rh_remat_result)RH_REMAT_RESULT_INIT;
  rh_status status = job->plan ? plan_file_apply(job->plan, job->scheduled, settings, &job->remat,
                                                 &job->result, &job->outcome)
                               : rh_remat(job->scheduled, settings, &job->remat, &job->result,
                                          &job->outcome, job->loaded.diags);
  job->is_met = status == RH_OK || job->options->limit.kind == BUDGET_MIN;
  job->phase_seconds[PHASE_REMAT] = seconds_now() - start - job->outcome.verify_seconds;
  job->phase_seconds[PHASE_VERIFY] = job->outcome.verify_seconds;
  if (status == RH_OK || status == RH_OVER_LIMIT)
    copies_warn_of_result(&job->loaded, job->scheduled, job->options, job->result);
  return status == RH_OVER_LIMIT ? RH_OK : status;
}

static bool has_trait(rh_registry registry, const char *name, unsigned trait) {
  const rh_entry *entry = rh_find(registry, name);
  return entry && entry->traits & trait;
}

const char *job_chosen_algorithm(const RematRun *job) {
  return strcmp(job->remat.algorithm, "auto") == 0 ? job->outcome.algorithm : NULL;
}

bool job_counts_parameters(const RematRun *job) {
  return !has_trait(RH_MEMORY_MODELS, job->remat.memory_model, RH_TRAIT_FREE_PARAMETERS);
}

rh_remat_options job_remat_options(const Options *options) {
  bool counts_temps =
      has_trait(RH_MEMORY_MODELS, options->remat.memory_model, RH_TRAIT_FREE_PARAMETERS);
  int by_model = counts_temps ? RH_COUNT_TEMP_OUTPUTS : RH_COUNT_TOTAL;
  bool is_compatible =
      options->compat && has_trait(RH_ALGORITHMS, options->remat.algorithm, RH_TRAIT_OF_XLA);
  rh_remat_options remat = options->remat;
  remat.limit_counts =
      (rh_limit_counts)(options->limit_counts < 0 ? by_model : options->limit_counts);
  remat.remat_collectives |= is_compatible;
  remat.callees_once = is_compatible;
  remat.keep_plan = options->save_plan != NULL;
  if (options->schedule.fuse) {
    remat.emit = RH_EMIT_UNSCHEDULED;
    if (remat.protect == RH_PROTECT_AUTO) remat.protect = RH_PROTECT_OPT_BARRIER;
  }
  return remat;
}
