/* Prints a module and parses the result, so that a changed module is measured and verified in the
 * form in which other programs will read it. */
#ifndef REMAT_HLO_TEXT_REPARSE_H
#define REMAT_HLO_TEXT_REPARSE_H

#include "ir/diag.h"
#include "text/print.h"

/* Prints a module and parses the text. `*parsed` owns the text, and its backend is that of
 * `module`. If the text cannot be parsed, that is an internal error. */
rh_status module_reparse(const Module *module, const Schedule *schedule, PrintOrder order,
                         Module **parsed, rh_diags *diags, Arena *scratch);

/* Reports the internal error `what` and returns RH_ERR_INTERNAL. */
rh_status fail_internally(rh_diags *diags, const char *what);

#endif
