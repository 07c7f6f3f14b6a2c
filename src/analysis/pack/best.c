/* The lowest packing that is found within a number of steps; it is never higher than xla's. Parts
 * of time that no buffer crosses are packed separately, the highest first. In each part a tree
 * search and ejection search for a packing of the goal, a height that cannot or need not be
 * improved, and then for heights between the goal and the best so far. If the tree would be too
 * large, best fit in other orders is tried before ejection. */
#include <stdlib.h>
#include <string.h>

#include "analysis/pack/best_heaps.h"
#include "analysis/pack/eject.h"
#include "analysis/pack/reorder.h"
#include "analysis/pack/search.h"

/* Pairs of buffers and sections up to which the tree search is worth its memory and its time. */
static const uint64_t MAX_PAIRS = UINT64_C(1) << 22;

/* The part of the steps for what is tried first: the tree, or best fit where that is too large. */
enum { TREE_FRACTION = 6, REORDER_FRACTION = 16 };

typedef struct Part {
  PackSpan span;
  int64_t height_bytes;
  int64_t bound_bytes;  /* no lower height is to be found */
  int64_t proven_bytes; /* proven: no packing of the part is lower */
} Part;

typedef struct BestPacker {
  const PackSections *sections;
  PackBudget *budget;
  int64_t *offsets; /* the best so far */
  int64_t *attempt; /* by buffer: the offsets of another packing */
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

static uint64_t steps_left(const BestPacker *packer) {
  const PackBudget *budget = packer->budget;
  return budget->steps < budget->max_steps ? budget->max_steps - budget->steps : 0;
}

/* A budget of at most `max_steps` of the remaining steps. */
static PackBudget take_slice(const BestPacker *packer, uint64_t max_steps) {
  PackBudget slice = *packer->budget;
  if (max_steps < steps_left(packer)) slice.max_steps = slice.steps + max_steps;
  return slice;
}

static void give_back(BestPacker *packer, const PackBudget *slice) {
  packer->budget->steps = slice->steps;
  packer->budget->next_reading = slice->next_reading;
}

/* ---- the tree ---- */

/* Runs the search with one order of buffers after the other until it finds a packing, proves that
 * there is none, or has no steps left. */
static SearchEnd search_target(BestPacker *packer, PackSearch *search, Part *part, int64_t target,
                               uint64_t max_steps) {
  PackBudget slice = take_slice(packer, max_steps);
  SearchEnd end = SEARCH_LIMIT;
  for (uint32_t variant = 0; end == SEARCH_LIMIT && !pack_budget_is_spent(&slice); variant++)
    end = pack_search_run(search, target, variant, &slice, packer->attempt);
  give_back(packer, &slice);
  if (end == SEARCH_FOUND) keep_attempt(packer, part);
  return end;
}

static void eject_once(BestPacker *packer, Part *part, int64_t goal, uint32_t round) {
  pack_eject(packer->sections, part->span, goal, round, packer->budget, packer->offsets,
             packer->scratch);
  part->height_bytes = part_height(packer->sections, part->span, packer->offsets);
}

/* Halves the range between the best height and the heights that are known or believed to be
 * impossible. A height that was only believed to be impossible is tried again with twice the
 * steps. */
static void close_in(BestPacker *packer, PackSearch *search, Part *part, int64_t goal) {
  PackBudget *budget = packer->budget;
  uint64_t slice = steps_left(packer) / 64 + 1;
  int64_t least_gain = part->bound_bytes / 1024 + 1;
  for (uint32_t round = 1; part->height_bytes > goal && !pack_budget_is_spent(budget); round++) {
    int64_t believed = goal;
    while (part->height_bytes > believed && !pack_budget_is_spent(budget)) {
      int64_t target = believed + (part->height_bytes - believed) / 2;
      if (target == part->height_bytes) target--;
      SearchEnd end = search_target(packer, search, part, target, slice);
      if (end == SEARCH_NONE) part->bound_bytes = goal = believed = target + 1;
      if (end == SEARCH_LIMIT) believed = target + least_gain;
    }
    if (part->height_bytes > goal) eject_once(packer, part, goal, round);
    slice *= 2;
  }
}

/* Each of the searches may find soon what the other does not. Most of the remaining steps go to the
 * tree, because its runs are long when a part has a thousand buffers. A slightly higher target is
 * much easier. */
static void search_part(BestPacker *packer, Part *part, int64_t goal) {
  PackSearch *search = pack_search_new(packer->sections, part->span, packer->scratch);
  SearchEnd end = search_target(packer, search, part, goal, steps_left(packer) / TREE_FRACTION);
  if (end == SEARCH_NONE) part->bound_bytes = goal + 1;
  if (end == SEARCH_LIMIT) eject_once(packer, part, goal, 0);
  if (end == SEARCH_LIMIT && part->height_bytes > goal) {
    int64_t half_way = goal + (part->height_bytes - goal) / 2;
    end = search_target(packer, search, part, half_way, steps_left(packer) / 4 * 3);
    if (end == SEARCH_NONE) part->bound_bytes = half_way + 1;
  }
  close_in(packer, search, part, goal > part->bound_bytes ? goal : part->bound_bytes);
  if (pack_search_is_complete(search)) part->proven_bytes = part->bound_bytes;
  pack_search_free(search);
}

/* Best fit in other orders is quick and gives the ejection search a better packing to begin with.
 * When the height is within the rounding of one buffer, further steps do not pay. */
static void reorder_part(BestPacker *packer, Part *part, int64_t goal) {
  PackBudget slice = take_slice(packer, steps_left(packer) / REORDER_FRACTION);
  pack_reorder(packer->sections, part->span, goal, &slice, packer->offsets, packer->scratch);
  give_back(packer, &slice);
  part->height_bytes = part_height(packer->sections, part->span, packer->offsets);
  int64_t enough = align_up(goal, packer->sections->granule);
  for (uint32_t i = 0; part->height_bytes > enough && !pack_budget_is_spent(packer->budget); i++)
    eject_once(packer, part, goal, i);
}

/* ---- parts ---- */

static int highest_first(const void *pa, const void *pb) {
  const Part *a = pa, *b = pb;
  if (a->height_bytes != b->height_bytes) return a->height_bytes > b->height_bytes ? -1 : 1;
  return (a->span.begin > b->span.begin) - (a->span.begin < b->span.begin);
}

/* The parts of time with their heights, the highest first; returns their number. */
static uint32_t measure_parts(const BestPacker *packer, Part **parts) {
  const PackSections *sections = packer->sections;
  PackSpan *spans = arena_array(packer->scratch, PackSpan, sections->num_sections);
  uint32_t *part_of = arena_array(packer->scratch, uint32_t, sections->num_sections);
  uint32_t num_parts = pack_sections_split(sections, spans, packer->scratch);
  *parts = arena_array(packer->scratch, Part, num_parts);
  for (uint32_t i = 0; i < num_parts; i++) {
    (*parts)[i] = (Part){.span = spans[i]};
    for (uint32_t s = spans[i].begin; s < spans[i].end; s++)
      part_of[s] = i;
  }
  for (uint32_t i = 0; i < sections->problem->num_buffers; i++) {
    if (sections->first_span[i] == sections->first_span[i + 1]) continue;
    Part *part = &(*parts)[part_of[sections->spans[sections->first_span[i]].begin]];
    int64_t end = packer->offsets[i] + sections->problem->buffers[i].bytes;
    if (end > part->height_bytes) part->height_bytes = end;
  }
  if (num_parts) qsort(*parts, num_parts, sizeof **parts, highest_first);
  return num_parts;
}

/* Whether some descents of the tree certainly end within the steps: each node may visit all pairs
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
  return pairs < MAX_PAIRS && num_buffers * pairs < steps_left(packer);
}

/* Returns a lower bound of the height. */
static int64_t improve_parts(BestPacker *packer, int64_t goal) {
  Part *parts;
  uint32_t num_parts = measure_parts(packer, &parts);
  int64_t bound = 0;
  for (uint32_t i = 0; i < num_parts; i++) {
    Part *part = &parts[i];
    if (part->height_bytes <= goal || pack_budget_is_spent(packer->budget)) break;
    part->bound_bytes = part->proven_bytes = pack_part_bound(packer->sections, part->span);
    if (is_small(packer, part->span)) {
      search_part(packer, part, goal);
    } else {
      reorder_part(packer, part, goal);
    }
    /* no other part needs to be lower than this one */
    if (part->height_bytes > goal) goal = part->height_bytes;
    if (part->proven_bytes > bound) bound = part->proven_bytes;
  }
  return bound;
}

void pack_best(const PackProblem *problem, int64_t capacity_bytes, PackBudget *budget,
               Packing *packing, Arena *scratch) {
  pack_xla(problem, capacity_bytes, budget, packing, scratch);
  if (packing->heaps) {
    pack_best_heaps(problem, capacity_bytes, budget, packing, scratch);
    return;
  }
  /* The steps for this first packing do not count as steps for improving it. */
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
