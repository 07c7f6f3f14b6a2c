/* Checks of what callers give: names of algorithms, schedulers and models, values of enumerations.
 */
#ifndef REMAT_HLO_API_ARGUMENTS_H
#define REMAT_HLO_API_ARGUMENTS_H

#include "remat_hlo.h"

/* RH_ERR_USAGE, with what there is and what was probably meant. */
rh_status fail_unknown_name(rh_registry registry, const char *name, rh_diags *diags);

/* RH_ERR_USAGE when a value is not one of the `count` first of its enumeration; `what` is the
 * field. Programs that are newer than the library know more of them. */
rh_status check_choice(int value, int count, const char *what, rh_diags *diags);

#endif
