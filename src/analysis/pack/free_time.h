/* When something is free, approximately and in one cache line: a few gaps, in which all times that
 * are free lie. It never claims less than what is free, so it can rule out most of the allocations
 * that have no room for a live range, and an exact test is needed only for the rest.
 *
 * Example: with room for two gaps, memory that is taken in [10, 40] and in [42, 90] of [0, 100] is
 * free in [0, 10], [40, 42] and [90, 100]. The last two gaps become [40, 100], in which no free
 * time is longer than 10; a live range of 11 does not fit there. */
#ifndef REMAT_HLO_ANALYSIS_PACK_FREE_TIME_H
#define REMAT_HLO_ANALYSIS_PACK_FREE_TIME_H

#include "analysis/pack/sections.h"

enum { MAX_GAPS = 5 }; /* as many as the line holds */

typedef struct FreeGap {
  uint32_t begin, end; /* inclusive */
  uint32_t longest;    /* no free time in the gap is longer than this; at most end - begin */
} FreeGap;

typedef struct FreeTime {
  uint32_t num_gaps;
  FreeGap gaps[MAX_GAPS]; /* in ascending order of `begin` */
} FreeTime;

/* Free all the time. */
FreeTime free_time_all(void);

/* The inner times of a live range are no longer free: where it begins or ends, another one may end
 * or begin. */
void free_time_take(FreeTime *free_time, PackSpan range);

/* Free where one of the two is. */
FreeTime free_time_join(const FreeTime *a, const FreeTime *b);

bool free_time_equal(const FreeTime *a, const FreeTime *b);

/* False when a live range certainly overlaps with what has been taken by more than its ends. */
static inline bool free_time_may_hold(const FreeTime *free_time, PackSpan range) {
  for (uint32_t i = 0; i < free_time->num_gaps; i++) {
    const FreeGap *gap = &free_time->gaps[i];
    if (gap->begin > range.begin) return false;
    if (range.end <= gap->end && range.end - range.begin <= gap->longest) return true;
  }
  return false;
}

#endif
