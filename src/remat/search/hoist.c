#include "remat/search/hoist.h"

#include "ir/placing.h"
#include "ir/sort.h"
#include "remat/search/excess.h"
#include "remat/search/scored.h"

enum { MAX_CONE = 17 };

/* ---- settling ---- */

typedef struct Settler {
  const Line *line;
  const bool *is_late; /* by step */
} Settler;

/* A PlacingNeedsFn: the late steps that a step reads go immediately before it. */
static void need_late_sources(void *context, StepId step, Placing *placing) {
  const Settler *settler = context;
  const Line *line = settler->line;
  for (uint32_t i = line->first_source[step]; i < line->first_source[step + 1]; i++) {
    StepId source = line->sources[i];
    if (settler->is_late[source]) placing_need(placing, source);
  }
}

/* Marks the steps that go to their first readers: those of some kinds, unless they wait for others,
 * or others wait for them: what goes late may be awaited after that. */
static bool *find_late(const Line *line, const Rows *waits, unsigned kinds, Arena *out) {
  bool *is_late = arena_zarray(out, bool, line->len);
  StepId *first_reader = arena_array(out, StepId, line->len);
  StepId *first_waiter = arena_array(out, StepId, line->len);
  for (StepId step = 0; step < line->len; step++)
    first_reader[step] = first_waiter[step] = NO_ID;
  for (StepId step = line->len; step-- > 0;) {
    for (uint32_t i = line->first_source[step]; i < line->first_source[step + 1]; i++)
      first_reader[line->sources[i]] = step;
    for (uint32_t i = waits->first[step]; i < waits->first[step + 1]; i++)
      first_waiter[waits->ids[i]] = step;
  }
  for (StepId step = 0; step < line->len; step++) {
    unsigned flags = line->graph->nodes[line->nodes[step]].flags & kinds;
    bool has_waits = waits->first[step] != waits->first[step + 1];
    if (first_reader[step] == NO_ID || has_waits || !flags) continue;
    is_late[step] = first_waiter[step] == NO_ID ||
                    (flags & NODE_GOES_LATE && first_reader[step] <= first_waiter[step]);
  }
  return is_late;
}

Line line_settled(const Line *line, bool moves_sources, Arena *out, Arena *scratch) {
  const SearchGraph *graph = line->graph;
  Arena *arena = arena_new(arena_options(scratch));
  Rows waits = line_waits(line, arena, scratch);
  unsigned late = NODE_IS_TUPLE | NODE_GOES_LATE | (moves_sources ? NODE_IS_SOURCE : 0);
  Settler settler = {line, find_late(line, &waits, late, arena)};
  Placing placing = placing_new(line->len, need_late_sources, &settler, arena);
  for (StepId step = 0; step < line->len; step++) {
    bool is_given = graph->nodes[line->nodes[step]].flags & NODE_IS_GIVEN;
    if (is_given && waits.first[step] == waits.first[step + 1]) {
      placing.is_placed[step] = true;
      placing.order[placing.len++] = step;
    }
  }
  for (StepId step = 0; step < line->len; step++) {
    if (!settler.is_late[step]) placing_put(&placing, step);
  }
  Line result = line_of_steps(line, placing.order, line->len, out, scratch);
  arena_free(arena);
  return result;
}

/* ---- state of a sweep ---- */

typedef struct Sweep {
  const Line *line;
  const HoistRules *rules;
  double tolerance;  /* bytes by which a move may raise the excess */
  LineMemory memory; /* `last_of` as the order is now, for parts with memory */
  StepId *owner;     /* by part of the line: its step */
  Rows readers;
  Rows waits;
  Rows reads;    /* by step: the parts with memory that it reads, each once */
  bool *is_free; /* by step: does not hold others back, and takes no memory meanwhile */
  /* in the order as it is now */
  StepId *order;      /* by position */
  uint32_t *position; /* by step */
  int64_t *before;    /* by position: bytes live before it */
  int64_t *during;    /* by step: bytes more while it runs */
  Excess excess;      /* of the bytes live while the steps at positions run */
  /* for a move */
  StepId cone_space[MAX_CONE];
  StepId *cone; /* the end of this space, since a cone grows by steps that run before all others */
  uint32_t cone_len;
  uint32_t *in_cone;          /* by step: 1 + place in the space, 0 = not in the cone */
  uint32_t held_by[MAX_CONE]; /* positions of the latest steps that the cone waits for, ascending */
  uint32_t num_held_by;
  /* From a position on, so many bytes more are live than at the one before. */
  VEC(SortItem) changes; /* by position, once they are sorted; ids are places in the other list */
  VEC(int64_t) changed_bytes;
  StepId *moved; /* space for the new order of a part */
  int64_t *moved_before;
  Patience *patience;
  Arena *arena;
} Sweep;

static Rows reads_of_steps(const Sweep *sweep) {
  RowItems reads = {0};
  for (uint32_t part = 0; part < line_num_parts(sweep->line); part++) {
    for (uint32_t i = sweep->readers.first[part]; i < sweep->readers.first[part + 1]; i++)
      *vec_push(sweep->arena, &reads) = (RowItem){sweep->readers.ids[i], part};
  }
  return rows_build(&reads, sweep->line->len, sweep->arena);
}

/* Bytes of a part in this sweep, by its number in the line. */
static int64_t part_bytes(const Sweep *sweep, StepId owner, uint32_t part) {
  return sweep->is_free[owner] ? 0 : line_part_bytes(sweep->line, owner, part);
}

static bool has_waits(const Sweep *sweep, StepId step) {
  return sweep->waits.first[step] != sweep->waits.first[step + 1];
}

/* What is given can go to the very beginning unless it waits for something, which is rare. */
static bool is_at_hand(const Sweep *sweep, StepId step) {
  bool is_given = sweep->line->graph->nodes[sweep->line->nodes[step]].flags & NODE_IS_GIVEN;
  return is_given && !has_waits(sweep, step);
}

/* Whether a step and all that it reads can go to the very beginning. */
static bool can_be_free(const Sweep *sweep, StepId step) {
  const Line *line = sweep->line;
  if (!(line->graph->nodes[line->nodes[step]].flags & NODE_IS_SOURCE) || has_waits(sweep, step))
    return false;
  for (uint32_t i = line->first_source[step]; i < line->first_source[step + 1]; i++) {
    StepId source = line->sources[i];
    if (!sweep->is_free[source] && !is_at_hand(sweep, source)) return false;
  }
  return true;
}

/* Notes again what is live at the positions first … last. */
static void note_bytes(Sweep *sweep, uint32_t first, uint32_t last) {
  for (uint32_t at = first; at <= last; at++)
    sweep->excess.bytes_at[at] = sweep->before[at] + sweep->during[sweep->order[at]];
  excess_note(&sweep->excess, first, last);
}

/* Takes the memory of steps that can be free out of the account. */
static void free_sources(Sweep *sweep) {
  const Line *line = sweep->line;
  int64_t *change = arena_zarray(sweep->arena, int64_t, (size_t)line->len + 2), sum = 0;
  for (StepId step = 0; step < line->len; step++) {
    if (!can_be_free(sweep, step)) continue;
    sweep->is_free[step] = true;
    for (uint32_t part = line->first_part[step]; part < line->first_part[step + 1]; part++) {
      int64_t bytes = line_part_bytes(line, step, part);
      sweep->during[step] -= bytes;
      change[step + 1] -= bytes;
      change[sweep->memory.last_of[part] + 1] += bytes;
    }
  }
  for (StepId step = 0; step < line->len; step++) {
    sum += change[step];
    sweep->before[step] += sum;
  }
}

static Sweep sweep_begin(const Line *line, int64_t limit_bytes, const HoistRules *rules,
                         Patience *patience, Arena *arena, Arena *scratch) {
  Sweep sweep = {.line = line, .rules = rules, .patience = patience, .arena = arena};
  uint32_t len = line->len;
  sweep.memory = line_measure(line, arena);
  sweep.owner = line_owners(line, arena);
  sweep.readers = line_readers(line, &sweep.memory, arena, scratch);
  sweep.waits = line_waits(line, arena, scratch);
  sweep.reads = reads_of_steps(&sweep);
  sweep.is_free = arena_zarray(arena, bool, len);
  sweep.order = arena_array(arena, StepId, len);
  sweep.position = arena_array(arena, uint32_t, len);
  sweep.before = arena_array(arena, int64_t, len);
  sweep.during = arena_array(arena, int64_t, len);
  sweep.in_cone = arena_zarray(arena, uint32_t, len);
  sweep.excess = excess_new(arena_array(arena, int64_t, len), len, limit_bytes, arena);
  sweep.moved = arena_array(arena, StepId, len);
  sweep.moved_before = arena_array(arena, int64_t, len);
  for (StepId step = 0; step < len; step++) {
    sweep.order[step] = sweep.position[step] = step;
    sweep.before[step] = sweep.memory.bytes_before[step];
    sweep.during[step] = sweep.memory.bytes_at[step] - sweep.memory.bytes_before[step];
  }
  if (rules->frees_sources) free_sources(&sweep);
  if (rules->is_tolerant && sweep.memory.peak_bytes > limit_bytes)
    sweep.tolerance = (double)(sweep.memory.peak_bytes - limit_bytes);
  if (len) note_bytes(&sweep, 0, len - 1);
  return sweep;
}

static bool can_move(const Sweep *sweep, StepId step) {
  unsigned flags = sweep->line->graph->nodes[sweep->line->nodes[step]].flags;
  return !(flags & (NODE_IS_FIXED | NODE_IS_GIVEN | NODE_IS_END));
}

/* ---- one move ---- */

/* Notes that the cone must stay after a step. Only so many such steps matter as the cone can still
 * take in. */
static void hold_back(Sweep *sweep, StepId by) {
  if (sweep->is_free[by]) return;
  uint32_t position = sweep->position[by], *list = sweep->held_by, len = sweep->num_held_by;
  uint32_t most = MAX_CONE + 1 - sweep->cone_len;
  if (len == most && position <= list[0]) return;
  uint32_t at = len;
  while (at > 0 && list[at - 1] > position)
    at--;
  if (at > 0 && list[at - 1] == position) return;
  if (len < most) {
    memmove(list + at + 1, list + at, (len - at) * sizeof *list);
    list[at] = position;
    sweep->num_held_by++;
  } else {
    memmove(list, list + 1, (at - 1) * sizeof *list);
    list[at - 1] = position;
  }
}

/* Adds a step that runs before all others of the cone, and what it waits for. */
static void add_to_cone(Sweep *sweep, StepId step) {
  const Line *line = sweep->line;
  *--sweep->cone = step;
  sweep->cone_len++;
  sweep->in_cone[step] = 1 + (uint32_t)(sweep->cone - sweep->cone_space);
  for (uint32_t i = line->first_source[step]; i < line->first_source[step + 1]; i++)
    hold_back(sweep, line->sources[i]);
  for (uint32_t i = sweep->waits.first[step]; i < sweep->waits.first[step + 1]; i++)
    hold_back(sweep, sweep->waits.ids[i]);
}

/* The last reader of a part that is read by the cone last. */
typedef struct LastReads {
  int64_t outside;  /* position of the last one outside of the cone; -1 = none */
  uint32_t in_cone; /* as Sweep.in_cone: the last one in the cone; 0 = none */
} LastReads;

static LastReads last_reads(const Sweep *sweep, uint32_t part) {
  LastReads last = {-1, 0};
  for (uint32_t i = sweep->readers.first[part]; i < sweep->readers.first[part + 1]; i++) {
    StepId reader = sweep->readers.ids[i];
    if (sweep->in_cone[reader]) {
      if (sweep->in_cone[reader] > last.in_cone) last.in_cone = sweep->in_cone[reader];
    } else if (sweep->position[reader] > last.outside) {
      last.outside = sweep->position[reader];
    }
  }
  return last;
}

static bool is_read_by_cone_last(const Sweep *sweep, uint32_t part) {
  return sweep->in_cone[sweep->memory.last_of[part]];
}

/* After a move of the cone. All other steps keep their order, so that the last reader of a part
 * changes only where it is in the cone. */
static void note_last_readers(Sweep *sweep) {
  for (uint32_t k = 0; k < sweep->cone_len; k++) {
    StepId step = sweep->cone[k];
    for (uint32_t i = sweep->reads.first[step]; i < sweep->reads.first[step + 1]; i++) {
      uint32_t part = sweep->reads.ids[i];
      if (!is_read_by_cone_last(sweep, part)) continue;
      StepId last = step;
      for (uint32_t n = sweep->readers.first[part]; n < sweep->readers.first[part + 1]; n++) {
        StepId reader = sweep->readers.ids[n];
        if (sweep->position[reader] > sweep->position[last]) last = reader;
      }
      sweep->memory.last_of[part] = last;
    }
  }
}

static void add_change_at(Sweep *sweep, uint32_t position, int64_t bytes) {
  *vec_push(sweep->arena, &sweep->changes) = (SortItem){position, sweep->changed_bytes.len};
  *vec_push(sweep->arena, &sweep->changed_bytes) = bytes;
}

static int64_t bytes_of_change(const Sweep *sweep, uint32_t index) {
  return sweep->changed_bytes.data[sweep->changes.data[index].id];
}

/* Adds to the bytes before the positions begin … end, both included, cut to the window. */
static void add_change(Sweep *sweep, int64_t begin, int64_t end, int64_t target, int64_t last,
                       int64_t bytes) {
  if (begin < target) begin = target;
  if (end > last) end = last;
  if (begin > end) return;
  add_change_at(sweep, (uint32_t)begin, bytes);
  add_change_at(sweep, (uint32_t)end + 1, -bytes);
}

/* What the cone does to memory where it goes, and to the positions that it leaves behind. */
typedef struct Effect {
  int64_t live_after; /* bytes that it leaves live, less those that it frees */
  double excess;      /* of the cone's steps in their new place */
} Effect;

static Effect place_cone(Sweep *sweep, int64_t target, int64_t last) {
  const Line *line = sweep->line;
  Effect effect = {0};
  int64_t live = sweep->before[target];
  for (uint32_t k = 0; k < sweep->cone_len; k++) {
    StepId step = sweep->cone[k];
    sweep->moved_before[target + k] = live;
    effect.excess += excess_over(&sweep->excess, live + sweep->during[step]);
    for (uint32_t part = line->first_part[step]; part < line->first_part[step + 1]; part++) {
      int64_t bytes = part_bytes(sweep, step, part);
      StepId last_reader = sweep->memory.last_of[part];
      if (bytes == 0 || last_reader == step) continue; /* nobody reads it */
      int64_t end = sweep->position[last_reader];
      int64_t outside = is_read_by_cone_last(sweep, part) ? last_reads(sweep, part).outside : end;
      live += bytes;
      add_change(sweep, target, outside, target, last, bytes);
      add_change(sweep, (int64_t)sweep->position[step] + 1, end, target, last, -bytes);
    }
    for (uint32_t i = sweep->reads.first[step]; i < sweep->reads.first[step + 1]; i++) {
      uint32_t part = sweep->reads.ids[i];
      StepId owner = sweep->owner[part];
      int64_t bytes = part_bytes(sweep, owner, part);
      if (bytes == 0 || !is_read_by_cone_last(sweep, part)) continue;
      LastReads reads = last_reads(sweep, part);
      if (reads.in_cone != sweep->in_cone[step])
        continue; /* a later step of the cone reads it, too */
      if (reads.outside < target) live -= bytes;
      if (sweep->in_cone[owner]) continue;
      int64_t begin = reads.outside < target ? target : reads.outside + 1;
      add_change(sweep, begin, sweep->position[sweep->memory.last_of[part]], target, last, -bytes);
    }
  }
  effect.live_after = live - sweep->before[target];
  return effect;
}

static int64_t bytes_at_step(const Sweep *sweep, StepId step) {
  return sweep->excess.bytes_at[sweep->position[step]];
}

/* What a move of the cone adds to the excess, apart from the cone in its new place. */
static double excess_left_behind(const Sweep *sweep, uint32_t target, uint32_t last) {
  uint32_t begin = target, k = 0;
  int64_t bytes = 0;
  double added = 0;
  for (uint32_t i = 0; i <= sweep->changes.len; i++) {
    bool is_end = i == sweep->changes.len;
    uint32_t end = is_end ? last + 1 : (uint32_t)sweep->changes.data[i].key;
    added += excess_added(&sweep->excess, begin, end, bytes);
    for (; k < sweep->cone_len && sweep->position[sweep->cone[k]] < end; k++)
      added -= excess_over(&sweep->excess, bytes_at_step(sweep, sweep->cone[k]) + bytes);
    begin = end;
    if (!is_end) bytes += bytes_of_change(sweep, i);
  }
  return added;
}

/* Moves the cone. The steps from the target on keep their order. */
static void move(Sweep *sweep, uint32_t target, uint32_t last) {
  uint32_t next = target + sweep->cone_len, i = 0;
  int64_t bytes = 0;
  for (uint32_t at = target; at <= last; at++) {
    for (; i < sweep->changes.len && sweep->changes.data[i].key <= at; i++)
      bytes += bytes_of_change(sweep, i);
    StepId step = sweep->order[at];
    if (sweep->in_cone[step]) continue;
    sweep->moved[next] = step;
    sweep->moved_before[next++] = sweep->before[at] + bytes;
  }
  for (uint32_t k = 0; k < sweep->cone_len; k++)
    sweep->moved[target + k] = sweep->cone[k];
  for (uint32_t at = target; at <= last; at++) {
    sweep->order[at] = sweep->moved[at];
    sweep->before[at] = sweep->moved_before[at];
    sweep->position[sweep->order[at]] = at;
  }
  note_bytes(sweep, target, last);
  note_last_readers(sweep);
}

/* Moves the cone to `target` if that pays. */
static bool try_move(Sweep *sweep, uint32_t target) {
  uint32_t last = sweep->position[sweep->cone[sweep->cone_len - 1]];
  if (!excess_may_exceed(&sweep->excess, target, last)) return false; /* there is nothing to gain */
  patience_spend(sweep->patience, (last - target) / 4 + 1);
  sweep->changes.len = sweep->changed_bytes.len = 0;
  Effect effect = place_cone(sweep, target, last);
  sort_by_key(sweep->changes.data, sweep->changes.len, sweep->arena);
  double added = effect.excess + excess_left_behind(sweep, target, last);
  /* To pass over a rise, a move must at least free memory where it goes. */
  bool is_tolerated = sweep->tolerance > 0 && added <= sweep->tolerance && effect.live_after < 0;
  if (added >= 0 && !is_tolerated) return false;
  move(sweep, target, last);
  return true;
}

/* Moves the cone to the earliest place where it may be, or, if that does not pay, to where the
 * memory rises above the limit before it: what it makes is held for less long there. */
static bool move_cone(Sweep *sweep, uint32_t target, uint32_t first) {
  if (try_move(sweep, target)) return true;
  uint32_t rise = excess_rise_before(&sweep->excess, target, first);
  return rise > target && rise < first && try_move(sweep, rise);
}

static bool visit(Sweep *sweep, StepId step) {
  sweep->cone = sweep->cone_space + MAX_CONE;
  sweep->cone_len = sweep->num_held_by = 0;
  add_to_cone(sweep, step);
  bool has_moved = false;
  uint32_t max_len = sweep->rules->moves_cones ? MAX_CONE : 1;
  for (;;) {
    bool is_held = sweep->num_held_by > 0;
    uint32_t latest = is_held ? sweep->held_by[sweep->num_held_by - 1] : 0;
    uint32_t target = is_held ? latest + 1 : 0, first = sweep->position[sweep->cone[0]];
    has_moved = target < first && move_cone(sweep, target, first);
    if (has_moved || sweep->cone_len == max_len || !is_held) break;
    if (!can_move(sweep, sweep->order[latest])) break;
    sweep->num_held_by--;
    add_to_cone(sweep, sweep->order[latest]);
  }
  for (uint32_t k = 0; k < sweep->cone_len; k++)
    sweep->in_cone[sweep->cone[k]] = 0;
  return has_moved;
}

/* ---- sweeps ---- */

/* Moves all steps that can move. Returns how many have moved. */
static uint32_t move_steps(Sweep *sweep) {
  uint32_t num_moved = 0;
  for (uint32_t at = 0; at < sweep->line->len && !patience_is_over(sweep->patience); at++) {
    StepId step = sweep->order[at];
    if (can_move(sweep, step) && !sweep->is_free[step]) num_moved += visit(sweep, step);
  }
  return num_moved;
}

/* The order that the moves have come to. Some free steps run after their readers now; they go
 * first, until the line is settled. */
static const StepId *order_of_sweep(Sweep *sweep) {
  uint32_t next = 0;
  if (!sweep->rules->frees_sources) return sweep->order;
  for (int is_later = 0; is_later < 2; is_later++) {
    for (uint32_t at = 0; at < sweep->line->len; at++) {
      StepId step = sweep->order[at];
      bool goes_first = sweep->is_free[step] || is_at_hand(sweep, step);
      if (goes_first != is_later) sweep->moved[next++] = step;
    }
  }
  return sweep->moved;
}

Line hoist(const Line *line, int64_t limit_bytes, const HoistRules *rules, Patience *patience,
           Arena *out, Arena *scratch) {
  Arena *kept = arena_new(arena_options(scratch));
  Line best = line_settled(line, rules->frees_sources, kept, scratch), now = best;
  double best_excess = scored_measure(&best, limit_bytes, scratch).excess;
  for (uint32_t i = 0; i < rules->num_sweeps && best_excess > 0; i++) {
    Arena *arena = arena_new(arena_options(scratch));
    Sweep sweep = sweep_begin(&now, limit_bytes, rules, patience, arena, scratch);
    uint32_t num_moved = move_steps(&sweep);
    Line moved = line_of_steps(&now, order_of_sweep(&sweep), now.len, arena, scratch);
    now = line_settled(&moved, rules->frees_sources, kept, scratch);
    arena_free(arena);
    double excess = scored_measure(&now, limit_bytes, scratch).excess;
    bool is_better = excess < best_excess;
    if (is_better) {
      best = now;
      best_excess = excess;
    }
    if (num_moved == 0 || patience_is_over(patience)) break;
    if (!is_better && !rules->is_tolerant) break;
  }
  Line result = line_copy(&best, out);
  arena_free(kept);
  return result;
}
