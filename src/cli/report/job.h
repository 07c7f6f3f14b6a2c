/* A report on one module, and its output formats. */
#ifndef REMAT_HLO_CLI_REPORT_JOB_H
#define REMAT_HLO_CLI_REPORT_JOB_H

#include <stdio.h>

#include "dump_folder.h"
#include "load.h"
#include "output.h"
#include "terminal.h"

typedef struct ReportJob {
  const Options *options;
  Loaded loaded;
  rh_module *scheduled;
  rh_report *report;
  rh_advice *advice;   /* NULL if it is not wanted, or left out */
  bool is_advice_left; /* it would take much longer than the report */
  int64_t
      min_peak_bytes; /* a module with a smaller peak is left out, and no warning of it printed */
  const struct ReportJob *before; /* what the module is compared with, NULL = nothing */
  const DumpStage *stages; /* of the module in its folder; NULL if only one file is reported on */
  size_t num_stages;
} ReportJob;

/* Reads, schedules and analyses a module whose peak should not be below `min_peak_bytes`. If it
 * leaves open whether XLA has inserted its copies, the answer for `before`, which may be NULL, is
 * the answer for it, too. Problems are reported on stderr. Call report_free() in any case. */
rh_status report_run(const char *path, int64_t min_peak_bytes, const Options *options,
                     const ReportJob *before, ReportJob *job);
void report_free(ReportJob *job);

/* Like report_run(), for a module that is already loaded and a job that is filled in. */
rh_status report_explain(ReportJob *job);
bool report_is_small(const ReportJob *job);

/* Calls rh_compare_sums() and ends the program if memory runs out. */
void report_compare_sums(const ReportJob *job, rh_sums before, rh_sums after, rh_change_fn visit,
                         void *context);

/* Prints tables, each with as many rows as --top specifies. */
void report_print(const ReportJob *job, const Terminal *terminal);

/* Prints the call stacks of the live set, those with the most bytes first. */
void report_print_calls(const rh_report *report, size_t top, const Terminal *terminal);

/* Returns a JSON object, which the caller frees, or NULL if out of memory. The manual page
 * documents its keys. A baseline contains no live set, only its sums. */
char *report_json(const ReportJob *job, bool is_baseline);

/* Writes the live set as CSV, one value on each line after a line of column names. */
void report_write_csv(const rh_report *report, Output *output);

/* These show the differences between two reports. */
void report_print_difference(const ReportJob *before, const ReportJob *after,
                             const Terminal *terminal);
char *report_difference_json(const ReportJob *before, const ReportJob *after);
rh_status report_write_difference_csv(const ReportJob *before, const ReportJob *after);

/* Reports on all modules of a dump folder, sorted by their peaks. */
rh_status report_folder(const char *path, const Options *options, const Terminal *terminal);

#endif
