/* XLA's quick packings (service/heap_simulator/heap_simulator.cc, free_chunks_manager.cc).
 *
 * kFastMerge: buffers are placed in the order in which they begin, each in the smallest gap that is
 * free at the time, which it holds until the last value that is colocated in it has ended. Padding
 * before a buffer belongs to it, too. O(n · gaps) for each heap, where gaps are those at one time.
 *
 * kFastSplit: best fit for buffers with colocated values and for the largest of the others; the
 * rest is placed above them as by fast-merge. */
#include <stdlib.h>
#include <string.h>

#include "analysis/pack/best_fit.h"
#include "analysis/pack/xla.h"
#include "ir/vec.h"

/* ---- gaps ---- */

typedef struct Gap {
  int64_t from, to;
} Gap;

typedef struct Gaps {
  VEC(Gap) list; /* ascending, not touching; the last one has no end */
  Arena *arena;
} Gaps;

/* The smallest gap that is large enough after alignment, the lowest of equal ones. */
static uint32_t find_gap(const Gaps *gaps, const PackBuffer *buffer) {
  uint32_t best = gaps->list.len - 1;
  int64_t best_length = INT64_MAX;
  for (uint32_t i = 0; i < gaps->list.len; i++) {
    int64_t length = gaps->list.data[i].to - align_up(gaps->list.data[i].from, buffer->alignment);
    if (length < buffer->bytes || length >= best_length) continue;
    best = i;
    best_length = length;
  }
  return best;
}

static void remove_gap(Gaps *gaps, uint32_t index) {
  Gap *list = gaps->list.data;
  memmove(list + index, list + index + 1, (--gaps->list.len - index) * sizeof *list);
}

/* Takes a gap up to `end`. */
static void take(Gaps *gaps, uint32_t index, int64_t end) {
  gaps->list.data[index].from = end;
  if (gaps->list.data[index].to == end) remove_gap(gaps, index);
}

static void give_back(Gaps *gaps, Gap gap) {
  uint32_t low = 0, high = gaps->list.len - 1; /* the last one is above all placed buffers */
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (gaps->list.data[middle].from < gap.to) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bool joins_below = low && gaps->list.data[low - 1].to == gap.from;
  bool joins_above = gaps->list.data[low].from == gap.to;
  if (joins_below && joins_above) {
    gaps->list.data[low].from = gaps->list.data[low - 1].from;
    remove_gap(gaps, low - 1);
  } else if (joins_below) {
    gaps->list.data[low - 1].to = gap.to;
  } else if (joins_above) {
    gaps->list.data[low].from = gap.from;
  } else {
    (void)vec_push(gaps->arena, &gaps->list);
    Gap *list = gaps->list.data;
    memmove(list + low + 1, list + low, (gaps->list.len - 1 - low) * sizeof *list);
    list[low] = gap;
  }
}

/* ---- a heap by fast-merge ---- */

/* A buffer and the end of all values colocated in it; lists are sorted by the end. */
typedef struct PackEnd {
  int64_t end;
  uint32_t buffer;
} PackEnd;

static int by_end_then_id(const void *pa, const void *pb) {
  const PackEnd *a = pa, *b = pb;
  if (a->end != b->end) return a->end < b->end ? -1 : 1;
  return (a->buffer > b->buffer) - (a->buffer < b->buffer);
}

static PackEnd *sort_ends(const PackProblem *problem, const uint32_t *order, uint32_t len,
                          Arena *out) {
  PackEnd *ends = arena_array(out, PackEnd, len);
  for (uint32_t i = 0; i < len; i++)
    ends[i] = (PackEnd){pack_whole_range(problem, &problem->buffers[order[i]]).end, order[i]};
  if (len) qsort(ends, len, sizeof *ends, by_end_then_id);
  return ends;
}

/* Puts buffers of `order`, which is PACK_BY_START, into a heap, above its contents. Buffers that
 * would end above the limit stay in `order`; returns their number. `ends` has all buffers. */
static uint32_t fast_merge_heap(const PackProblem *problem, uint32_t *order, uint32_t len,
                                const PackEnd *ends, PackHeap *heap, Packing *packing,
                                PackBudget *budget, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  int64_t *taken_from = arena_array(scratch, int64_t, problem->num_buffers);
  Gaps gaps = {.arena = scratch};
  *vec_push(scratch, &gaps.list) = (Gap){heap->height_bytes, INT64_MAX};
  uint32_t num_left = 0, next_end = 0;
  for (uint32_t i = 0; i < len; i++) {
    const PackBuffer *buffer = &problem->buffers[order[i]];
    int64_t now = pack_whole_range(problem, buffer).begin;
    for (; ends[next_end].end <= now; next_end++) {
      uint32_t ended = ends[next_end].buffer;
      if (packing->heaps[ended] != heap->index) continue;
      int64_t end = packing->offsets[ended] + problem->buffers[ended].bytes;
      give_back(&gaps, (Gap){taken_from[ended], end});
    }
    budget->steps += gaps.list.len;
    uint32_t gap = find_gap(&gaps, buffer);
    int64_t offset = align_up(gaps.list.data[gap].from, buffer->alignment);
    if (!pack_heap_takes(heap, offset + buffer->bytes)) {
      order[num_left++] = order[i];
      continue;
    }
    taken_from[order[i]] = gaps.list.data[gap].from;
    take(&gaps, gap, offset + buffer->bytes);
    pack_heap_put(heap, order[i], offset, buffer->bytes, packing);
  }
  arena_reset(scratch, mark);
  return num_left;
}

/* ---- heap after heap ---- */

/* The number of buffers without colocated values that best fit places. */
enum { MAX_ALONE = 500 };

/* Moves the rest after the buffers for best fit, and returns the number of these. Both keep their
 * order. */
static uint32_t split(const PackProblem *problem, uint32_t *order, uint32_t len, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  uint32_t *rest = arena_array(scratch, uint32_t, len);
  uint32_t num_first = 0, num_rest = 0, num_alone = 0;
  for (uint32_t i = 0; i < len; i++) {
    bool is_alone = problem->buffers[order[i]].num_ranges == 1;
    if (is_alone && num_alone == MAX_ALONE) {
      rest[num_rest++] = order[i];
    } else {
      order[num_first++] = order[i];
      num_alone += is_alone;
    }
  }
  for (uint32_t i = 0; i < num_rest; i++)
    order[num_first + i] = rest[i];
  arena_reset(scratch, mark);
  return num_first;
}

/* Fills heaps: each by best fit with what is left of the first in the order, then by fast-merge
 * with what is left of the rest. */
static void fill_heaps(const PackSections *sections, uint32_t *order, uint32_t num_first,
                       uint32_t num_rest, Packing *filled, PackBudget *budget, Arena *scratch) {
  const PackProblem *problem = sections->problem;
  uint32_t *rest = order + num_first;
  pack_xla_sort(problem, PACK_BY_START, rest, num_rest, scratch);
  const PackEnd *ends = sort_ends(problem, rest, num_rest, scratch);
  do {
    PackHeap heap = pack_heaps_add(filled);
    if (num_first) {
      num_first = best_fit_heap(sections, order, num_first, &heap, filled, budget, scratch);
    }
    num_rest = fast_merge_heap(problem, rest, num_rest, ends, &heap, filled, budget, scratch);
    filled->height_bytes += heap.height_bytes;
  } while (num_first || num_rest);
}

/* `is_split`: some of the buffers are for best fit. */
static void pack_fast(const PackProblem *problem, bool is_split, PackBudget *budget,
                      Packing *packing, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  PackSections sections = pack_sections_build(problem, scratch, scratch);
  Packing room, *filled = pack_heaps_of(packing, problem->num_buffers, &room, scratch);
  uint32_t *order = arena_array(scratch, uint32_t, problem->num_buffers), num_first = 0;
  uint32_t len = pack_heaps_begin(problem, filled, order);
  if (is_split) {
    pack_xla_sort(problem, PACK_SPATIAL, order, len, scratch);
    num_first = split(problem, order, len, scratch);
  }
  fill_heaps(&sections, order, num_first, len - num_first, filled, budget, scratch);
  pack_heaps_end(&sections, filled, packing);
  arena_reset(scratch, mark);
}

void pack_fast_merge(const PackProblem *problem, int64_t capacity_bytes, PackBudget *budget,
                     Packing *packing, Arena *scratch) {
  (void)capacity_bytes;
  pack_fast(problem, false, budget, packing, scratch);
}

void pack_fast_split(const PackProblem *problem, int64_t capacity_bytes, PackBudget *budget,
                     Packing *packing, Arena *scratch) {
  (void)capacity_bytes;
  pack_fast(problem, true, budget, packing, scratch);
}
