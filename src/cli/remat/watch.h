/* What a user sees of a long rematerialization, and how Ctrl-C ends it with the best result so far.
 */
#ifndef REMAT_HLO_CLI_REMAT_WATCH_H
#define REMAT_HLO_CLI_REMAT_WATCH_H

#include <pthread.h>

#include "remat/run.h"

typedef struct RematWatch {
  bool is_line;  /* a line of a terminal is updated */
  bool is_shown; /* there is such a line now */
  bool has_best;
  rh_progress best;
  size_t width;
  double start_seconds, next_seconds; /* the line is not updated before `next_seconds` */
  pthread_mutex_t lock; /* the library asks whether to go on from other threads, too */
} RematWatch;

/* Makes the first signal end the job's rematerialization early, and shows on a terminal how far it
 * is. The next signal ends the program at once. */
void watch_begin(RematRun *job, RematWatch *watch);

/* Erases the line. Signals stay deferred, so that what was found can be written; see
 * interrupt_defer(). */
void watch_end(RematRun *job, RematWatch *watch);

#endif
