/* Bytes in use are kept in a segment tree over sections. Each node has two lists of runs of bytes,
 * sorted and joined: the bytes that are in use during the node's whole time (`cover`), and those
 * that are in use at some time of it (`touched`). Ends are rounded up to the granule, the common
 * divisor of all alignments: no buffer can begin before, and so runs can be joined.
 *
 * Where there are many gaps, there are many runs. Then slots are searched instead (slots.h). If
 * there are few buffers, or if these cut memory into too many slots, all placed buffers are read in
 * the order of offsets: from a long sorted list and a short one of the newest buffers, which are
 * merged when the short one is full. Each way finds the same offset. */
#include "analysis/pack/best_fit.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/pack/slots.h"
#include "ir/ids.h"
#include "ir/vec.h"

enum {
  MAX_RUNS = 1024,    /* of a node; a node with more gives up */
  SCAN_FRACTION = 16, /* a run costs as much as this many buffers in the list */
  MIN_SCANNED = 4096, /* for fewer runs the list does not pay */
  MAX_RECENT = 512,
  FEW_RUNS = 256,    /* these are read faster than slots are searched */
  FEW_PLACED = 4096, /* and so are these buffers */
  MAX_LEVELS = 32,
};

typedef struct Run {
  int64_t from, to;
} Run;

/* Runs in ascending order that do not touch. Most lists have a single run, which is stored in
 * place. */
typedef struct Runs {
  uint32_t len, cap; /* cap is 1 for a single run */
  union {
    Run single;
    Run *many;
  };
} Runs;

/* Most nodes have few runs or none, and the nodes that one buffer changes are far apart, so nodes
 * are kept small, to stay in the cache. Both fields are indices into BestFit.lists; 0 = no run,
 * NO_ID = too many runs: the node has given up. */
typedef struct Node {
  uint32_t cover;
  uint32_t touched; /* unused in a leaf, where it equals `cover` */
} Node;

typedef struct RunSlice {
  const Run *data; /* ascending */
  uint32_t len;
} RunSlice;

typedef struct GapSearch {
  int64_t bytes, alignment;
  int64_t top; /* the highest end so far, where a gap can begin */
  int64_t best_length, best_start;
} GapSearch;

typedef struct Placed {
  int64_t offset, end;
  PackSpan span;
} Placed;

/* What is placed in one section. */
typedef struct Filled {
  int64_t used; /* bytes */
  int64_t top;  /* the highest end */
} Filled;

typedef struct BestFit {
  const PackSections *sections;
  const uint32_t *order;
  const int64_t *offsets;
  uint32_t num_placed; /* number of buffers of the order that are placed */
  Arena *arena;
  Node *nodes; /* as a heap: node 1 is the root, node num_leaves + s is section s */
  uint32_t num_leaves, num_levels;
  uint32_t fullest; /* the section with the most live bytes */
  Filled in_fullest;
  VEC(Runs) lists;
  int64_t granule; /* common divisor of all alignments */
  /* what is in use while the current buffer lives */
  GapSearch gap;
  VEC(RunSlice)
  slices;            /* the rests of the lists, after the runs with no gap that is large enough */
  uint64_t num_runs; /* in all lists */
  /* the list of placed buffers, NULL until it is needed */
  Placed *sorted; /* by offset */
  uint32_t num_sorted;
  Placed *recent; /* by offset */
  uint32_t num_recent;
  /* the slots, NULL until they are needed */
  PackSlots *slots;
  bool slots_pay;
} BestFit;

/* ---- runs ---- */

static inline Run *runs_of(Runs *runs) {
  return runs->cap == 1 ? &runs->single : runs->many;
}

/* The first run that ends at or after `from`. */
static uint32_t find_run(const Run *list, uint32_t len, int64_t from) {
  uint32_t low = 0, high = len;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (list[middle].to < from) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static void insert_run(Runs *runs, uint32_t at, Run run, Arena *arena) {
  Run *list = runs_of(runs);
  if (runs->len == runs->cap) {
    uint32_t cap = runs->cap * 4;
    list = memcpy(arena_array(arena, Run, cap), list, runs->len * sizeof *list);
    runs->many = list;
    runs->cap = cap;
  }
  memmove(list + at + 1, list + at, (runs->len++ - at) * sizeof *list);
  list[at] = run;
}

/* Adds a run to a list; false when the list contains it already. */
static bool add_run(Runs *runs, Run run, Arena *arena) {
  Run *list = runs_of(runs), *top = &list[runs->len - 1];
  if (run.from >= top->from && run.from <= top->to) {
    if (run.to <= top->to) return false;
    top->to = run.to;
    return true;
  }
  uint32_t first = find_run(list, runs->len, run.from), last = first;
  if (first < runs->len && list[first].from <= run.from && list[first].to >= run.to) return false;
  for (; last < runs->len && list[last].from <= run.to; last++) {
    if (list[last].from < run.from) run.from = list[last].from;
    if (list[last].to > run.to) run.to = list[last].to;
  }
  if (first == last) {
    insert_run(runs, first, run, arena);
    return true;
  }
  list[first] = run;
  memmove(list + first + 1, list + last, (runs->len - last) * sizeof *list);
  runs->len -= last - first - 1;
  return true;
}

/* False when one of the node's runs contains the run already. */
static bool add_to_list(BestFit *fit, uint32_t *list, Run run) {
  if (*list == NO_ID) return true;
  if (*list == 0) {
    *list = fit->lists.len;
    *vec_push(fit->arena, &fit->lists) = (Runs){.len = 1, .cap = 1, .single = run};
    return true;
  }
  Runs *runs = &fit->lists.data[*list];
  bool is_new = add_run(runs, run, fit->arena);
  if (runs->len > MAX_RUNS) *list = NO_ID;
  return is_new;
}

static void cover(BestFit *fit, uint32_t index, Run run) {
  add_to_list(fit, &fit->nodes[index].cover, run);
  if (index < fit->num_leaves) add_to_list(fit, &fit->nodes[index].touched, run);
}

/* Nodes above `index` are touched by what `index` contains. */
static void touch_above(BestFit *fit, uint32_t index, Run run) {
  for (index /= 2; index && add_to_list(fit, &fit->nodes[index].touched, run);)
    index /= 2;
}

/* All nodes that cover a side of the span are below the ancestors of that side's lowest node. */
static void use(BestFit *fit, PackSpan span, Run run) {
  uint32_t low = fit->num_leaves + span.begin, high = fit->num_leaves + span.end;
  uint32_t lowest_left = 0, lowest_right = 0;
  for (; low < high; low /= 2, high /= 2) {
    if (low & 1) {
      if (!lowest_left) lowest_left = low;
      cover(fit, low++, run);
    }
    if (high & 1) {
      cover(fit, --high, run);
      if (!lowest_right) lowest_right = high;
    }
  }
  touch_above(fit, lowest_left, run);
  touch_above(fit, lowest_right, run);
}

/* ---- gaps ---- */

static void take_gap(GapSearch *gap, int64_t end) {
  int64_t start = align_up(gap->top, gap->alignment), length = end - start;
  if (length < gap->bytes || length >= gap->best_length) return;
  gap->best_length = length;
  gap->best_start = start;
}

/* Runs and buffers are passed in the order of offsets. Whether one lives beside the buffer is hard
 * to predict, so there is no branch on that alone. */
static inline void pass(GapSearch *gap, int64_t from, int64_t to, bool is_beside) {
  if ((int)is_beside & (int)(from - gap->top >= gap->bytes)) take_gap(gap, from);
  int64_t end = is_beside ? to : 0;
  gap->top = end > gap->top ? end : gap->top;
}

static int64_t chosen_offset(const GapSearch *gap) {
  return gap->best_length < INT64_MAX ? gap->best_start : align_up(gap->top, gap->alignment);
}

/* Skips the runs that begin too near to the top for a gap below them, whatever else is in use: the
 * top rises to their ends. */
static inline RunSlice pass_near(GapSearch *gap, RunSlice runs) {
  if (runs.data[runs.len - 1].to <= gap->top) return (RunSlice){NULL, 0};
  for (; runs.len && runs.data->from - gap->top < gap->bytes; runs.data++, runs.len--) {
    if (runs.data->to > gap->top) gap->top = runs.data->to;
  }
  return runs;
}

/* Slices are kept as a heap: the children of slice i, at 2i + 1 and 2i + 2, do not begin lower than
 * i. */
static void sink(RunSlice *slices, uint32_t len, uint32_t at) {
  RunSlice slice = slices[at];
  for (uint32_t child = 2 * at + 1; child < len; child = 2 * at + 1) {
    child += child + 1 < len && slices[child + 1].data->from < slices[child].data->from;
    if (slices[child].data->from >= slice.data->from) break;
    slices[at] = slices[child];
    at = child;
  }
  slices[at] = slice;
}

/* Merges the rests of the lists. */
static void pass_slices(BestFit *fit) {
  GapSearch *gap = &fit->gap;
  RunSlice *slices = fit->slices.data;
  uint32_t len = 0;
  for (uint32_t i = 0; i < fit->slices.len; i++) {
    RunSlice rest = pass_near(gap, slices[i]);
    if (rest.len) slices[len++] = rest;
  }
  for (uint32_t i = len / 2; i-- > 0;)
    sink(slices, len, i);
  while (len) {
    pass(gap, slices->data->from, slices->data->to, true);
    RunSlice rest = pass_near(gap, slices[0]);
    slices[0] = rest.len ? rest : slices[--len];
    if (len) sink(slices, len, 0);
  }
}

/* ---- what is in use at some time ---- */

/* Passes a list of runs. False when the node has given up. */
static bool pass_list(BestFit *fit, uint32_t list) {
  if (list == NO_ID) return false;
  Runs *runs = &fit->lists.data[list];
  RunSlice rest = pass_near(&fit->gap, (RunSlice){runs_of(runs), runs->len});
  if (rest.len) *vec_push(fit->arena, &fit->slices) = rest;
  fit->num_runs += runs->len;
  return true;
}

static inline bool pass_touched(BestFit *fit, uint32_t index) {
  const Node *node = &fit->nodes[index];
  uint32_t list = index < fit->num_leaves ? node->touched : node->cover;
  return list == 0 || pass_list(fit, list);
}

static inline bool pass_cover(BestFit *fit, uint32_t index) {
  uint32_t list = fit->nodes[index].cover;
  return list == 0 || pass_list(fit, list);
}

static Filled filled_at(const BestFit *fit, uint32_t section) {
  Filled filled = {0, 0};
  for (uint32_t index = fit->num_leaves + section; index; index /= 2) {
    uint32_t list = fit->nodes[index].cover;
    if (list == 0 || list == NO_ID) continue;
    const Run *runs = runs_of(&fit->lists.data[list]);
    uint32_t len = fit->lists.data[list].len;
    for (uint32_t i = 0; i < len; i++)
      filled.used += runs[i].to - runs[i].from;
    if (runs[len - 1].to > filled.top) filled.top = runs[len - 1].to;
  }
  return filled;
}

static bool has_fullest(const BestFit *fit, PackSpan span) {
  return span.begin <= fit->fullest && fit->fullest < span.end;
}

/* At one time buffers do not overlap. If the free bytes below the top of a section of the span do
 * not suffice, no gap does. */
static void pass_section(BestFit *fit, PackSpan span) {
  Filled filled = has_fullest(fit, span) ? fit->in_fullest : filled_at(fit, span.begin);
  bool has_room = filled.top - filled.used >= fit->gap.bytes;
  if (!has_room && filled.top > fit->gap.top) fit->gap.top = filled.top;
}

/* Passes the runs of all nodes of a span; false when one has given up. Long-lived buffers are
 * mostly placed early and at low offsets, so they are passed first, from the root downwards, and
 * the top rises with them. */
static bool search(BestFit *fit, PackSpan span) {
  uint32_t low = fit->num_leaves + span.begin, high = fit->num_leaves + span.end;
  pass_section(fit, span);
  /* nodes that contain more than the span */
  for (uint32_t level = fit->num_levels; level-- > 0;) {
    uint32_t left = low >> level, right = (high - 1) >> level;
    if (!pass_cover(fit, left) || (right != left && !pass_cover(fit, right))) return false;
  }
  uint32_t inside[2 * MAX_LEVELS], count = 0;
  for (; low < high; low /= 2, high /= 2) {
    if (low & 1) inside[count++] = low++;
    if (high & 1) inside[count++] = --high;
  }
  while (count) {
    if (!pass_touched(fit, inside[--count])) return false;
  }
  return true;
}

/* ---- the list ---- */

static int by_offset(const void *pa, const void *pb) {
  const Placed *a = pa, *b = pb;
  return (a->offset > b->offset) - (a->offset < b->offset);
}

static Placed placed(const BestFit *fit, uint32_t buffer, uint32_t span) {
  int64_t offset = fit->offsets[buffer];
  int64_t end = offset + fit->sections->problem->buffers[buffer].bytes;
  return (Placed){offset, end, fit->sections->spans[span]};
}

static void start_list(BestFit *fit) {
  const uint32_t *first = fit->sections->first_span;
  fit->sorted = arena_array(fit->arena, Placed, first[fit->sections->problem->num_buffers]);
  fit->recent = arena_array(fit->arena, Placed, MAX_RECENT);
  for (uint32_t i = 0; i < fit->num_placed; i++) {
    uint32_t buffer = fit->order[i];
    for (uint32_t k = first[buffer]; k < first[buffer + 1]; k++)
      fit->sorted[fit->num_sorted++] = placed(fit, buffer, k);
  }
  if (fit->num_sorted) qsort(fit->sorted, fit->num_sorted, sizeof *fit->sorted, by_offset);
}

static void join_recent(BestFit *fit) {
  uint32_t i = fit->num_sorted, k = fit->num_recent, to = i + k;
  fit->num_sorted = to;
  while (k) {
    bool is_old = i && fit->sorted[i - 1].offset > fit->recent[k - 1].offset;
    fit->sorted[--to] = is_old ? fit->sorted[--i] : fit->recent[--k];
  }
  fit->num_recent = 0;
}

static void insert(BestFit *fit, Placed new) {
  if (fit->num_recent == MAX_RECENT) join_recent(fit);
  uint32_t at = fit->num_recent++;
  for (; at && fit->recent[at - 1].offset > new.offset; at--)
    fit->recent[at] = fit->recent[at - 1];
  fit->recent[at] = new;
}

static inline void pass_placed(GapSearch *gap, const Placed *placed, const PackSpan *spans,
                               uint32_t count) {
  bool is_beside = false;
  for (uint32_t i = 0; i < count; i++) {
    is_beside |=
        (int)(placed->span.begin < spans[i].end) & (int)(spans[i].begin < placed->span.end);
  }
  pass(gap, placed->offset, placed->end, is_beside);
}

static void pass_all_placed(const BestFit *fit, const PackSpan *spans, uint32_t count,
                            GapSearch *gap) {
  uint32_t i = 0;
  for (uint32_t k = 0; k < fit->num_recent; k++) {
    for (; i < fit->num_sorted && fit->sorted[i].offset <= fit->recent[k].offset; i++)
      pass_placed(gap, &fit->sorted[i], spans, count);
    pass_placed(gap, &fit->recent[k], spans, count);
  }
  for (; i < fit->num_sorted; i++)
    pass_placed(gap, &fit->sorted[i], spans, count);
}

/* ---- slots ---- */

static void add_to_slots(BestFit *fit, uint32_t buffer) {
  const uint32_t *first = fit->sections->first_span;
  int64_t from = fit->offsets[buffer];
  int64_t to = align_up(from + fit->sections->problem->buffers[buffer].bytes, fit->granule);
  if (first[buffer] == first[buffer + 1]) return;
  fit->slots_pay = pack_slots_take(fit->slots, from, to, &fit->sections->spans[first[buffer]],
                                   first[buffer + 1] - first[buffer]);
}

static bool slots_are_ready(BestFit *fit) {
  if (!fit->slots && fit->num_placed > FEW_PLACED) {
    fit->slots = pack_slots_new(fit->arena);
    fit->slots_pay = true;
    for (uint32_t i = 0; i < fit->num_placed && fit->slots_pay; i++)
      add_to_slots(fit, fit->order[i]);
  }
  return fit->slots_pay;
}

/* ---- placing the buffers ---- */

/* The steps do not depend on slots, so that a budget ends where it always did. */
static int64_t find_offset(BestFit *fit, uint32_t buffer, PackBudget *budget) {
  const PackBuffer *what = &fit->sections->problem->buffers[buffer];
  const uint32_t *first = fit->sections->first_span;
  const PackSpan *spans = &fit->sections->spans[first[buffer]];
  uint32_t num_spans = first[buffer + 1] - first[buffer];
  const GapSearch begin = {
      .bytes = what->bytes, .alignment = what->alignment, .best_length = INT64_MAX};
  fit->gap = begin;
  fit->slices.len = 0;
  fit->num_runs = 0;
  bool all_known = true;
  for (uint32_t k = 0; k < num_spans && all_known; k++)
    all_known = search(fit, spans[k]);
  bool are_many = fit->num_runs > MIN_SCANNED && fit->num_runs > fit->num_placed / SCAN_FRACTION;
  bool reads_runs = all_known && !are_many;
  budget->steps += reads_runs ? 100 + fit->num_runs * 16 : fit->num_placed;
  if (!(all_known && fit->num_runs <= FEW_RUNS) && slots_are_ready(fit)) {
    return pack_slots_best(fit->slots, spans, num_spans, what->bytes, what->alignment,
                           fit->granule);
  }
  if (reads_runs) {
    pass_slices(fit);
  } else {
    if (!fit->sorted) start_list(fit);
    fit->gap = begin;
    pass_all_placed(fit, spans, num_spans, &fit->gap);
  }
  return chosen_offset(&fit->gap);
}

static void place(BestFit *fit, uint32_t buffer) {
  int64_t offset = fit->offsets[buffer];
  Run run = {offset,
             align_up(offset + fit->sections->problem->buffers[buffer].bytes, fit->granule)};
  const uint32_t *first = fit->sections->first_span;
  for (uint32_t k = first[buffer]; k < first[buffer + 1]; k++) {
    PackSpan span = fit->sections->spans[k];
    use(fit, span, run);
    if (has_fullest(fit, span)) {
      fit->in_fullest.used += run.to - run.from;
      if (run.to > fit->in_fullest.top) fit->in_fullest.top = run.to;
    }
    if (fit->sorted) insert(fit, placed(fit, buffer, k));
  }
  if (fit->slots_pay) add_to_slots(fit, buffer);
}

static BestFit begin(const PackSections *sections, Arena *arena) {
  BestFit fit = {.sections = sections,
                 .arena = arena,
                 .num_leaves = 1,
                 .num_levels = 1,
                 .granule = sections->granule};
  for (; fit.num_leaves < sections->num_sections; fit.num_levels++)
    fit.num_leaves *= 2;
  for (uint32_t s = 1; s < sections->num_sections; s++)
    if (sections->live_bytes[s] > sections->live_bytes[fit.fullest]) fit.fullest = s;
  fit.nodes = arena_zarray(arena, Node, (size_t)fit.num_leaves * 2);
  vec_reserve(arena, &fit.lists, 3 * fit.num_leaves + 1); /* leaves have no list `touched` */
  *vec_push(arena, &fit.lists) = (Runs){.len = 0};
  return fit;
}

void best_fit(const PackSections *sections, const uint32_t *order, uint32_t len, int64_t *offsets,
              PackBudget *budget, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  BestFit fit = begin(sections, scratch);
  fit.order = order;
  fit.offsets = offsets;
  for (; fit.num_placed < len; fit.num_placed++) {
    uint32_t buffer = order[fit.num_placed];
    offsets[buffer] = 0;
    if (sections->problem->buffers[buffer].bytes == 0) continue;
    offsets[buffer] = find_offset(&fit, buffer, budget);
    place(&fit, buffer);
  }
  arena_reset(scratch, mark);
}

uint32_t best_fit_heap(const PackSections *sections, uint32_t *order, uint32_t len, PackHeap *heap,
                       Packing *packing, PackBudget *budget, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  BestFit fit = begin(sections, scratch);
  uint32_t *placed_order = arena_array(scratch, uint32_t, len), num_left = 0;
  fit.order = placed_order;
  fit.offsets = packing->offsets;
  for (uint32_t i = 0; i < len; i++) {
    uint32_t buffer = order[i];
    const PackBuffer *what = &sections->problem->buffers[buffer];
    /* a buffer that is too large at any offset is not tried */
    bool is_taken = pack_heap_takes(heap, what->first_bytes);
    int64_t offset = is_taken ? find_offset(&fit, buffer, budget) : 0;
    if (!is_taken || !pack_heap_takes(heap, offset + what->first_bytes)) {
      order[num_left++] = buffer;
      continue;
    }
    pack_heap_put(heap, buffer, offset, what->bytes, packing);
    place(&fit, buffer);
    placed_order[fit.num_placed++] = buffer;
  }
  arena_reset(scratch, mark);
  return num_left;
}
