/* Another order that a search begins with. */
#ifndef REMAT_HLO_REMAT_SEARCH_START_H
#define REMAT_HLO_REMAT_SEARCH_START_H

#include "remat/job/algorithm.h"

/* Finds the order of one of XLA's memory schedulers that differs from the job's, and in which side
 * effects, collectives and asynchronous operations run in the same sequence as there. Returns false
 * if there is none. The order is in `out`; it shares sequences with the job's. */
bool start_find(const RematJob *job, Schedule *start, Arena *out, Arena *scratch);

#endif
