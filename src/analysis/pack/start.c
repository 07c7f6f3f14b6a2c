/* The order of XLA:TPU's memory-space assignment, found by comparison with its dumps: best fit by
 * begin, and of equal begins the largest first. A heap that does not fit is packed again as by
 * `xla` (MemorySpaceAssignmentBestFitRepacker). */
#include "analysis/pack/sections.h"
#include "analysis/pack/xla.h"

/* What XLA:TPU offers of the memory of a v5e, the smallest device whose dumps were compared. */
static const int64_t least_memory_bytes = INT64_C(63) << 28;

void pack_start(const PackProblem *problem, int64_t capacity_bytes, PackBudget *budget,
                Packing *packing, Arena *scratch) {
  if (packing->heaps) {
    pack_xla(problem, capacity_bytes, budget, packing, scratch);
    return;
  }
  ArenaMark mark = arena_mark(scratch);
  PackSections sections = pack_sections_build(problem, scratch, scratch);
  packing->height_bytes =
      pack_xla_in_order(&sections, PACK_BY_START, packing->offsets, budget, scratch);
  packing->is_optimal = packing->height_bytes == pack_lower_bound(&sections);
  arena_reset(scratch, mark);
  if (packing->height_bytes > least_memory_bytes)
    pack_xla(problem, capacity_bytes, budget, packing, scratch);
}
