/* How far `compare` is, on stderr: a line that changes in a terminal, else a line a run. */
#ifndef REMAT_HLO_CLI_COMPARE_PROGRESS_H
#define REMAT_HLO_CLI_COMPARE_PROGRESS_H

#include "compare.h"

typedef struct CompareProgress {
  bool is_wanted, is_line; /* of a terminal */
  bool is_shown;
  size_t width;
  size_t num_runs, runs_per_file;
  size_t num_planned, num_unplanned; /* to be run: of files that are read, and at most of others */
  size_t num_run;
  double start_seconds;
} CompareProgress;

void progress_begin(const Comparison *comparison, CompareProgress *progress);

/* Takes note of which runs of a file are wanted. */
void progress_plan(CompareProgress *progress, const CompareRun *runs);

/* After a run. */
void progress_show(CompareProgress *progress, const CompareRun *run, size_t num_finished);

/* Before something else is written. */
void progress_hide(CompareProgress *progress);

#endif
