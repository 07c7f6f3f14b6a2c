/* A report of one module, and the forms that it is shown in. */
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
  const DumpStage *stages; /* of the module in its folder, NULL for one file */
  size_t num_stages;
} ReportJob;

/* Reads, schedules and explains a module. What is wrong is on stderr. report_free() in any case. */
rh_status report_run(const char *path, const Options *options, ReportJob *job);
void report_free(ReportJob *job);

/* The same for a module that is loaded already. */
rh_status report_explain(ReportJob *job);

/* rh_compare_sums; ends the program if memory runs out. */
void report_compare_sums(const ReportJob *job, rh_sums before, rh_sums after, rh_change_fn visit,
                         void *context);

/* Tables, as many rows each as --top says. */
void report_print(const ReportJob *job, const Terminal *terminal);

/* An object, to be freed; NULL without memory. Its keys are in the manual page. A baseline has no
 * live set, only sums of it. */
char *report_json(const ReportJob *job, bool is_baseline);

/* The live set, a value a line under a line of names. */
void report_write_csv(const rh_report *report, Output *output);

/* What makes the difference between two. */
void report_print_difference(const ReportJob *before, const ReportJob *after,
                             const Terminal *terminal);
char *report_difference_json(const ReportJob *before, const ReportJob *after);

/* All modules of a dump folder, by their peaks. */
rh_status report_folder(const char *path, const Options *options, const Terminal *terminal);

#endif
