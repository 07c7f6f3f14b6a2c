#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "compare.h"
#include "compare_files.h"
#include "compare_progress.h"
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

/* A log can be the result of hours of work, so it is not overwritten by mistake. */
static rh_status check_log(const Options *options) {
  struct stat kind;
  bool is_free = !options->json || options->resume || options->overwrite ||
                 output_is_stdout(options->json) || stat(options->json, &kind) != 0 ||
                 !S_ISREG(kind.st_mode) || kind.st_size == 0;
  if (is_free) return RH_OK;
  fprintf(stderr,
          "remat-hlo: error: '%s' is not empty: --resume adds the runs that it does not have, "
          "--overwrite throws away what it has\n",
          options->json);
  return RH_ERR_USAGE;
}

static bool is_stdout_taken(const Options *options) {
  return output_is_stdout(options->json) || output_is_stdout(options->csv) ||
         output_is_stdout(options->pareto) || output_is_stdout(options->output);
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

/* ---- outputs ---- */

typedef struct Results {
  Output csv, pareto;
  bool has_csv, has_pareto;
} Results;

/* Opens the outputs before the first run, so that a file that cannot be written is reported
 * immediately. */
static rh_status open_results(const Options *options, Results *results) {
  *results = (Results){0};
  rh_status status = RH_OK;
  if (options->csv) {
    status = output_open(options->csv, options, &results->csv);
    results->has_csv = status == RH_OK;
  }
  if (status == RH_OK && options->pareto) {
    status = output_open(options->pareto, options, &results->pareto);
    results->has_pareto = status == RH_OK;
  }
  return status;
}

static rh_status close_results(const Comparison *comparison, Results *results, bool keep) {
  rh_status worst = RH_OK, status;
  if (results->has_csv) {
    if (keep) compare_write_csv(comparison, &results->csv);
    worst = output_close(&results->csv, keep);
  }
  if (results->has_pareto) {
    bool is_page = path_ends_in(comparison->options->pareto, ".html");
    if (keep) compare_write_pareto(comparison, is_page, &results->pareto);
    status = output_close(&results->pareto, keep);
    if (status > worst) worst = status;
  }
  return worst;
}

static void print_tables(const Comparison *comparison) {
  if (comparison->options->quiet) return;
  Terminal terminal = terminal_of(is_stdout_taken(comparison->options) ? stderr : stdout);
  compare_print(comparison, &terminal);
}

/* Writes the runs that are done and ends the program without waiting for the others. */
static _Noreturn void end_interrupted(Sweep *sweep, Results *results) {
  finish_interrupted(sweep);
  interrupt_defer(INTERRUPT_AT_ONCE);
  progress_hide(&sweep->progress);
  close_results(&sweep->comparison, results, true);
  print_tables(&sweep->comparison);
  fflush(stdout);
  _exit(128 + interrupt_signal());
}

/* ---- the subcommand ---- */

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

/* Notes the files that --best writes, and the files that are written for all inputs together. */
static rh_status note_places(const Comparison *comparison) {
  const Options *options = comparison->options;
  const struct {
    const char *option, *path;
  } results[] = {{"--json", options->json}, {"--csv", options->csv}, {"--pareto", options->pareto}};
  rh_status status = RH_OK;
  for (size_t i = 0; i < sizeof results / sizeof *results && status == RH_OK; i++) {
    if (!results[i].path) continue;
    status = places_claim(comparison->places, results[i].path, results[i].option, PLACE_OF_ALL);
  }
  return status == RH_OK ? remat_outputs_note(options, comparison->places) : status;
}

static rh_status find_places(const Comparison *comparison) {
  PlacedInput *inputs = calloc(comparison->num_files, sizeof *inputs);
  if (!inputs) return input_out_of_memory(&(Input){.path = "remat-hlo"});
  for (size_t i = 0; i < comparison->num_files; i++) {
    inputs[i] = (PlacedInput){comparison->files[i].path, comparison->files[i].root};
  }
  rh_status status = places_find(inputs, comparison->num_files, comparison->places);
  free(inputs);
  return status == RH_OK ? note_places(comparison) : status;
}

static rh_status run_with_results(Sweep *sweep) {
  const Options *options = sweep->comparison.options;
  Results results = {0};
  rh_status worst = find_places(&sweep->comparison), status;
  if (worst == RH_OK) worst = open_results(options, &results);
  if (worst == RH_OK) worst = compare_log_open(options, &sweep->log);
  bool is_open = worst == RH_OK;
  if (is_open) worst = run_sweep(sweep, &results);
  status = compare_log_close(&sweep->log);
  if (status > worst) worst = status;
  status = close_results(&sweep->comparison, &results, is_open && !sweep->is_given_up);
  if (status > worst) worst = status;
  if (is_open) print_tables(&sweep->comparison);
  return worst;
}

rh_status cmd_compare(const Options *options) {
  Places places = {0};
  Sweep sweep = {.comparison = {.options = options, .places = &places}};
  Comparison *comparison = &sweep.comparison;
  rh_profile *profile = NULL;
  rh_status status = check_options(options);
  if (status == RH_OK) status = check_log(options);
  if (status == RH_OK) status = compare_grid_read(options, &comparison->grid);
  if (status == RH_OK) {
    status = device_load(options, &profile);
  }
  comparison->profile = profile;
  if (status == RH_OK) status = compare_files_list(comparison);
  if (comparison->num_files && status != RH_ERR_WRITE) {
    rh_status ran = run_with_results(&sweep);
    if (ran > status) status = ran;
  }
  places_free(&places);
  compare_files_free(comparison);
  compare_grid_free(&comparison->grid);
  rh_profile_free(profile);
  return status;
}
