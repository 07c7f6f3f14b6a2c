/* The callers' structs, which begin with their size: older and newer programs have other ones. */
#ifndef REMAT_HLO_API_SIZED_H
#define REMAT_HLO_API_SIZED_H

#include "ir/diag.h"

/* `*own`, which has the defaults, gets what a caller gave: all that both know. NULL = nothing.
 * RH_ERR_USAGE when its size is not set, or it asks for what was invented later. `what` is its
 * type, for the message. */
rh_status sized_read(void *own, size_t own_size, const void *given, const char *what,
                     rh_diags *diags);

/* Makes all of a caller's struct zero but its size. NULL = nothing. RH_ERR_USAGE likewise. */
rh_status sized_clear(void *given, const char *what, rh_diags *diags);

/* Fills a caller's struct in, as far as it goes. NULL = nothing. */
void sized_write(void *given, const void *own, size_t own_size);

#endif
