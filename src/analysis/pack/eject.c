/* Ejection search for a packing below a target height. Buffers without a place wait, the largest in
 * size times time first. Each goes to a place where nothing is in its way, or else to the place
 * where removing what is in its way costs least; the removed buffers wait again. The cost of
 * removing a buffer increases each time that the buffer finds no free place, so that the search
 * does not repeat itself (Nagata and Bräysy, "A powerful route minimization heuristic for the
 * vehicle routing problem with time windows", Operations Research Letters 37, 2009, do this with
 * the customers of vehicles).
 *
 * Runs are short and differ in the packing that they begin with, in costs, and in the choice
 * between free places: most runs succeed soon or never. The goal is tried first, then heights half
 * way to the best so far: a slightly higher target is much easier, and a packing that is nearly low
 * enough is a good beginning. For the same reason the goal is first rounded up, and which buffer is
 * at the top, without its padding, is decided last. */
#include "analysis/pack/improve.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/pack/parameters.h"
#include "ir/hash.h"

/* Bits of the sum of all buffers' costs before any failure. */
enum { COST_BITS = 46 };

/* Which of the gaps with the least cost is taken. */
typedef enum GapRule { GAP_SMALLEST, GAP_LOWEST, GAP_ANY, NUM_GAP_RULES } GapRule;

/* A placed buffer in a list that is sorted by key and buffer. */
typedef struct Entry {
  int64_t key;
  PackSpan hull;
  uint32_t buffer;
  bool has_pauses; /* has several spans, so it does not live during the whole hull */
} Entry;

/* The offset after which a placed buffer begins to be in the way, or from which on it no longer
 * is. */
typedef struct Edge {
  int64_t at;
  uint64_t cost;
} Edge;

typedef struct Ejector {
  const PackSections *sections;
  uint32_t num_buffers;
  uint32_t *order; /* largest first */
  /* by buffer of the problem */
  int64_t *bytes; /* rounded up to the granule */
  int64_t *offset;
  uint32_t *rank; /* position in the order */
  uint64_t *cost, *root_cost;
  uint32_t *num_failures;
  bool *is_placed;
  /* the placed ones */
  Entry *by_bottom, *by_top;
  uint32_t num_placed;
  uint32_t first_waiting; /* position in the order; no buffer before it waits */
  Edge *begins, *ends;    /* of find_gap */
  /* the run */
  const uint64_t *costs;
  GapRule rule;
  int64_t target_bytes;
  uint64_t random;
} Ejector;

/* ---- placed buffers ---- */

static bool share_a_section(const PackSections *sections, uint32_t a, uint32_t b) {
  uint32_t i = sections->first_span[a], k = sections->first_span[b];
  while (i < sections->first_span[a + 1] && k < sections->first_span[b + 1]) {
    if (sections->spans[i].end <= sections->spans[k].begin) {
      i++;
    } else if (sections->spans[k].end <= sections->spans[i].begin) {
      k++;
    } else {
      return true;
    }
  }
  return false;
}

static inline bool is_beside(const PackSections *sections, const Entry *a, const Entry *b) {
  if (a->hull.begin >= b->hull.end || b->hull.begin >= a->hull.end) return false;
  if (!a->has_pauses && !b->has_pauses) return true;
  return share_a_section(sections, a->buffer, b->buffer);
}

static int by_key_then_buffer(const void *pa, const void *pb) {
  const Entry *a = pa, *b = pb;
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  return (a->buffer > b->buffer) - (a->buffer < b->buffer);
}

static uint32_t find_entry(const Entry *list, uint32_t len, const Entry *wanted) {
  uint32_t low = 0, high = len;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (by_key_then_buffer(&list[middle], wanted) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static void insert_entry(Entry *list, uint32_t len, Entry new) {
  uint32_t at = find_entry(list, len, &new);
  memmove(list + at + 1, list + at, (len - at) * sizeof *list);
  list[at] = new;
}

static void remove_entry(Entry *list, uint32_t len, Entry old) {
  uint32_t at = find_entry(list, len, &old);
  memmove(list + at, list + at + 1, (len - at - 1) * sizeof *list);
}

static Entry bottom_of(const Ejector *ejector, uint32_t buffer) {
  const PackSections *sections = ejector->sections;
  uint32_t first = sections->first_span[buffer], last = sections->first_span[buffer + 1] - 1;
  return (Entry){.key = ejector->offset[buffer],
                 .hull = {sections->spans[first].begin, sections->spans[last].end},
                 .buffer = buffer,
                 .has_pauses = last > first};
}

static Entry top_of(const Ejector *ejector, uint32_t buffer) {
  Entry entry = bottom_of(ejector, buffer);
  entry.key += ejector->bytes[buffer];
  return entry;
}

static void place(Ejector *ejector, uint32_t buffer, int64_t offset) {
  ejector->offset[buffer] = offset;
  insert_entry(ejector->by_bottom, ejector->num_placed, bottom_of(ejector, buffer));
  insert_entry(ejector->by_top, ejector->num_placed, top_of(ejector, buffer));
  ejector->num_placed++;
  ejector->is_placed[buffer] = true;
}

static void take_out(Ejector *ejector, uint32_t buffer) {
  remove_entry(ejector->by_bottom, ejector->num_placed, bottom_of(ejector, buffer));
  remove_entry(ejector->by_top, ejector->num_placed, top_of(ejector, buffer));
  ejector->num_placed--;
  ejector->is_placed[buffer] = false;
  uint32_t rank = ejector->rank[buffer];
  if (rank < ejector->first_waiting) ejector->first_waiting = rank;
}

/* ---- gaps ---- */

static uint32_t next_random(Ejector *ejector) {
  ejector->random = hash_mix(ejector->random, HASH_SEED);
  return (uint32_t)(ejector->random >> 32);
}

static uint64_t cost_of(const Ejector *ejector, uint32_t buffer) {
  return ejector->costs[buffer] * (1 + ejector->num_failures[buffer]);
}

/* Lists the edges of the buffers that live beside a buffer, in order. Returns how many there are of
 * each kind. */
static uint32_t gather_edges(Ejector *ejector, uint32_t buffer) {
  const PackSections *sections = ejector->sections;
  Entry hand = bottom_of(ejector, buffer);
  uint32_t num_begins = 0, num_ends = 0;
  for (uint32_t i = 0; i < ejector->num_placed; i++) {
    const Entry *bottom = &ejector->by_bottom[i], *top = &ejector->by_top[i];
    if (is_beside(sections, &hand, bottom)) {
      ejector->begins[num_begins++] =
          (Edge){bottom->key - ejector->bytes[buffer], cost_of(ejector, bottom->buffer)};
    }
    if (is_beside(sections, &hand, top)) {
      ejector->ends[num_ends++] = (Edge){top->key, cost_of(ejector, top->buffer)};
    }
  }
  return num_begins;
}

/* The offset, at the bottom or on top of a placed buffer, where removing what is in the way costs
 * least. */
static int64_t find_gap(Ejector *ejector, uint32_t buffer) {
  const PackBuffer *what = &ejector->sections->problem->buffers[buffer];
  uint32_t count = gather_edges(ejector, buffer);
  const Edge *begins = ejector->begins, *ends = ejector->ends;
  int64_t highest = ejector->target_bytes - what->bytes, at = 0, best = 0, best_length = 0;
  uint64_t cost = 0, least = UINT64_MAX;
  uint32_t num_equal = 0;
  for (uint32_t begun = 0, ended = 0; at <= highest;) {
    for (; begun < count && begins[begun].at < at; begun++)
      cost += begins[begun].cost;
    for (; ended < count && ends[ended].at <= at; ended++)
      cost -= ends[ended].cost;
    int64_t end = begun < count && begins[begun].at < highest ? begins[begun].at : highest;
    bool is_better = cost < least;
    num_equal = is_better ? 1 : num_equal + (cost == least);
    if (cost == least && ejector->rule == GAP_SMALLEST) is_better = end - at < best_length;
    if (cost == least && ejector->rule == GAP_ANY) {
      is_better = next_random(ejector) % num_equal == 0;
    }
    if (is_better) {
      least = cost;
      best = at;
      best_length = end - at;
    }
    if (ended == count) break;
    at = align_up(ends[ended].at, what->alignment);
  }
  return best;
}

/* Removes the buffers that overlap the new place of the buffer. Returns whether there were any. */
static bool clear_gap(Ejector *ejector, uint32_t buffer, int64_t offset) {
  Entry hand = bottom_of(ejector, buffer);
  int64_t end = offset + ejector->bytes[buffer];
  uint32_t num_before = ejector->num_placed;
  for (uint32_t i = num_before; i-- > 0;) {
    const Entry *entry = &ejector->by_bottom[i];
    if (entry->key >= end || entry->key + ejector->bytes[entry->buffer] <= offset) continue;
    if (is_beside(ejector->sections, &hand, entry)) take_out(ejector, entry->buffer);
  }
  return ejector->num_placed < num_before;
}

/* ---- runs ---- */

/* Begins with the buffers of a packing that end below the target, or with none. */
static void begin_run(Ejector *ejector, int64_t target_bytes, const int64_t *offsets,
                      uint32_t run) {
  const PackBuffer *buffers = ejector->sections->problem->buffers;
  ejector->target_bytes = target_bytes;
  ejector->costs = run / 2 % 2 ? ejector->root_cost : ejector->cost;
  ejector->rule = run / 4 % NUM_GAP_RULES;
  ejector->random = hash_mix(HASH_SEED, run);
  ejector->num_placed = ejector->first_waiting = 0;
  for (uint32_t i = 0; i < ejector->num_buffers; i++) {
    uint32_t buffer = ejector->order[i];
    ejector->num_failures[buffer] = 0;
    ejector->is_placed[buffer] =
        run % 2 == 0 && offsets[buffer] + buffers[buffer].bytes <= target_bytes;
    if (!ejector->is_placed[buffer]) continue;
    ejector->offset[buffer] = offsets[buffer];
    ejector->by_bottom[ejector->num_placed] = bottom_of(ejector, buffer);
    ejector->by_top[ejector->num_placed++] = top_of(ejector, buffer);
  }
  if (ejector->num_placed == 0) return;
  qsort(ejector->by_bottom, ejector->num_placed, sizeof *ejector->by_bottom, by_key_then_buffer);
  qsort(ejector->by_top, ejector->num_placed, sizeof *ejector->by_top, by_key_then_buffer);
}

/* Returns whether all buffers found a place. */
static bool run_iterations(Ejector *ejector, uint64_t max_iterations, PackBudget *budget) {
  const PackParameters *parameters = pack_parameters(budget);
  max_iterations += ejector->num_buffers - ejector->num_placed;
  for (uint64_t iteration = 0; ejector->num_placed < ejector->num_buffers; iteration++) {
    if (iteration == max_iterations || pack_budget_is_spent(budget)) return false;
    while (ejector->is_placed[ejector->order[ejector->first_waiting]])
      ejector->first_waiting++;
    uint32_t buffer = ejector->order[ejector->first_waiting];
    budget->steps += parameters->eject_iteration_steps + 2 * (uint64_t)ejector->num_placed;
    int64_t offset = find_gap(ejector, buffer);
    bool has_failed = clear_gap(ejector, buffer, offset);
    uint32_t *num_failures = &ejector->num_failures[buffer];
    if (has_failed && *num_failures < parameters->eject_failures) ++*num_failures;
    place(ejector, buffer, offset);
  }
  return true;
}

/* ---- setting up ---- */

typedef struct Ranked {
  uint64_t area;
  uint32_t buffer;
} Ranked;

static int by_area_then_buffer(const void *pa, const void *pb) {
  const Ranked *a = pa, *b = pb;
  if (a->area != b->area) return a->area > b->area ? -1 : 1;
  return (a->buffer > b->buffer) - (a->buffer < b->buffer);
}

static uint64_t area_of(const PackSections *sections, uint32_t buffer, int64_t bytes) {
  uint64_t width = 0, area;
  for (uint32_t k = sections->first_span[buffer]; k < sections->first_span[buffer + 1]; k++)
    width += sections->spans[k].end - sections->spans[k].begin;
  uint64_t units = (uint64_t)(bytes / sections->granule);
  return __builtin_mul_overflow(width, units, &area) ? UINT64_MAX : area;
}

/* Costs are areas, or approximately their square roots; no cost is 0. */
static void set_costs(Ejector *ejector, const Ranked *list) {
  uint64_t most = (UINT64_C(1) << COST_BITS) / ejector->num_buffers;
  int shift = 0;
  while (list[0].area >> shift > most)
    shift++;
  for (uint32_t i = 0; i < ejector->num_buffers; i++) {
    uint64_t cost = (list[i].area >> shift) + 1;
    ejector->cost[list[i].buffer] = cost;
    ejector->root_cost[list[i].buffer] = UINT64_C(1) << (64 - __builtin_clzll(cost)) / 2;
  }
}

static Ejector ejector_new(const PackSections *sections, PackSpan part, Arena *arena) {
  uint32_t num_buffers = sections->problem->num_buffers;
  Ejector ejector = {.sections = sections,
                     .order = arena_array(arena, uint32_t, num_buffers),
                     .bytes = arena_array(arena, int64_t, num_buffers),
                     .offset = arena_array(arena, int64_t, num_buffers),
                     .rank = arena_array(arena, uint32_t, num_buffers),
                     .cost = arena_array(arena, uint64_t, num_buffers),
                     .root_cost = arena_array(arena, uint64_t, num_buffers),
                     .num_failures = arena_array(arena, uint32_t, num_buffers),
                     .is_placed = arena_array(arena, bool, num_buffers),
                     .by_bottom = arena_array(arena, Entry, num_buffers),
                     .by_top = arena_array(arena, Entry, num_buffers),
                     .begins = arena_array(arena, Edge, num_buffers),
                     .ends = arena_array(arena, Edge, num_buffers)};
  Ranked *list = arena_array(arena, Ranked, num_buffers);
  for (uint32_t i = 0; i < num_buffers; i++) {
    if (!pack_is_in_part(sections, i, part)) continue;
    ejector.bytes[i] = align_up(sections->problem->buffers[i].bytes, sections->granule);
    list[ejector.num_buffers++] = (Ranked){area_of(sections, i, ejector.bytes[i]), i};
  }
  if (ejector.num_buffers == 0) return ejector;
  qsort(list, ejector.num_buffers, sizeof *list, by_area_then_buffer);
  for (uint32_t i = 0; i < ejector.num_buffers; i++) {
    ejector.order[i] = list[i].buffer;
    ejector.rank[list[i].buffer] = i;
  }
  set_costs(&ejector, list);
  return ejector;
}

static int64_t height_of(const Ejector *ejector, const int64_t *offsets) {
  int64_t height = 0;
  for (uint32_t i = 0; i < ejector->num_buffers; i++) {
    uint32_t buffer = ejector->order[i];
    int64_t end = offsets[buffer] + ejector->sections->problem->buffers[buffer].bytes;
    if (end > height) height = end;
  }
  return height;
}

void pack_eject(const PackSections *sections, PackSpan part, int64_t goal_bytes, uint32_t round,
                PackBudget *budget, int64_t *offsets, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  Ejector ejector = ejector_new(sections, part, scratch);
  const PackParameters *parameters = pack_parameters(budget);
  uint64_t max_iterations =
      parameters->eject_iterations * ((uint64_t)round + 1) * ejector.num_buffers;
  uint32_t run = round * parameters->eject_runs;
  int64_t best = height_of(&ejector, offsets);
  int64_t rounded = best > goal_bytes ? align_up(goal_bytes, sections->granule) : goal_bytes;
  int64_t target = best > rounded ? rounded : goal_bytes;
  int64_t believed = target, least_gain = (best - target) >> parameters->eject_halvings;
  while (target < best && !pack_budget_is_spent(budget)) {
    begin_run(&ejector, target, offsets, run++);
    budget->steps += parameters->eject_sort_steps * (uint64_t)ejector.num_buffers;
    if (run_iterations(&ejector, max_iterations, budget)) {
      for (uint32_t i = 0; i < ejector.num_buffers; i++)
        offsets[ejector.order[i]] = ejector.offset[ejector.order[i]];
      best = height_of(&ejector, offsets);
      if (target == rounded) believed = goal_bytes;
    } else {
      believed = target + least_gain + 1;
    }
    target = believed + (best - believed) / 2;
    if (best <= rounded && believed == goal_bytes) target = goal_bytes;
  }
  arena_reset(scratch, mark);
}
