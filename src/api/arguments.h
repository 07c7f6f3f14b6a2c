/* Checks of the callers' arguments: names of algorithms, schedulers and models, and values of
 * enumerations. */
#ifndef REMAT_HLO_API_ARGUMENTS_H
#define REMAT_HLO_API_ARGUMENTS_H

#include "remat_hlo.h"

/* Returns RH_ERR_USAGE. The message lists the known names and suggests the one that was probably
 * meant. */
rh_status fail_unknown_name(rh_registry registry, const char *name, rh_diags *diags);

/* Returns RH_ERR_USAGE when a value is not one of the first `count` of its enumeration; `what` is
 * the name of the field. A program that is newer than the library can have other values. */
rh_status check_choice(int value, int count, const char *what, rh_diags *diags);

#endif
