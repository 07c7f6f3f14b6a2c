/* The lowest packing that can be found within a number of steps: never higher than xla's. Parts of
 * time that no buffer crosses are packed by themselves, the highest first. In a part a tree search
 * is asked for the goal, a height that cannot or need not be improved upon, and then for heights
 * between the goal and the best so far. Where the tree would be too large, orders for best fit are
 * improved. */
#include <stdlib.h>
#include <string.h>

#include "analysis/pack_reorder.h"
#include "analysis/pack_search.h"

/* Pairs of buffers and sections up to which the tree search is worth its memory and its time. */
static const uint64_t MAX_PAIRS = UINT64_C(1) << 22;

typedef struct Part {
  PackSpan span;
  int64_t height_bytes;
  int64_t bound_bytes;  /* nothing lower is to be found */
  int64_t proven_bytes; /* no packing of it is lower */
} Part;

typedef struct BestPacker {
  const PackSections *sections;
  PackBudget *budget;
  int64_t *offsets; /* the best so far */
  int64_t *attempt; /* by buffer: room for another one */
  Arena *scratch;
} BestPacker;

static int64_t part_height(const PackSections *sections, PackSpan part, const int64_t *offsets) {
  int64_t height = 0;
  for (uint32_t i = 0; i < sections->problem->num_buffers; i++) {
    if (!pack_is_in_part(sections, i, part)) continue;
    int64_t end = offsets[i] + sections->problem->buffers[i].bytes;
    if (end > height) height = end;
  }
  return height;
}

static void keep_attempt(BestPacker *packer, Part *part) {
  for (uint32_t i = 0; i < packer->sections->problem->num_buffers; i++) {
    if (pack_is_in_part(packer->sections, i, part->span)) packer->offsets[i] = packer->attempt[i];
  }
  part->height_bytes = part_height(packer->sections, part->span, packer->offsets);
}

/* ---- the tree ---- */

/* Runs with one order of buffers after the other until the target is met, is known not to be met,
 * or the steps are spent. */
static SearchEnd search_target(BestPacker *packer, PackSearch *search, Part *part, int64_t target,
                               uint64_t max_steps) {
  PackBudget slice = *packer->budget;
  if (max_steps < slice.max_steps - slice.steps) slice.max_steps = slice.steps + max_steps;
  SearchEnd end = SEARCH_LIMIT;
  for (uint32_t variant = 0; end == SEARCH_LIMIT && !pack_budget_is_spent(&slice); variant++)
    end = pack_search_run(search, target, variant, &slice, packer->attempt);
  packer->budget->steps = slice.steps;
  packer->budget->next_reading = slice.next_reading;
  if (end == SEARCH_FOUND) keep_attempt(packer, part);
  return end;
}

/* Halves the range between what is known or believed not to work and the best height. What was only
 * believed is tried again with twice the steps. */
static void close_in(BestPacker *packer, PackSearch *search, Part *part, int64_t believed) {
  PackBudget *budget = packer->budget;
  uint64_t slice = (budget->max_steps - budget->steps) / 64 + 1;
  int64_t least_gain = part->bound_bytes / 1024 + 1;
  while (part->height_bytes > part->bound_bytes && !pack_budget_is_spent(budget)) {
    while (part->height_bytes > believed && !pack_budget_is_spent(budget)) {
      int64_t target = believed + (part->height_bytes - believed) / 2;
      if (target == part->height_bytes) target--;
      SearchEnd end = search_target(packer, search, part, target, slice);
      if (end == SEARCH_NONE) part->bound_bytes = believed = target + 1;
      if (end == SEARCH_LIMIT) believed = target + least_gain;
    }
    believed = part->bound_bytes;
    slice *= 2;
  }
}

static void search_part(BestPacker *packer, Part *part, int64_t goal) {
  PackSearch *search = pack_search_new(packer->sections, part->span, packer->scratch);
  PackBudget *budget = packer->budget;
  uint64_t left = budget->max_steps - budget->steps;
  SearchEnd end = search_target(packer, search, part, goal, left / 4 * 3);
  if (end == SEARCH_NONE) part->bound_bytes = goal + 1;
  if (end != SEARCH_FOUND) close_in(packer, search, part, goal + 1);
  if (pack_search_is_complete(search)) part->proven_bytes = part->bound_bytes;
  pack_search_free(search);
}

/* ---- parts ---- */

static int highest_first(const void *pa, const void *pb) {
  const Part *a = pa, *b = pb;
  if (a->height_bytes != b->height_bytes) return a->height_bytes > b->height_bytes ? -1 : 1;
  return (a->span.begin > b->span.begin) - (a->span.begin < b->span.begin);
}

static Part measure_part(const BestPacker *packer, PackSpan span) {
  const PackSections *sections = packer->sections;
  Part part = {.span = span, .height_bytes = part_height(sections, span, packer->offsets)};
  for (uint32_t s = span.begin; s < span.end; s++) {
    if (sections->live_bytes[s] > part.bound_bytes) part.bound_bytes = sections->live_bytes[s];
  }
  part.proven_bytes = part.bound_bytes;
  return part;
}

/* Whether one descent of the tree is sure to end within the steps: each node may look at all pairs
 * of a buffer and a section, though few do. */
static bool is_small(const BestPacker *packer, PackSpan part) {
  const PackSections *sections = packer->sections;
  uint64_t pairs = 0, num_buffers = 0;
  for (uint32_t i = 0; i < sections->problem->num_buffers; i++) {
    if (!pack_is_in_part(sections, i, part)) continue;
    num_buffers++;
    for (uint32_t k = sections->first_span[i]; k < sections->first_span[i + 1]; k++)
      pairs += sections->spans[k].end - sections->spans[k].begin;
  }
  uint64_t left = packer->budget->max_steps - packer->budget->steps;
  return pairs < MAX_PAIRS && num_buffers * pairs / 4 < left;
}

/* Returns the height that no packing can go below. */
static int64_t improve_parts(BestPacker *packer, int64_t goal) {
  const PackSections *sections = packer->sections;
  PackSpan *spans = arena_array(packer->scratch, PackSpan, sections->num_sections);
  uint32_t num_parts = pack_sections_split(sections, spans, packer->scratch);
  Part *parts = arena_array(packer->scratch, Part, num_parts);
  int64_t bound = 0;
  for (uint32_t i = 0; i < num_parts; i++)
    parts[i] = measure_part(packer, spans[i]);
  if (num_parts) qsort(parts, num_parts, sizeof *parts, highest_first);
  for (uint32_t i = 0; i < num_parts; i++) {
    Part *part = &parts[i];
    if (part->height_bytes > goal && !pack_budget_is_spent(packer->budget)) {
      if (is_small(packer, part->span)) {
        search_part(packer, part, goal);
      } else {
        pack_reorder(sections, part->span, goal, packer->budget, packer->offsets, packer->scratch);
        part->height_bytes = part_height(sections, part->span, packer->offsets);
      }
    }
    /* The others need not be lower than this one. */
    if (part->height_bytes > goal) goal = part->height_bytes;
    if (part->proven_bytes > bound) bound = part->proven_bytes;
  }
  return bound;
}

void pack_best(const PackProblem *problem, int64_t capacity_bytes, PackBudget *budget,
               Packing *packing, Arena *scratch) {
  pack_xla(problem, capacity_bytes, budget, packing, scratch);
  /* What that took is not of the steps for improving upon it. */
  if (budget->max_steps <= UINT64_MAX - budget->steps) budget->max_steps += budget->steps;
  ArenaMark mark = arena_mark(scratch);
  PackSections sections = pack_sections_build(problem, scratch, scratch);
  BestPacker packer = {.sections = &sections,
                       .budget = budget,
                       .offsets = packing->offsets,
                       .attempt = arena_array(scratch, int64_t, problem->num_buffers),
                       .scratch = scratch};
  int64_t bound = pack_lower_bound(&sections), goal = bound;
  if (capacity_bytes > goal) goal = capacity_bytes;
  if (packing->height_bytes > goal) {
    int64_t proven = improve_parts(&packer, goal);
    if (proven > bound) bound = proven;
    packing->height_bytes = pack_height(problem, packing->offsets);
  }
  packing->is_optimal = packing->height_bytes == bound;
  arena_reset(scratch, mark);
}
