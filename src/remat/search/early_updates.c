/* Brings forward what only leads to a few results. */
#include <stdlib.h>

#include "ir/placing.h"
#include "remat/search/groups.h"
#include "remat/search/updates.h"

enum {
  LIGHT_BYTES = 1024, /* of a step that one moves along without thinking of memory */
  MAX_RESULTS = 4,    /* that one update leads to: a weight, its averages, and one for a norm */
};

/* ---- the tail ---- */

/* The steps that some of a step's values are results in the end. */
typedef struct Results {
  uint32_t len; /* MAX_RESULTS + 1: more than an update has */
  StepId steps[MAX_RESULTS];
} Results;

static void add_result(Results *results, StepId step) {
  for (uint32_t i = 0; i < results->len && i < MAX_RESULTS; i++) {
    if (results->steps[i] == step) return;
  }
  if (results->len < MAX_RESULTS) results->steps[results->len] = step;
  if (results->len <= MAX_RESULTS) results->len++;
}

static void add_results(Results *results, const Results *more) {
  if (more->len > MAX_RESULTS) results->len = more->len;
  for (uint32_t i = 0; i < more->len && i < MAX_RESULTS; i++)
    add_result(results, more->steps[i]);
}

/* A step is part of the tail if it leads to a few results: all else of a training step leads
 * to as many as there are weights before it. */
static bool *find_tail(const Line *line, Arena *arena) {
  const SearchGraph *graph = line->graph;
  bool *is_tail = arena_zarray(arena, bool, line->len);
  Results *results = arena_zarray(arena, Results, line->len);
  for (StepId step = line->len; step-- > 0;) {
    unsigned flags = graph->nodes[line->nodes[step]].flags;
    bool is_bundle = flags & (NODE_IS_END | NODE_IS_TUPLE);
    bool can_move = !(flags & (NODE_IS_FIXED | NODE_IS_GIVEN | NODE_IS_SOURCE));
    bool is_final = flags & NODE_IS_END || (is_bundle && results[step].len > 0);
    bool are_few = results[step].len > 0 && results[step].len <= MAX_RESULTS;
    is_tail[step] = can_move && !is_bundle && are_few;
    for (uint32_t i = line->first_source[step]; i < line->first_source[step + 1]; i++) {
      StepId source = line->sources[i];
      if (is_final) {
        add_result(&results[source], source);
      } else {
        add_results(&results[source], &results[step]);
      }
    }
  }
  return is_tail;
}

/* ---- places ---- */

/* A place is a number of steps: that many of the line come before, and others that are moved there.
 */
typedef struct Places {
  const Line *line;
  Rows waits;
  bool *is_light;  /* by step */
  bool *is_tail;   /* by step; light steps are in no group */
  bool are_single; /* each step is a group */
  Groups groups;
  uint32_t *earliest; /* by step: the first place where a light step can be; by group, at its root:
                         where all is there that it reads */
  Arena *arena;
} Places;

/* Whether what a step reads, and waits for, leaves it light. */
static bool has_light_sources(const Places *places, StepId step) {
  const Line *line = places->line;
  for (uint32_t i = line->first_source[step]; i < line->first_source[step + 1]; i++) {
    StepId source = line->sources[i];
    if (places->is_tail[source] && !places->is_light[source]) return false;
  }
  for (uint32_t i = places->waits.first[step]; i < places->waits.first[step + 1]; i++) {
    StepId on = places->waits.ids[i];
    if (places->is_tail[on] && !places->is_light[on]) return false;
  }
  return true;
}

/* Finds the steps that are computed from little, take little, and may go anywhere: the scalars that
 * all updates share, such as the corrections of an optimizer for its first steps. They would make
 * one group of all updates. They, and what is cheap to compute from parameters, go where they are
 * first read. */
static void find_light(Places *places) {
  const Line *line = places->line;
  places->is_light = arena_zarray(places->arena, bool, line->len);
  for (StepId step = 0; step < line->len; step++) {
    bool is_source = line->graph->nodes[line->nodes[step]].flags & NODE_IS_SOURCE;
    int64_t bytes = 0;
    for (uint32_t part = line->first_part[step]; part < line->first_part[step + 1]; part++)
      bytes += line_part_bytes(line, step, part);
    bool is_small = is_source || (places->is_tail[step] && bytes <= LIGHT_BYTES);
    places->is_light[step] = is_small && has_light_sources(places, step);
  }
  for (StepId step = 0; step < line->len; step++)
    places->is_tail[step] &= !places->is_light[step];
}

static uint32_t place_after(const Places *places, StepId step) {
  const Line *line = places->line;
  bool is_given = line->graph->nodes[line->nodes[step]].flags & NODE_IS_GIVEN;
  bool has_waits = places->waits.first[step] != places->waits.first[step + 1];
  if (is_given && !has_waits) return 0;
  bool is_moved = places->are_single && places->is_tail[step] && places->earliest[step] > 0;
  bool goes_there = places->is_light[step] || is_moved;
  return goes_there ? places->earliest[step] : step + 1;
}

static StepId group_of(Places *places, StepId step) {
  bool is_single = places->are_single || !places->is_tail[step];
  return is_single ? step : groups_root(&places->groups, step);
}

/* A group, or a step in none, comes after a step, unless that is in the group itself. */
static void come_after(Places *places, StepId root, StepId step) {
  if (group_of(places, step) == root) return;
  uint32_t place = place_after(places, step);
  if (place > places->earliest[root]) places->earliest[root] = place;
}

static void find_places(Places *places) {
  const Line *line = places->line;
  places->earliest = arena_zarray(places->arena, uint32_t, line->len);
  for (StepId step = 0; step < line->len; step++) {
    StepId root = group_of(places, step);
    for (uint32_t i = line->first_source[step]; i < line->first_source[step + 1]; i++)
      come_after(places, root, line->sources[i]);
    for (uint32_t i = places->waits.first[step]; i < places->waits.first[step + 1]; i++)
      come_after(places, root, places->waits.ids[i]);
  }
}

/* ---- the new order ---- */

/* A PlacingNeedsFn: the light steps that a step reads and waits for. */
static void need_light(void *context, StepId step, Placing *placing) {
  const Places *places = context;
  const Line *line = places->line;
  for (uint32_t i = line->first_source[step]; i < line->first_source[step + 1]; i++) {
    if (places->is_light[line->sources[i]]) placing_need(placing, line->sources[i]);
  }
  for (uint32_t i = places->waits.first[step]; i < places->waits.first[step + 1]; i++) {
    if (places->is_light[places->waits.ids[i]]) placing_need(placing, places->waits.ids[i]);
  }
}

/* A step that goes to another place. At one place, the groups come one after the other: the
 * products of one layer's gradient lead to several weights. */
typedef struct Move {
  uint32_t place;
  StepId group, step;
} Move;

typedef struct Moves {
  VEC(Move) list; /* in the new order */
  bool *is_moved; /* by step */
} Moves;

static int by_place(const void *pa, const void *pb) {
  const Move *a = pa, *b = pb;
  if (a->place != b->place) return a->place < b->place ? -1 : 1;
  if (a->group != b->group) return a->group < b->group ? -1 : 1;
  return (a->step > b->step) - (a->step < b->step);
}

static Moves list_moves(Places *places) {
  uint32_t len = places->line->len;
  Moves moves = {.is_moved = arena_zarray(places->arena, bool, len)};
  for (StepId step = 0; step < len; step++) {
    if (!places->is_tail[step]) continue;
    StepId group = group_of(places, step);
    uint32_t place = places->earliest[group];
    moves.is_moved[step] = place > 0 && place <= step;
    if (moves.is_moved[step]) *vec_push(places->arena, &moves.list) = (Move){place, group, step};
  }
  if (moves.list.len) qsort(moves.list.data, moves.list.len, sizeof *moves.list.data, by_place);
  return moves;
}

static Line bring_forward(const Line *line, bool are_single, bool *has_moved, Arena *out,
                          Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Places places = {.line = line,
                   .waits = line_waits(line, arena, scratch),
                   .is_tail = find_tail(line, arena),
                   .are_single = are_single,
                   .arena = arena};
  find_light(&places);
  if (!are_single) places.groups = groups_find(line, places.is_tail, &places.waits, arena);
  find_places(&places);
  Moves moves = list_moves(&places);
  Placing placing = placing_new(line->len, need_light, &places, arena);
  uint32_t next = 0;
  for (StepId step = 0; step < line->len; step++) {
    for (; next < moves.list.len && moves.list.data[next].place == step; next++)
      placing_put(&placing, moves.list.data[next].step);
    if (!moves.is_moved[step]) placing_put(&placing, step);
  }
  *has_moved = false;
  for (StepId step = 0; step < line->len; step++)
    *has_moved |= placing.order[step] != step;
  Line result = line_of_steps(line, placing.order, line->len, out, scratch);
  arena_free(arena);
  return result;
}

Line line_with_early_updates(const Line *line, bool *has_moved, Arena *out, Arena *scratch) {
  return bring_forward(line, false, has_moved, out, scratch);
}

Line line_with_eager_updates(const Line *line, bool *has_moved, Arena *out, Arena *scratch) {
  return bring_forward(line, true, has_moved, out, scratch);
}
