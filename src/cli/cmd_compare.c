#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "compare/job.h"
#include "compare/files.h"
#include "compare/merge.h"
#include "compare/progress.h"
#include "compare/results.h"
#include "device.h"
#include "interrupt.h"
#include "messages.h"
#include "path.h"
#include "workers.h"

/* ---- checks before the first run ---- */

static const char *fault_of(const Options *options) {
  bool is_one_budget = options->budgets && !strchr(options->budgets, ',');
  bool is_one_file = options->num_files == 1 && !path_is_directory(options->files[0]);
  if (options->resume && (!options->json || output_is_stdout(options->json))) {
    return "--resume needs the file that it goes on with, --json=FILE";
  }
  if (options->overwrite && options->resume) {
    return "--resume keeps the runs that --overwrite throws away: give one of them";
  }
  if (options->overwrite && !options->json) {
    return "--overwrite is for the runs in a file, --json=FILE";
  }
  if (options->best != (options->output != NULL)) {
    return options->best ? "--best needs a place to write to: -o OUT"
                         : "-o writes the best module: give --best with it";
  }
  if (options->best && !is_one_budget) return "--best takes one budget, such as --budgets=12GiB";
  if (options->best && !is_one_file && !path_is_directory(options->output)) {
    return "several files need a folder to be written to: -o FOLDER/";
  }
  return NULL;
}

static rh_status check_options(const Options *options) {
  const char *paths[] = {options->json, options->csv, options->pareto, options->output};
  const char *fault = fault_of(options);
  if (fault) {
    fprintf(stderr, "remat-hlo: error: %s\n", fault);
    return RH_ERR_USAGE;
  }
  return output_check(paths, sizeof paths / sizeof *paths);
}

/* ---- the sweep ---- */

typedef struct Sweep {
  Comparison comparison;
  CompareLog log;
  CompareProgress progress;
  Workers *workers;
  size_t num_finished; /* all runs before this one are written */
  rh_status worst;
  bool is_given_up;
} Sweep;

static void note_status(Sweep *sweep, rh_status status) {
  if (status > sweep->worst) sweep->worst = status;
}

static void work(void *context, size_t number) {
  const Sweep *sweep = context;
  CompareRun *run = &sweep->comparison.runs[number];
  if (run->state == RUN_WANTED) compare_run(&sweep->comparison, run);
}

static void finish_run(Sweep *sweep, CompareRun *run) {
  progress_hide(&sweep->progress);
  if (run->state == RUN_FAILED) {
    messages_print(&run->file->base.loaded.input, run->diags);
    note_status(sweep, run->status);
  } else if (run->state == RUN_DONE) {
    run->has_row = true;
    rh_status status = run->is_kept ? RH_OK : compare_log_write(&sweep->log, &run->row);
    note_status(sweep, status);
    sweep->is_given_up |= status != RH_OK; /* later results would be lost */
  }
  rh_diags_free(run->diags);
  run->diags = NULL;
}

static void write_best(Sweep *sweep, const CompareFile *file) {
  const CompareRun *best = compare_best(&sweep->comparison, file, 0);
  if (!best) return;
  note_status(sweep, best->row.met ? RH_OK : RH_OVER_LIMIT);
  note_status(sweep, compare_write(&sweep->comparison, best));
}

static void finish_file(Sweep *sweep, CompareFile *file) {
  if (sweep->comparison.options->best) write_best(sweep, file);
  compare_unload(&sweep->comparison, file);
}

/* Finishes runs in the order of the grid, no matter in which order they end. */
static void finish_what_is_done(Sweep *sweep) {
  const Comparison *comparison = &sweep->comparison;
  while (sweep->num_finished < compare_num_runs(comparison) && !sweep->is_given_up &&
         workers_are_done_with(sweep->workers, sweep->num_finished)) {
    CompareRun *run = &comparison->runs[sweep->num_finished++];
    finish_run(sweep, run);
    if (sweep->num_finished % comparison->runs_per_file == 0) finish_file(sweep, run->file);
    progress_show(&sweep->progress, run, sweep->num_finished);
  }
}

/* Takes over the runs that an earlier sweep has done. */
static void keep_runs(const Sweep *sweep, CompareFile *file) {
  for (size_t i = 0; i < sweep->comparison.runs_per_file; i++) {
    CompareRun *run = &file->runs[i];
    if (run->state != RUN_WANTED || !compare_log_find(&sweep->log, &run->row)) continue;
    run->state = RUN_DONE;
    run->is_kept = true;
  }
}

static void start_file(Sweep *sweep, size_t index) {
  CompareFile *file = &sweep->comparison.files[index];
  progress_hide(&sweep->progress);
  rh_status status = compare_load(&sweep->comparison, file);
  note_status(sweep, status);
  if (status == RH_OK) keep_runs(sweep, file);
  if (sweep->comparison.options->shard.count) {
    status = compare_log_begin(&sweep->log, &sweep->comparison, file);
    note_status(sweep, status);
    sweep->is_given_up |= status != RH_OK;
  }
  progress_plan(&sweep->progress, file->runs);
  workers_release(sweep->workers, (index + 1) * sweep->comparison.runs_per_file);
}

/* Returns false if a signal arrived or if writing failed. */
static bool wait_for_runs(Sweep *sweep) {
  if (!workers_wait(sweep->workers)) return false;
  finish_what_is_done(sweep);
  return !sweep->is_given_up;
}

/* Files are read one after the other and only slightly ahead of the runs, so that few of them are
 * in memory. */
static void run_files(Sweep *sweep, size_t num_jobs) {
  const Comparison *comparison = &sweep->comparison;
  for (size_t i = 0; i < comparison->num_files; i++) {
    while (workers_num_waiting(sweep->workers) > num_jobs) {
      if (!wait_for_runs(sweep)) return;
    }
    if (interrupt_signal() || sweep->is_given_up) return;
    start_file(sweep, i);
    finish_what_is_done(sweep);
  }
  while (sweep->num_finished < compare_num_runs(comparison) && wait_for_runs(sweep)) {}
}

/* Writes the runs that ended while an earlier run was not done yet. */
static void finish_interrupted(Sweep *sweep) {
  for (size_t i = sweep->num_finished; i < compare_num_runs(&sweep->comparison); i++) {
    if (sweep->is_given_up) return;
    if (workers_are_done_with(sweep->workers, i)) finish_run(sweep, &sweep->comparison.runs[i]);
  }
}

/* ---- the end ---- */

/* Says how to go on after an interruption. */
static void say_how_to_resume(const Options *options) {
  fputs("remat-hlo: note: interrupted; ", stderr);
  if (!options->json || output_is_stdout(options->json)) {
    fputs("with --json=FILE runs are kept, and --resume goes on with them\n", stderr);
  } else {
    fprintf(stderr, "the same command with --resume%s goes on with the runs in %s\n",
            options->overwrite ? " instead of --overwrite" : "", options->json);
  }
}

/* Writes the runs that are done and ends the program without waiting for the others. */
static _Noreturn void end_interrupted(Sweep *sweep, Results *results) {
  finish_interrupted(sweep);
  interrupt_defer(INTERRUPT_AT_ONCE);
  progress_hide(&sweep->progress);
  results_close(&sweep->comparison, results, true);
  results_print(&sweep->comparison);
  fflush(stdout);
  say_how_to_resume(sweep->comparison.options);
  _exit(128 + interrupt_signal());
}

/* ---- runs ---- */

static size_t num_processors(void) {
  long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? (size_t)count : 1;
}

/* Returns how many runs go on at the same time: as many as the user wants, else as many as there
 * are processors for, given the threads of each. */
static size_t num_jobs_of(const Comparison *comparison) {
  const Options *options = comparison->options;
  size_t num_runs = compare_num_runs(comparison), num_threads = options->remat.num_threads;
  size_t wanted = num_threads > 1 ? num_processors() / num_threads : num_processors();
  if (options->num_jobs) wanted = (size_t)options->num_jobs;
  if (wanted == 0) wanted = 1;
  return wanted < num_runs ? wanted : num_runs;
}

/* Returns how many threads each run may use, so that all together are no more than the processors.
 */
static unsigned threads_per_run(const Comparison *comparison, size_t num_jobs) {
  size_t most = num_processors() / (num_jobs ? num_jobs : 1),
         wanted = comparison->options->remat.num_threads;
  if (wanted > most) wanted = most;
  return wanted ? (unsigned)wanted : 1;
}

static rh_status run_sweep(Sweep *sweep, Results *results) {
  Comparison *comparison = &sweep->comparison;
  size_t num_jobs = num_jobs_of(comparison);
  comparison->threads_per_run = threads_per_run(comparison, num_jobs);
  progress_begin(comparison, &sweep->progress);
  sweep->workers = workers_start(compare_num_runs(comparison), num_jobs, work, sweep);
  if (!sweep->workers) {
    fprintf(stderr, "remat-hlo: error: %s\n", strerror(errno));
    return RH_ERR_WRITE;
  }
  run_files(sweep, num_jobs);
  if (interrupt_signal()) end_interrupted(sweep, results);
  workers_stop(sweep->workers);
  progress_hide(&sweep->progress);
  return sweep->worst;
}

static rh_status find_places(const Comparison *comparison) {
  PlacedInput *inputs = calloc(comparison->num_files, sizeof *inputs);
  if (!inputs) return input_out_of_memory(&(Input){.path = "remat-hlo"});
  for (size_t i = 0; i < comparison->num_files; i++) {
    const ListedModule *listed = comparison->files[i].listed;
    inputs[i] = (PlacedInput){listed->path, listed->root};
  }
  rh_status status = places_find(inputs, comparison->num_files, comparison->places);
  free(inputs);
  if (status == RH_OK) status = results_claim(comparison->options, comparison->places);
  if (status == RH_OK) status = remat_outputs_note(comparison->options, comparison->places);
  return status;
}

/* Writes which inputs this shard has. */
static rh_status plan(Sweep *sweep) {
  const Comparison *comparison = &sweep->comparison;
  rh_status status = RH_OK;
  if (!comparison->options->shard.count) return RH_OK;
  if (comparison->num_files == 0) compare_log_clear(&sweep->log);
  for (size_t i = 0; i < comparison->num_files && status == RH_OK; i++)
    status = compare_log_plan(&sweep->log, comparison, &comparison->files[i]);
  return status;
}

static rh_status run_with_results(Sweep *sweep) {
  const Options *options = sweep->comparison.options;
  Results results = {0};
  rh_status worst = find_places(&sweep->comparison), status;
  if (worst == RH_OK) worst = results_open(options, &results);
  if (worst == RH_OK) worst = compare_log_open(options, &sweep->log);
  bool is_open = worst == RH_OK;
  if (is_open) worst = plan(sweep);
  if (is_open && worst == RH_OK) worst = run_sweep(sweep, &results);
  status = compare_log_close(&sweep->log);
  if (status > worst) worst = status;
  status = results_close(&sweep->comparison, &results, is_open && !sweep->is_given_up);
  if (status > worst) worst = status;
  if (is_open) results_print(&sweep->comparison);
  return worst;
}

/* ---- --merge ---- */

static const char *fault_of_merge(const Options *options) {
  bool chooses = options->module || options->min_peak_bytes >= 0 || options->shard.count ||
                 options->algorithms || options->schedulers || options->budgets;
  if (options->resume || options->best || options->output) {
    return "--merge runs nothing: --resume, --best and -o are for runs";
  }
  return chooses ? "--merge shows the runs that the logs have: --module, --min-peak, --shard, "
                   "--algorithms, --schedulers and --budgets are for runs"
                 : NULL;
}

static rh_status check_merge(const Options *options) {
  const char *fault = fault_of_merge(options);
  if (!fault) return check_options(options);
  fprintf(stderr, "remat-hlo: error: %s\n", fault);
  return RH_ERR_USAGE;
}

/* The logs are inputs, which no output may replace. */
static rh_status claim_beside_logs(const Options *options) {
  Places places = {0};
  PlacedInput *inputs = calloc(options->num_files, sizeof *inputs);
  rh_status status = RH_OK;
  if (!inputs) status = input_out_of_memory(&(Input){.path = "remat-hlo"});
  for (size_t i = 0; i < options->num_files && inputs; i++)
    inputs[i] = (PlacedInput){options->files[i], NULL};
  if (status == RH_OK) status = places_find(inputs, options->num_files, &places);
  if (status == RH_OK) status = results_claim(options, &places);
  free(inputs);
  places_free(&places);
  return status;
}

static rh_status write_log(const Comparison *comparison, const Options *options) {
  CompareLog log;
  rh_status worst = compare_log_open(options, &log), status;
  if (worst == RH_OK && compare_num_runs(comparison) == 0) compare_log_clear(&log);
  for (size_t i = 0; i < compare_num_runs(comparison) && worst == RH_OK; i++) {
    if (comparison->runs[i].has_row) worst = compare_log_write(&log, &comparison->runs[i].row);
  }
  status = compare_log_close(&log);
  return status > worst ? status : worst;
}

static rh_status write_merged(const Comparison *comparison, const Options *options) {
  Results results;
  rh_status worst = results_open(options, &results), status;
  bool is_open = worst == RH_OK;
  if (is_open) worst = write_log(comparison, options);
  status = results_close(comparison, &results, worst == RH_OK);
  if (status > worst) worst = status;
  if (is_open) results_print(comparison);
  return worst;
}

static rh_status merge(const Options *options) {
  Comparison comparison = {0};
  MergedLogs merged = {0};
  rh_status worst = check_merge(options), status = RH_OK;
  if (worst == RH_OK) worst = claim_beside_logs(options);
  if (worst == RH_OK) worst = results_check_log(options);
  if (worst == RH_OK) {
    worst = compare_merge(options, &comparison, &merged);
    if (merged.is_joined) status = write_merged(&comparison, options);
    compare_files_free(&comparison);
    compare_grid_free(&comparison.grid);
    merged_logs_free(&merged);
  }
  return status > worst ? status : worst;
}

/* ---- the subcommand ---- */

rh_status cmd_compare(const Options *options) {
  if (options->merge) return merge(options);
  Places places = {0};
  Sweep sweep = {.comparison = {.options = options, .places = &places}};
  Comparison *comparison = &sweep.comparison;
  rh_profile *profile = NULL;
  rh_status status = check_options(options);
  if (status == RH_OK) status = results_check_log(options);
  if (status == RH_OK) status = compare_grid_read(options, &comparison->grid);
  if (status == RH_OK) {
    status = device_load(options, &profile);
  }
  comparison->profile = profile;
  if (profile) comparison->device = rh_profile_name(profile);
  if (status == RH_OK) status = compare_files_list(comparison);
  bool is_empty_shard = options->shard.count && status == RH_OK;
  if ((comparison->num_files || is_empty_shard) && status != RH_ERR_WRITE) {
    rh_status ran = run_with_results(&sweep);
    if (ran > status) status = ran;
  }
  places_free(&places);
  compare_files_free(comparison);
  compare_grid_free(&comparison->grid);
  rh_profile_free(profile);
  return status;
}
