/* The parameters that steer the algorithms; each is a row of parameters.def. The defaults are the
 * values that were best in measurements. Other values are for experiments. */
#ifndef REMAT_HLO_REMAT_JOB_PARAMETERS_H
#define REMAT_HLO_REMAT_JOB_PARAMETERS_H

#include "ir/diag.h"

typedef struct RematParameters {
#define PARAMETER(id, name, value, least, most, what) int64_t id;
#include "remat/job/parameters.def"
} RematParameters;

RematParameters parameters_default(void);

/* Reads `text`, which has one `name=value` in each line, and sets these parameters. NULL sets none.
 * RH_ERR_USAGE if there is no parameter of a name, or if a value is out of range. */
rh_status parameters_read(const char *text, RematParameters *parameters, rh_diags *diags);

#endif
