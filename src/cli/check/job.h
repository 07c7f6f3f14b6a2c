/* What `check` finds out about modules, and its outputs. */
#ifndef REMAT_HLO_CLI_CHECK_JOB_H
#define REMAT_HLO_CLI_CHECK_JOB_H

#include "check/baseline.h"
#include "module_list.h"
#include "output.h"
#include "report/job.h"

typedef struct CheckedModule {
  const ListedModule *listed;
  const char *path; /* for messages */
  bool is_read;     /* its text is that of a module; else nothing below is known */
  char *name;
  uint64_t num_computations, num_instructions;
  uint64_t num_findings; /* of all stages */
  bool is_scheduled;
  char *report;           /* in JSON, as a baseline has it; NULL if it is not measured */
  Baseline now;           /* the report as a baseline of one module */
  MeasuredModule *before; /* the same module in the baseline; NULL if there is none */
  int64_t allowed_bytes;  /* by the baseline and its tolerance */
  bool is_over_max_peak, is_over_baseline;
} CheckedModule;

typedef struct CheckJob {
  const Options *options;
  ModuleList list;
  CheckedModule *modules; /* one for each of the list */
  Baseline baseline;
  rh_status status; /* the most severe one */
} CheckJob;

/* Returns the stream for the summary, which is stderr if something else goes to stdout. */
FILE *check_summary(const Options *options);

/* Whether a module is left out of tables because of its peak. */
bool check_is_small(const CheckedModule *module, const Options *options);

/* Whether a module of the baseline is missing, and would be named as such. */
bool check_is_missing(const CheckJob *job, const MeasuredModule *was);

/* ---- bounds ---- */

/* Returns whether the options ask for a bound on the peak, or for a baseline to be written. */
bool bounds_are_given(const Options *options);

/* Measures a loaded module, compares its peak with --max-peak and reports on stderr by how much it
 * is larger. */
rh_status bounds_measure(const Loaded *loaded, const Options *options, CheckedModule *module);

/* Compares all modules with the baseline. It returns RH_OVER_LIMIT and reports on stderr what grew
 * if a peak is too large, and RH_ERR_USAGE if the baseline is one of other modules. */
rh_status bounds_compare(CheckJob *job);

/* ---- outputs ---- */

/* Prints a table of the modules of folders. */
void check_print(const CheckJob *job);

rh_status check_write_json(const CheckJob *job);
rh_status check_write_csv(const CheckJob *job);

/* Writes the reports of all modules as a baseline: a list if there can be several. */
rh_status check_write_baseline(const CheckJob *job);

#endif
