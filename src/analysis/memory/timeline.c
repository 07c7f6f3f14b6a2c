#include "analysis/memory/timeline.h"

/* Node 1 is the root, and the children of node n are 2n and 2n + 1. The tree has at most 33
 * levels. */

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static void pull(Timeline *timeline, uint32_t node) {
  timeline->max[node] =
      larger(timeline->max[2 * node], timeline->max[2 * node + 1]) + timeline->added[node];
}

Timeline timeline_build(const int64_t *bytes_at, uint32_t len, Arena *out) {
  uint32_t num_leaves = 1;
  while (num_leaves < len)
    num_leaves *= 2;
  Timeline timeline = {.max = arena_array(out, int64_t, 2 * (size_t)num_leaves),
                       .added = arena_zarray(out, int64_t, 2 * (size_t)num_leaves),
                       .num_leaves = num_leaves,
                       .len = len,
                       .arena = out};
  for (uint32_t i = 0; i < num_leaves; i++) {
    timeline.max[num_leaves + i] = i < len ? bytes_at[i] : INT64_MIN / 4;
  }
  for (uint32_t node = num_leaves; node-- > 1;)
    pull(&timeline, node);
  return timeline;
}

typedef struct Range {
  SchedPos begin, last;
} Range;

static void add(Timeline *timeline, uint32_t node, Range covered, Range wanted, int64_t bytes) {
  if (wanted.begin <= covered.begin && covered.last <= wanted.last) {
    timeline->max[node] += bytes;
    timeline->added[node] += bytes;
    return;
  }
  SchedPos middle = covered.begin + (covered.last - covered.begin) / 2;
  if (wanted.begin <= middle) {
    add(timeline, 2 * node, (Range){covered.begin, middle}, wanted, bytes);
  }
  if (wanted.last > middle) {
    add(timeline, 2 * node + 1, (Range){middle + 1, covered.last}, wanted, bytes);
  }
  pull(timeline, node);
}

void timeline_add(Timeline *timeline, SchedPos begin, SchedPos last, int64_t bytes) {
  if (begin > last || bytes == 0) return;
  add(timeline, 1, (Range){0, timeline->num_leaves - 1}, (Range){begin, last}, bytes);
}

void timeline_try(Timeline *timeline, SchedPos begin, SchedPos last, int64_t bytes) {
  if (begin > last || bytes == 0) return;
  timeline_add(timeline, begin, last, bytes);
  *vec_push(timeline->arena, &timeline->tried) = (TimelineChange){begin, last, bytes};
}

void timeline_keep(Timeline *timeline) {
  timeline->tried.len = 0;
}

void timeline_take_back(Timeline *timeline) {
  for (uint32_t i = 0; i < timeline->tried.len; i++) {
    TimelineChange tried = timeline->tried.data[i];
    timeline_add(timeline, tried.begin, tried.last, -tried.bytes);
  }
  timeline_keep(timeline);
}

static int64_t max_in(const Timeline *timeline, uint32_t node, Range covered, Range wanted) {
  if (wanted.begin <= covered.begin && covered.last <= wanted.last) return timeline->max[node];
  SchedPos middle = covered.begin + (covered.last - covered.begin) / 2;
  int64_t max = INT64_MIN / 2;
  if (wanted.begin <= middle) {
    max = max_in(timeline, 2 * node, (Range){covered.begin, middle}, wanted);
  }
  if (wanted.last > middle) {
    max = larger(max, max_in(timeline, 2 * node + 1, (Range){middle + 1, covered.last}, wanted));
  }
  return max + timeline->added[node];
}

int64_t timeline_max(const Timeline *timeline, SchedPos begin, SchedPos last) {
  if (begin > last) return INT64_MIN;
  return max_in(timeline, 1, (Range){0, timeline->num_leaves - 1}, (Range){begin, last});
}

int64_t timeline_peak(const Timeline *timeline, SchedPos *position) {
  uint32_t node = 1;
  while (node < timeline->num_leaves) {
    node = timeline->max[2 * node] >= timeline->max[2 * node + 1] ? 2 * node : 2 * node + 1;
  }
  *position = node - timeline->num_leaves;
  return timeline->max[1];
}
