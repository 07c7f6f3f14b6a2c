/* What `compare` writes beside its log: CSV, a picture, and tables. */
#ifndef REMAT_HLO_CLI_COMPARE_RESULTS_H
#define REMAT_HLO_CLI_COMPARE_RESULTS_H

#include "compare/job.h"

typedef struct Results {
  Output csv, pareto;
  bool has_csv, has_pareto;
} Results;

/* A log can be the result of hours of work. Returns RH_ERR_USAGE and reports the reason on stderr
 * if it would be overwritten without being asked for. */
rh_status results_check_log(const Options *options);

/* Notes the files that are written for all inputs together. */
rh_status results_claim(const Options *options, Places *places);

/* Opens the outputs before the first run, so that a file that cannot be written is reported
 * immediately. Call results_close() in any case, which fills them or, unless `keep`, discards them.
 */
rh_status results_open(const Options *options, Results *results);
rh_status results_close(const Comparison *comparison, Results *results, bool keep);

/* Prints the tables, unless --quiet is given. */
void results_print(const Comparison *comparison);

#endif
