#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "device.h"
#include "messages.h"
#include "output.h"
#include "path.h"
#include "pictures.h"
#include "remat_job.h"

double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static rh_status end_phase(RematJob *job, Phase phase, double start, rh_status status) {
  job->phase_seconds[phase] += seconds_now() - start;
  return status;
}

/* ---- stages ---- */

static rh_status read_input(RematJob *job, const char *path) {
  double start = seconds_now();
  rh_status status = load_module(path, job->options, &job->loaded);
  return end_phase(job, PHASE_PARSE, start, status);
}

static void warn(const RematJob *job, const char *text) {
  if (!job->options->quiet) messages_say(&job->loaded.input, RH_SEVERITY_WARNING, "%s", text);
}

/* What the figures or the result cannot be taken for. */
static rh_status judge_input(const RematJob *job) {
  rh_module_info info = rh_get_info(job->loaded.module);
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

static rh_status schedule(RematJob *job) {
  double start = seconds_now();
  const Options *options = job->options;
  rh_schedule_options wanted = {.scheduler = options->scheduler,
                                .ignore_schedule = options->ignore_schedule,
                                .inline_calls = (rh_inline_calls)options->inline_calls,
                                .unfuse = (unsigned)options->unfuse};
  rh_status status = rh_schedule(job->loaded.module, &wanted, &job->scheduled, job->loaded.diags);
  bool is_baseline = strcmp(wanted.scheduler, "auto") == 0 && !wanted.ignore_schedule &&
                     wanted.inline_calls == RH_INLINE_AUTO && !wanted.unfuse;
  if (status == RH_OK && is_baseline) {
    job->baseline = job->scheduled;
  } else if (status == RH_OK) {
    status = rh_schedule(job->loaded.module, NULL, &job->baseline, job->loaded.diags);
  }
  return end_phase(job, PHASE_SCHEDULE, start, status);
}

static rh_status measure(RematJob *job, const rh_module *module, Figures *figures) {
  double start = seconds_now();
  rh_diags *diags = job->loaded.diags;
  figures->info = rh_get_info(module);
  rh_status status = rh_measure_memory(module, job->options->memory_model, &figures->memory, diags);
  if (status == RH_OK) {
    status = rh_measure_cost(module, job->profile, job->options->trip_count, &figures->cost, diags);
  }
  figures->counted_bytes = rh_counted_bytes(&figures->memory, job->remat.limit_counts);
  return end_phase(job, PHASE_MEASURE, start, status);
}

static rh_status measure_before(RematJob *job) {
  rh_status status = measure(job, job->scheduled, &job->middle);
  job->before = job->middle;
  if (status != RH_OK || job->baseline == job->scheduled) return status;
  return measure(job, job->baseline, &job->before);
}

static int64_t limit_of(const RematJob *job) {
  Budget budget = job->options->limit;
  int64_t bound = job_lower_bound(job);
  switch (budget.kind) {
    case BUDGET_NONE: return INT64_MAX;
    case BUDGET_BYTES: return budget.amount;
    case BUDGET_PERCENT: return share_of(job->before.counted_bytes, budget.amount);
    case BUDGET_REDUCIBLE:
      return bound + share_of(job->before.counted_bytes - bound, budget.amount);
    case BUDGET_MIN: return 0;
  }
  return INT64_MAX;
}

static rh_status rematerialize(RematJob *job) {
  double start = seconds_now();
  job->remat.limit_bytes = limit_of(job);
  rh_status status =
      rh_remat(job->scheduled, &job->remat, &job->result, &job->outcome, job->loaded.diags);
  job->is_met = status == RH_OK || job->options->limit.kind == BUDGET_MIN;
  job->phase_seconds[PHASE_REMAT] = seconds_now() - start - job->outcome.verify_seconds;
  job->phase_seconds[PHASE_VERIFY] = job->outcome.verify_seconds;
  return status == RH_NO ? RH_OK : status;
}

static void collect_live(void *context, const rh_live_buffer *buffer) {
  LiveList *list = context;
  if (list->len == list->room) {
    size_t room = list->room ? list->room * 2 : 64;
    rh_live_buffer *larger = realloc(list->buffers, room * sizeof *larger);
    if (!larger) return;
    list->buffers = larger;
    list->room = room;
  }
  list->buffers[list->len++] = *buffer;
}

/* What keeps the peak from going lower. */
static rh_status explain(RematJob *job) {
  if (!job_has_limit(job) || (job->is_met && job->options->limit.kind != BUDGET_MIN)) return RH_OK;
  double start = seconds_now();
  rh_status status = rh_visit_live(job->result, job->options->memory_model, &job->remat,
                                   collect_live, &job->blocking, job->loaded.diags);
  return end_phase(job, PHASE_MEASURE, start, status);
}

static rh_status write_results(RematJob *job) {
  double start = seconds_now();
  rh_status status = job->options->dry_run ? RH_OK : job_write(job);
  return end_phase(job, PHASE_EMIT, start, status);
}

/* ---- the pipeline ---- */

static rh_status run_job(RematJob *job, const char *path) {
  rh_status status = read_input(job, path);
  if (status == RH_OK) status = judge_input(job);
  if (status == RH_OK) status = schedule(job);
  if (status == RH_OK) status = measure_before(job);
  if (status == RH_OK) status = rematerialize(job);
  if (status == RH_OK) status = measure(job, job->result, &job->after);
  if (status == RH_OK) status = explain(job);
  if (status == RH_OK) status = write_results(job);
  return load_report(&job->loaded, status);
}

static bool is_algorithm_of_xla(const char *name) {
  static const char *const names[] = {"standard", "peak-priority"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(name, names[i]) == 0) return true;
  }
  return false;
}

static rh_remat_options remat_options(const Options *options) {
  bool counts_temps = strcmp(options->memory_model, "xla-remat") == 0;
  int by_model = counts_temps ? RH_COUNT_TEMP_OUTPUTS : RH_COUNT_TOTAL;
  bool is_compatible = options->compat && is_algorithm_of_xla(options->algorithm);
  rh_remat_options remat = RH_REMAT_OPTIONS_INIT;
  remat.algorithm = options->algorithm;
  remat.memory_model = options->memory_model;
  remat.limit_counts =
      (rh_limit_counts)(options->limit_counts < 0 ? by_model : options->limit_counts);
  remat.emit = (rh_emit)options->emit;
  remat.small_node_bytes = options->small_node_bytes;
  remat.remat_collectives = options->remat_collectives || is_compatible;
  remat.copies = (rh_copies)options->copies;
  remat.min_remat_bytes = options->min_remat_bytes;
  remat.block_size_limit = (uint32_t)options->block_size_limit;
  remat.block_factor = options->block_factor;
  remat.path_depth = (uint32_t)options->path_depth;
  return remat;
}

static void free_job(RematJob *job) {
  rh_module_free(job->result);
  if (job->baseline != job->scheduled) rh_module_free(job->baseline);
  rh_module_free(job->scheduled);
  load_free(&job->loaded);
  free(job->blocking.buffers);
  for (int i = 0; i < job->num_written; i++)
    free(job->written[i]);
}

/* ---- several files ---- */

static rh_status fail_usage(const char *what) {
  fprintf(stderr, "remat-hlo: error: %s\n", what);
  return RH_ERR_USAGE;
}

/* Before anything takes time. */
static rh_status check_dot_filter(const Options *options) {
  rh_diags *diags = rh_diags_new();
  rh_status status = rh_dot_check_filter(options->dot_filter, diags);
  if (status != RH_OK) {
    fprintf(stderr, "remat-hlo: error: --dot-filter: %s\n", rh_diags_get(diags, 0).message);
  }
  rh_diags_free(diags);
  return status;
}

static rh_status check_outputs(const Options *options) {
  const char *others[] = {options->output, options->json, options->dump_memlog};
  rh_status status = pictures_check(options, others, sizeof others / sizeof *others);
  if (status != RH_OK) return status;
#ifndef REMAT_HLO_DOT
  if (options->dump_dot) return fail_usage("--dump-dot: this remat-hlo was built without graphviz");
#endif
  if (options->dump_dot && check_dot_filter(options) != RH_OK) return RH_ERR_USAGE;
  if (options->num_files == 1) return RH_OK;
  if (options->output && !path_is_directory(options->output)) {
    return fail_usage("several files need a folder to be written to: -o FOLDER/");
  }
  if (options->dump_memlog && !path_is_directory(options->dump_memlog)) {
    return fail_usage("several files need a folder for their logs: --dump-memlog=FOLDER/");
  }
  if (!pictures_have_folders(options)) {
    return fail_usage("several files need a folder for their pictures, such as --svg=FOLDER/");
  }
  return RH_OK;
}

/* JSON of all files: an object for one, an array for several. */
typedef struct JsonOutput {
  Output output;
  bool is_open;
  bool is_array;
  size_t num_objects;
} JsonOutput;

static rh_status open_json(const Options *options, JsonOutput *json) {
  *json = (JsonOutput){.is_array = options->num_files > 1};
  if (!options->json || (options->dry_run && !output_is_stdout(options->json))) return RH_OK;
  rh_status status = output_open(options->json, options, &json->output);
  json->is_open = status == RH_OK;
  return status;
}

static rh_status write_json(JsonOutput *json, const RematJob *job) {
  if (!json->is_open) return RH_OK;
  char *text = job_json(job);
  if (!text) return RH_ERR_SYSTEM;
  const char *before = !json->is_array ? "" : json->num_objects++ ? ",\n" : "[\n";
  output_write(&json->output, before, strlen(before));
  output_write(&json->output, text, strlen(text));
  free(text);
  return RH_OK;
}

static rh_status close_json(JsonOutput *json, bool keep) {
  if (!json->is_open) return RH_OK;
  const char *end = !json->is_array ? "\n" : json->num_objects ? "\n]\n" : "[]\n";
  output_write(&json->output, end, strlen(end));
  return output_close(&json->output, keep);
}

static rh_status run_file(const Options *options, const char *path, const rh_profile *profile,
                          JsonOutput *json) {
  RematJob job = {.options = options,
                  .profile = profile,
                  .remat = remat_options(options),
                  .start_seconds = seconds_now()};
  rh_status status = run_job(&job, path);
  if (status == RH_OK && !job.is_met) status = RH_NO;
  if (status <= RH_NO) {
    bool is_taken = output_is_stdout(options->output) || output_is_stdout(options->json) ||
                    output_is_stdout(options->dump_memlog) || pictures_take_stdout(options);
    rh_status written = write_json(json, &job);
    if (written != RH_OK) status = written;
    if (!options->quiet) job_print_summary(&job, is_taken ? stderr : stdout);
  }
  free_job(&job);
  return status;
}

/* The gravest of all: a file that cannot be read does not keep the others from being done. */
static rh_status run_files(const Options *options, const rh_profile *profile) {
  JsonOutput json;
  rh_status worst = open_json(options, &json);
  if (worst != RH_OK) return worst;
  for (size_t i = 0; i < options->num_files; i++) {
    rh_status status = run_file(options, options->files[i], profile, &json);
    if (status > worst) worst = status;
    if (status == RH_ERR_USAGE) break;
  }
  rh_status closed = close_json(&json, worst <= RH_NO || options->num_files > 1);
  return closed > worst ? closed : worst;
}

rh_status cmd_remat(const Options *options) {
  rh_profile *profile = NULL;
  rh_status status = check_outputs(options);
  MessageForm form = (MessageForm)options->diagnostics;
  if (status == RH_OK) status = device_load(options->device, form, &profile);
  if (status == RH_OK) status = run_files(options, profile);
  rh_profile_free(profile);
  return status;
}
