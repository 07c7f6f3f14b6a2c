/* How little memory a module can do with, whatever its order and whatever is recomputed. */
#ifndef REMAT_HLO_REMAT_LEGALITY_LOWER_BOUND_H
#define REMAT_HLO_REMAT_LEGALITY_LOWER_BOUND_H

#include "analysis/memory/memory_model.h"
#include "remat/legality/legality.h"

typedef struct LowerBound {
  int64_t bytes; /* of the model's peak */
  InstId inst; /* that needs them, in whichever computation; NO_ID when it is not one instruction */
} LowerBound;

/* The largest set of what one instruction reads and makes, with what its callees need, and of the
 * values that can be computed only once those that are computed before it and read after it in
 * every order; with the outputs, and the parameters and constants where the model counts them.
 *
 * requires: every instruction that runs is needed (remat/rewrite/dce.h) or the bound still holds,
 * but for the needed ones only. O(instructions + edges) for each of a few instructions. */
LowerBound lower_bound(const Module *module, const Legality *legality, bool counts_params,
                       ConstantCount constants, Arena *scratch);

#endif
