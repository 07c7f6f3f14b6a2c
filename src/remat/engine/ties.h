/* How much of an order XLA's own decisions have fixed. */
#ifndef REMAT_HLO_REMAT_ENGINE_TIES_H
#define REMAT_HLO_REMAT_ENGINE_TIES_H

#include "remat/engine/problem.h"

/* Counts the input's instructions that must keep their order against others because of memory that
 * copy-insertion made them share: `num_ordered`, `num_tied`. Only in modules that are past it, and
 * only for algorithms that also choose the order. */
void ties_count(const Problem *problem, rh_remat_result *info);

#endif
