/* Another order of a whole module, without recomputation. */
#ifndef REMAT_HLO_REMAT_SEARCH_ORDER_H
#define REMAT_HLO_REMAT_SEARCH_ORDER_H

#include "remat/search/search.h"

/* Returns an order in which each computation that runs as a sequence needs as little memory as is
 * found, callees first; it holds the same instructions, in an order that operands, control
 * dependencies and side effects allow. What it needs under a memory model is for the caller to
 * measure. `*is_new` is false if that is the given order. requires: `given` is valid for the
 * module. */
Schedule search_order(Module *module, const Schedule *given, Patience *patience, bool *is_new,
                      Arena *out, Arena *scratch);

#endif
