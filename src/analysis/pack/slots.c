/* The slots are a treap, a search tree by offset and a heap by a hash. Each node sums up the slots
 * below it in two ways, both of which may claim too much: when one of them is free, and when one of
 * them is taken. A search that finds nothing, or nothing but free slots, below a node brings its
 * sums up to date. What each slot itself knows is exact: its spans are a treap of their own. When a
 * slot is split, both halves begin with the same tree of spans; each copies the nodes that it
 * changes. */
#include "analysis/pack/slots.h"

#include <string.h>

#include "analysis/pack/free_time.h"
#include "ir/hash.h"
#include "ir/ids.h"
#include "ir/vec.h"

enum {
  MAX_HULLS = 4,
  MAX_COVERED = 24, /* slots that a buffer covers on average, with which slots still pay */
  FREELY_COVERED = 1 << 16,
};

/* Spans that contain all times at which something is taken; in order, and not touching. */
typedef struct TakenTime {
  uint32_t num_hulls;
  PackSpan hulls[MAX_HULLS];
} TakenTime;

typedef struct Slot {
  int64_t begin, end;
  uint32_t left, right; /* NO_ID = none */
  uint32_t spans;       /* root of the tree of the spans in which it is taken, NO_ID = none */
  uint32_t owner;       /* nodes of that tree with another owner are shared with other slots */
  FreeTime free_time;
  TakenTime taken_time;
  FreeTime free_below; /* of the slot and all below it */
  TakenTime taken_below;
} Slot;

typedef struct SpanNode {
  PackSpan span;
  uint32_t left, right;
  uint32_t owner;
} SpanNode;

/* A node on the way down, whose slots are the bytes [begin, end). */
typedef struct Visit {
  int64_t begin, end;
  uint32_t slot;
  uint8_t step;   /* how many of the left subtree, the slot and the right subtree are done */
  bool has_free;  /* something below is free */
  bool has_taken; /* something below is not */
} Visit;

struct PackSlots {
  Arena *arena;
  uint32_t root;
  int64_t height; /* the slots are the bytes [0, height) */
  VEC(Slot) slots;
  VEC(SpanNode) spans;
  VEC(Visit) visits;
  uint32_t next_owner;
  uint64_t num_taken, num_covered;
};

PackSlots *pack_slots_new(Arena *out) {
  PackSlots *slots = arena_zarray(out, PackSlots, 1);
  slots->arena = out;
  slots->root = NO_ID;
  return slots;
}

/* ---- taken time ---- */

static uint32_t unite_nearest(PackSpan *hulls, uint32_t len) {
  uint32_t best = 0;
  for (uint32_t i = 1; i + 1 < len; i++) {
    if (hulls[i + 1].begin - hulls[i].end < hulls[best + 1].begin - hulls[best].end) best = i;
  }
  hulls[best].end = hulls[best + 1].end;
  memmove(&hulls[best + 1], &hulls[best + 2], (len - best - 2) * sizeof *hulls);
  return len - 1;
}

static void taken_add(TakenTime *taken, PackSpan span) {
  PackSpan hulls[MAX_HULLS + 1];
  uint32_t len = 0, i = 0;
  for (; i < taken->num_hulls && taken->hulls[i].end < span.begin; i++)
    hulls[len++] = taken->hulls[i];
  for (; i < taken->num_hulls && taken->hulls[i].begin <= span.end; i++) {
    if (taken->hulls[i].begin < span.begin) span.begin = taken->hulls[i].begin;
    if (taken->hulls[i].end > span.end) span.end = taken->hulls[i].end;
  }
  hulls[len++] = span;
  for (; i < taken->num_hulls; i++)
    hulls[len++] = taken->hulls[i];
  if (len > MAX_HULLS) len = unite_nearest(hulls, len);
  taken->num_hulls = len;
  memcpy(taken->hulls, hulls, len * sizeof *hulls);
}

static void taken_join(TakenTime *taken, const TakenTime *other) {
  for (uint32_t i = 0; i < other->num_hulls; i++)
    taken_add(taken, other->hulls[i]);
}

static bool may_be_taken(const TakenTime *taken, const PackSpan *spans, uint32_t num_spans) {
  for (uint32_t k = 0; k < num_spans; k++) {
    for (uint32_t i = 0; i < taken->num_hulls; i++) {
      if (taken->hulls[i].begin < spans[k].end && spans[k].begin < taken->hulls[i].end) return true;
    }
  }
  return false;
}

static bool may_be_free(const FreeTime *free_time, const PackSpan *spans, uint32_t num_spans) {
  for (uint32_t k = 0; k < num_spans; k++) {
    if (!free_time_may_hold(free_time, spans[k])) return false;
  }
  return true;
}

/* ---- the spans of a slot ---- */

/* Equal spans in different slots have equal priorities, which does no harm. */
static uint64_t span_priority(PackSpan span) {
  return hash_mix(HASH_SEED, span.begin);
}

/* Returns the node, or a copy of it that belongs to the owner. */
static uint32_t own_span(PackSlots *slots, uint32_t node, uint32_t owner) {
  SpanNode copy = slots->spans.data[node];
  if (copy.owner == owner) return node;
  copy.owner = owner;
  *vec_push(slots->arena, &slots->spans) = copy;
  return slots->spans.len - 1;
}

static void add_span(PackSlots *slots, Slot *slot, PackSpan span) {
  uint32_t new = slots->spans.len;
  *vec_push(slots->arena, &slots->spans) =
      (SpanNode){.span = span, .left = NO_ID, .right = NO_ID, .owner = slot->owner};
  /* Which link is set next: that of the slot, or the left or right one of a node. */
  uint32_t parent = NO_ID, next = slot->spans;
  bool is_left = false;
  while (next != NO_ID && span_priority(slots->spans.data[next].span) >= span_priority(span)) {
    uint32_t owned = own_span(slots, next, slot->owner);
    if (parent == NO_ID) {
      slot->spans = owned;
    } else if (is_left) {
      slots->spans.data[parent].left = owned;
    } else {
      slots->spans.data[parent].right = owned;
    }
    parent = owned;
    is_left = span.begin < slots->spans.data[owned].span.begin;
    next = is_left ? slots->spans.data[owned].left : slots->spans.data[owned].right;
  }
  if (parent == NO_ID) {
    slot->spans = new;
  } else if (is_left) {
    slots->spans.data[parent].left = new;
  } else {
    slots->spans.data[parent].right = new;
  }
  /* The subtree below is split into what is before the new span and what is after it. */
  uint32_t less = new, more = new; /* the nodes whose right and left links are open */
  while (next != NO_ID) {
    uint32_t owned = own_span(slots, next, slot->owner);
    SpanNode *node = &slots->spans.data[owned];
    if (span.begin < node->span.begin) {
      if (more == new) {
        slots->spans.data[new].right = owned;
      } else {
        slots->spans.data[more].left = owned;
      }
      more = owned;
      next = node->left;
      node->left = NO_ID;
    } else {
      if (less == new) {
        slots->spans.data[new].left = owned;
      } else {
        slots->spans.data[less].right = owned;
      }
      less = owned;
      next = node->right;
      node->right = NO_ID;
    }
  }
}

/* The spans of a slot do not overlap, so only the last one that begins before the end can be in the
 * way. */
static bool is_free_in(const PackSlots *slots, const Slot *slot, PackSpan span) {
  uint32_t last = NO_ID;
  for (uint32_t node = slot->spans; node != NO_ID;) {
    bool is_before = slots->spans.data[node].span.begin < span.end;
    if (is_before) last = node;
    node = is_before ? slots->spans.data[node].right : slots->spans.data[node].left;
  }
  return last == NO_ID || slots->spans.data[last].span.end <= span.begin;
}

static bool is_free(const PackSlots *slots, const Slot *slot, const PackSpan *spans,
                    uint32_t num_spans) {
  if (!may_be_free(&slot->free_time, spans, num_spans)) return false;
  for (uint32_t k = 0; k < num_spans; k++) {
    if (!is_free_in(slots, slot, spans[k])) return false;
  }
  return true;
}

/* ---- the tree of slots ---- */

static uint64_t slot_priority(uint32_t slot) {
  return hash_mix(HASH_SEED, slot);
}

static void join_below(Slot *slot, const FreeTime *free_time, const TakenTime *taken_time) {
  slot->free_below = free_time_join(&slot->free_below, free_time);
  taken_join(&slot->taken_below, taken_time);
}

static void bring_up_to_date(PackSlots *slots, uint32_t at) {
  Slot *slot = &slots->slots.data[at];
  slot->free_below = slot->free_time;
  slot->taken_below = slot->taken_time;
  uint32_t below[] = {slot->left, slot->right};
  for (int i = 0; i < 2; i++) {
    if (below[i] == NO_ID) continue;
    const Slot *child = &slots->slots.data[below[i]];
    join_below(slot, &child->free_below, &child->taken_below);
  }
}

/* Inserts a slot, which is the last in the list. */
static void insert_slot(PackSlots *slots) {
  Slot *list = slots->slots.data;
  uint32_t at = slots->slots.len - 1;
  Slot *new = &list[at];
  uint32_t *link = &slots->root;
  while (*link != NO_ID && slot_priority(*link) >= slot_priority(at)) {
    Slot *slot = &list[*link];
    join_below(slot, &new->free_time, &new->taken_time);
    link = new->begin < slot->begin ? &slot->left : &slot->right;
  }
  uint32_t rest = *link, *less = &new->left, *more = &new->right;
  *link = at;
  new->free_below = new->free_time;
  new->taken_below = new->taken_time;
  if (rest != NO_ID) join_below(new, &list[rest].free_below, &list[rest].taken_below);
  while (rest != NO_ID) {
    Slot *slot = &list[rest];
    if (new->begin < slot->begin) {
      *more = rest;
      more = &slot->left;
    } else {
      *less = rest;
      less = &slot->right;
    }
    rest = new->begin < slot->begin ? slot->left : slot->right;
  }
  *less = *more = NO_ID;
}

static void add_on_top(PackSlots *slots, int64_t end) {
  *vec_push(slots->arena, &slots->slots) = (Slot){.begin = slots->height,
                                                  .end = end,
                                                  .left = NO_ID,
                                                  .right = NO_ID,
                                                  .spans = NO_ID,
                                                  .owner = slots->next_owner++,
                                                  .free_time = free_time_all()};
  slots->height = end;
  insert_slot(slots);
}

/* The slot that contains the byte at `offset`. */
static uint32_t find_slot(const PackSlots *slots, int64_t offset) {
  uint32_t at = slots->root;
  for (;;) {
    const Slot *slot = &slots->slots.data[at];
    if (offset < slot->begin) {
      at = slot->left;
    } else if (offset >= slot->end) {
      at = slot->right;
    } else {
      return at;
    }
  }
}

/* Makes a slot begin at `offset`. */
static void split_at(PackSlots *slots, int64_t offset) {
  if (offset == slots->height) return;
  uint32_t at = find_slot(slots, offset);
  if (slots->slots.data[at].begin == offset) return;
  Slot *upper = vec_push(slots->arena, &slots->slots);
  Slot *lower = &slots->slots.data[at];
  *upper = *lower;
  upper->left = upper->right = NO_ID;
  upper->begin = lower->end = offset;
  lower->owner = slots->next_owner++;
  upper->owner = slots->next_owner++;
  insert_slot(slots);
}

/* Takes the slot that begins at `offset`; returns its end. */
static int64_t take_slot(PackSlots *slots, int64_t offset, const PackSpan *spans,
                         uint32_t num_spans) {
  uint32_t at = slots->root;
  for (;;) {
    Slot *slot = &slots->slots.data[at];
    for (uint32_t k = 0; k < num_spans; k++)
      taken_add(&slot->taken_below, spans[k]);
    if (slot->begin == offset) break;
    at = offset < slot->begin ? slot->left : slot->right;
  }
  Slot *slot = &slots->slots.data[at];
  for (uint32_t k = 0; k < num_spans; k++) {
    add_span(slots, slot, spans[k]);
    free_time_take(&slot->free_time, spans[k]);
    taken_add(&slot->taken_time, spans[k]);
  }
  return slot->end;
}

bool pack_slots_take(PackSlots *slots, int64_t from, int64_t to, const PackSpan *spans,
                     uint32_t num_spans) {
  if (from > slots->height) add_on_top(slots, from);
  if (to > slots->height) {
    if (from < slots->height) split_at(slots, from);
    add_on_top(slots, to);
  } else {
    split_at(slots, from);
    split_at(slots, to);
  }
  slots->num_taken++;
  for (int64_t offset = from; offset < to; slots->num_covered++)
    offset = take_slot(slots, offset, spans, num_spans);
  return slots->num_covered < FREELY_COVERED || slots->num_covered / MAX_COVERED < slots->num_taken;
}

/* ---- the search ---- */

typedef struct BestGap {
  int64_t bytes, alignment;
  int64_t perfect_length; /* no gap is smaller */
  int64_t begin, end;     /* the free bytes that end where the search is; none if equal */
  int64_t best_length, best_start;
} BestGap;

static void end_gap(BestGap *gap) {
  int64_t start = align_up(gap->begin, gap->alignment), length = gap->end - start;
  if (length < gap->bytes || length >= gap->best_length) return;
  gap->best_length = length;
  gap->best_start = start;
}

/* Continues the free bytes that have just ended, or begins others. */
static void pass_free(BestGap *gap, int64_t begin, int64_t end) {
  if (begin != gap->end) {
    end_gap(gap);
    gap->begin = begin;
  }
  gap->end = end;
}

static void visit(PackSlots *slots, uint32_t slot, int64_t begin, int64_t end) {
  if (slot != NO_ID) {
    *vec_push(slots->arena, &slots->visits) = (Visit){.begin = begin, .end = end, .slot = slot};
  }
}

/* The sums of a node that is not passed as a whole are out of date if nothing below is free, or
 * everything. */
static void leave(PackSlots *slots) {
  Visit done = slots->visits.data[--slots->visits.len];
  if (!done.has_free || !done.has_taken) bring_up_to_date(slots, done.slot);
  if (slots->visits.len == 0) return;
  Visit *above = &slots->visits.data[slots->visits.len - 1];
  above->has_free |= done.has_free;
  above->has_taken |= done.has_taken;
}

/* Passes the whole subtree if all of it is taken, or all of it is free. */
static bool pass_whole(PackSlots *slots, const PackSpan *spans, uint32_t num_spans, BestGap *gap) {
  Visit *at = &slots->visits.data[slots->visits.len - 1];
  const Slot *slot = &slots->slots.data[at->slot];
  bool is_taken = !may_be_free(&slot->free_below, spans, num_spans);
  if (!is_taken && may_be_taken(&slot->taken_below, spans, num_spans)) return false;
  if (!is_taken) pass_free(gap, at->begin, at->end);
  slots->visits.len--;
  if (slots->visits.len == 0) return true;
  Visit *above = &slots->visits.data[slots->visits.len - 1];
  above->has_free |= !is_taken;
  above->has_taken |= is_taken;
  return true;
}

int64_t pack_slots_best(PackSlots *slots, const PackSpan *spans, uint32_t num_spans, int64_t bytes,
                        int64_t alignment, int64_t granule) {
  BestGap gap = {.bytes = bytes,
                 .alignment = alignment,
                 .perfect_length = align_up(bytes, granule),
                 .best_length = INT64_MAX};
  slots->visits.len = 0;
  visit(slots, slots->root, 0, slots->height);
  while (slots->visits.len && gap.best_length > gap.perfect_length) {
    Visit *at = &slots->visits.data[slots->visits.len - 1];
    const Slot *slot = &slots->slots.data[at->slot];
    switch (at->step++) {
      case 0:
        if (!pass_whole(slots, spans, num_spans, &gap))
          visit(slots, slot->left, at->begin, slot->begin);
        break;
      case 1:
        if (is_free(slots, slot, spans, num_spans)) {
          pass_free(&gap, slot->begin, slot->end);
          at->has_free = true;
        } else {
          at->has_taken = true;
        }
        visit(slots, slot->right, slot->end, at->end);
        break;
      default: leave(slots); break;
    }
  }
  /* Free bytes that reach the top are no gap. */
  bool is_open = gap.end == slots->height && gap.best_length > gap.perfect_length;
  if (!is_open && gap.best_length > gap.perfect_length) end_gap(&gap);
  if (gap.best_length < INT64_MAX) return gap.best_start;
  return align_up(is_open ? gap.begin : slots->height, alignment);
}
