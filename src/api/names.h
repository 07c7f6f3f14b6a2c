/* Names of algorithms, schedulers and models that callers give. */
#ifndef REMAT_HLO_API_NAMES_H
#define REMAT_HLO_API_NAMES_H

#include "remat_hlo.h"

/* RH_ERR_USAGE, with what there is and what was probably meant. */
rh_status fail_unknown_name(rh_registry registry, const char *name, rh_diags *diags);

#endif
