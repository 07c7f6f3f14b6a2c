/* The files that `compare` processes. */
#ifndef REMAT_HLO_CLI_COMPARE_FILES_H
#define REMAT_HLO_CLI_COMPARE_FILES_H

#include "compare/job.h"

/* Lists the files that the command line names, with one file for each module of a folder, and makes
 * the runs of the grid, all of which are RUN_SKIPPED at first. Returns the most severe status and
 * reports the reasons on stderr; all other files are still listed. Call compare_files_free() in any
 * case. */
rh_status compare_files_list(Comparison *comparison);

/* Makes the files and runs of a comparison whose list of modules and grid are known. */
rh_status compare_files_make(Comparison *comparison);
void compare_files_free(Comparison *comparison);

#endif
