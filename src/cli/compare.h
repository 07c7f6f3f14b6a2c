/* What `compare` runs, what comes of it, and who shows it. */
#ifndef REMAT_HLO_CLI_COMPARE_H
#define REMAT_HLO_CLI_COMPARE_H

#include "output.h"
#include "remat_run.h"
#include "terminal.h"

/* ---- what is run ---- */

/* Of each file: every budget with every scheduler and every algorithm. */
typedef struct CompareGrid {
  const char **budgets, **schedulers, **algorithms; /* names without repetitions */
  Budget *limits;                                   /* by budget */
  size_t num_budgets, num_schedulers, num_algorithms;
  char *texts[3]; /* that names lie in */
} CompareGrid;

/* Reads the options. RH_ERR_USAGE, the reason on stderr. compare_grid_free() in any case. */
rh_status compare_grid_read(const Options *options, CompareGrid *grid);
void compare_grid_free(CompareGrid *grid);

/* ---- runs ---- */

/* The columns of compare_columns.def. */
#define COMPARE_TEXT const char *
#define COMPARE_INT int64_t
#define COMPARE_NUMBER double
#define COMPARE_BOOL bool

typedef struct CompareRow {
#define COLUMN(name, kind, when) COMPARE_##kind name;
#include "compare_columns.def"
} CompareRow;

typedef enum RunState {
  RUN_SKIPPED, /* for the file, the scheduler, or the target */
  RUN_WANTED,
  RUN_DONE,   /* now or earlier */
  RUN_FAILED, /* `diags` say why */
} RunState;

typedef struct CompareFile CompareFile;

typedef struct CompareRun {
  CompareFile *file;
  size_t budget, scheduler, algorithm; /* in the grid */
  RunState state;
  bool is_kept; /* done earlier: it is a line already */
  bool has_row; /* done, and whoever waits for runs knows it */
  rh_status status;
  rh_diags *diags;
  CompareRow row;
} CompareRun;

struct CompareFile {
  char *path;
  const char *root; /* the folder that it was found in; NULL = it was given itself */
  CompareRun *runs; /* in the order of the grid; as many as it has */
  RematRun base;    /* the module in the order that it would run in; freed behind the last run */
  RematRun *jobs;   /* by scheduler: in its order; `scheduled` NULL = the scheduler is skipped */
  Options *options; /* of those, likewise */
  char hash[20];
  char *module;  /* its name */
  char *written; /* by --best */
};

typedef struct Comparison {
  const Options *options;
  const rh_profile *profile;
  char *settings; /* other options, in words */
  CompareGrid grid;
  CompareFile *files;
  size_t num_files;
  Places *places;
  CompareRun *runs; /* of all files */
  size_t runs_per_file;
} Comparison;

static inline size_t compare_num_runs(const Comparison *comparison) {
  return comparison->num_files * comparison->runs_per_file;
}

/* Reads a file and measures it in the order of each scheduler: its runs are then RUN_WANTED, or
 * RUN_SKIPPED, and their rows filled with what is known before. What is wrong is on stderr. */
rh_status compare_load(const Comparison *comparison, CompareFile *file);

/* Frees what only runs need. */
void compare_unload(const Comparison *comparison, CompareFile *file);

/* Does a run that is wanted. Reads only what compare_load() has made, so that several can be done
 * at the same time. */
void compare_run(const Comparison *comparison, CompareRun *run);

/* Does a run again, and writes its module to --output. */
rh_status compare_write(const Comparison *comparison, const CompareRun *run);

/* ---- what came of it ---- */

/* The row of a file's first run that is done; NULL when none is. */
const CompareRow *compare_first_row(const Comparison *comparison, const CompareFile *file);

/* Whether any file has runs with a scheduler and an algorithm. */
bool compare_has_runs(const Comparison *comparison, size_t scheduler, size_t algorithm);

/* The best run of a file under a budget: that which meets it at the least added time, or with the
 * lowest peak when none does, or when it is `min`. NULL when none is done. */
const CompareRun *compare_best(const Comparison *comparison, const CompareFile *file,
                               size_t budget);

/* Lines that are there already. */
typedef struct CompareLines CompareLines;

/* A file of JSON lines that grows by one a run. */
typedef struct CompareLog {
  const char *path; /* NULL = nobody wants one */
  FILE *file;
  bool is_fresh; /* what the file has is not ours */
  MessageForm form;
  CompareLines *lines; /* of --resume */
} CompareLog;

/* RH_ERR_WRITE or RH_ERR_INPUT, the reason on stderr; compare_log_close() in any case. */
rh_status compare_log_open(const Options *options, CompareLog *log);
rh_status compare_log_write(CompareLog *log, const CompareRow *row);
rh_status compare_log_close(CompareLog *log);

/* Fills in what a line has of a run. False when there is none. */
bool compare_log_find(const CompareLog *log, CompareRow *row);

/* Runs that are done, a line a run. */
void compare_write_csv(const Comparison *comparison, Output *output);

/* A table for each file. */
void compare_print(const Comparison *comparison, const Terminal *terminal);

/* Peaks against added time. */
void compare_write_pareto(const Comparison *comparison, bool is_page, Output *output);

#endif
