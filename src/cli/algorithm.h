/* The value of --algorithm: a row of RH_ALGORITHMS and, for some algorithms, an argument after a
 * colon. */
#ifndef REMAT_HLO_CLI_ALGORITHM_H
#define REMAT_HLO_CLI_ALGORITHM_H

#include "input.h"
#include "options.h"

typedef struct Algorithm {
  char *name;       /* owned */
  char *collection; /* regular expressions, one on each line; owned, NULL if there are none */
} Algorithm;

/* Reads --algorithm and --path-compat, and the file that `checkpoint=collection:@FILE` names. On
 * failure it returns RH_ERR_USAGE or the status of input_read(), and reports the reason on stderr.
 * The expressions are not checked here; rh_remat() checks them. */
rh_status algorithm_read(const Options *options, Algorithm *algorithm);

/* Must be called after a failure, too. */
void algorithm_free(Algorithm *algorithm);

#endif
