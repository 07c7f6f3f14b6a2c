/* Bytes in use are kept in a segment tree over sections. What fills the whole time of a node is
 * noted at the node (`cover`), and each node knows the bytes that are in use at some time of it
 * (`touched`); both are runs of bytes, sorted and joined. Ends are rounded up to what all
 * alignments have in common: nothing can begin before, and runs join.
 *
 * Where much is free between what is in use, runs are many, and all that has been placed is read
 * instead, in the order of offsets: a long sorted list and a short one of what came last, joined
 * when the short one is full. */
#include "analysis/pack_best_fit.h"

#include <stdlib.h>
#include <string.h>

#include "ir/ids.h"
#include "ir/vec.h"

enum {
  FIRST_RUNS = 2,
  MAX_RUNS = 1024,    /* of a node; beyond, it gives up */
  SCAN_FRACTION = 16, /* a run costs as much as so many buffers in the list */
  MIN_SCANNED = 4096, /* fewer are not worth the list */
  MAX_RECENT = 512,
};

typedef struct Run {
  int64_t from, to;
} Run;

typedef VEC(Run) Runs; /* ascending; they do not touch */

/* Most nodes have few runs or none, and those of one placing are far apart: nodes are small, so
 * that they stay in the cache. Both are indices into BestFit.lists, 0 = no run, NO_ID = too many:
 * the node has given up. */
typedef struct Node {
  uint32_t cover;
  uint32_t touched; /* of a leaf: unused, it is what covers it */
} Node;

typedef struct RunSlice {
  const Run *data; /* ascending */
  uint32_t len;
} RunSlice;

typedef struct Placed {
  int64_t offset, end;
  PackSpan span;
} Placed;

typedef struct BestFit {
  const PackSections *sections;
  const uint32_t *order;
  const int64_t *offsets;
  uint32_t num_placed; /* of the order */
  Arena *arena;
  Node *nodes; /* a heap: node 1 is the root, node num_leaves + s section s */
  uint32_t num_leaves;
  VEC(Runs) lists;
  int64_t granule; /* of all offsets */
  /* what is in use beside the buffer at hand: lists to be merged, and room for that */
  VEC(RunSlice) slices;
  uint64_t num_runs; /* in all slices */
  Runs merged[2];
  /* the list, NULL until it is asked for */
  Placed *sorted; /* by offset */
  uint32_t num_sorted;
  Placed *recent; /* by offset */
  uint32_t num_recent;
} BestFit;

/* ---- use ---- */

/* The first run that ends at `from` or behind it. */
static uint32_t find_run(const Runs *runs, int64_t from) {
  uint32_t low = 0, high = runs->len;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (runs->data[middle].to < from) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Joins a run to the others; false when it is in one already. */
static bool add_run(Runs *runs, Run run, Arena *arena) {
  uint32_t first = find_run(runs, run.from), last = first;
  Run *list = runs->data;
  if (first < runs->len && list[first].from <= run.from && list[first].to >= run.to) return false;
  for (; last < runs->len && list[last].from <= run.to; last++) {
    if (list[last].from < run.from) run.from = list[last].from;
    if (list[last].to > run.to) run.to = list[last].to;
  }
  uint32_t rest = runs->len - last, kept = first + 1;
  if (first == last) (void)vec_push(arena, runs);
  list = runs->data;
  memmove(list + kept, list + last, rest * sizeof *list);
  list[first] = run;
  runs->len = kept + rest;
  return true;
}

/* False when it is in one of the node's runs already. */
static bool add_to_list(BestFit *fit, uint32_t *list, Run run) {
  if (*list == NO_ID) return true;
  if (*list == 0) {
    *list = fit->lists.len;
    *vec_push(fit->arena, &fit->lists) =
        (Runs){.data = arena_array(fit->arena, Run, FIRST_RUNS), .cap = FIRST_RUNS};
  }
  bool is_new = add_run(&fit->lists.data[*list], run, fit->arena);
  if (fit->lists.data[*list].len > MAX_RUNS) *list = NO_ID;
  return is_new;
}

static void cover(BestFit *fit, uint32_t index, Run run) {
  add_to_list(fit, &fit->nodes[index].cover, run);
  /* Who is above holds what is below. */
  if (index >= fit->num_leaves) index /= 2;
  while (index && add_to_list(fit, &fit->nodes[index].touched, run))
    index /= 2;
}

static void use(BestFit *fit, PackSpan span, Run run) {
  uint32_t low = fit->num_leaves + span.begin, high = fit->num_leaves + span.end;
  for (; low < high; low /= 2, high /= 2) {
    if (low & 1) cover(fit, low++, run);
    if (high & 1) cover(fit, --high, run);
  }
}

/* ---- what is in use at some time ---- */

static bool add_slice(BestFit *fit, uint32_t list) {
  if (list == NO_ID) return false;
  if (list == 0) return true;
  const Runs *runs = &fit->lists.data[list];
  *vec_push(fit->arena, &fit->slices) = (RunSlice){runs->data, runs->len};
  fit->num_runs += runs->len;
  return true;
}

static bool add_touched(BestFit *fit, uint32_t index) {
  const Node *node = &fit->nodes[index];
  return add_slice(fit, index < fit->num_leaves ? node->touched : node->cover);
}

static bool add_cover(BestFit *fit, uint32_t index) {
  return add_slice(fit, fit->nodes[index].cover);
}

/* False when a node that should tell has given up. */
static bool search(BestFit *fit, PackSpan span) {
  uint32_t low = fit->num_leaves + span.begin, high = fit->num_leaves + span.end;
  for (; low < high; low /= 2, high /= 2) {
    if (low & 1 && !add_touched(fit, low++)) return false;
    if (high & 1 && !add_touched(fit, --high)) return false;
  }
  /* What fills more than the span. */
  low = fit->num_leaves + span.begin, high = fit->num_leaves + span.end - 1;
  for (; low != high; low /= 2, high /= 2)
    if (!add_cover(fit, low) || !add_cover(fit, high)) return false;
  for (; low; low /= 2)
    if (!add_cover(fit, low)) return false;
  return true;
}

/* Writes the runs of both, joined where they touch, and returns how many there are. */
static uint32_t merge_slices(RunSlice a, RunSlice b, Run *out) {
  uint32_t i = 0, k = 0, len = 0;
  while (i < a.len || k < b.len) {
    bool takes_a = k == b.len || (i < a.len && a.data[i].from <= b.data[k].from);
    Run run = takes_a ? a.data[i++] : b.data[k++];
    if (len && run.from <= out[len - 1].to) {
      if (run.to > out[len - 1].to) out[len - 1].to = run.to;
    } else {
      out[len++] = run;
    }
  }
  return len;
}

/* Merges pairs of slices until there is one. */
static RunSlice merge_all(BestFit *fit) {
  uint32_t room = fit->num_runs < UINT32_MAX ? (uint32_t)fit->num_runs : UINT32_MAX;
  for (uint32_t i = 0; i < 2; i++)
    vec_reserve(fit->arena, &fit->merged[i], room);
  RunSlice *slices = fit->slices.data;
  uint32_t num_slices = fit->slices.len;
  for (uint32_t pass = 0; num_slices > 1; pass ^= 1) {
    Run *out = fit->merged[pass].data;
    uint32_t num_merged = 0;
    for (uint32_t i = 0; i < num_slices; i += 2) {
      RunSlice none = {NULL, 0};
      uint32_t len = merge_slices(slices[i], i + 1 < num_slices ? slices[i + 1] : none, out);
      slices[num_merged++] = (RunSlice){out, len};
      out += len;
    }
    num_slices = num_merged;
  }
  return num_slices ? slices[0] : (RunSlice){NULL, 0};
}

/* ---- gaps ---- */

typedef struct GapSearch {
  int64_t bytes, alignment;
  int64_t top; /* the highest end so far: a gap can begin there */
  int64_t best_length, best_start;
} GapSearch;

static void take_gap(GapSearch *gap, int64_t end) {
  int64_t start = align_up(gap->top, gap->alignment), length = end - start;
  if (length < gap->bytes || length >= gap->best_length) return;
  gap->best_length = length;
  gap->best_start = start;
}

/* What is in use comes by offset. Whether it is beside the buffer can hardly be foreseen, so
 * nothing branches on that alone. */
static inline void pass(GapSearch *gap, int64_t from, int64_t to, bool is_beside) {
  if ((int)is_beside & (int)(from - gap->top >= gap->bytes)) take_gap(gap, from);
  int64_t end = is_beside ? to : 0;
  gap->top = end > gap->top ? end : gap->top;
}

static int64_t chosen_offset(const GapSearch *gap) {
  return gap->best_length < INT64_MAX ? gap->best_start : align_up(gap->top, gap->alignment);
}

static void pass_runs(GapSearch *gap, RunSlice runs) {
  for (uint32_t i = 0; i < runs.len; i++)
    pass(gap, runs.data[i].from, runs.data[i].to, true);
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

static void pass_list(const BestFit *fit, const PackSpan *spans, uint32_t count, GapSearch *gap) {
  uint32_t i = 0;
  for (uint32_t k = 0; k < fit->num_recent; k++) {
    for (; i < fit->num_sorted && fit->sorted[i].offset <= fit->recent[k].offset; i++)
      pass_placed(gap, &fit->sorted[i], spans, count);
    pass_placed(gap, &fit->recent[k], spans, count);
  }
  for (; i < fit->num_sorted; i++)
    pass_placed(gap, &fit->sorted[i], spans, count);
}

/* ---- one buffer after the other ---- */

static int64_t find_offset(BestFit *fit, uint32_t buffer, PackBudget *budget) {
  const PackBuffer *what = &fit->sections->problem->buffers[buffer];
  const uint32_t *first = fit->sections->first_span;
  GapSearch gap = {.bytes = what->bytes, .alignment = what->alignment, .best_length = INT64_MAX};
  fit->slices.len = 0;
  fit->num_runs = 0;
  bool are_told = true;
  for (uint32_t k = first[buffer]; k < first[buffer + 1] && are_told; k++)
    are_told = search(fit, fit->sections->spans[k]);
  bool are_many = fit->num_runs > MIN_SCANNED && fit->num_runs > fit->num_placed / SCAN_FRACTION;
  if (are_told && !are_many) {
    budget->steps += 100 + fit->num_runs * 16;
    pass_runs(&gap, merge_all(fit));
  } else {
    budget->steps += fit->num_placed;
    if (!fit->sorted) start_list(fit);
    pass_list(fit, &fit->sections->spans[first[buffer]], first[buffer + 1] - first[buffer], &gap);
  }
  return chosen_offset(&gap);
}

static void place(BestFit *fit, uint32_t buffer) {
  int64_t offset = fit->offsets[buffer];
  Run run = {offset,
             align_up(offset + fit->sections->problem->buffers[buffer].bytes, fit->granule)};
  const uint32_t *first = fit->sections->first_span;
  for (uint32_t k = first[buffer]; k < first[buffer + 1]; k++) {
    use(fit, fit->sections->spans[k], run);
    if (fit->sorted) insert(fit, placed(fit, buffer, k));
  }
}

static BestFit begin(const PackSections *sections, Arena *arena) {
  BestFit fit = {
      .sections = sections, .arena = arena, .num_leaves = 1, .granule = sections->granule};
  while (fit.num_leaves < sections->num_sections)
    fit.num_leaves *= 2;
  fit.nodes = arena_zarray(arena, Node, (size_t)fit.num_leaves * 2);
  *vec_push(arena, &fit.lists) = (Runs){.data = NULL};
  return fit;
}

void best_fit(const PackSections *sections, const uint32_t *order, uint32_t len, int64_t *offsets,
              PackBudget *budget, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  BestFit fit = begin(sections, arena);
  fit.order = order;
  fit.offsets = offsets;
  for (; fit.num_placed < len; fit.num_placed++) {
    uint32_t buffer = order[fit.num_placed];
    offsets[buffer] = 0;
    if (sections->problem->buffers[buffer].bytes == 0) continue;
    offsets[buffer] = find_offset(&fit, buffer, budget);
    place(&fit, buffer);
  }
  arena_free(arena);
}

uint32_t best_fit_heap(const PackSections *sections, uint32_t *order, uint32_t len, PackHeap *heap,
                       Packing *packing, PackBudget *budget, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  BestFit fit = begin(sections, arena);
  uint32_t *placed_order = arena_array(arena, uint32_t, len), num_left = 0;
  fit.order = placed_order;
  fit.offsets = packing->offsets;
  for (uint32_t i = 0; i < len; i++) {
    uint32_t buffer = order[i];
    const PackBuffer *what = &sections->problem->buffers[buffer];
    /* What is too large for any offset need not be looked at. */
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
  arena_free(arena);
  return num_left;
}
