/* Squeaky wheel optimization (Joslin and Clements, JAIR 10, 1999): a buffer that ended up too high
 * is placed earlier in the next round. The first order is by size times time. If that gives no
 * lower packing, the order is by size, as in XLA, but buffers that are too high in the given
 * packing come earlier. */
#include "analysis/pack/improve.h"

#include <stdlib.h>

#include "analysis/pack/best_fit.h"
#include "analysis/pack/parameters.h"
#include "ir/hash.h"

typedef struct RankedBuffer {
  uint64_t priority; /* buffers of higher priority are placed first */
  uint32_t buffer;
} RankedBuffer;

static int by_priority_then_id(const void *pa, const void *pb) {
  const RankedBuffer *a = pa, *b = pb;
  if (a->priority != b->priority) return a->priority > b->priority ? -1 : 1;
  return (a->buffer > b->buffer) - (a->buffer < b->buffer);
}

static uint32_t gather(const PackSections *sections, PackSpan part, RankedBuffer *ranked) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < sections->problem->num_buffers; i++) {
    if (pack_is_in_part(sections, i, part)) ranked[count++].buffer = i;
  }
  return count;
}

static uint64_t width_of(const PackSections *sections, uint32_t buffer) {
  uint64_t width = 0;
  for (uint32_t k = sections->first_span[buffer]; k < sections->first_span[buffer + 1]; k++)
    width += sections->spans[k].end - sections->spans[k].begin;
  return width;
}

static void sort_by_size(const PackSections *sections, RankedBuffer *ranked, uint32_t count,
                         bool times_width) {
  for (uint32_t i = 0; i < count; i++) {
    uint64_t size = (uint64_t)sections->problem->buffers[ranked[i].buffer].bytes;
    uint64_t width = times_width ? width_of(sections, ranked[i].buffer) : 1;
    if (__builtin_mul_overflow(size, width, &ranked[i].priority)) ranked[i].priority = UINT64_MAX;
  }
  if (count) qsort(ranked, count, sizeof *ranked, by_priority_then_id);
}

static int64_t height_of(const PackSections *sections, const RankedBuffer *ranked, uint32_t count,
                         const int64_t *offsets) {
  int64_t height = 0;
  for (uint32_t i = 0; i < count; i++) {
    int64_t end = offsets[ranked[i].buffer] + sections->problem->buffers[ranked[i].buffer].bytes;
    if (end > height) height = end;
  }
  return height;
}

/* Moves buffers that end above `wanted` towards the front, each by a different part of the whole,
 * so that no two rounds are the same. */
static void promote(const PackSections *sections, RankedBuffer *ranked, uint32_t count,
                    uint64_t round, int64_t wanted, const int64_t *offsets, uint32_t reach) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t buffer = ranked[i].buffer;
    ranked[i].priority = (uint64_t)(count - i) * 2;
    if (offsets[buffer] + sections->problem->buffers[buffer].bytes <= wanted) continue;
    uint64_t random = hash_mix(hash_mix(HASH_SEED, round), buffer);
    ranked[i].priority += 1 + random % ((uint64_t)count / reach + 3);
  }
  qsort(ranked, count, sizeof *ranked, by_priority_then_id);
}

void pack_reorder(const PackSections *sections, PackSpan part, int64_t goal_bytes,
                  PackBudget *budget, int64_t *offsets, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  const PackParameters *parameters = pack_parameters(budget);
  uint32_t num_buffers = sections->problem->num_buffers;
  RankedBuffer *ranked = arena_array(scratch, RankedBuffer, num_buffers);
  uint32_t *order = arena_array(scratch, uint32_t, num_buffers);
  int64_t *attempt = arena_array(scratch, int64_t, num_buffers);
  uint32_t count = gather(sections, part, ranked);
  sort_by_size(sections, ranked, count, true);
  int64_t best = height_of(sections, ranked, count, offsets);
  for (uint64_t round = 1; best > goal_bytes; round++) {
    if (round > parameters->reorder_least_rounds && pack_budget_is_spent(budget)) break;
    for (uint32_t i = 0; i < count; i++)
      order[i] = ranked[i].buffer;
    best_fit(sections, order, count, attempt, budget, scratch);
    budget->steps += (uint64_t)count * parameters->reorder_steps;
    int64_t height = height_of(sections, ranked, count, attempt);
    bool is_better = height < best;
    for (uint32_t i = 0; i < count && is_better; i++)
      offsets[order[i]] = attempt[order[i]];
    if (is_better) best = height;
    bool starts_again = round == 1 && !is_better;
    if (starts_again) sort_by_size(sections, ranked, count, false);
    promote(sections, ranked, count, round,
            best - 1 - (best - goal_bytes) / parameters->reorder_depth,
            starts_again ? offsets : attempt, parameters->reorder_reach);
  }
  arena_reset(scratch, mark);
}
