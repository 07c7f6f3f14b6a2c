/* XLA's GlobalDecreasingSizeBestFitHeap (service/heap_simulator/heap_simulator.cc): best fit in two
 * orders, and the lower result, as ChooseBestHeapAlgorithm takes it. Ranges there are closed; that
 * changes no comparison. */
#include "analysis/pack_xla.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/pack_best_fit.h"

typedef struct OrderKey {
  int64_t major, minor;
  uint32_t id;
} OrderKey;

/* Largest first. */
static int by_keys_then_id(const void *pa, const void *pb) {
  const OrderKey *a = pa, *b = pb;
  if (a->major != b->major) return a->major > b->major ? -1 : 1;
  if (a->minor != b->minor) return a->minor > b->minor ? -1 : 1;
  return (a->id > b->id) - (a->id < b->id);
}

static OrderKey spatial_key(const PackProblem *problem, uint32_t id) {
  const PackBuffer *buffer = &problem->buffers[id];
  const PackRange *range = &problem->ranges[buffer->first_range];
  return (OrderKey){buffer->first_bytes, range->end - range->begin, id};
}

static OrderKey temporal_key(const PackProblem *problem, uint32_t id) {
  const PackBuffer *buffer = &problem->buffers[id];
  const PackRange *ranges = &problem->ranges[buffer->first_range];
  PackRange whole = ranges[0];
  for (uint32_t i = 1; i < buffer->num_ranges; i++) {
    if (ranges[i].begin < whole.begin) whole.begin = ranges[i].begin;
    if (ranges[i].end > whole.end) whole.end = ranges[i].end;
  }
  return (OrderKey){whole.end - whole.begin, buffer->first_bytes, id};
}

int64_t pack_xla_in_order(const PackSections *sections, PackOrder by, int64_t *offsets,
                          PackBudget *budget, Arena *scratch) {
  const PackProblem *problem = sections->problem;
  ArenaMark mark = arena_mark(scratch);
  OrderKey *keys = arena_array(scratch, OrderKey, problem->num_buffers);
  uint32_t *order = arena_array(scratch, uint32_t, problem->num_buffers);
  for (uint32_t i = 0; i < problem->num_buffers; i++)
    keys[i] = by == PACK_SPATIAL ? spatial_key(problem, i) : temporal_key(problem, i);
  if (problem->num_buffers) qsort(keys, problem->num_buffers, sizeof *keys, by_keys_then_id);
  for (uint32_t i = 0; i < problem->num_buffers; i++)
    order[i] = keys[i].id;
  best_fit(sections, order, problem->num_buffers, offsets, budget, scratch);
  arena_reset(scratch, mark);
  return pack_height(problem, offsets);
}

/* Of equal heights XLA takes the first order's. When that does not matter, the second one goes
 * first: it costs less and leaves less, and what is at the bound needs no other. */
void pack_xla(const PackProblem *problem, int64_t capacity_bytes, PackBudget *budget,
              Packing *packing, Arena *scratch) {
  (void)capacity_bytes;
  ArenaMark mark = arena_mark(scratch);
  PackSections sections = pack_sections_build(problem, scratch, scratch);
  PackOrder first = packing->any_will_do ? PACK_TEMPORAL : PACK_SPATIAL;
  PackOrder second = packing->any_will_do ? PACK_SPATIAL : PACK_TEMPORAL;
  int64_t lower_bound = pack_lower_bound(&sections);
  packing->height_bytes = pack_xla_in_order(&sections, first, packing->offsets, budget, scratch);
  if (packing->height_bytes > lower_bound) {
    int64_t *other = arena_array(scratch, int64_t, problem->num_buffers);
    int64_t height = pack_xla_in_order(&sections, second, other, budget, scratch);
    if (height < packing->height_bytes) {
      packing->height_bytes = height;
      memcpy(packing->offsets, other, problem->num_buffers * sizeof *other);
    }
  }
  packing->is_optimal = packing->height_bytes == lower_bound;
  arena_reset(scratch, mark);
}
