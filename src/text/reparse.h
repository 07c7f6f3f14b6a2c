/* Modules through their text, for what is to be measured and verified as others will read it. */
#ifndef REMAT_HLO_TEXT_REPARSE_H
#define REMAT_HLO_TEXT_REPARSE_H

#include "ir/diag.h"
#include "text/print.h"

/* Prints a module and reads it again. `*parsed` has the text with it; its backend is the module's.
 * A text that cannot be read is a fault of ours. */
rh_status module_reparse(const Module *module, const Schedule *schedule, PrintOrder order,
                         Module **parsed, rh_diags *diags, Arena *scratch);

/* RH_ERR_SYSTEM: `what` must not happen. */
rh_status fail_internally(rh_diags *diags, const char *what);

#endif
