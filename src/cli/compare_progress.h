/* The progress of `compare` on stderr. A terminal shows one line that is updated; other files
 * receive a line for each run. */
#ifndef REMAT_HLO_CLI_COMPARE_PROGRESS_H
#define REMAT_HLO_CLI_COMPARE_PROGRESS_H

#include "compare.h"

typedef struct CompareProgress {
  bool is_wanted, is_line; /* `is_line`: one line of a terminal is updated */
  bool is_shown;
  size_t width;
  size_t num_runs, runs_per_file;
  size_t num_planned, num_unplanned; /* wanted runs of files that are read; runs of the others */
  size_t num_run;
  double start_seconds;
} CompareProgress;

void progress_begin(const Comparison *comparison, CompareProgress *progress);

/* Counts the wanted runs of a file. */
void progress_plan(CompareProgress *progress, const CompareRun *runs);

/* Must be called after each run. */
void progress_show(CompareProgress *progress, const CompareRun *run, size_t num_finished);

/* Must be called before anything else is written. */
void progress_hide(CompareProgress *progress);

#endif
