/* The progress of `compare` on stderr. */
#ifndef REMAT_HLO_CLI_COMPARE_PROGRESS_H
#define REMAT_HLO_CLI_COMPARE_PROGRESS_H

#include "compare/job.h"
#include "progress_line.h"

typedef struct CompareProgress {
  ProgressLine line;
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
