/* Bytes in use are kept in a segment tree over time. What fills the whole time of a node is noted
 * at the node (`cover`), and each node knows the bytes that are in use at some time of it
 * (`touched`); both are runs of bytes, sorted and joined, each end rounded up to the alignment.
 * Times below the width of a leaf are told apart by a list at the leaf. */
#include "analysis/heap_packing.h"

#include <stdlib.h>

#include "ir/vec.h"

enum { LEAF_TICKS = 32 };

typedef struct Run {
  int64_t from, to;
} Run;

typedef struct Runs {
  VEC(Run) list; /* ascending; they do not touch */
} Runs;

typedef struct LeafItem {
  uint32_t begin, end; /* ticks */
  Run run;
} LeafItem;

typedef struct Node {
  Runs cover;
  Runs touched;
} Node;

typedef struct Usage {
  Arena *arena;
  Node *nodes; /* a heap: node 1 is the root, node num_leaves + i leaf i */
  uint32_t num_leaves;
  struct Leaf {
    VEC(LeafItem) items; /* that begin or end in it */
  } * leaves;
} Usage;

static Usage usage_new(uint32_t num_ticks, Arena *arena) {
  Usage usage = {.arena = arena, .num_leaves = 1};
  while ((uint64_t)usage.num_leaves * LEAF_TICKS < num_ticks)
    usage.num_leaves *= 2;
  usage.nodes = arena_zarray(arena, Node, (size_t)usage.num_leaves * 2);
  usage.leaves = arena_zarray(arena, struct Leaf, usage.num_leaves);
  return usage;
}

/* The first run that ends at `from` or behind it. */
static uint32_t find_run(const Runs *runs, int64_t from) {
  uint32_t low = 0, high = runs->list.len;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (runs->list.data[middle].to < from) {
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
  Run *list = runs->list.data;
  if (first < runs->list.len && list[first].from <= run.from && list[first].to >= run.to) {
    return false;
  }
  for (; last < runs->list.len && list[last].from <= run.to; last++) {
    if (list[last].from < run.from) run.from = list[last].from;
    if (list[last].to > run.to) run.to = list[last].to;
  }
  if (first == last) vec_push(arena, &runs->list);
  list = runs->list.data;
  uint32_t rest = runs->list.len - last - (first == last), kept = first + 1;
  memmove(list + kept, list + last, rest * sizeof *list);
  list[first] = run;
  runs->list.len = kept + rest;
  return true;
}

static void touch_upwards(Usage *usage, uint32_t node, Run run) {
  /* Who is above holds what is below. */
  for (; node && add_run(&usage->nodes[node].touched, run, usage->arena); node /= 2) {}
}

static void cover(Usage *usage, uint32_t node, Run run) {
  add_run(&usage->nodes[node].cover, run, usage->arena);
  touch_upwards(usage, node, run);
}

static void use(Usage *usage, uint32_t begin, uint32_t end, Run run) {
  uint32_t first = begin / LEAF_TICKS, last = end / LEAF_TICKS;
  LeafItem item = {begin, end, run};
  *vec_push(usage->arena, &usage->leaves[first].items) = item;
  touch_upwards(usage, usage->num_leaves + first, run);
  if (last == first) return;
  *vec_push(usage->arena, &usage->leaves[last].items) = item;
  touch_upwards(usage, usage->num_leaves + last, run);
  uint32_t low = usage->num_leaves + first + 1, high = usage->num_leaves + last;
  for (; low < high; low /= 2, high /= 2) {
    if (low & 1) cover(usage, low++, run);
    if (high & 1) cover(usage, --high, run);
  }
}

static void collect(Runs *found, const Runs *runs, Arena *arena) {
  if (runs->list.len == 0) return;
  Run *to = vec_extend(arena, &found->list, runs->list.len);
  memcpy(to, runs->list.data, runs->list.len * sizeof *to);
}

static void collect_leaf(const Usage *usage, uint32_t leaf, uint32_t begin, uint32_t end,
                         Runs *found, Arena *arena) {
  const struct Leaf *items = &usage->leaves[leaf];
  for (uint32_t i = 0; i < items->items.len; i++) {
    const LeafItem *item = &items->items.data[i];
    if (item->begin <= end && item->end >= begin) *vec_push(arena, &found->list) = item->run;
  }
}

/* Appends what is in use at some tick of [begin, end], in no order. */
static void find_used(const Usage *usage, uint32_t begin, uint32_t end, Runs *found, Arena *arena) {
  uint32_t first = begin / LEAF_TICKS, last = end / LEAF_TICKS;
  collect_leaf(usage, first, begin, end, found, arena);
  if (last != first) collect_leaf(usage, last, begin, end, found, arena);
  uint32_t low = usage->num_leaves + first, high = usage->num_leaves + last;
  for (; low != high; low /= 2, high /= 2) {
    collect(found, &usage->nodes[low].cover, arena);
    collect(found, &usage->nodes[high].cover, arena);
  }
  for (; low; low /= 2)
    collect(found, &usage->nodes[low].cover, arena);
  low = usage->num_leaves + first + 1, high = usage->num_leaves + last;
  for (; low < high; low /= 2, high /= 2) {
    if (low & 1) collect(found, &usage->nodes[low++].touched, arena);
    if (high & 1) collect(found, &usage->nodes[--high].touched, arena);
  }
}

static int by_from(const void *pa, const void *pb) {
  const Run *a = pa, *b = pb;
  return (a->from > b->from) - (a->from < b->from);
}

/* Where the smallest gap between runs begins that has room for `bytes`; the first of several. */
static int64_t best_gap(Runs *used, int64_t bytes) {
  if (used->list.len) qsort(used->list.data, used->list.len, sizeof *used->list.data, by_from);
  int64_t free_from = 0, best = -1, best_bytes = INT64_MAX;
  for (uint32_t i = 0; i < used->list.len; i++) {
    Run run = used->list.data[i];
    int64_t gap = run.from - free_from;
    if (gap >= bytes && gap < best_bytes) {
      best = free_from;
      best_bytes = gap;
    }
    if (run.to > free_from) free_from = run.to;
  }
  return best < 0 ? free_from : best;
}

/* ---- intervals that have one offset ---- */

typedef struct Group {
  uint32_t leader;      /* the interval without `with` */
  uint32_t first, last; /* range in Groups.members */
  int64_t bytes;        /* of its largest */
  uint32_t begin, end;
} Group;

typedef struct Groups {
  Group *list;
  uint32_t len;
  uint32_t *members; /* intervals, the leader first */
} Groups;

static uint32_t leader_of(uint32_t *leader, uint32_t interval) {
  uint32_t found = interval;
  while (leader[found] != found)
    found = leader[found];
  while (leader[interval] != found) {
    uint32_t next = leader[interval];
    leader[interval] = found;
    interval = next;
  }
  return found;
}

static void add_member(Groups *groups, Group *group, uint32_t index, const HeapInterval *interval) {
  groups->members[group->last++] = index;
  if (interval->bytes > group->bytes) group->bytes = interval->bytes;
  if (interval->begin < group->begin) group->begin = interval->begin;
  if (interval->end > group->end) group->end = interval->end;
}

static Groups find_groups(const HeapInterval *intervals, uint32_t num_intervals, Arena *arena) {
  Groups groups = {.members = arena_array(arena, uint32_t, num_intervals)};
  uint32_t *leader = arena_array(arena, uint32_t, num_intervals);
  uint32_t *size = arena_zarray(arena, uint32_t, num_intervals);
  uint32_t *group_of = arena_array(arena, uint32_t, num_intervals);
  for (uint32_t i = 0; i < num_intervals; i++)
    leader[i] = intervals[i].with == NO_ID ? i : intervals[i].with;
  for (uint32_t i = 0; i < num_intervals; i++) {
    groups.len += intervals[i].with == NO_ID;
    size[leader_of(leader, i)]++;
  }
  groups.list = arena_zarray(arena, Group, groups.len);
  uint32_t next = 0, place = 0;
  for (uint32_t i = 0; i < num_intervals; i++) {
    if (intervals[i].with != NO_ID) continue;
    group_of[i] = next;
    Group *group = &groups.list[next++];
    *group = (Group){.leader = i, .first = place, .last = place, .begin = UINT32_MAX};
    place += size[i];
    add_member(&groups, group, i, &intervals[i]);
  }
  for (uint32_t i = 0; i < num_intervals; i++) {
    if (intervals[i].with == NO_ID) continue;
    add_member(&groups, &groups.list[group_of[leader[i]]], i, &intervals[i]);
  }
  return groups;
}

/* ---- placing ---- */

typedef struct Packer {
  const HeapInterval *intervals;
  uint32_t num_intervals;
  uint32_t num_ticks;
  int64_t alignment;
  Groups groups;
} Packer;

typedef struct SortKey {
  int64_t first, second; /* descending */
  uint32_t group;
} SortKey;

static int by_keys(const void *pa, const void *pb) {
  const SortKey *a = pa, *b = pb;
  if (a->first != b->first) return a->first > b->first ? -1 : 1;
  if (a->second != b->second) return a->second > b->second ? -1 : 1;
  return (a->group > b->group) - (a->group < b->group);
}

static SortKey spatial_key(const Packer *packer, uint32_t index) {
  const HeapInterval *leader = &packer->intervals[packer->groups.list[index].leader];
  return (SortKey){leader->bytes, leader->end - leader->begin, index};
}

static SortKey temporal_key(const Packer *packer, uint32_t index) {
  const Group *group = &packer->groups.list[index];
  return (SortKey){group->end - group->begin, packer->intervals[group->leader].bytes, index};
}

static int64_t round_up(int64_t bytes, int64_t alignment) {
  int64_t over = bytes % alignment;
  return over ? bytes + (alignment - over) : bytes;
}

static HeapPacking place_all(const Packer *packer,
                             SortKey (*key_of)(const Packer *packer, uint32_t group), Arena *out,
                             Arena *scratch) {
  HeapPacking packing = {.offsets = arena_array(out, int64_t, packer->num_intervals)};
  Arena *arena = arena_new(arena_options(scratch));
  SortKey *keys = arena_array(arena, SortKey, packer->groups.len);
  for (uint32_t i = 0; i < packer->groups.len; i++)
    keys[i] = key_of(packer, i);
  if (packer->groups.len) qsort(keys, packer->groups.len, sizeof *keys, by_keys);
  Usage usage = usage_new(packer->num_ticks, arena);
  Runs used = {0};
  for (uint32_t i = 0; i < packer->groups.len; i++) {
    const Group *group = &packer->groups.list[keys[i].group];
    used.list.len = 0;
    for (uint32_t k = group->first; k < group->last; k++) {
      const HeapInterval *member = &packer->intervals[packer->groups.members[k]];
      find_used(&usage, member->begin, member->end, &used, arena);
    }
    int64_t offset = best_gap(&used, group->bytes);
    if (offset + group->bytes > packing.bytes) packing.bytes = offset + group->bytes;
    Run run = {offset, round_up(offset + group->bytes, packer->alignment)};
    for (uint32_t k = group->first; k < group->last; k++) {
      const HeapInterval *member = &packer->intervals[packer->groups.members[k]];
      packing.offsets[packer->groups.members[k]] = offset;
      use(&usage, member->begin, member->end, run);
    }
  }
  arena_free(arena);
  return packing;
}

HeapPacking heap_pack(const HeapInterval *intervals, uint32_t num_intervals, HeapOrder order,
                      int64_t alignment, Arena *out, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  Packer packer = {.intervals = intervals,
                   .num_intervals = num_intervals,
                   .alignment = alignment,
                   .groups = find_groups(intervals, num_intervals, scratch)};
  for (uint32_t i = 0; i < num_intervals; i++) {
    if (intervals[i].end >= packer.num_ticks) packer.num_ticks = intervals[i].end + 1;
  }
  HeapPacking best = {.bytes = INT64_MAX};
  if (order != HEAP_TEMPORAL) best = place_all(&packer, spatial_key, out, scratch);
  if (order != HEAP_SPATIAL) {
    HeapPacking temporal = place_all(&packer, temporal_key, out, scratch);
    if (temporal.bytes < best.bytes) best = temporal;
  }
  arena_reset(scratch, mark);
  return best;
}
