/* The runs of `compare`, their results, and the functions that show them. */
#ifndef REMAT_HLO_CLI_COMPARE_JOB_H
#define REMAT_HLO_CLI_COMPARE_JOB_H

#include "module_list.h"
#include "output.h"
#include "remat/run.h"
#include "terminal.h"

/* ---- the grid of runs ---- */

/* The combinations that are run for each file: every budget with every scheduler and algorithm. */
typedef struct CompareGrid {
  const char **budgets, **schedulers, **algorithms; /* names without duplicates */
  Budget *limits;                                   /* one for each budget */
  size_t num_budgets, num_schedulers, num_algorithms;
  char *texts[3]; /* the names point into these texts */
} CompareGrid;

/* Reads the options. On failure it returns RH_ERR_USAGE and reports the reason on stderr. Call
 * compare_grid_free() in any case. */
rh_status compare_grid_read(const Options *options, CompareGrid *grid);
void compare_grid_free(CompareGrid *grid);

/* ---- runs ---- */

/* The columns of columns.def. */
#define COMPARE_TEXT const char *
#define COMPARE_INT int64_t
#define COMPARE_NUMBER double
#define COMPARE_BOOL bool

typedef struct CompareRow {
#define COLUMN(name, kind, when) COMPARE_##kind name;
#include "compare/columns.def"
} CompareRow;

typedef enum RunState {
  RUN_SKIPPED, /* because of the file, the scheduler, or the target */
  RUN_WANTED,
  RUN_DONE,   /* in this sweep or in an earlier one */
  RUN_FAILED, /* `diags` contains the reason */
} RunState;

typedef struct CompareFile CompareFile;

typedef struct CompareRun {
  CompareFile *file;
  size_t budget, scheduler, algorithm; /* indices into the grid */
  RunState state;
  bool is_kept; /* done in an earlier sweep: the log has its line already */
  bool has_row; /* done, and the thread that waits for the runs has processed it */
  rh_status status;
  rh_diags *diags;
  CompareRow row;
} CompareRun;

struct CompareFile {
  const ListedModule *listed; /* the file itself */
  CompareRun *runs;           /* in the order of the grid, one for each of its combinations */
  RematRun base;    /* the module in the order in which it would run; freed after the last run */
  RematRun *jobs;   /* one for each scheduler, in its order; `scheduled` is NULL if it is skipped */
  Options *options; /* options of the jobs, one for each scheduler */
  char hash[INPUT_HASH_CHARS];
  char *module;                     /* the name of the module */
  char times[RH_TIME_SOURCE_CHARS]; /* whose seconds there are before the runs */
  char **bounds; /* by scheduler: the instruction that sets the lower bound, empty if none alone */
  char *written; /* the path that --best has written */
  bool is_small; /* left out because of --min-peak */
  bool is_bad;   /* it cannot be read or measured */
};

typedef struct Comparison {
  const Options *options;
  const rh_profile *profile;
  const char *device; /* the name of the profile */
  char *settings;     /* the other options that change results, as text */
  unsigned threads_per_run;
  CompareGrid grid;
  ModuleList list;
  CompareFile *files; /* one for each module of the list */
  size_t num_files;
  Places *places;
  CompareRun *runs; /* of all files */
  size_t runs_per_file;
} Comparison;

static inline size_t compare_num_runs(const Comparison *comparison) {
  return comparison->num_files * comparison->runs_per_file;
}

/* Reads a file and measures the module in the order of each scheduler. Its runs are then RUN_WANTED
 * or RUN_SKIPPED, and their rows contain the columns that are known before a run. Problems are
 * reported on stderr. */
rh_status compare_load(const Comparison *comparison, CompareFile *file);

/* Frees the data that only the runs need. */
void compare_unload(const Comparison *comparison, CompareFile *file);

/* Executes a run that is wanted. It only reads the data that compare_load() has made, so several
 * runs can be executed at the same time. */
void compare_run(const Comparison *comparison, CompareRun *run);

/* Repeats a run and writes its module to --output. */
rh_status compare_write(const Comparison *comparison, const CompareRun *run);

/* ---- results ---- */

/* Returns the row of the first run of a file that is done, or NULL if none is done. */
const CompareRow *compare_first_row(const Comparison *comparison, const CompareFile *file);

/* Returns whether any file has finished runs with a scheduler and an algorithm. */
bool compare_has_runs(const Comparison *comparison, size_t scheduler, size_t algorithm);

/* Returns the best run of a file under a budget. If runs meet the budget, this is the one of them
 * with the least added time. If none does, or if the budget is `min`, it is the run with the lowest
 * peak. Returns NULL if no run is done. */
const CompareRun *compare_best(const Comparison *comparison, const CompareFile *file,
                               size_t budget);

/* Returns whether another run of the same file and budget is as good as this one. */
bool compare_is_tied(const Comparison *comparison, const CompareRun *run);

/* The lines that a log contains already; see lines.h. */
typedef struct LogLines LogLines;

/* A file of JSON lines, to which each run adds a line. */
typedef struct CompareLog {
  const char *path; /* NULL if no log is wanted */
  FILE *file;
  bool is_fresh; /* the first line replaces the previous content of the file */
  MessageForm form;
  LogLines *lines; /* the previous lines, for --resume */
} CompareLog;

/* On failure it returns RH_ERR_WRITE or RH_ERR_INPUT and reports the reason on stderr. Call
 * compare_log_close() in any case. */
rh_status compare_log_open(const Options *options, CompareLog *log);
rh_status compare_log_write(CompareLog *log, const CompareRow *row);
rh_status compare_log_close(CompareLog *log);

/* With --shard a log also says which inputs its worker has, before the first run, and how many runs
 * each of them has, when it has been read; merge.c finds holes by it. Lines that an earlier
 * sweep has written are not written again. */
rh_status compare_log_plan(CompareLog *log, const Comparison *comparison, const CompareFile *file);
rh_status compare_log_begin(CompareLog *log, const Comparison *comparison, const CompareFile *file);

/* Removes what --overwrite replaces, for a log without lines. */
void compare_log_clear(CompareLog *log);

/* Fills in the row of a run from its line in the log. Returns false if there is none. */
bool compare_log_find(const CompareLog *log, CompareRow *row);

/* Writes the runs that are done as CSV, one on each line. */
void compare_write_csv(const Comparison *comparison, Output *output);

/* Prints a table for each file. */
void compare_print(const Comparison *comparison, const Terminal *terminal);

/* Plots the peaks against the added time. */
void compare_write_pareto(const Comparison *comparison, bool is_page, Output *output);

#endif
