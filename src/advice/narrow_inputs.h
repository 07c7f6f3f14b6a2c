/* Types of what waits for the backward part. */
#ifndef REMAT_HLO_ADVICE_NARROW_INPUTS_H
#define REMAT_HLO_ADVICE_NARROW_INPUTS_H

#include "advice/cloning.h"

/* XLA:TPU keeps what the backward part reads in products alone as bf16. Returns whether arrays have
 * changed. */
bool narrow_inputs(Cloning *cloning);

#endif
