/* How much time recomputation adds at least, in the order that a result has. */
#ifndef REMAT_HLO_REMAT_ENGINE_TIME_BOUND_H
#define REMAT_HLO_REMAT_ENGINE_TIME_BOUND_H

#include "remat/engine/problem.h"

/* Fills `info->added_seconds_bound` and `bound_kind`, from the order in which the instructions of
 * the input run first in the result. No bound is known without a budget, of results that begin from
 * a variant of the input, and, with little effort, of huge modules. A solver that failed before is
 * not asked again; one that fails here is noted in the findings. */
void time_bound_find(const Problem *problem, Findings *findings, const rh_module *result,
                     rh_remat_result *info);

#endif
