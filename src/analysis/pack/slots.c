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
  MAX_VISITS = 200, /* of a search that begins at the lowest slot */
  BLOCK_SLOTS = 1 << 10,
};

/* Spans that contain all times at which something is taken; in order, and not touching. */
typedef struct TakenTime {
  uint32_t num_hulls;
  PackSpan hulls[MAX_HULLS];
} TakenTime;

/* The times of requests: those that begin in [first_begin, last_begin] and end in [first_end,
 * last_end]. */
typedef struct TimeBox {
  uint32_t first_begin, last_begin, first_end, last_end;
} TimeBox;

/* What a buffer of some size would find in the bytes [begin, end), for all spans in the box. */
typedef struct Found {
  TimeBox box;
  bool is_known, is_all_free;
  int64_t bytes, alignment; /* of the buffer */
  int64_t begin, end;
  int64_t low_end;                 /* the free bytes at the low end are [begin, low_end) */
  int64_t high_begin;              /* those at the high end are [high_begin, end) */
  int64_t best_length, best_start; /* of the gaps between taken bytes; INT64_MAX = none */
} Found;

typedef struct Slot {
  int64_t begin, end;
  uint32_t left, right; /* NO_ID = none */
  uint32_t spans;       /* root of the tree of the spans in which it is taken, NO_ID = none */
  uint32_t owner;       /* nodes of that tree with another owner are shared with other slots */
  FreeTime free_time;
  TakenTime taken_time;
  FreeTime free_below; /* of the slot and all below it */
  TakenTime taken_below;
  Found found; /* the last time, in the slot and all below it */
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
  int64_t height;     /* the slots are the bytes [0, height) */
  VEC(Slot *) blocks; /* of BLOCK_SLOTS each; see slot_at() */
  uint32_t num_slots;
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

/* Slots are many and large, so that an array of them would mostly be copied as it grows. */
static inline Slot *slot_at(const PackSlots *slots, uint32_t slot) {
  return &slots->blocks.data[slot / BLOCK_SLOTS][slot % BLOCK_SLOTS];
}

static Slot *add_slot(PackSlots *slots) {
  if (slots->num_slots % BLOCK_SLOTS == 0)
    *vec_push(slots->arena, &slots->blocks) = arena_array(slots->arena, Slot, BLOCK_SLOTS);
  return slot_at(slots, slots->num_slots++);
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
  Slot *slot = slot_at(slots, at);
  slot->free_below = slot->free_time;
  slot->taken_below = slot->taken_time;
  uint32_t below[] = {slot->left, slot->right};
  for (int i = 0; i < 2; i++) {
    if (below[i] == NO_ID) continue;
    const Slot *child = slot_at(slots, below[i]);
    join_below(slot, &child->free_below, &child->taken_below);
  }
}

/* Inserts a slot, which is the last in the list. */
static void insert_slot(PackSlots *slots) {
  uint32_t at = slots->num_slots - 1;
  Slot *new = slot_at(slots, at);
  uint32_t *link = &slots->root;
  while (*link != NO_ID && slot_priority(*link) >= slot_priority(at)) {
    Slot *slot = slot_at(slots, *link);
    slot->found.is_known = false;
    join_below(slot, &new->free_time, &new->taken_time);
    link = new->begin < slot->begin ? &slot->left : &slot->right;
  }
  uint32_t rest = *link, *less = &new->left, *more = &new->right;
  *link = at;
  new->found.is_known = false;
  new->free_below = new->free_time;
  new->taken_below = new->taken_time;
  if (rest != NO_ID) {
    const Slot *below = slot_at(slots, rest);
    join_below(new, &below->free_below, &below->taken_below);
  }
  while (rest != NO_ID) {
    Slot *slot = slot_at(slots, rest);
    slot->found.is_known = false;
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
  *add_slot(slots) = (Slot){.begin = slots->height,
                            .end = end,
                            .left = NO_ID,
                            .right = NO_ID,
                            .spans = NO_ID,
                            .owner = slots->next_owner++,
                            .free_time = free_time_all()};
  slots->height = end;
  insert_slot(slots);
}

/* The slot that contains the byte at `offset`, which is about to change. */
static uint32_t find_slot(PackSlots *slots, int64_t offset) {
  uint32_t at = slots->root;
  for (;;) {
    Slot *slot = slot_at(slots, at);
    slot->found.is_known = false;
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
  if (slot_at(slots, at)->begin == offset) return;
  Slot *upper = add_slot(slots);
  Slot *lower = slot_at(slots, at);
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
    Slot *slot = slot_at(slots, at);
    slot->found.is_known = false;
    for (uint32_t k = 0; k < num_spans; k++)
      taken_add(&slot->taken_below, spans[k]);
    if (slot->begin == offset) break;
    at = offset < slot->begin ? slot->left : slot->right;
  }
  Slot *slot = slot_at(slots, at);
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
  const Slot *slot = slot_at(slots, at->slot);
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

/* Searches from the lowest slot on. Returns false after too many visits. */
static bool search_in_order(PackSlots *slots, const PackSpan *spans, uint32_t num_spans,
                            BestGap *gap) {
  uint32_t num_visits = 0, max_visits = num_spans == 1 ? MAX_VISITS : UINT32_MAX;
  slots->visits.len = 0;
  visit(slots, slots->root, 0, slots->height);
  while (slots->visits.len && gap->best_length > gap->perfect_length) {
    if (num_visits++ == max_visits) return false;
    Visit *at = &slots->visits.data[slots->visits.len - 1];
    const Slot *slot = slot_at(slots, at->slot);
    switch (at->step++) {
      case 0:
        if (!pass_whole(slots, spans, num_spans, gap))
          visit(slots, slot->left, at->begin, slot->begin);
        break;
      case 1:
        if (is_free(slots, slot, spans, num_spans)) {
          pass_free(gap, slot->begin, slot->end);
          at->has_free = true;
        } else {
          at->has_taken = true;
        }
        visit(slots, slot->right, slot->end, at->end);
        break;
      default: leave(slots); break;
    }
  }
  return true;
}

/* ---- the search that remembers ---- */

/* Where many gaps are large enough but none is perfect, each of them would be visited for each
 * buffer. What has been found below a node holds for all spans that begin and end between the same
 * events of its slots, so most of it can be used again for the next buffer. */

static TimeBox common_box(TimeBox a, TimeBox b) {
  return (TimeBox){a.first_begin > b.first_begin ? a.first_begin : b.first_begin,
                   a.last_begin < b.last_begin ? a.last_begin : b.last_begin,
                   a.first_end > b.first_end ? a.first_end : b.first_end,
                   a.last_end < b.last_end ? a.last_end : b.last_end};
}

static const TimeBox always = {0, UINT32_MAX, 0, UINT32_MAX};

static bool holds_for(const Found *found, PackSpan span, const BestGap *gap) {
  return found->is_known && found->bytes == gap->bytes && found->alignment == gap->alignment &&
         span.begin >= found->box.first_begin && span.begin <= found->box.last_begin &&
         span.end >= found->box.first_end && span.end <= found->box.last_end;
}

/* The box of the spans for which no slot is free, for the same reasons as for this one. */
static TimeBox box_of_none_free(const FreeTime *free_time, PackSpan span) {
  TimeBox box = always;
  for (uint32_t i = 0; i < free_time->num_gaps; i++) {
    const FreeGap *free_gap = &free_time->gaps[i];
    if (span.begin < free_gap->begin) {
      box = common_box(box, (TimeBox){0, free_gap->begin - 1, 0, UINT32_MAX});
    } else if (span.end > free_gap->end) {
      box = common_box(box, (TimeBox){0, UINT32_MAX, free_gap->end + 1, UINT32_MAX});
    } else {
      uint32_t slack = span.end - span.begin - free_gap->longest - 1;
      box = common_box(
          box, (TimeBox){0, span.begin + slack / 2, span.end - (slack - slack / 2), UINT32_MAX});
    }
  }
  return box;
}

/* The box of the spans for which all slots are free. */
static TimeBox box_of_all_free(const TakenTime *taken, PackSpan span) {
  TimeBox box = always;
  for (uint32_t i = 0; i < taken->num_hulls; i++) {
    if (span.end <= taken->hulls[i].begin) {
      box = common_box(box, (TimeBox){0, UINT32_MAX, 0, taken->hulls[i].begin});
    } else {
      box = common_box(box, (TimeBox){taken->hulls[i].end, UINT32_MAX, 0, UINT32_MAX});
    }
  }
  return box;
}

static Found found_whole(TimeBox box, bool is_free, int64_t begin, int64_t end) {
  return (Found){.box = box,
                 .is_all_free = is_free,
                 .begin = begin,
                 .end = end,
                 .low_end = is_free ? end : begin,
                 .high_begin = is_free ? begin : end,
                 .best_length = INT64_MAX};
}

/* What is found in a slot alone: free between two of its spans, or taken by one of them. */
static Found found_in_slot(const PackSlots *slots, const Slot *slot, PackSpan span) {
  uint32_t last = NO_ID, next = NO_ID;
  for (uint32_t node = slot->spans; node != NO_ID;) {
    bool is_before = slots->spans.data[node].span.begin < span.end;
    if (is_before) {
      last = node;
    } else {
      next = node;
    }
    node = is_before ? slots->spans.data[node].right : slots->spans.data[node].left;
  }
  PackSpan before = last == NO_ID ? (PackSpan){0, 0} : slots->spans.data[last].span;
  if (before.end > span.begin) {
    TimeBox box = {0, before.end - 1, before.begin + 1, UINT32_MAX};
    return found_whole(box, false, slot->begin, slot->end);
  }
  uint32_t end = next == NO_ID ? UINT32_MAX : slots->spans.data[next].span.begin;
  return found_whole((TimeBox){before.end, UINT32_MAX, 0, end}, true, slot->begin, slot->end);
}

static void take_better(Found *found, int64_t length, int64_t start) {
  if (length >= found->best_length) return;
  found->best_length = length;
  found->best_start = start;
}

static void take_between(Found *found, int64_t begin, int64_t end, const BestGap *gap) {
  int64_t start = align_up(begin, gap->alignment);
  if (end - start >= gap->bytes) take_better(found, end - start, start);
}

/* Adds what has been found in the bytes that follow. */
static void found_join(Found *found, const Found *next, const BestGap *gap) {
  bool is_closed = !found->is_all_free && !next->is_all_free;
  if (is_closed) take_between(found, found->high_begin, next->low_end, gap);
  take_better(found, next->best_length, next->best_start);
  if (found->is_all_free) found->low_end = next->low_end;
  if (!next->is_all_free) found->high_begin = next->high_begin;
  found->is_all_free &= next->is_all_free;
  found->box = common_box(found->box, next->box);
  found->end = next->end;
}

static Found join_children(const PackSlots *slots, const Slot *slot, PackSpan span,
                           const BestGap *gap) {
  Found own = found_in_slot(slots, slot, span);
  Found found = slot->left == NO_ID ? own : slot_at(slots, slot->left)->found;
  if (slot->left != NO_ID) found_join(&found, &own, gap);
  if (slot->right != NO_ID) found_join(&found, &slot_at(slots, slot->right)->found, gap);
  return found;
}

static void remember(Slot *slot, Found found, const BestGap *gap) {
  slot->found = found;
  slot->found.is_known = true;
  slot->found.bytes = gap->bytes;
  slot->found.alignment = gap->alignment;
}

/* Finds out what is below the root. */
static void search_all(PackSlots *slots, PackSpan span, const BestGap *gap) {
  slots->visits.len = 0;
  visit(slots, slots->root, 0, slots->height);
  while (slots->visits.len) {
    Visit *at = &slots->visits.data[slots->visits.len - 1];
    Slot *slot = slot_at(slots, at->slot);
    uint8_t step = at->step++;
    if (step == 0 && !holds_for(&slot->found, span, gap)) {
      if (!may_be_free(&slot->free_below, &span, 1)) {
        TimeBox box = box_of_none_free(&slot->free_below, span);
        remember(slot, found_whole(box, false, at->begin, at->end), gap);
      } else if (!may_be_taken(&slot->taken_below, &span, 1)) {
        TimeBox box = box_of_all_free(&slot->taken_below, span);
        remember(slot, found_whole(box, true, at->begin, at->end), gap);
      } else {
        visit(slots, slot->left, at->begin, slot->begin);
        continue;
      }
    }
    if (step == 1) {
      visit(slots, slot->right, slot->end, at->end);
      continue;
    }
    if (step == 2) remember(slot, join_children(slots, slot, span, gap), gap);
    slots->visits.len--;
  }
}

/* The free bytes at the bottom are a gap, those at the top are not. */
static int64_t best_of_all(PackSlots *slots, PackSpan span, const BestGap *gap) {
  search_all(slots, span, gap);
  const Found *found = &slot_at(slots, slots->root)->found;
  Found best = {.best_length = INT64_MAX};
  if (!found->is_all_free) take_between(&best, 0, found->low_end, gap);
  take_better(&best, found->best_length, found->best_start);
  if (best.best_length < INT64_MAX) return best.best_start;
  return align_up(found->high_begin, gap->alignment);
}

int64_t pack_slots_best(PackSlots *slots, const PackSpan *spans, uint32_t num_spans, int64_t bytes,
                        int64_t alignment, int64_t granule) {
  BestGap gap = {.bytes = bytes,
                 .alignment = alignment,
                 .perfect_length = align_up(bytes, granule),
                 .best_length = INT64_MAX};
  if (!search_in_order(slots, spans, num_spans, &gap)) return best_of_all(slots, spans[0], &gap);
  /* Free bytes that reach the top are no gap. */
  bool is_open = gap.end == slots->height && gap.best_length > gap.perfect_length;
  if (!is_open && gap.best_length > gap.perfect_length) end_gap(&gap);
  if (gap.best_length < INT64_MAX) return gap.best_start;
  return align_up(is_open ? gap.begin : slots->height, alignment);
}
