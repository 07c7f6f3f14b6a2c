/* Independent tasks, side by side on several threads. */
#ifndef REMAT_HLO_IR_PARALLEL_H
#define REMAT_HLO_IR_PARALLEL_H

#include "ir/arena.h"

/* Does task `number`. What is to last is allocated in `out`; `scratch` ends with the task. It must
 * write nothing that another task reads or writes. */
typedef void (*task_fn)(void *context, uint32_t number, Arena *out, Arena *scratch);

/* Does the tasks from 0 to `num_tasks` - 1, of which `num_threads` run at the same time, and
 * returns when all are done; one of the threads is the caller's, which does all of them if
 * num_threads is 0 or 1, or if the system refuses more threads. Each task has an arena in `outs`;
 * they all differ. Signals are left to the threads that existed before. If memory runs out in one
 * of the tasks, the others end first; then it is as if `scratch` had failed to get it (arena_fail).
 */
void run_tasks(unsigned num_threads, uint32_t num_tasks, task_fn task, void *context,
               Arena *const *outs, Arena *scratch);

#endif
