/* The scheduler `search`, which joins XLA's schedulers and the search. */
#ifndef REMAT_HLO_SCHEDULE_SEARCH_SEARCH_H
#define REMAT_HLO_SCHEDULE_SEARCH_SEARCH_H

#include "schedule/scheduler.h"

/* Whether it is this scheduler. */
bool scheduler_searches(const Scheduler *scheduler);

/* Schedules a module with the least memory that is found, as the model `heap` counts it: never more
 * than the orders of `list`, `dfs` and `postorder`, or `kept`, take. `own` is the order in which
 * the module's copies are correct, as in schedule_safely(). `kept` is the module's schedule, or
 * NULL. */
void schedule_by_search(Module *module, const Schedule *own, const Schedule *kept,
                        Schedule *schedule, Arena *out, Arena *scratch);

#endif
