/* The files that `compare` is about. */
#ifndef REMAT_HLO_CLI_COMPARE_FILES_H
#define REMAT_HLO_CLI_COMPARE_FILES_H

#include "compare.h"

/* Fills in the files that the command line names, of folders one of each module, and the runs of
 * the grid, all to be skipped as yet. The gravest of all, the reason on stderr; the rest is listed.
 * compare_files_free() in any case. */
rh_status compare_files_list(Comparison *comparison);
void compare_files_free(Comparison *comparison);

#endif
