/* XLA's kFastSplit (service/heap_simulator/heap_simulator.cc): best fit for what has colocated
 * values and for the largest of the others; on top of that, the rest as fast-merge does it. */
#include "analysis/pack/best_fit.h"
#include "analysis/pack/fast_merge.h"
#include "analysis/pack/xla.h"

/* Those without colocated values that best fit gets. */
enum { MAX_ALONE = 500 };

/* Moves the rest behind what best fit gets; returns how many that is. Both stay in their order. */
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

void pack_fast_split(const PackProblem *problem, int64_t capacity_bytes, PackBudget *budget,
                     Packing *packing, Arena *scratch) {
  (void)capacity_bytes;
  ArenaMark mark = arena_mark(scratch);
  PackSections sections = pack_sections_build(problem, scratch, scratch);
  Packing room, *filled = pack_heaps_of(packing, problem->num_buffers, &room, scratch);
  uint32_t *order = arena_array(scratch, uint32_t, problem->num_buffers);
  uint32_t len = pack_heaps_begin(problem, filled, order);
  pack_xla_sort(problem, PACK_SPATIAL, order, len, scratch);
  uint32_t num_first = split(problem, order, len, scratch), num_rest = len - num_first;
  uint32_t *rest = order + num_first;
  pack_xla_sort(problem, PACK_BY_START, rest, num_rest, scratch);
  const PackEnd *ends = pack_sort_ends(problem, rest, num_rest, scratch);
  do {
    PackHeap heap = pack_heaps_add(filled);
    num_first = best_fit_heap(&sections, order, num_first, &heap, filled, budget, scratch);
    num_rest = fast_merge_heap(problem, rest, num_rest, ends, &heap, filled, budget, scratch);
    filled->height_bytes += heap.height_bytes;
  } while (num_first || num_rest);
  pack_heaps_end(&sections, filled, packing);
  arena_reset(scratch, mark);
}
