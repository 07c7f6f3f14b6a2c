/* Dumps between the passes of a compilation (--xla_dump_hlo_pass_re), whose names are
 * `PREFIX.NUMBER.PIPELINE.after_PASS.before_PASS.txt` (xla/service/dump.cc). The numbers of one
 * module ascend in the order of the passes. */
#ifndef REMAT_HLO_CLI_DUMP_PASS_H
#define REMAT_HLO_CLI_DUMP_PASS_H

#include "remat_hlo.h"

/* Returns what rh_guess_copies() says about the file. If that is nothing, and the file is a dump
 * between passes, it returns whether this was before or after copy-insertion, provided that the
 * folder has the dump before or after that pass of the same module. Linear in the folder's size. */
rh_copies dump_pass_copies(const char *path);

#endif
