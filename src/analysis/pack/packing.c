#include "analysis/pack/packing.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/pack/parameters.h"
#include "ir/clock.h"

const PackParameters pack_defaults = {
#define PARAMETER(id, value, what) .id = value,
#include "analysis/pack/parameters.def"
};

const Packer packers[] = {
#define PACKER(id, name, summary) {name, summary, pack_##id},
#include "analysis/pack/packings.def"
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

PackRange pack_whole_range(const PackProblem *problem, const PackBuffer *buffer) {
  const PackRange *ranges = &problem->ranges[buffer->first_range];
  PackRange whole = ranges[0];
  for (uint32_t i = 1; i < buffer->num_ranges; i++) {
    if (ranges[i].begin < whole.begin) whole.begin = ranges[i].begin;
    if (ranges[i].end > whole.end) whole.end = ranges[i].end;
  }
  return whole;
}

int64_t pack_height(const PackProblem *problem, const int64_t *offsets) {
  int64_t height = 0;
  for (uint32_t i = 0; i < problem->num_buffers; i++) {
    int64_t end = offsets[i] + problem->buffers[i].bytes;
    if (end > height) height = end;
  }
  return height;
}

int64_t *pack_heap_heights(const PackProblem *problem, const Packing *packing, Arena *out) {
  int64_t *heights = arena_zarray(out, int64_t, packing->num_heaps);
  for (uint32_t i = 0; i < problem->num_buffers; i++) {
    int64_t end = packing->offsets[i] + problem->buffers[i].bytes;
    if (end > heights[packing->heaps[i]]) heights[packing->heaps[i]] = end;
  }
  return heights;
}

/* ---- the judge ---- */

/* A time in a heap: every heap has its own time axis. */
typedef struct Tick {
  uint32_t heap;
  int64_t tick;
} Tick;

/* Buffers are visited by their offsets. The highest end so far over a range of time must not be
 * above the offset of the next buffer that lives there. This is a tree over the ticks where ranges
 * begin or end, of one heap after the other: the children of node n are 2n and 2n + 1. */
typedef struct Skyline {
  Tick *ticks;
  uint32_t num_ticks;
  uint32_t num_leaves; /* a power of two */
  int64_t *highest;    /* by node: the maximum over its range */
  int64_t *everywhere; /* by node: a lower bound over its whole range */
} Skyline;

static int by_heap_then_tick(const void *pa, const void *pb) {
  const Tick *a = pa, *b = pb;
  if (a->heap != b->heap) return a->heap < b->heap ? -1 : 1;
  return (a->tick > b->tick) - (a->tick < b->tick);
}

static uint32_t heap_of(const Packing *packing, uint32_t buffer) {
  return packing->heaps ? packing->heaps[buffer] : 0;
}

static Skyline skyline_build(const PackProblem *problem, const Packing *packing, Arena *scratch) {
  Skyline line = {.ticks = arena_array(scratch, Tick, 2 * (size_t)problem->num_ranges),
                  .num_leaves = 1};
  uint32_t num_ticks = 0;
  for (uint32_t i = 0; i < problem->num_buffers; i++) {
    const PackBuffer *buffer = &problem->buffers[i];
    for (uint32_t k = buffer->first_range; k < buffer->first_range + buffer->num_ranges; k++) {
      line.ticks[num_ticks++] = (Tick){heap_of(packing, i), problem->ranges[k].begin};
      line.ticks[num_ticks++] = (Tick){heap_of(packing, i), problem->ranges[k].end};
    }
  }
  if (num_ticks) qsort(line.ticks, num_ticks, sizeof *line.ticks, by_heap_then_tick);
  for (uint32_t i = 0; i < num_ticks; i++) {
    if (i && by_heap_then_tick(&line.ticks[i], &line.ticks[i - 1]) == 0) continue;
    line.ticks[line.num_ticks++] = line.ticks[i];
  }
  while (line.num_leaves < line.num_ticks)
    line.num_leaves *= 2;
  line.highest = arena_zarray(scratch, int64_t, 2 * (size_t)line.num_leaves);
  line.everywhere = arena_zarray(scratch, int64_t, 2 * (size_t)line.num_leaves);
  return line;
}

static uint32_t leaf_of(const Skyline *line, uint32_t heap, int64_t tick) {
  Tick wanted = {heap, tick};
  const Tick *found =
      bsearch(&wanted, line->ticks, line->num_ticks, sizeof *line->ticks, by_heap_then_tick);
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
  uint32_t heap;
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
    uint32_t from = leaf_of(line, placed->heap, ranges[i].begin),
             to = leaf_of(line, placed->heap, ranges[i].end);
    if (skyline_highest(line, from, to) > placed->offset) return false;
  }
  /* Colocated values may live at the same time, so the line is raised after all of them are
   * checked. */
  for (uint32_t i = 0; i < buffer->num_ranges; i++) {
    uint32_t from = leaf_of(line, placed->heap, ranges[i].begin),
             to = leaf_of(line, placed->heap, ranges[i].end);
    skyline_raise(line, from, to, placed->offset + buffer->bytes);
  }
  return true;
}

static bool are_apart(const PackProblem *problem, const Packing *packing, Arena *scratch) {
  Skyline line = skyline_build(problem, packing, scratch);
  PlacedBuffer *list = arena_array(scratch, PlacedBuffer, problem->num_buffers);
  for (uint32_t i = 0; i < problem->num_buffers; i++)
    list[i] = (PlacedBuffer){packing->offsets[i], heap_of(packing, i), i};
  if (problem->num_buffers) qsort(list, problem->num_buffers, sizeof *list, by_offset_then_id);
  for (uint32_t i = 0; i < problem->num_buffers; i++) {
    if (!is_placed_well(problem, &list[i], &line)) return false;
  }
  return true;
}

/* The sums of one heap. */
typedef struct HeapSum {
  uint32_t num_buffers;
  int64_t height_bytes;
  int64_t largest_bytes;
  int64_t hidden_bytes; /* the most that a buffer has above the value that is allocated in it */
} HeapSum;

static bool heaps_are_kept(const PackProblem *problem, const Packing *packing, Arena *scratch) {
  HeapSum *sums = arena_zarray(scratch, HeapSum, packing->num_heaps);
  int64_t total = 0;
  for (uint32_t i = 0; i < problem->num_buffers; i++) {
    const PackBuffer *buffer = &problem->buffers[i];
    if (packing->heaps[i] >= packing->num_heaps) return false;
    HeapSum *sum = &sums[packing->heaps[i]];
    sum->num_buffers++;
    sum->height_bytes = higher(sum->height_bytes, packing->offsets[i] + buffer->bytes);
    sum->largest_bytes = higher(sum->largest_bytes, buffer->bytes);
    sum->hidden_bytes = higher(sum->hidden_bytes, buffer->bytes - buffer->first_bytes);
  }
  for (uint32_t heap = 0; heap < packing->num_heaps; heap++) {
    const HeapSum *sum = &sums[heap];
    if (sum->num_buffers == 0 && problem->num_buffers) return false;
    int64_t over = sum->height_bytes - sum->hidden_bytes;
    if (over > higher(packing->heap_limit_bytes, sum->largest_bytes)) return false;
    total += sum->height_bytes;
  }
  return packing->num_heaps && total == packing->height_bytes;
}

bool packing_check(const PackProblem *problem, const Packing *packing, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  bool is_right = packing->heaps ? heaps_are_kept(problem, packing, scratch)
                                 : pack_height(problem, packing->offsets) == packing->height_bytes;
  is_right = is_right && are_apart(problem, packing, scratch);
  arena_reset(scratch, mark);
  return is_right;
}
