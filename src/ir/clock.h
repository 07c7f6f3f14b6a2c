/* A monotonic clock, to measure how long something takes. */
#ifndef REMAT_HLO_IR_CLOCK_H
#define REMAT_HLO_IR_CLOCK_H

#include <time.h>

/* Returns the time since an unspecified moment. It never decreases. */
static inline double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
