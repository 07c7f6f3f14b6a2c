#include "analysis/packing.h"

#include <stdlib.h>
#include <string.h>

#include "ir/clock.h"

const Packer packers[] = {
#define PACKER(name, summary) {#name, summary, pack_##name},
#include "analysis/packings.def"
};

const size_t num_packers = sizeof packers / sizeof *packers;

const Packer *packer_find(const char *name) {
  for (size_t i = 0; i < num_packers; i++) {
    if (strcmp(packers[i].name, name) == 0) return &packers[i];
  }
  return NULL;
}

bool pack_budget_is_spent(PackBudget *budget) {
  enum { STEPS_BETWEEN_READINGS = 1 << 18 };
  if (budget->steps >= budget->max_steps) return true;
  if (budget->end_seconds <= 0 || budget->steps < budget->next_reading) return false;
  budget->next_reading = budget->steps + STEPS_BETWEEN_READINGS;
  bool is_late = seconds_now() >= budget->end_seconds;
  if (is_late) budget->max_steps = budget->steps;
  return is_late;
}

int64_t pack_height(const PackProblem *problem, const int64_t *offsets) {
  int64_t height = 0;
  for (uint32_t i = 0; i < problem->num_buffers; i++) {
    int64_t end = offsets[i] + problem->buffers[i].bytes;
    if (end > height) height = end;
  }
  return height;
}

/* ---- the judge ---- */

/* Buffers come by their offsets; what ends highest so far over a range of time must not reach above
 * the offset of the next one that lives there. A tree over the ticks where ranges begin or end: the
 * children of node n are 2n and 2n + 1. */
typedef struct Skyline {
  int64_t *ticks;
  uint32_t num_ticks;
  uint32_t num_leaves; /* a power of two */
  int64_t *highest;    /* by node: anywhere in its range */
  int64_t *everywhere; /* by node: all over its range, at least */
} Skyline;

static int by_value(const void *pa, const void *pb) {
  const int64_t *a = pa, *b = pb;
  return (*a > *b) - (*a < *b);
}

static Skyline skyline_build(const PackProblem *problem, Arena *scratch) {
  Skyline line = {.ticks = arena_array(scratch, int64_t, 2 * (size_t)problem->num_ranges),
                  .num_leaves = 1};
  uint32_t num_ticks = 0;
  for (uint32_t i = 0; i < problem->num_ranges; i++) {
    line.ticks[num_ticks++] = problem->ranges[i].begin;
    line.ticks[num_ticks++] = problem->ranges[i].end;
  }
  if (num_ticks) qsort(line.ticks, num_ticks, sizeof *line.ticks, by_value);
  for (uint32_t i = 0; i < num_ticks; i++) {
    if (i == 0 || line.ticks[i] != line.ticks[i - 1]) line.ticks[line.num_ticks++] = line.ticks[i];
  }
  while (line.num_leaves < line.num_ticks)
    line.num_leaves *= 2;
  line.highest = arena_zarray(scratch, int64_t, 2 * (size_t)line.num_leaves);
  line.everywhere = arena_zarray(scratch, int64_t, 2 * (size_t)line.num_leaves);
  return line;
}

static uint32_t leaf_of(const Skyline *line, int64_t tick) {
  const int64_t *found =
      bsearch(&tick, line->ticks, line->num_ticks, sizeof *line->ticks, by_value);
  return line->num_leaves + (uint32_t)(found - line->ticks);
}

static int64_t higher(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* The highest end so far over the leaves [from, to). */
static int64_t skyline_highest(const Skyline *line, uint32_t from, uint32_t to) {
  int64_t height = 0;
  for (; from < to; from >>= 1, to >>= 1) {
    uint32_t covered[2];
    int num_covered = 0;
    if (from & 1) covered[num_covered++] = from++;
    if (to & 1) covered[num_covered++] = --to;
    for (int i = 0; i < num_covered; i++) {
      height = higher(height, line->highest[covered[i]]);
      for (uint32_t node = covered[i] >> 1; node; node >>= 1)
        height = higher(height, line->everywhere[node]);
    }
  }
  return height;
}

static void skyline_raise(Skyline *line, uint32_t from, uint32_t to, int64_t height) {
  for (; from < to; from >>= 1, to >>= 1) {
    uint32_t covered[2];
    int num_covered = 0;
    if (from & 1) covered[num_covered++] = from++;
    if (to & 1) covered[num_covered++] = --to;
    for (int i = 0; i < num_covered; i++) {
      uint32_t node = covered[i];
      line->everywhere[node] = higher(line->everywhere[node], height);
      for (; node; node >>= 1)
        line->highest[node] = higher(line->highest[node], height);
    }
  }
}

typedef struct PlacedBuffer {
  int64_t offset;
  uint32_t id;
} PlacedBuffer;

static int by_offset_then_id(const void *pa, const void *pb) {
  const PlacedBuffer *a = pa, *b = pb;
  if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
  return (a->id > b->id) - (a->id < b->id);
}

static bool is_placed_well(const PackProblem *problem, const PlacedBuffer *placed, Skyline *line) {
  const PackBuffer *buffer = &problem->buffers[placed->id];
  if (placed->offset < 0 || placed->offset % buffer->alignment != 0) return false;
  if (buffer->bytes == 0) return true;
  const PackRange *ranges = &problem->ranges[buffer->first_range];
  for (uint32_t i = 0; i < buffer->num_ranges; i++) {
    uint32_t from = leaf_of(line, ranges[i].begin), to = leaf_of(line, ranges[i].end);
    if (skyline_highest(line, from, to) > placed->offset) return false;
  }
  /* Colocated values may live at the same time: the line rises behind the last of them. */
  for (uint32_t i = 0; i < buffer->num_ranges; i++) {
    uint32_t from = leaf_of(line, ranges[i].begin), to = leaf_of(line, ranges[i].end);
    skyline_raise(line, from, to, placed->offset + buffer->bytes);
  }
  return true;
}

bool packing_check(const PackProblem *problem, const int64_t *offsets, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  Skyline line = skyline_build(problem, scratch);
  PlacedBuffer *list = arena_array(scratch, PlacedBuffer, problem->num_buffers);
  for (uint32_t i = 0; i < problem->num_buffers; i++)
    list[i] = (PlacedBuffer){offsets[i], i};
  if (problem->num_buffers) qsort(list, problem->num_buffers, sizeof *list, by_offset_then_id);
  bool is_right = true;
  for (uint32_t i = 0; i < problem->num_buffers && is_right; i++)
    is_right = is_placed_well(problem, &list[i], &line);
  arena_reset(scratch, mark);
  return is_right;
}
