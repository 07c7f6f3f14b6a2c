/* Plans as JSON text; the keys are documented in the manual page. */
#ifndef REMAT_HLO_REMAT_PLAN_READ_H
#define REMAT_HLO_REMAT_PLAN_READ_H

#include "remat/plan/plan.h"

/* Reads a plan into `out`; the text need not stay. RH_ERR_INPUT with the place of what is wrong,
 * unknown keys included. Whether what it names is there, only a module tells. */
rh_status plan_read(const char *text, size_t length, Plan *plan, rh_diags *diags, Arena *out);

#endif
