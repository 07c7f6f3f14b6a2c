/* A thread pool. Jobs are identified by their numbers and are started in this order. Signals are
 * delivered to the thread that has started the pool, not to its threads. */
#ifndef REMAT_HLO_CLI_WORKERS_H
#define REMAT_HLO_CLI_WORKERS_H

#include "remat_hlo.h"

typedef struct Workers Workers;

/* Executes job `number`. Several jobs may be executed at the same time. */
typedef void (*work_fn)(void *context, size_t number);

/* Starts `num_threads` threads for `num_jobs` jobs, none of which is released yet. Returns NULL and
 * sets errno on failure. */
Workers *workers_start(size_t num_jobs, size_t num_threads, work_fn work, void *context);

/* Releases the jobs below `end`: the threads may start them from now on. */
void workers_release(Workers *workers, size_t end);

/* Returns how many of the released jobs no thread has started yet. */
size_t workers_num_waiting(Workers *workers);

/* Returns whether a job is done. If so, the data that it has written can be read. */
bool workers_are_done_with(Workers *workers, size_t number);

/* Waits until one more job is done. Returns false if a signal arrived instead; see
 * interrupt_signal(). */
bool workers_wait(Workers *workers);

/* Waits for the jobs that are being executed and frees the pool. No other job is started. */
void workers_stop(Workers *workers);

#endif
