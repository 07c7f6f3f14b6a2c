/* `compare --merge`: several logs become one comparison. */
#ifndef REMAT_HLO_CLI_COMPARE_MERGE_H
#define REMAT_HLO_CLI_COMPARE_MERGE_H

#include "compare/job.h"
#include "compare/lines.h"

typedef struct MergedLogs {
  Options options; /* those of the runs, with the outputs of this command */
  LogLines lines;  /* rows point into them */
  char *names[3];  /* budgets, schedulers and algorithms, with commas */
  bool is_joined;  /* there is a comparison to be shown */
} MergedLogs;

/* Reads the logs that the command line names and makes their comparison, as if one process had run
 * it. Reports on stderr which runs are there twice, and what is missing: shards, inputs, runs. It
 * returns RH_OVER_LIMIT if something is missing, and RH_ERR_INPUT if the logs are not of one
 * comparison or if an input could not be read. Call compare_files_free(), compare_grid_free() and
 * merged_logs_free() in any case. */
rh_status compare_merge(const Options *options, Comparison *comparison, MergedLogs *merged);
void merged_logs_free(MergedLogs *merged);

#endif
