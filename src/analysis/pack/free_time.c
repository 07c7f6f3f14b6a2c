#include "analysis/pack/free_time.h"

#include <string.h>

FreeTime free_time_all(void) {
  return (FreeTime){.num_gaps = 1, .gaps = {{0, UINT32_MAX, UINT32_MAX}}};
}

static uint32_t smaller(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

static uint32_t larger(uint32_t a, uint32_t b) {
  return a > b ? a : b;
}

static FreeGap hull(FreeGap a, FreeGap b) {
  return (FreeGap){smaller(a.begin, b.begin), larger(a.end, b.end), larger(a.longest, b.longest)};
}

/* About the number of live ranges that the gap can hold. */
static double capacity(FreeGap gap) {
  double width = (double)gap.end - gap.begin + 1, longest = (double)gap.longest + 1;
  return longest * (width - longest / 2);
}

static bool contains(FreeGap outer, FreeGap inner) {
  return outer.begin <= inner.begin && outer.end >= inner.end && outer.longest >= inner.longest;
}

/* Unites the two neighbours that claim the least that is not free. */
static uint32_t unite_nearest(FreeGap *gaps, uint32_t len) {
  uint32_t best = 0;
  double least = 0;
  for (uint32_t i = 0; i + 1 < len; i++) {
    double claimed =
        capacity(hull(gaps[i], gaps[i + 1])) - capacity(gaps[i]) - capacity(gaps[i + 1]);
    if (i > 0 && claimed >= least) continue;
    least = claimed;
    best = i;
  }
  gaps[best] = hull(gaps[best], gaps[best + 1]);
  memmove(&gaps[best + 1], &gaps[best + 2], (len - best - 2) * sizeof *gaps);
  return len - 1;
}

/* The gaps are in ascending order of `begin`. */
static FreeTime shorten(FreeGap *gaps, uint32_t len) {
  uint32_t num_kept = 0;
  for (uint32_t i = 0; i < len; i++) {
    while (num_kept && contains(gaps[i], gaps[num_kept - 1]))
      num_kept--;
    bool is_new = true;
    for (uint32_t k = 0; k < num_kept && is_new; k++)
      is_new = !contains(gaps[k], gaps[i]);
    if (is_new) gaps[num_kept++] = gaps[i];
  }
  while (num_kept > MAX_GAPS)
    num_kept = unite_nearest(gaps, num_kept);
  FreeTime free_time = {.num_gaps = num_kept};
  memcpy(free_time.gaps, gaps, num_kept * sizeof *gaps);
  return free_time;
}

static FreeGap part(FreeGap gap, uint32_t begin, uint32_t end) {
  return (FreeGap){begin, end, smaller(gap.longest, end - begin)};
}

void free_time_take(FreeTime *free_time, PackSpan range) {
  FreeGap gaps[2 * MAX_GAPS];
  uint32_t len = 0;
  for (uint32_t i = 0; i < free_time->num_gaps; i++) {
    FreeGap gap = free_time->gaps[i];
    if (gap.begin <= range.begin) gaps[len++] = part(gap, gap.begin, smaller(gap.end, range.begin));
  }
  for (uint32_t i = 0; i < free_time->num_gaps; i++) {
    FreeGap gap = free_time->gaps[i];
    if (gap.end >= range.end) gaps[len++] = part(gap, larger(gap.begin, range.end), gap.end);
  }
  *free_time = shorten(gaps, len);
}

FreeTime free_time_join(const FreeTime *a, const FreeTime *b) {
  FreeGap gaps[2 * MAX_GAPS];
  uint32_t len = 0, i = 0, k = 0;
  while (i < a->num_gaps || k < b->num_gaps) {
    bool is_first = k == b->num_gaps || (i < a->num_gaps && a->gaps[i].begin <= b->gaps[k].begin);
    gaps[len++] = is_first ? a->gaps[i++] : b->gaps[k++];
  }
  return shorten(gaps, len);
}

bool free_time_equal(const FreeTime *a, const FreeTime *b) {
  if (a->num_gaps != b->num_gaps) return false;
  for (uint32_t i = 0; i < a->num_gaps; i++) {
    FreeGap one = a->gaps[i], other = b->gaps[i];
    if (one.begin != other.begin || one.end != other.end || one.longest != other.longest)
      return false;
  }
  return true;
}
