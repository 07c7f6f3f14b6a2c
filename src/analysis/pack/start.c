/* The order of XLA:TPU's memory-space assignment, found by comparison with its dumps: best fit by
 * begin, and of equal begins the largest first. Memory that colocated values have one after another
 * is never used for others in between. A heap that does not fit is packed again as by `xla`
 * (MemorySpaceAssignmentBestFitRepacker). */
#include "analysis/pack/sections.h"
#include "analysis/pack/xla.h"

/* What XLA:TPU offers of the memory of a v5e, the smallest device whose dumps were compared. */
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
  if (packing->height_bytes > least_memory_bytes)
    pack_xla(problem, capacity_bytes, budget, packing, scratch);
}
