/* Heaps with a limit: one heap for all if the search finds a packing that keeps to the limit; else
 * those that one of the quick ways has filled, whose sum is the lowest, each packed by itself with
 * its share of the steps. */
#include "analysis/pack/best_heaps.h"

#include <string.h>

#include "analysis/pack/heaps.h"
#include "analysis/pack/xla.h"

typedef struct HeapPacker {
  const PackProblem *problem;
  PackBudget *budget;
  uint64_t steps_left;
  Packing *packing;
  Arena *scratch;
} HeapPacker;

/* The lowest packing of one heap that so many steps find. Its offsets last as long as `scratch`. */
static Packing pack_one(HeapPacker *packer, const PackProblem *problem, int64_t capacity_bytes,
                        uint64_t max_steps) {
  Packing one = {.offsets = arena_array(packer->scratch, int64_t, problem->num_buffers)};
  PackBudget slice = {.max_steps = max_steps, .end_seconds = packer->budget->end_seconds};
  pack_best(problem, capacity_bytes, &slice, &one, packer->scratch);
  uint64_t taken = slice.steps < packer->steps_left ? slice.steps : packer->steps_left;
  packer->steps_left -= taken;
  packer->budget->steps += slice.steps;
  return one;
}

/* All buffers, if a packing is found that keeps to the limit and is no higher than the heaps. */
static void pack_into_one(HeapPacker *packer, int64_t goal) {
  Packing *packing = packer->packing;
  uint32_t num_buffers = packer->problem->num_buffers;
  int64_t enough = packing->heap_limit_bytes;
  if (packing->height_bytes < enough) enough = packing->height_bytes;
  if (goal > enough) enough = goal;
  Packing one = pack_one(packer, packer->problem, enough, packer->steps_left / 2);
  if (one.height_bytes > packing->heap_limit_bytes || one.height_bytes > packing->height_bytes) {
    return;
  }
  one.heaps = arena_zarray(packer->scratch, uint32_t, num_buffers);
  one.num_heaps = 1;
  pack_heaps_copy(&one, num_buffers, packing);
}

/* ---- ways to fill heaps ---- */

static void keep_lower(HeapPacker *packer, const Packing *other) {
  if (other->height_bytes >= packer->packing->height_bytes) return;
  pack_heaps_copy(other, packer->problem->num_buffers, packer->packing);
}

/* What is larger than the limit has a heap of that size anyway: buffers that live at other times
 * need not have another one. */
static void fill_in_other_ways(HeapPacker *packer, const PackSections *sections) {
  Packing other = pack_heaps_like(packer->packing, packer->problem->num_buffers, packer->scratch);
  for (PackOrder by = PACK_SPATIAL; by <= PACK_TEMPORAL; by++) {
    pack_xla_fill_heaps(sections, by, HEAP_OF_FIRST, &other, packer->budget, packer->scratch);
    keep_lower(packer, &other);
  }
  pack_fast_merge(packer->problem, -1, packer->budget, &other, packer->scratch);
  keep_lower(packer, &other);
  pack_fast_split(packer->problem, -1, packer->budget, &other, packer->scratch);
  keep_lower(packer, &other);
}

/* ---- heap by heap ---- */

/* Buffers by heap, those of a heap as they were. */
typedef struct HeapMembers {
  uint32_t *buffers;
  uint32_t *first; /* by heap, and one more */
} HeapMembers;

static HeapMembers list_members(const HeapPacker *packer) {
  const Packing *packing = packer->packing;
  uint32_t num_buffers = packer->problem->num_buffers;
  HeapMembers members = {
      .buffers = arena_array(packer->scratch, uint32_t, num_buffers),
      .first = arena_zarray(packer->scratch, uint32_t, (size_t)packing->num_heaps + 1)};
  for (uint32_t i = 0; i < num_buffers; i++)
    members.first[packing->heaps[i] + 1]++;
  for (uint32_t heap = 0; heap < packing->num_heaps; heap++)
    members.first[heap + 1] += members.first[heap];
  uint32_t *next = arena_array(packer->scratch, uint32_t, packing->num_heaps);
  memcpy(next, members.first, packing->num_heaps * sizeof *next);
  for (uint32_t i = 0; i < num_buffers; i++)
    members.buffers[next[packing->heaps[i]]++] = i;
  return members;
}

static PackProblem part_of(const PackProblem *problem, const uint32_t *ids, uint32_t len,
                           Arena *out) {
  PackProblem part = {.num_buffers = len};
  for (uint32_t i = 0; i < len; i++)
    part.num_ranges += problem->buffers[ids[i]].num_ranges;
  PackBuffer *buffers = arena_array(out, PackBuffer, len);
  PackRange *ranges = arena_array(out, PackRange, part.num_ranges);
  uint32_t num_ranges = 0;
  for (uint32_t i = 0; i < len; i++) {
    const PackBuffer *buffer = &problem->buffers[ids[i]];
    buffers[i] = *buffer;
    buffers[i].first_range = num_ranges;
    for (uint32_t k = 0; k < buffer->num_ranges; k++)
      ranges[num_ranges++] = problem->ranges[buffer->first_range + k];
  }
  part.buffers = buffers;
  part.ranges = ranges;
  return part;
}

static void improve_heap(HeapPacker *packer, const uint32_t *ids, uint32_t len,
                         int64_t capacity_bytes, uint64_t max_steps) {
  ArenaMark mark = arena_mark(packer->scratch);
  Packing *packing = packer->packing;
  PackProblem part = part_of(packer->problem, ids, len, packer->scratch);
  int64_t height = 0, others;
  for (uint32_t i = 0; i < len; i++) {
    int64_t end = packing->offsets[ids[i]] + part.buffers[i].bytes;
    if (end > height) height = end;
  }
  others = packing->height_bytes - height;
  int64_t enough = capacity_bytes > others ? capacity_bytes - others : -1;
  Packing one = pack_one(packer, &part, enough, max_steps);
  if (one.height_bytes < height) {
    packing->height_bytes = others + one.height_bytes;
    for (uint32_t i = 0; i < len; i++)
      packing->offsets[ids[i]] = one.offsets[i];
  }
  arena_reset(packer->scratch, mark);
}

void pack_best_heaps(const PackProblem *problem, int64_t capacity_bytes, PackBudget *budget,
                     Packing *packing, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  PackSections sections = pack_sections_build(problem, scratch, scratch);
  HeapPacker packer = {.problem = problem,
                       .budget = budget,
                       .steps_left = budget->max_steps,
                       .packing = packing,
                       .scratch = scratch};
  int64_t goal = pack_heaps_bound(&sections, packing);
  if (capacity_bytes > goal) goal = capacity_bytes;
  if (packing->height_bytes > goal) fill_in_other_ways(&packer, &sections);
  bool may_be_one =
      packing->num_heaps > 1 && pack_lower_bound(&sections) <= packing->heap_limit_bytes;
  if (packing->height_bytes > goal && may_be_one) pack_into_one(&packer, goal);
  HeapMembers members = list_members(&packer);
  for (uint32_t heap = 0; heap < packing->num_heaps && packing->height_bytes > goal; heap++) {
    uint32_t first = members.first[heap], len = members.first[heap + 1] - first;
    uint64_t share = packer.steps_left / (packing->num_heaps - heap);
    improve_heap(&packer, &members.buffers[first], len, goal, share);
  }
  packing->is_optimal = packing->height_bytes == pack_heaps_bound(&sections, packing);
  arena_reset(scratch, mark);
}
