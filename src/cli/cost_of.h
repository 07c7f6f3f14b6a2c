/* What --cost-of says. */
#ifndef REMAT_HLO_CLI_COST_OF_H
#define REMAT_HLO_CLI_COST_OF_H

#include "options.h"

typedef struct CostOf {
  rh_known_cost *list; /* for rh_settings */
  size_t len;
  char *text; /* that it points into */
} CostOf;

/* What the options say, to be freed in any case. RH_ERR_USAGE, the reason on stderr. */
rh_status cost_of_read(const Options *options, CostOf *costs);
void cost_of_free(CostOf *costs);

#endif
