/* The bounds on a peak that `check` enforces. */
#ifndef REMAT_HLO_CLI_BOUNDS_H
#define REMAT_HLO_CLI_BOUNDS_H

#include "report_job.h"

/* Returns whether the options ask for such a check. */
bool bounds_are_given(const Options *options);

/* Returns RH_ERR_USAGE and reports the reason on stderr if the options contradict each other. */
rh_status bounds_check_options(const Options *options);

/* Returns the stream for the summary, which is stderr if the baseline is written to stdout. */
FILE *bounds_summary(const Options *options);

/* Compares the peak of a loaded module with --max-peak and --baseline, and writes --write-baseline.
 * If a bound is exceeded, it returns RH_OVER_LIMIT and reports on stderr by how much, and what
 * grew. */
rh_status bounds_check(const Loaded *loaded, const Options *options);

#endif
