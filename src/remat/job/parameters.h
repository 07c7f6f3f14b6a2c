/* Parameters that steer the algorithms, each a row of parameters.def. The defaults are what was
 * measured to be best; other values are for experiments. */
#ifndef REMAT_HLO_REMAT_JOB_PARAMETERS_H
#define REMAT_HLO_REMAT_JOB_PARAMETERS_H

#include "ir/diag.h"

typedef struct RematParameters {
#define PARAMETER(id, name, value, least, most, what) int64_t id;
#include "remat/job/parameters.def"
} RematParameters;

RematParameters parameters_default(void);

/* Sets what `text` says, a `name=value` a line; NULL says nothing. RH_ERR_USAGE for a name that
 * there is not, or a value out of range. */
rh_status parameters_read(const char *text, RematParameters *parameters, rh_diags *diags);

#endif
