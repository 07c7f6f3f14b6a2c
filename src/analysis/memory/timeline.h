/* Memory over the positions of a schedule, as a segment tree. It finds the maximum over a range,
 * and adds a number of bytes to a range, in O(log n). Every algorithm asks what the peak would
 * become if a live range changed.
 *
 * Example: with bytes_at = {3, 9, 5}, timeline_add(1, 1, -6) gives {3, 3, 5}; timeline_peak() is
 * then 5, at position 2. */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_TIMELINE_H
#define REMAT_HLO_ANALYSIS_MEMORY_TIMELINE_H

#include "ir/schedule.h"

/* Bytes that were added on trial. */
typedef struct TimelineChange {
  SchedPos begin, last;
  int64_t bytes;
} TimelineChange;

typedef struct Timeline {
  int64_t *max;        /* by node: maximum over its range, without what its ancestors add */
  int64_t *added;      /* by node: bytes added to its whole range */
  uint32_t num_leaves; /* a power of two */
  uint32_t len;
  VEC(TimelineChange) tried; /* since timeline_keep() */
  Arena *arena;
} Timeline;

/* `bytes_at` has `len` positions. O(len). */
Timeline timeline_build(const int64_t *bytes_at, uint32_t len, Arena *out);

/* Adds to the positions begin … last, both included; nothing when begin > last. */
void timeline_add(Timeline *timeline, SchedPos begin, SchedPos last, int64_t bytes);

/* The same on trial: timeline_take_back() undoes what was tried since timeline_keep(). */
void timeline_try(Timeline *timeline, SchedPos begin, SchedPos last, int64_t bytes);
void timeline_keep(Timeline *timeline);
void timeline_take_back(Timeline *timeline);

/* The maximum over begin … last, INT64_MIN for an empty range. */
int64_t timeline_max(const Timeline *timeline, SchedPos begin, SchedPos last);

/* The maximum over everything, and the first position that has it. */
int64_t timeline_peak(const Timeline *timeline, SchedPos *position);

#endif
