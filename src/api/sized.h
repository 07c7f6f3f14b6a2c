/* The callers' structs, which begin with their size, because their size differs between older and
 * newer programs. */
#ifndef REMAT_HLO_API_SIZED_H
#define REMAT_HLO_API_SIZED_H

#include "ir/diag.h"

/* Copies to `*own`, which has the defaults, the fields of a caller's struct that both sides know.
 * NULL = it copies nothing. Returns RH_ERR_USAGE when the size is not set, or when the caller uses
 * a field that only newer versions have. `what` is the type of the struct, for the message. */
rh_status sized_read(void *own, size_t own_size, const void *given, const char *what,
                     rh_diags *diags);

/* Sets a caller's struct to zero, except its size. NULL = it does nothing. Returns RH_ERR_USAGE for
 * the same errors as sized_read(). */
rh_status sized_clear(void *given, const char *what, rh_diags *diags);

/* Fills in a caller's struct, up to its size. NULL = it does nothing. */
void sized_write(void *given, const void *own, size_t own_size);

#endif
