/* XLA's GlobalDecreasingSizeBestFitHeap (service/heap_simulator/heap_simulator.cc): best fit in two
 * orders, and the lower result, as ChooseBestHeapAlgorithm takes it. With a limit it is XLA's
 * ConstrainedGlobalDecreasingSizeBestFitHeap. XLA's ranges are closed; that changes no
 * comparison. */
#include "analysis/pack/xla.h"

#include <string.h>

#include "analysis/pack/best_fit.h"
#include "ir/sort.h"

typedef struct OrderKey {
  int64_t major, minor; /* largest first */
} OrderKey;

static OrderKey order_key(const PackProblem *problem, PackOrder by, uint32_t id) {
  const PackBuffer *buffer = &problem->buffers[id];
  if (by == PACK_SPATIAL) {
    const PackRange *range = &problem->ranges[buffer->first_range];
    return (OrderKey){buffer->first_bytes, range->end - range->begin};
  }
  PackRange whole = pack_whole_range(problem, buffer);
  /* Of two numbers the larger one has the smaller complement. */
  int64_t length = whole.end - whole.begin;
  int64_t major = by == PACK_TEMPORAL ? length : by == PACK_SHORTEST ? ~length : ~whole.begin;
  return (OrderKey){major, buffer->first_bytes};
}

static bool is_ascending(const uint32_t *ids, uint32_t len) {
  for (uint32_t i = 1; i < len; i++) {
    if (ids[i - 1] > ids[i]) return false;
  }
  return true;
}

void pack_xla_sort(const PackProblem *problem, PackOrder by, uint32_t *buffers, uint32_t len,
                   Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  SortItem *items = arena_array(scratch, SortItem, len);
  for (uint32_t i = 0; i < len; i++)
    items[i] = (SortItem){buffers[i], buffers[i]};
  if (!is_ascending(buffers, len)) sort_by_key(items, len, scratch);
  for (uint32_t i = 0; i < len; i++)
    items[i].key = key_largest_first(order_key(problem, by, items[i].id).minor);
  sort_by_key(items, len, scratch);
  for (uint32_t i = 0; i < len; i++)
    items[i].key = key_largest_first(order_key(problem, by, items[i].id).major);
  sort_by_key(items, len, scratch);
  for (uint32_t i = 0; i < len; i++)
    buffers[i] = items[i].id;
  arena_reset(scratch, mark);
}

int64_t pack_xla_in_order(const PackSections *sections, PackOrder by, int64_t *offsets,
                          PackBudget *budget, Arena *scratch) {
  const PackProblem *problem = sections->problem;
  ArenaMark mark = arena_mark(scratch);
  uint32_t *order = arena_array(scratch, uint32_t, problem->num_buffers);
  for (uint32_t i = 0; i < problem->num_buffers; i++)
    order[i] = i;
  pack_xla_sort(problem, by, order, problem->num_buffers, scratch);
  best_fit(sections, order, problem->num_buffers, offsets, budget, scratch);
  arena_reset(scratch, mark);
  return pack_height(problem, offsets);
}

/* ---- heaps with a limit ---- */

void pack_xla_fill_heaps(const PackSections *sections, PackOrder by, HeapRule rule,
                         Packing *packing, PackBudget *budget, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  uint32_t *order = arena_array(scratch, uint32_t, sections->problem->num_buffers);
  uint32_t num_left = pack_heaps_begin(sections->problem, packing, order);
  pack_xla_sort(sections->problem, by, order, num_left, scratch);
  do {
    PackHeap heap = pack_heaps_add(packing);
    int64_t first_bytes = num_left ? sections->problem->buffers[order[0]].first_bytes : 0;
    if (rule == HEAP_OF_FIRST && first_bytes > heap.limit_bytes) heap.limit_bytes = first_bytes;
    num_left = best_fit_heap(sections, order, num_left, &heap, packing, budget, scratch);
    packing->height_bytes += heap.height_bytes;
  } while (num_left);
  arena_reset(scratch, mark);
}

/* Of equal sums the first order is always taken, because the number of heaps matters. */
static void pack_xla_heaps(const PackSections *sections, PackBudget *budget, Packing *packing,
                           Arena *scratch) {
  uint32_t num_buffers = sections->problem->num_buffers;
  int64_t lower_bound = pack_heaps_bound(sections, packing);
  pack_xla_fill_heaps(sections, PACK_SPATIAL, HEAP_OF_LIMIT, packing, budget, scratch);
  if (packing->height_bytes > lower_bound) {
    Packing other = pack_heaps_like(packing, num_buffers, scratch);
    pack_xla_fill_heaps(sections, PACK_TEMPORAL, HEAP_OF_LIMIT, &other, budget, scratch);
    if (other.height_bytes < packing->height_bytes) pack_heaps_copy(&other, num_buffers, packing);
  }
  packing->is_optimal = packing->height_bytes == lower_bound;
}

/* ---- both orders ---- */

/* Of equal heights XLA takes the first order's packing. If that does not matter, the second order
 * is tried first: it takes less time, and when it reaches the bound the other one is not needed. */
static void pack_xla_whole(const PackSections *sections, PackBudget *budget, Packing *packing,
                           Arena *scratch) {
  uint32_t num_buffers = sections->problem->num_buffers;
  PackOrder first = packing->any_will_do ? PACK_TEMPORAL : PACK_SPATIAL;
  PackOrder second = packing->any_will_do ? PACK_SPATIAL : PACK_TEMPORAL;
  int64_t lower_bound = pack_lower_bound(sections);
  packing->height_bytes = pack_xla_in_order(sections, first, packing->offsets, budget, scratch);
  if (packing->height_bytes > lower_bound) {
    int64_t *other = arena_array(scratch, int64_t, num_buffers);
    int64_t height = pack_xla_in_order(sections, second, other, budget, scratch);
    if (height < packing->height_bytes) {
      packing->height_bytes = height;
      memcpy(packing->offsets, other, num_buffers * sizeof *other);
    }
  }
  packing->is_optimal = packing->height_bytes == lower_bound;
}

void pack_xla(const PackProblem *problem, int64_t capacity_bytes, PackBudget *budget,
              Packing *packing, Arena *scratch) {
  (void)capacity_bytes;
  ArenaMark mark = arena_mark(scratch);
  PackSections sections = pack_sections_build(problem, scratch, scratch);
  if (packing->heaps) {
    pack_xla_heaps(&sections, budget, packing, scratch);
  } else {
    pack_xla_whole(&sections, budget, packing, scratch);
  }
  arena_reset(scratch, mark);
}
