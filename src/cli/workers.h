/* Jobs on threads. They are known by their numbers and taken in this order; whoever has started
 * them gets signals, the threads do not. */
#ifndef REMAT_HLO_CLI_WORKERS_H
#define REMAT_HLO_CLI_WORKERS_H

#include "remat_hlo.h"

typedef struct Workers Workers;

/* Does job `number`; several may be done at the same time. */
typedef void (*work_fn)(void *context, size_t number);

/* Starts `num_threads` for so many jobs, none of which may be done yet. NULL with errno. */
Workers *workers_start(size_t num_jobs, size_t num_threads, work_fn work, void *context);

/* The jobs below `end` may be done from now on. */
void workers_release(Workers *workers, size_t end);

/* How many of them nobody has taken yet. */
size_t workers_num_waiting(Workers *workers);

/* Whether a job is done: what it has written can then be read. */
bool workers_are_done_with(Workers *workers, size_t number);

/* Waits until one more job is done. False when a signal came instead: interrupt_signal(). */
bool workers_wait(Workers *workers);

/* Waits for the jobs that are being done, and frees all; no other one is begun. */
void workers_stop(Workers *workers);

#endif
