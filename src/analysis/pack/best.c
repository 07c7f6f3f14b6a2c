/* The lowest packing that is found within a number of steps; it is never higher than xla's. Parts
 * of time that no buffer crosses are packed separately, the highest first. In each part a tree
 * search and ejection search for a packing of the goal, a height that cannot or need not be
 * improved, and then for heights between the goal and the best so far. If the tree would be too
 * large, best fit in other orders is tried before ejection. */
#include <stdlib.h>
#include <string.h>

#include "analysis/pack/heaps.h"
#include "analysis/pack/improve.h"
#include "analysis/pack/parameters.h"
#include "analysis/pack/xla.h"

typedef struct Part {
  PackSpan span;
  int64_t height_bytes;
  int64_t bound_bytes;  /* no lower height is to be found */
  int64_t proven_bytes; /* proven: no packing of the part is lower */
} Part;

typedef struct BestPacker {
  const PackSections *sections;
  PackBudget *budget;
  const PackParameters *parameters;
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
  uint64_t slice = steps_left(packer) / packer->parameters->tree_slice + 1;
  int64_t least_gain = part->bound_bytes / packer->parameters->tree_gain + 1;
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
  const PackParameters *parameters = packer->parameters;
  PackSearch *search = pack_search_new(packer->sections, part->span, packer->scratch);
  uint64_t first_steps = steps_left(packer) / parameters->tree_share;
  SearchEnd end = search_target(packer, search, part, goal, first_steps);
  if (end == SEARCH_NONE) part->bound_bytes = goal + 1;
  if (end == SEARCH_LIMIT) eject_once(packer, part, goal, 0);
  if (end == SEARCH_LIMIT && part->height_bytes > goal) {
    int64_t half_way = goal + (part->height_bytes - goal) / 2;
    uint64_t max_steps = steps_left(packer) / 4 * parameters->tree_quarters;
    end = search_target(packer, search, part, half_way, max_steps);
    if (end == SEARCH_NONE) part->bound_bytes = half_way + 1;
  }
  close_in(packer, search, part, goal > part->bound_bytes ? goal : part->bound_bytes);
  if (pack_search_is_complete(search)) part->proven_bytes = part->bound_bytes;
  pack_search_free(search);
}

/* Best fit in other orders is quick and gives the ejection search a better packing to begin with.
 * When the height is within the rounding of one buffer, further steps do not pay. */
static void reorder_part(BestPacker *packer, Part *part, int64_t goal) {
  PackBudget slice = take_slice(packer, steps_left(packer) / packer->parameters->reorder_share);
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
  return pairs < packer->parameters->tree_pairs && num_buffers * pairs < steps_left(packer);
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

/* ---- heaps with a limit ---- */

/* One heap for all if the search finds a packing that keeps to the limit; else the heaps of the
 * quick way whose sum is the lowest, each packed separately with its share of the steps. */
typedef struct HeapPacker {
  const PackProblem *problem;
  PackBudget *budget;
  uint64_t steps_left;
  Packing *packing;
  Arena *scratch;
} HeapPacker;

/* The lowest packing in one heap that this many steps find. Its offsets live as long as
 * `scratch`. */
static Packing pack_one(HeapPacker *packer, const PackProblem *problem, int64_t capacity_bytes,
                        uint64_t max_steps) {
  Packing one = {.offsets = arena_array(packer->scratch, int64_t, problem->num_buffers)};
  PackBudget slice = {.max_steps = max_steps,
                      .end_seconds = packer->budget->end_seconds,
                      .parameters = packer->budget->parameters};
  pack_best(problem, capacity_bytes, &slice, &one, packer->scratch);
  uint64_t taken = slice.steps < packer->steps_left ? slice.steps : packer->steps_left;
  packer->steps_left -= taken;
  packer->budget->steps += slice.steps;
  return one;
}

/* Puts all buffers into one heap, if a packing is found that keeps to the limit and is not higher
 * than the heaps. */
static void pack_into_one(HeapPacker *packer, int64_t goal) {
  Packing *packing = packer->packing;
  uint32_t num_buffers = packer->problem->num_buffers;
  int64_t enough = packing->heap_limit_bytes;
  if (packing->height_bytes < enough) enough = packing->height_bytes;
  if (goal > enough) enough = goal;
  uint64_t max_steps = packer->steps_left / pack_parameters(packer->budget)->one_heap_share;
  Packing one = pack_one(packer, packer->problem, enough, max_steps);
  if (one.height_bytes > packing->heap_limit_bytes || one.height_bytes > packing->height_bytes) {
    return;
  }
  one.heaps = arena_zarray(packer->scratch, uint32_t, num_buffers);
  one.num_heaps = 1;
  pack_heaps_copy(&one, num_buffers, packing);
}

static void keep_lower(HeapPacker *packer, const Packing *other) {
  if (other->height_bytes >= packer->packing->height_bytes) return;
  pack_heaps_copy(other, packer->problem->num_buffers, packer->packing);
}

/* A buffer that is larger than the limit has a heap of its size anyway. Buffers that live at other
 * times can share it instead of having another heap. */
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

/* Buffers grouped by heap; those of a heap keep their order. */
typedef struct HeapMembers {
  uint32_t *buffers;
  uint32_t *first; /* by heap, one entry more: range in `buffers` */
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

/* Starts from a packing by xla, with heaps, and never makes it higher. A heap that a buffer makes
 * larger than the limit may hold other buffers up to that size. Steps as for pack_best(). */
static void pack_in_heaps(const PackProblem *problem, int64_t capacity_bytes, PackBudget *budget,
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

/* ---- all together ---- */

void pack_best(const PackProblem *problem, int64_t capacity_bytes, PackBudget *budget,
               Packing *packing, Arena *scratch) {
  pack_xla(problem, capacity_bytes, budget, packing, scratch);
  if (packing->heaps) {
    pack_in_heaps(problem, capacity_bytes, budget, packing, scratch);
    return;
  }
  /* The steps for this first packing do not count as steps for improving it. */
  if (budget->max_steps <= UINT64_MAX - budget->steps) budget->max_steps += budget->steps;
  ArenaMark mark = arena_mark(scratch);
  PackSections sections = pack_sections_build(problem, scratch, scratch);
  BestPacker packer = {.sections = &sections,
                       .budget = budget,
                       .parameters = pack_parameters(budget),
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
