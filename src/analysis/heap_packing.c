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
    VEC(LeafItem) items; /* that begin or end in it, by their runs */
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

static void add_to_leaf(Usage *usage, uint32_t leaf, LeafItem item) {
  struct Leaf *items = &usage->leaves[leaf];
  vec_push(usage->arena, &items->items);
  uint32_t place = items->items.len - 1;
  for (; place && items->items.data[place - 1].run.from > item.run.from; place--)
    items->items.data[place] = items->items.data[place - 1];
  items->items.data[place] = item;
  touch_upwards(usage, usage->num_leaves + leaf, item.run);
}

static void use(Usage *usage, uint32_t begin, uint32_t end, Run run) {
  uint32_t first = begin / LEAF_TICKS, last = end / LEAF_TICKS;
  add_to_leaf(usage, first, (LeafItem){begin, end, run});
  if (last == first) return;
  add_to_leaf(usage, last, (LeafItem){begin, end, run});
  uint32_t low = usage->num_leaves + first + 1, high = usage->num_leaves + last;
  for (; low < high; low /= 2, high /= 2) {
    if (low & 1) cover(usage, low++, run);
    if (high & 1) cover(usage, --high, run);
  }
}

/* ---- what is in use at some time ---- */

typedef struct RunSlice {
  const Run *data; /* ascending */
  uint32_t len;
} RunSlice;

/* Lists of runs to be merged, and room for doing so. */
typedef struct Search {
  Arena *arena;
  VEC(RunSlice) slices;
  uint64_t num_runs; /* in all slices */
  Runs from_leaves;  /* what slices from leaves point to */
  Runs merged[2];
} Search;

static void add_slice(Search *search, const Run *data, uint32_t len) {
  if (len == 0) return;
  *vec_push(search->arena, &search->slices) = (RunSlice){data, len};
  search->num_runs += len;
}

static void search_node(Search *search, const Runs *runs) {
  add_slice(search, runs->list.data, runs->list.len);
}

/* At most LEAF_TICKS items: `from_leaves` has room. */
static void search_leaf(Search *search, const Usage *usage, uint32_t leaf, uint32_t begin,
                        uint32_t end) {
  const struct Leaf *items = &usage->leaves[leaf];
  Runs *found = &search->from_leaves;
  uint32_t first = found->list.len;
  for (uint32_t i = 0; i < items->items.len; i++) {
    const LeafItem *item = &items->items.data[i];
    if (item->begin <= end && item->end >= begin) found->list.data[found->list.len++] = item->run;
  }
  add_slice(search, found->list.data + first, found->list.len - first);
}

/* What is in use at some tick of [begin, end]. */
static void search_time(Search *search, const Usage *usage, uint32_t begin, uint32_t end) {
  uint32_t first = begin / LEAF_TICKS, last = end / LEAF_TICKS;
  search_leaf(search, usage, first, begin, end);
  if (last != first) search_leaf(search, usage, last, begin, end);
  uint32_t low = usage->num_leaves + first, high = usage->num_leaves + last;
  for (; low != high; low /= 2, high /= 2) {
    search_node(search, &usage->nodes[low].cover);
    search_node(search, &usage->nodes[high].cover);
  }
  for (; low; low /= 2)
    search_node(search, &usage->nodes[low].cover);
  low = usage->num_leaves + first + 1, high = usage->num_leaves + last;
  for (; low < high; low /= 2, high /= 2) {
    if (low & 1) search_node(search, &usage->nodes[low++].touched);
    if (high & 1) search_node(search, &usage->nodes[--high].touched);
  }
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
static RunSlice merge_all(Search *search) {
  uint32_t room = search->num_runs < UINT32_MAX ? (uint32_t)search->num_runs : UINT32_MAX;
  for (uint32_t i = 0; i < 2; i++)
    vec_reserve(search->arena, &search->merged[i].list, room);
  RunSlice *slices = search->slices.data;
  uint32_t num_slices = search->slices.len;
  for (uint32_t pass = 0; num_slices > 1; pass ^= 1) {
    Run *out = search->merged[pass].list.data;
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

/* Where the smallest gap between runs begins that has room for `bytes`; the first of several. */
static int64_t best_gap(RunSlice used, int64_t bytes) {
  int64_t free_from = 0, best = -1, best_bytes = INT64_MAX;
  for (uint32_t i = 0; i < used.len; i++) {
    Run run = used.data[i];
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
  Search search = {.arena = arena};
  for (uint32_t i = 0; i < packer->groups.len; i++) {
    const Group *group = &packer->groups.list[keys[i].group];
    search.slices.len = search.from_leaves.list.len = 0;
    search.num_runs = 0;
    uint32_t num_members = group->last - group->first;
    vec_reserve(arena, &search.from_leaves.list, num_members * 2 * LEAF_TICKS);
    for (uint32_t k = group->first; k < group->last; k++) {
      const HeapInterval *member = &packer->intervals[packer->groups.members[k]];
      search_time(&search, &usage, member->begin, member->end);
    }
    int64_t offset = best_gap(merge_all(&search), group->bytes);
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
