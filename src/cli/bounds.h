/* What a peak may not exceed, for `check`. */
#ifndef REMAT_HLO_CLI_BOUNDS_H
#define REMAT_HLO_CLI_BOUNDS_H

#include "report_job.h"

/* Whether the options ask for it. */
bool bounds_are_given(const Options *options);

/* RH_ERR_USAGE, the reason on stderr, when they contradict each other. */
rh_status bounds_check_options(const Options *options);

/* Where the summary goes: stderr when the baseline takes stdout. */
FILE *bounds_summary(const Options *options);

/* Holds the peak of a loaded module against --max-peak and --baseline, and writes --write-baseline.
 * RH_OVER_LIMIT when it is exceeded; by how much and what grew is on stderr. */
rh_status bounds_check(const Loaded *loaded, const Options *options);

#endif
