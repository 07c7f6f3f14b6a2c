/* Squeaky wheel optimization (Joslin and Clements, JAIR 10, 1999): a buffer that ended up too high
 * is placed earlier in the next round. The first order is by size times time. If that gives no
 * lower packing, the order is by size, as in XLA, but buffers that are too high in the given
 * packing come earlier. */
#include "analysis/pack/reorder.h"

#include <stdlib.h>

#include "analysis/pack/best_fit.h"
#include "ir/hash.h"

/* What the budget does not bound: runs of best fit. */
enum { MIN_ROUNDS = 4 };

typedef struct Turn {
  uint64_t priority; /* buffers of higher priority are placed first */
  uint32_t buffer;
} Turn;

static int by_priority_then_id(const void *pa, const void *pb) {
  const Turn *a = pa, *b = pb;
  if (a->priority != b->priority) return a->priority > b->priority ? -1 : 1;
  return (a->buffer > b->buffer) - (a->buffer < b->buffer);
}

static uint32_t gather(const PackSections *sections, PackSpan part, Turn *turns) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < sections->problem->num_buffers; i++) {
    if (pack_is_in_part(sections, i, part)) turns[count++].buffer = i;
  }
  return count;
}

static uint64_t width_of(const PackSections *sections, uint32_t buffer) {
  uint64_t width = 0;
  for (uint32_t k = sections->first_span[buffer]; k < sections->first_span[buffer + 1]; k++)
    width += sections->spans[k].end - sections->spans[k].begin;
  return width;
}

static void sort_by_size(const PackSections *sections, Turn *turns, uint32_t count,
                         bool times_width) {
  for (uint32_t i = 0; i < count; i++) {
    uint64_t size = (uint64_t)sections->problem->buffers[turns[i].buffer].bytes;
    uint64_t width = times_width ? width_of(sections, turns[i].buffer) : 1;
    if (__builtin_mul_overflow(size, width, &turns[i].priority)) turns[i].priority = UINT64_MAX;
  }
  if (count) qsort(turns, count, sizeof *turns, by_priority_then_id);
}

static int64_t height_of(const PackSections *sections, const Turn *turns, uint32_t count,
                         const int64_t *offsets) {
  int64_t height = 0;
  for (uint32_t i = 0; i < count; i++) {
    int64_t end = offsets[turns[i].buffer] + sections->problem->buffers[turns[i].buffer].bytes;
    if (end > height) height = end;
  }
  return height;
}

/* Moves buffers that end above `wanted` towards the front, each by a different part of the whole,
 * so that no two rounds are the same. */
static void promote(const PackSections *sections, Turn *turns, uint32_t count, uint64_t round,
                    int64_t wanted, const int64_t *offsets) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t buffer = turns[i].buffer;
    turns[i].priority = (uint64_t)(count - i) * 2;
    if (offsets[buffer] + sections->problem->buffers[buffer].bytes <= wanted) continue;
    uint64_t random = hash_mix(hash_mix(HASH_SEED, round), buffer);
    turns[i].priority += 1 + random % ((uint64_t)count / 2 + 3);
  }
  qsort(turns, count, sizeof *turns, by_priority_then_id);
}

void pack_reorder(const PackSections *sections, PackSpan part, int64_t goal_bytes,
                  PackBudget *budget, int64_t *offsets, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  uint32_t num_buffers = sections->problem->num_buffers;
  Turn *turns = arena_array(scratch, Turn, num_buffers);
  uint32_t *order = arena_array(scratch, uint32_t, num_buffers);
  int64_t *attempt = arena_array(scratch, int64_t, num_buffers);
  uint32_t count = gather(sections, part, turns);
  sort_by_size(sections, turns, count, true);
  int64_t best = height_of(sections, turns, count, offsets);
  for (uint64_t round = 1; best > goal_bytes; round++) {
    if (round > MIN_ROUNDS && pack_budget_is_spent(budget)) break;
    for (uint32_t i = 0; i < count; i++)
      order[i] = turns[i].buffer;
    best_fit(sections, order, count, attempt, budget, scratch);
    budget->steps += (uint64_t)count * 100;
    int64_t height = height_of(sections, turns, count, attempt);
    bool is_better = height < best;
    for (uint32_t i = 0; i < count && is_better; i++)
      offsets[order[i]] = attempt[order[i]];
    if (is_better) best = height;
    bool starts_again = round == 1 && !is_better;
    if (starts_again) sort_by_size(sections, turns, count, false);
    promote(sections, turns, count, round, best - 1 - (best - goal_bytes) / 4,
            starts_again ? offsets : attempt);
  }
  arena_reset(scratch, mark);
}
