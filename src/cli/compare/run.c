/* Makes the rows of a file: the file is loaded once, then there is a run for each scheduler,
 * algorithm and budget. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compare/job.h"
#include "memory.h"
#include "messages.h"
#include "progress_line.h"

/* Returns the CPU time of this thread, so that other runs at the same time are not counted. */
static double cpu_seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- before the runs ---- */

static rh_status load_base(const Comparison *comparison, CompareFile *file, Options *options) {
  RematRun *base = &file->base;
  *options = *comparison->options;
  base->options = options;
  base->profile = comparison->profile;
  base->places = comparison->places;
  base->number = (size_t)(file - comparison->files);
  base->remat = job_remat_options(options);
  rh_status status = job_read(base, file->listed->path);
  if (status != RH_OK) return status;
  options->schedule.ignore_schedule = false;
  options->schedule.inline_calls = RH_INLINE_AUTO;
  options->schedule.unfuse = 0;
  status = job_schedule(base);
  if (status == RH_OK) status = job_measure_before(base);
  if (status != RH_OK) return status;
  file->is_small = base->before.counted_bytes < module_min_peak(file->listed, comparison->options);
  return RH_OK;
}

static bool is_applicable(const Comparison *comparison, const CompareFile *file,
                          const char *scheduler) {
  const Options *options = comparison->options;
  bool is_scheduled =
      rh_get_info(file->base.loaded.module)->is_scheduled && !options->schedule.ignore_schedule;
  if (is_scheduled || strcmp(scheduler, "input") != 0) return true;
  if (is_watched(options)) {
    messages_say(&file->base.loaded.input, RH_SEVERITY_NOTE,
                 "the module is taken as unscheduled: there are no runs with the scheduler input");
  }
  return false;
}

static rh_status load_scheduled(const Comparison *comparison, CompareFile *file, size_t index) {
  RematRun *job = &file->jobs[index];
  Options *options = &file->options[index];
  *options = *comparison->options;
  options->schedule.scheduler = comparison->grid.schedulers[index];
  *job = file->base;
  job->options = options;
  job->scheduled = NULL;
  if (!is_applicable(comparison, file, options->schedule.scheduler)) return RH_OK;
  rh_status status = job_schedule(job);
  if (status == RH_OK) status = job_measure(job, job->scheduled, &job->middle);
  if (status != RH_OK) return status;
  rh_text bound = job->middle.memory.lower_bound_instruction;
  file->bounds[index] = strndup(bound.length ? bound.data : "", bound.length);
  return file->bounds[index] ? RH_OK : input_out_of_memory(&file->base.loaded.input);
}

/* What XLA estimates of the seconds of a cost; not known where it estimates none of them. */
static double estimated_seconds(const rh_cost *cost) {
  return cost->estimated_seconds > 0 ? cost->estimated_seconds : (double)NAN;
}

static void fill_before(const Comparison *comparison, CompareRun *run) {
  const CompareGrid *grid = &comparison->grid;
  const CompareFile *file = run->file;
  const RematRun *job = &file->jobs[run->scheduler];
  Options options = *job->options;
  options.limit = grid->limits[run->budget];
  RematRun limited = *job;
  limited.options = &options;
  run->row = (CompareRow){
      .input = file->base.loaded.input.path,
      .input_hash = file->hash,
      .module = file->module,
      .version = rh_version(),
      .memory_model = options.remat.memory_model,
      .limit_counts = limit_counts_words[job->remat.limit_counts],
      .target = job->loaded.settings.target,
      .profile = comparison->device,
      .settings = comparison->settings,
      .budget = grid->budgets[run->budget],
      .scheduler = grid->schedulers[run->scheduler],
      .algorithm = grid->algorithms[run->algorithm],
      .limit_bytes = job_limit(&limited),
      .peak_before_bytes = job->before.counted_bytes,
      .peak_scheduled_bytes = job->middle.counted_bytes,
      .lower_bound_bytes = job_lower_bound(job),
      .lower_bound_instruction = file->bounds[run->scheduler],
      .instructions_before = (int64_t)job->before.info.num_instructions,
      .flops_weighted_before = job->before.cost.flops_weighted,
      .bytes_accessed_weighted_before = job->before.cost.bytes_accessed_weighted,
      .times = file->times,
      .estimated_seconds_before = estimated_seconds(&job->before.cost),
      .seconds_before = job->before.cost.seconds,
  };
}

/* An algorithm that cannot change the module is run only if the user names it. */
static bool is_worthwhile(const Comparison *comparison, const CompareRun *run) {
  if (comparison->options->algorithms) return true;
  const char *name = comparison->grid.algorithms[run->algorithm];
  const rh_entry *algorithm = rh_find(RH_ALGORITHMS, name);
  const rh_entry *target = rh_find(RH_TARGETS, run->file->base.loaded.settings.target);
  return !algorithm || !(algorithm->traits & RH_TRAIT_NEEDS_PADDING) || !target ||
         target->traits & RH_TRAIT_PADS;
}

/* Warnings about a module that is left out are left out, too. */
static void report_or_drop(CompareFile *file, rh_status status) {
  Loaded *loaded = &file->base.loaded;
  if (status == RH_OK && file->is_small) {
    messages_drop(&loaded->input, loaded->diags);
    loaded->diags = memory_need(rh_diags_new());
  } else {
    load_report(loaded, status);
  }
}

rh_status compare_load(const Comparison *comparison, CompareFile *file) {
  const CompareGrid *grid = &comparison->grid;
  Options base_options;
  file->jobs = calloc(grid->num_schedulers, sizeof *file->jobs);
  file->options = calloc(grid->num_schedulers, sizeof *file->options);
  file->bounds = calloc(grid->num_schedulers, sizeof *file->bounds);
  if (!file->jobs || !file->options || !file->bounds)
    return input_out_of_memory(&(Input){.path = file->listed->path});
  rh_status status = load_base(comparison, file, &base_options);
  for (size_t i = 0; i < grid->num_schedulers && status == RH_OK && !file->is_small; i++)
    status = load_scheduled(comparison, file, i);
  report_or_drop(file, status);
  file->base.options = comparison->options;
  file->is_bad = status != RH_OK;
  input_hash(&file->base.loaded.input, file->hash);
  if (status != RH_OK || file->is_small) return status;
  rh_text name = file->base.before.info.name;
  file->module = strndup(name.data, name.length);
  if (!file->module) return input_out_of_memory(&(Input){.path = file->listed->path});
  rh_time_source(&file->base.before.cost, file->base.profile, file->times);
  for (size_t i = 0; i < comparison->runs_per_file; i++) {
    CompareRun *run = &file->runs[i];
    if (!file->jobs[run->scheduler].scheduled || !is_worthwhile(comparison, run)) continue;
    fill_before(comparison, run);
    run->state = RUN_WANTED;
  }
  return RH_OK;
}

void compare_unload(const Comparison *comparison, CompareFile *file) {
  for (size_t i = 0; file->jobs && i < comparison->grid.num_schedulers; i++)
    rh_module_free(file->jobs[i].scheduled);
  free(file->jobs);
  free(file->options);
  rh_module_free(file->base.scheduled);
  rh_profile_free(file->base.own_profile);
  spaces_free(&file->base.spaces_before);
  load_free(&file->base.loaded);
  file->jobs = NULL;
  file->options = NULL;
  file->base = (RematRun){0};
}

/* ---- a run ---- */

/* Executes a run as a job of its own, which shares its modules with the other runs. */
static rh_status rematerialize(const Comparison *comparison, const CompareRun *run,
                               Options *options, rh_diags *diags, RematRun *job) {
  *job = run->file->jobs[run->scheduler];
  *options = *job->options;
  options->remat.algorithm = comparison->grid.algorithms[run->algorithm];
  options->limit = comparison->grid.limits[run->budget];
  job->options = options;
  job->remat = job_remat_options(options);
  job->remat.num_threads = comparison->threads_per_run;
  job->loaded.diags = diags;
  rh_status status = job_rematerialize(job);
  return status == RH_OK ? job_measure_after(job) : status;
}

/* Frees what a run has for itself. */
static void free_result(RematRun *job) {
  rh_module_free(job->result);
  spaces_free(&job->spaces_after);
}

/* Sums that are added in different orders differ in their last digits. Such a difference is not
 * counted as time. */
static double added_seconds(double before, double after) {
  double added = after - before;
  return fabs(added) <= 1e-12 * before ? 0 : added;
}

static void fill_after(const RematRun *job, CompareRow *row) {
  const Figures *after = &job->after;
  int64_t reducible = row->peak_before_bytes - row->lower_bound_bytes;
  int64_t removed = row->peak_before_bytes - after->counted_bytes;
  row->peak_after_bytes = after->counted_bytes;
  row->met = job->is_met;
  row->removed = reducible > 0 ? (double)removed / (double)reducible : NAN;
  row->estimated_seconds_after = estimated_seconds(&after->cost);
  row->seconds_after = after->cost.seconds;
  row->added_seconds = added_seconds(row->seconds_before, after->cost.seconds);
  row->overhead = row->seconds_before > 0 ? row->added_seconds / row->seconds_before : 0;
  row->flops_weighted_after = after->cost.flops_weighted;
  row->bytes_accessed_weighted_after = after->cost.bytes_accessed_weighted;
  row->instructions_after = (int64_t)after->info.num_instructions;
  row->rematerialized = (int64_t)after->info.num_rematerialized;
  row->moved = (int64_t)job->outcome.num_moved;
}

void compare_run(const Comparison *comparison, CompareRun *run) {
  double start = cpu_seconds_now();
  Options options;
  RematRun job;
  run->diags = memory_need(rh_diags_new());
  run->status = rematerialize(comparison, run, &options, run->diags, &job);
  /* If memory ran out, this ends the program. */
  if (run->status == RH_ERR_MEMORY) messages_print(&job.loaded.input, run->diags);
  run->state = run->status == RH_OK ? RUN_DONE : RUN_FAILED;
  if (run->status == RH_OK) fill_after(&job, &run->row);
  free_result(&job);
  run->row.cpu_seconds = cpu_seconds_now() - start;
}

rh_status compare_write(const Comparison *comparison, const CompareRun *run) {
  Options options;
  RematRun job;
  CompareFile *file = run->file;
  rh_diags *diags = file->base.loaded.diags;
  rh_status status = rematerialize(comparison, run, &options, diags, &job);
  if (status == RH_OK) status = job_write(&job);
  if (job.num_written) file->written = job.written[0];
  free_result(&job);
  return load_report(&file->base.loaded, status);
}

/* ---- the first, the best ---- */

const CompareRow *compare_first_row(const Comparison *comparison, const CompareFile *file) {
  for (size_t i = 0; i < comparison->runs_per_file; i++) {
    if (file->runs[i].has_row) return &file->runs[i].row;
  }
  return NULL;
}

bool compare_has_runs(const Comparison *comparison, size_t scheduler, size_t algorithm) {
  for (size_t i = 0; i < compare_num_runs(comparison); i++) {
    const CompareRun *run = &comparison->runs[i];
    if (run->has_row && run->scheduler == scheduler && run->algorithm == algorithm) return true;
  }
  return false;
}

/* Returns the overhead in billionths of the time before. Smaller differences are ignored. */
static int64_t overhead_of(const CompareRow *row) {
  return (int64_t)llround(row->overhead * 1e9);
}

static bool is_better(const CompareRow *a, const CompareRow *b, bool is_min) {
  if (a->met != b->met) return a->met;
  bool is_by_time = a->met && !is_min;
  if (is_by_time && overhead_of(a) != overhead_of(b)) return overhead_of(a) < overhead_of(b);
  if (a->peak_after_bytes != b->peak_after_bytes) return a->peak_after_bytes < b->peak_after_bytes;
  return overhead_of(a) < overhead_of(b);
}

bool compare_is_tied(const Comparison *comparison, const CompareRun *run) {
  bool is_min = comparison->grid.limits[run->budget].kind == BUDGET_MIN;
  for (size_t i = 0; i < comparison->runs_per_file; i++) {
    const CompareRun *other = &run->file->runs[i];
    if (other == run || other->budget != run->budget || !other->has_row) continue;
    bool is_equal =
        !is_better(&run->row, &other->row, is_min) && !is_better(&other->row, &run->row, is_min);
    if (is_equal) return true;
  }
  return false;
}

const CompareRun *compare_best(const Comparison *comparison, const CompareFile *file,
                               size_t budget) {
  bool is_min = comparison->grid.limits[budget].kind == BUDGET_MIN;
  const CompareRun *best = NULL;
  for (size_t i = 0; i < comparison->runs_per_file; i++) {
    const CompareRun *run = &file->runs[i];
    if (run->budget != budget || !run->has_row) continue;
    if (!best || is_better(&run->row, &best->row, is_min)) best = run;
  }
  return best;
}
