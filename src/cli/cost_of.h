/* The costs that --cost-of specifies. */
#ifndef REMAT_HLO_CLI_COST_OF_H
#define REMAT_HLO_CLI_COST_OF_H

#include "options.h"

typedef struct CostOf {
  rh_known_cost *list; /* for rh_settings */
  size_t len;
  char *text; /* the text that `list` points into */
} CostOf;

/* Reads the costs from the options. On failure it returns RH_ERR_USAGE and reports the reason on
 * stderr. Call cost_of_free() in any case. */
rh_status cost_of_read(const Options *options, CostOf *costs);
void cost_of_free(CostOf *costs);

#endif
