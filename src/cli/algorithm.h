/* What --algorithm names: a row of RH_ALGORITHMS and, for some, an argument behind a colon. */
#ifndef REMAT_HLO_CLI_ALGORITHM_H
#define REMAT_HLO_CLI_ALGORITHM_H

#include "input.h"
#include "options.h"

typedef struct Algorithm {
  char *name;       /* owned */
  char *collection; /* expressions, one a line; owned, NULL = none */
} Algorithm;

/* Of --algorithm and --path-compat. Reads the file of `checkpoint=collection:@FILE`. RH_ERR_USAGE,
 * or what input_read says; the reason is on stderr then. What an expression is worth, rh_remat
 * says. */
rh_status algorithm_read(const Options *options, Algorithm *algorithm);

/* Also after a failure. */
void algorithm_free(Algorithm *algorithm);

#endif
