#include <stdlib.h>
#include <string.h>

#include "check/job.h"
#include "command.h"
#include "load.h"
#include "messages.h"
#include "progress_line.h"

static rh_status check_options(const Options *options) {
  const char *paths[] = {options->json, options->csv, options->write_baseline};
  if (options->force && !options->baseline) {
    fputs("remat-hlo: error: --force is for --baseline\n", stderr);
    return RH_ERR_USAGE;
  }
  return output_check(paths, sizeof paths / sizeof *paths);
}

/* ---- one file ---- */

static rh_status lint(Loaded *loaded, const Options *options, uint64_t *num_findings) {
  rh_lint_options chosen = RH_LINT_OPTIONS_INIT;
  chosen.is_strict = options->strict;
  chosen.max_findings = (uint64_t)options->max_errors;
  rh_status status = rh_lint(loaded->module, &chosen, num_findings, loaded->diags);
  uint64_t num_shown = rh_diags_len(loaded->diags);
  load_report(loaded, status);
  if (*num_findings <= num_shown) return status;
  char count[RH_FORMAT_CHARS];
  rh_format_count(*num_findings - num_shown, count);
  messages_say(&loaded->input, RH_SEVERITY_NOTE, "%s more findings; --max-errors shows more",
               count);
  return status;
}

static rh_status note_identity(const Loaded *loaded, CheckedModule *module) {
  rh_module_info info = *rh_get_info(loaded->module);
  module->is_read = true;
  module->path = loaded->input.path;
  module->name = strndup(info.name.data, info.name.length);
  module->num_computations = info.num_computations;
  module->num_instructions = info.num_instructions;
  module->is_scheduled = info.is_scheduled;
  return module->name ? RH_OK : input_out_of_memory(&loaded->input);
}

static void print_identity(const CheckedModule *module, const Options *options) {
  char computations[RH_FORMAT_CHARS], instructions[RH_FORMAT_CHARS];
  rh_format_count(module->num_computations, computations);
  rh_format_count(module->num_instructions, instructions);
  fprintf(check_summary(options), "%s: %s, computations: %s, instructions: %s%s\n", module->path,
          module->name, computations, instructions, module->is_scheduled ? ", scheduled" : "");
}

/* Folders are always measured, because small modules are left out of their tables. */
static bool is_to_be_measured(const CheckedModule *module, const Options *options) {
  return bounds_are_given(options) || options->json || options->csv || module->listed->chosen;
}

static rh_status check_module(const Options *options, CheckedModule *module) {
  Loaded loaded;
  rh_status status = load_to_measure(module->path, options, &loaded);
  if (status == RH_OK) status = note_identity(&loaded, module);
  if (status == RH_OK) status = lint(&loaded, options, &module->num_findings);
  bool has_line = !module->listed->chosen && !options->quiet;
  if (status == RH_OK && has_line) print_identity(module, options);
  if (status == RH_OK && is_to_be_measured(module, options)) {
    status = bounds_measure(&loaded, options, module);
  }
  load_free(&loaded);
  return status;
}

/* Validates a stage that is not the one whose memory is measured. */
static rh_status check_stage(const char *path, const Options *options, CheckedModule *module) {
  Loaded loaded;
  uint64_t num_findings = 0;
  rh_status status = load_module(path, options, &loaded);
  if (status == RH_OK) status = lint(&loaded, options, &num_findings);
  module->num_findings += num_findings;
  load_free(&loaded);
  return status;
}

static rh_status check_stages(const Options *options, CheckedModule *module) {
  const ListedModule *listed = module->listed;
  rh_status worst = check_module(options, module);
  for (size_t i = 0; i < listed->num_stages && worst != RH_ERR_USAGE; i++) {
    if (&listed->stages[i] == listed->chosen) continue;
    rh_status status = check_stage(listed->stages[i].path, options, module);
    if (status > worst) worst = status;
  }
  return worst;
}

/* ---- all files ---- */

static void note_status(CheckJob *job, rh_status status) {
  if (status > job->status) job->status = status;
}

static bool has_folder(const CheckJob *job) {
  return job->list.num_folders > 0;
}

static void check_all(CheckJob *job) {
  ProgressLine progress = progress_line_begin(job->options);
  progress.is_wanted &= has_folder(job);
  for (size_t i = 0; i < job->list.len; i++) {
    char line[1024];
    snprintf(line, sizeof line, "[%zu of %zu] %s", i + 1, job->list.len, job->modules[i].path);
    progress_line_show(&progress, line);
    rh_status status = check_stages(job->options, &job->modules[i]);
    progress_line_hide(&progress);
    note_status(job, status);
    if (status == RH_ERR_USAGE) return; /* it would be the same for the others */
  }
}

static void check_list(CheckJob *job) {
  const Options *options = job->options;
  job->modules = calloc(job->list.len, sizeof *job->modules);
  if (!job->modules) {
    note_status(job, input_out_of_memory(&(Input){.path = "remat-hlo"}));
    return;
  }
  for (size_t i = 0; i < job->list.len; i++) {
    job->modules[i].listed = &job->list.modules[i];
    job->modules[i].path = job->list.modules[i].path;
  }
  check_all(job);
  if (job->status == RH_ERR_USAGE) return;
  note_status(job, bounds_compare(job));
  if (!options->quiet && has_folder(job)) check_print(job);
  if (options->json) note_status(job, check_write_json(job));
  if (options->csv) note_status(job, check_write_csv(job));
  bool is_written = job->status == RH_OK && options->write_baseline;
  if (is_written) note_status(job, check_write_baseline(job));
}

static void free_job(CheckJob *job) {
  for (size_t i = 0; job->modules && i < job->list.len; i++) {
    free(job->modules[i].name);
    free(job->modules[i].report);
    baseline_free(&job->modules[i].now);
  }
  free(job->modules);
  baseline_free(&job->baseline);
  module_list_free(&job->list);
}

rh_status cmd_check(const Options *options) {
  CheckJob job = {.options = options};
  job.status = check_options(options);
  if (job.status == RH_OK) job.status = baseline_read(options, &job.baseline);
  if (job.status == RH_OK) {
    job.status = module_list_read(options, &job.list);
    if (job.list.len) check_list(&job);
  }
  free_job(&job);
  return job.status;
}
