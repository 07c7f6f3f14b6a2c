/* Orders that a module which has its copies already can run in: see analysis/interference.h. */
#ifndef REMAT_HLO_REMAT_SAFE_ORDER_H
#define REMAT_HLO_REMAT_SAFE_ORDER_H

#include "schedule/scheduler.h"

/* The scheduler's order. If the module's own one, `own`, is free of interference, this one is, too:
 * where it is not by itself, what overwrites a value waits for those that read it, as they do in
 * the module's. `own` is NULL when the module has none. */
void schedule_safely(const Scheduler *scheduler, Module *module, const Schedule *own,
                     Schedule *schedule, Arena *out, Arena *scratch);

#endif
