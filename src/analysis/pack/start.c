/* The order of XLA:TPU's memory-space assignment, found by comparison with its dumps: best fit by
 * begin; of values that one instruction defines, heap_simulate() lets those begin first that end
 * first. Memory that colocated values have one after another is never used for others in between. A
 * heap that is higher than the capacity, the device's memory, is packed again as by `xla`
 * (MemorySpaceAssignmentBestFitRepacker). */
#include "analysis/pack/start.h"

#include "analysis/pack/best_fit.h"
#include "analysis/pack/xla.h"
#include "ir/ids.h"

/* What is taken where there is no capacity: what XLA:TPU offers of the memory of a v5e, the
 * smallest device whose dumps were compared. */
static const int64_t least_memory_bytes = INT64_C(63) << 28;

/* The same buffers, each with one range, that from its first value to its last. */
static PackProblem without_gaps(const PackProblem *problem, Arena *out) {
  PackBuffer *buffers = arena_array(out, PackBuffer, problem->num_buffers);
  PackRange *ranges = arena_array(out, PackRange, problem->num_buffers);
  for (uint32_t i = 0; i < problem->num_buffers; i++) {
    buffers[i] = problem->buffers[i];
    buffers[i].first_range = i;
    buffers[i].num_ranges = 1;
    ranges[i] = pack_whole_range(problem, &problem->buffers[i]);
  }
  return (PackProblem){.buffers = buffers,
                       .ranges = ranges,
                       .num_buffers = problem->num_buffers,
                       .num_ranges = problem->num_buffers};
}

void pack_start(const PackProblem *problem, int64_t capacity_bytes, PackBudget *budget,
                Packing *packing, Arena *scratch) {
  if (packing->heaps) {
    pack_xla(problem, capacity_bytes, budget, packing, scratch);
    return;
  }
  ArenaMark mark = arena_mark(scratch);
  PackProblem whole = without_gaps(problem, scratch);
  PackSections sections = pack_sections_build(&whole, scratch, scratch);
  packing->height_bytes =
      pack_xla_in_order(&sections, PACK_BY_START, packing->offsets, budget, scratch);
  packing->is_optimal = whole.num_ranges == problem->num_ranges &&
                        packing->height_bytes == pack_lower_bound(&sections);
  arena_reset(scratch, mark);
  if (packing->height_bytes > (capacity_bytes < 0 ? least_memory_bytes : capacity_bytes))
    pack_xla(problem, capacity_bytes, budget, packing, scratch);
}

/* ---- beside another memory ---- */

/* Puts buffers into the memory as far as there is room. Returns how many are left, in `order`. */
static uint32_t fill_room(const PackSections *sections, int64_t room_bytes, uint32_t *order,
                          Packing *packing, PackBudget *budget, Arena *scratch) {
  const PackProblem *problem = sections->problem;
  uint32_t *fitting = arena_array(scratch, uint32_t, problem->num_buffers), num_fitting = 0,
           len = 0;
  for (uint32_t i = 0; i < problem->num_buffers; i++) {
    int64_t bytes = problem->buffers[i].bytes;
    if (bytes > room_bytes) order[len++] = i; /* the first buffer of a heap may be larger than it */
    if (bytes > 0 && bytes <= room_bytes) fitting[num_fitting++] = i;
  }
  pack_xla_sort(problem, PACK_SHORTEST, fitting, num_fitting, scratch);
  PackHeap room = pack_heaps_add(packing);
  num_fitting = best_fit_heap(sections, fitting, num_fitting, &room, packing, budget, scratch);
  for (uint32_t i = 0; i < num_fitting; i++)
    order[len++] = fitting[i];
  return len;
}

int64_t pack_start_beside(const PackProblem *problem, int64_t room_bytes, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  uint32_t num_buffers = problem->num_buffers;
  PackProblem whole = without_gaps(problem, scratch);
  PackSections sections = pack_sections_build(&whole, scratch, scratch);
  uint32_t *order = arena_array(scratch, uint32_t, num_buffers);
  Packing packing = {.offsets = arena_array(scratch, int64_t, num_buffers),
                     .heaps = arena_array(scratch, uint32_t, num_buffers),
                     .heap_limit_bytes = room_bytes};
  PackBudget budget = {0};
  pack_heaps_begin(&whole, &packing, order);
  uint32_t len = fill_room(&sections, room_bytes, order, &packing, &budget, scratch);
  pack_xla_sort(&whole, PACK_BY_START, order, len, scratch);
  best_fit(&sections, order, len, packing.offsets, &budget, scratch);
  int64_t height_bytes = 0;
  for (uint32_t i = 0; i < len; i++) {
    int64_t end = packing.offsets[order[i]] + problem->buffers[order[i]].bytes;
    if (end > height_bytes) height_bytes = end;
  }
  arena_reset(scratch, mark);
  return height_bytes;
}
