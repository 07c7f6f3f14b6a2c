/* The neighbours of a buffer are found in one of two ways. A tree over the spans, by where they
 * begin, finds few of them fast: it knows the last end below each node (an interval tree). When
 * there are many, all that has been placed is read in the order of offsets, which needs no sorting:
 * a long sorted list and a short one of what came last, joined when the short one is full. */
#include "analysis/pack_best_fit.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RECENT = 512, MIN_SCANNED = 64, SCAN_FRACTION = 64 };

typedef struct Placed {
  int64_t offset, end;
  PackSpan span;
} Placed;

typedef struct BestFit {
  /* the tree: leaves are the spans of all buffers in the order, by begin */
  uint32_t *last_end;  /* by node: of the spans that are placed, 0 = none is */
  uint32_t num_leaves; /* a power of two */
  uint32_t depth;      /* its logarithm */
  uint32_t *num_begun; /* by section: spans that begin before it */
  uint32_t *leaf_span; /* by leaf: index of its span */
  uint32_t *leaf_of;   /* by span */
  Placed *placed;      /* by span */
  Placed *sorted;      /* by offset */
  uint32_t num_sorted;
  Placed recent[MAX_RECENT];
  uint32_t num_recent;
  uint32_t *found; /* spans that share a section with the buffer at hand */
  uint32_t num_found;
} BestFit;

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

/* Neighbours come by offset. Whether one is a neighbour can hardly be foreseen, so nothing branches
 * on that alone. */
static inline void pass(GapSearch *gap, const Placed *placed, bool is_near) {
  if ((int)is_near & (int)(placed->offset - gap->top >= gap->bytes)) take_gap(gap, placed->offset);
  int64_t end = is_near ? placed->end : 0;
  gap->top = end > gap->top ? end : gap->top;
}

static int64_t chosen_offset(const GapSearch *gap) {
  return gap->best_length < INT64_MAX ? gap->best_start : align_up(gap->top, gap->alignment);
}

/* ---- the tree ---- */

static uint32_t leftmost_leaf(const BestFit *fit, uint32_t node) {
  uint32_t level = 31 - (uint32_t)__builtin_clz(node);
  return (node << (fit->depth - level)) - fit->num_leaves;
}

/* Adds what is placed and shares a section with `span` to `found`. False when there is more than
 * `max`. */
static bool find_neighbours(BestFit *fit, PackSpan span, uint32_t max) {
  uint32_t num_begun = fit->num_begun[span.end];
  uint32_t stack[64], depth = 0;
  stack[depth++] = 1;
  while (depth) {
    uint32_t node = stack[--depth];
    if (fit->last_end[node] <= span.begin || leftmost_leaf(fit, node) >= num_begun) continue;
    if (node < fit->num_leaves) {
      stack[depth++] = 2 * node + 1;
      stack[depth++] = 2 * node;
    } else {
      if (fit->num_found == max) return false;
      fit->found[fit->num_found++] = fit->leaf_span[node - fit->num_leaves];
    }
  }
  return true;
}

static int by_offset(const void *pa, const void *pb) {
  const Placed *a = pa, *b = pb;
  return (a->offset > b->offset) - (a->offset < b->offset);
}

static void pass_found(BestFit *fit, GapSearch *gap, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  Placed *list = arena_array(scratch, Placed, fit->num_found);
  for (uint32_t i = 0; i < fit->num_found; i++)
    list[i] = fit->placed[fit->found[i]];
  if (fit->num_found) qsort(list, fit->num_found, sizeof *list, by_offset);
  for (uint32_t i = 0; i < fit->num_found; i++)
    pass(gap, &list[i], true);
  arena_reset(scratch, mark);
}

/* ---- the lists ---- */

static void join_recent(BestFit *fit) {
  uint32_t i = fit->num_sorted, k = fit->num_recent, to = i + k;
  fit->num_sorted = to;
  while (k) {
    bool is_old = i && fit->sorted[i - 1].offset > fit->recent[k - 1].offset;
    fit->sorted[--to] = is_old ? fit->sorted[--i] : fit->recent[--k];
  }
  fit->num_recent = 0;
}

static void insert(BestFit *fit, const Placed *placed) {
  if (fit->num_recent == MAX_RECENT) join_recent(fit);
  uint32_t at = fit->num_recent++;
  for (; at && fit->recent[at - 1].offset > placed->offset; at--)
    fit->recent[at] = fit->recent[at - 1];
  fit->recent[at] = *placed;
}

static bool shares_section(const Placed *placed, const PackSpan *spans, uint32_t count) {
  bool is_near = false;
  for (uint32_t i = 0; i < count; i++) {
    is_near |= (int)(placed->span.begin < spans[i].end) & (int)(spans[i].begin < placed->span.end);
  }
  return is_near;
}

static void pass_all(const BestFit *fit, const PackSpan *spans, uint32_t count, GapSearch *gap) {
  uint32_t i = 0;
  for (uint32_t k = 0; k < fit->num_recent; k++) {
    const Placed *recent = &fit->recent[k];
    for (; i < fit->num_sorted && fit->sorted[i].offset <= recent->offset; i++)
      pass(gap, &fit->sorted[i], shares_section(&fit->sorted[i], spans, count));
    pass(gap, recent, shares_section(recent, spans, count));
  }
  for (; i < fit->num_sorted; i++)
    pass(gap, &fit->sorted[i], shares_section(&fit->sorted[i], spans, count));
}

/* ---- one buffer after the other ---- */

static void index_spans(BestFit *fit, const PackSections *sections, const uint32_t *order,
                        uint32_t len, Arena *scratch) {
  fit->num_begun = arena_zarray(scratch, uint32_t, (size_t)sections->num_sections + 2);
  uint32_t num_spans = 0;
  for (uint32_t i = 0; i < len; i++) {
    for (uint32_t k = sections->first_span[order[i]]; k < sections->first_span[order[i] + 1]; k++) {
      fit->num_begun[sections->spans[k].begin + 2]++;
      num_spans++;
    }
  }
  for (uint32_t s = 2; s < sections->num_sections + 2; s++)
    fit->num_begun[s] += fit->num_begun[s - 1];
  fit->num_leaves = 1;
  for (; fit->num_leaves < num_spans; fit->depth++)
    fit->num_leaves *= 2;
  uint32_t all_spans = sections->first_span[sections->problem->num_buffers];
  fit->last_end = arena_zarray(scratch, uint32_t, 2 * (size_t)fit->num_leaves);
  fit->leaf_span = arena_array(scratch, uint32_t, fit->num_leaves);
  fit->leaf_of = arena_array(scratch, uint32_t, all_spans);
  fit->placed = arena_array(scratch, Placed, all_spans);
  fit->sorted = arena_array(scratch, Placed, num_spans);
  fit->found = arena_array(scratch, uint32_t, num_spans);
  /* num_begun[s + 1] serves as the next free leaf of section s, and ends as what it is to be. */
  for (uint32_t i = 0; i < len; i++) {
    for (uint32_t k = sections->first_span[order[i]]; k < sections->first_span[order[i] + 1]; k++) {
      uint32_t leaf = fit->num_begun[sections->spans[k].begin + 1]++;
      fit->leaf_of[k] = leaf;
      fit->leaf_span[leaf] = k;
    }
  }
}

static int64_t find_offset(BestFit *fit, const PackSections *sections, uint32_t buffer,
                           PackBudget *budget, Arena *scratch) {
  const PackBuffer *what = &sections->problem->buffers[buffer];
  const PackSpan *spans = &sections->spans[sections->first_span[buffer]];
  uint32_t num_spans = sections->first_span[buffer + 1] - sections->first_span[buffer];
  uint32_t num_placed = fit->num_sorted + fit->num_recent, max = num_placed / SCAN_FRACTION;
  GapSearch gap = {.bytes = what->bytes, .alignment = what->alignment, .best_length = INT64_MAX};
  bool are_few = true;
  if (max < MIN_SCANNED) max = MIN_SCANNED < num_placed ? MIN_SCANNED : num_placed;
  fit->num_found = 0;
  for (uint32_t k = 0; k < num_spans && are_few; k++)
    are_few = find_neighbours(fit, spans[k], max);
  budget->steps += are_few ? 100 + (uint64_t)fit->num_found * 16 : num_placed;
  if (are_few) {
    pass_found(fit, &gap, scratch);
  } else {
    pass_all(fit, spans, num_spans, &gap);
  }
  return chosen_offset(&gap);
}

static void place(BestFit *fit, uint32_t span, const Placed *placed) {
  fit->placed[span] = *placed;
  insert(fit, placed);
  for (uint32_t node = fit->num_leaves + fit->leaf_of[span]; node; node >>= 1) {
    if (fit->last_end[node] < placed->span.end) fit->last_end[node] = placed->span.end;
  }
}

void best_fit(const PackSections *sections, const uint32_t *order, uint32_t len, int64_t *offsets,
              PackBudget *budget, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  BestFit *fit = arena_zalloc(scratch, sizeof *fit);
  index_spans(fit, sections, order, len, scratch);
  for (uint32_t i = 0; i < len; i++) {
    uint32_t buffer = order[i];
    offsets[buffer] = 0;
    if (sections->problem->buffers[buffer].bytes == 0) continue;
    int64_t offset = find_offset(fit, sections, buffer, budget, scratch);
    offsets[buffer] = offset;
    int64_t end = offset + sections->problem->buffers[buffer].bytes;
    for (uint32_t k = sections->first_span[buffer]; k < sections->first_span[buffer + 1]; k++) {
      place(fit, k, &(Placed){offset, end, sections->spans[k]});
    }
  }
  arena_reset(scratch, mark);
}
