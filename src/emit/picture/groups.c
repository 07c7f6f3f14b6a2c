#include "emit/picture/groups.h"

#include <math.h>
#include <stdlib.h>

#include "ir/hash.h"

/* Computed groups have the colours of Okabe and Ito; arguments have shades of blue, apart from
 * those. What is left over is grey. */
const GroupColor group_colors[NUM_SCOPE_GROUPS] = {
    {"#56b4e9", false}, {"#e69f00", false}, {"#009e73", false}, {"#cc79a7", false},
    {"#f0e442", false}, {"#d55e00", false}, {"#a07fd1", false}, {"#a9adb3", false},
    {"#1f4e79", true},  {"#6f8fb3", false}, {"#b4c6dc", false}, {"#7d8590", true}};

enum { MAX_DEPTH = 12 };

/* ---- scopes ---- */

/* Slashes within the brackets of `jvp(a/b)` separate nothing. */
size_t picture_scope_prefix(rh_text scope, bool is_argument, int depth) {
  int parts = 0, open = 0;
  for (size_t i = 0; i < scope.length; i++) {
    char c = scope.data[i];
    bool is_end = c == '/' && open <= 0;
    if (is_argument) is_end = i > 0 && (c == '[' || c == '.') && open <= 0;
    if (is_end && ++parts == depth) return i;
    open += (c == '(' || c == '[') - (c == ')' || c == ']');
  }
  return scope.length;
}

bool picture_is_argument(const rh_live_value *value) {
  return value->argument.length > 0 || strcmp(value->category, "parameter") == 0;
}

typedef struct ScopeSum {
  rh_text name;
  double weight;
  uint32_t rank; /* 0 = the largest */
} ScopeSum;

/* The sums of one kind of values at one depth. */
typedef struct ScopeSums {
  VEC(ScopeSum) list;
  IdTable table;
} ScopeSums;

static bool is_same(rh_text a, rh_text b) {
  return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

static rh_text scope_of(const rh_placed_value *placed, bool is_argument, int depth) {
  rh_text scope = is_argument ? placed->value->argument : placed->scope;
  static const rh_text unnamed = {"arguments", 9};
  if (is_argument && scope.length == 0) return unnamed;
  return (rh_text){scope.data, picture_scope_prefix(scope, is_argument, depth)};
}

static ScopeSum *sum_of(ScopeSums *sums, rh_text name, Arena *arena) {
  uint64_t hash = hash_bytes(HASH_SEED, name.data, name.length);
  uint32_t id;
  for (IdProbe probe = id_table_probe(&sums->table, hash); id_probe_next(&probe, &id);) {
    if (is_same(sums->list.data[id].name, name)) return &sums->list.data[id];
  }
  id = sums->list.len;
  *vec_push(arena, &sums->list) = (ScopeSum){.name = name};
  id_table_add(&sums->table, arena, hash, id);
  return &sums->list.data[id];
}

static int by_weight(const void *pa, const void *pb) {
  const ScopeSum *a = *(ScopeSum *const *)pa, *b = *(ScopeSum *const *)pb;
  if (a->weight != b->weight) return a->weight > b->weight ? -1 : 1;
  size_t length = a->name.length < b->name.length ? a->name.length : b->name.length;
  int order = length ? memcmp(a->name.data, b->name.data, length) : 0;
  if (order) return order;
  return (a->name.length > b->name.length) - (a->name.length < b->name.length);
}

static void rank(ScopeSums *sums, Arena *arena) {
  ScopeSum **sorted = arena_array(arena, ScopeSum *, sums->list.len);
  for (uint32_t i = 0; i < sums->list.len; i++)
    sorted[i] = &sums->list.data[i];
  if (sums->list.len) qsort(sorted, sums->list.len, sizeof *sorted, by_weight);
  for (uint32_t i = 0; i < sums->list.len; i++)
    sorted[i]->rank = i;
}

static double area_of(const rh_placed_value *placed) {
  return (double)placed->value->bytes * (double)(placed->end - placed->begin);
}

static double peak_of(const rh_memory_map *map, const rh_placed_value *placed) {
  bool is_live = placed->begin <= map->peak_position && map->peak_position < placed->end;
  return is_live ? (double)placed->value->bytes : 0;
}

/* The bytes times positions of all values, and the bytes of those that are live at the peak. A
 * value weighs as much as its shares of both. */
typedef struct Totals {
  double area, peak;
} Totals;

static Totals totals_of(const PictureMaps *maps) {
  Totals totals = {0};
  for (uint32_t m = 0; m < maps->list.len; m++) {
    const rh_memory_map *map = maps->list.data[m].map;
    for (size_t i = 0; i < map->num_values; i++) {
      totals.area += area_of(map->values[i]);
      totals.peak += peak_of(map, map->values[i]);
    }
  }
  return (Totals){totals.area > 0 ? totals.area : 1, totals.peak > 0 ? totals.peak : 1};
}

static ScopeSums sum_scopes(const PictureMaps *maps, bool is_argument, int depth, Arena *arena) {
  ScopeSums sums = {0};
  Totals totals = totals_of(maps);
  for (uint32_t m = 0; m < maps->list.len; m++) {
    const rh_memory_map *map = maps->list.data[m].map;
    for (size_t i = 0; i < map->num_values; i++) {
      const rh_placed_value *placed = map->values[i];
      if (picture_is_argument(placed->value) != is_argument) continue;
      ScopeSum *sum = sum_of(&sums, scope_of(placed, is_argument, depth), arena);
      sum->weight += area_of(placed) / totals.area + peak_of(map, placed) / totals.peak;
    }
  }
  rank(&sums, arena);
  return sums;
}

/* ---- the depth ---- */

/* Returns the entropy in bits of what has a colour of its own, which are the largest `num_named`
 * sums, times the share that it has of all. */
static double separation(const ScopeSums *sums, uint32_t num_named) {
  double parts[NUM_SCOPE_GROUPS] = {0}, named = 0, total = 0, bits = 0;
  for (uint32_t i = 0; i < sums->list.len; i++) {
    const ScopeSum *sum = &sums->list.data[i];
    total += sum->weight;
    if (sum->rank >= num_named) continue;
    parts[sum->rank] = sum->weight;
    named += sum->weight;
  }
  for (uint32_t i = 0; i < num_named; i++) {
    if (parts[i] > 0) bits -= parts[i] / named * log2(parts[i] / named);
  }
  return total > 0 ? bits * named / total : 0;
}

typedef struct BestDepth {
  int depth;
  double bits;
} BestDepth;

/* A greater depth has to be better by a difference that can be seen. */
static BestDepth best_depth(const PictureMaps *maps, bool is_argument, uint32_t num_named,
                            Arena *scratch) {
  static const double least_gain = 0.05;
  BestDepth best = {.depth = 1};
  for (int depth = 1; depth <= MAX_DEPTH; depth++) {
    ArenaMark mark = arena_mark(scratch);
    ScopeSums sums = sum_scopes(maps, is_argument, depth, scratch);
    double bits = separation(&sums, num_named);
    arena_reset(scratch, mark);
    if (bits > best.bits + least_gain) best = (BestDepth){depth, bits};
  }
  return best;
}

/* ---- groups ---- */

static uint32_t group_by_scope(PictureGroups *groups, ScopeSums *sums,
                               const rh_placed_value *placed, Arena *arena) {
  bool is_argument = picture_is_argument(placed->value);
  uint32_t first = is_argument ? NUM_COMPUTED_GROUPS : 0;
  uint32_t last = is_argument ? NUM_ARGUMENT_GROUPS - 1 : NUM_COMPUTED_GROUPS - 1;
  int depth = is_argument ? groups->argument_depth : groups->depth;
  const ScopeSum *sum = sum_of(&sums[is_argument], scope_of(placed, is_argument, depth), arena);
  uint32_t index = first + (sum->rank < last ? sum->rank : last);
  static const rh_text others = {"all others", 10}, arguments = {"other arguments", 15};
  groups->groups[index].name = sum->rank < last ? sum->name : is_argument ? arguments : others;
  return index;
}

static void name_categories(PictureGroups *groups) {
  groups->num_groups = NUM_PICTURE_CATEGORIES;
  for (uint32_t i = 0; i < NUM_PICTURE_CATEGORIES; i++) {
    const PictureCategory *category = &picture_categories[i];
    groups->groups[i] = (PictureGroup){.name = {category->name, strlen(category->name)},
                                       .color = category->color,
                                       .is_dark = category->is_dark};
  }
}

static void name_scopes(PictureGroups *groups) {
  groups->num_groups = NUM_SCOPE_GROUPS;
  for (uint32_t i = 0; i < NUM_SCOPE_GROUPS; i++) {
    groups->groups[i] =
        (PictureGroup){.color = group_colors[i].color, .is_dark = group_colors[i].is_dark};
  }
}

PictureGroups picture_groups(const PictureMaps *maps, Arena *out) {
  static const double least_bits = 0.5; /* two groups, one of which has a ninth */
  BestDepth computed = best_depth(maps, false, NUM_COMPUTED_GROUPS - 1, out);
  BestDepth arguments = best_depth(maps, true, NUM_ARGUMENT_GROUPS - 1, out);
  PictureGroups groups = {.by_scope = computed.bits >= least_bits,
                          .depth = computed.depth,
                          .argument_depth = arguments.depth};
  ScopeSums sums[2] = {sum_scopes(maps, false, groups.depth, out),
                       sum_scopes(maps, true, groups.argument_depth, out)};
  if (groups.by_scope) name_scopes(&groups);
  if (!groups.by_scope) name_categories(&groups);
  groups.of = arena_array(out, uint32_t *, maps->list.len);
  for (uint32_t m = 0; m < maps->list.len; m++) {
    const rh_memory_map *map = maps->list.data[m].map;
    groups.of[m] = arena_array(out, uint32_t, map->num_values);
    for (size_t i = 0; i < map->num_values; i++) {
      const rh_placed_value *placed = map->values[i];
      groups.of[m][i] = groups.by_scope ? group_by_scope(&groups, sums, placed, out)
                                        : picture_category(placed->value);
      groups.groups[groups.of[m][i]].is_used = true;
    }
  }
  return groups;
}
