/* What --cost-of says. */
#ifndef REMAT_HLO_CLI_COST_OF_H
#define REMAT_HLO_CLI_COST_OF_H

#include "options.h"

/* rh_set_costs with what the options say. RH_ERR_USAGE, the reason on stderr or in `diags`. */
rh_status cost_of_apply(const Options *options, rh_module *module, rh_diags *diags);

#endif
