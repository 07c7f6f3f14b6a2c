#include "remat/search/mend.h"

#include <assert.h>

#include "ir/sort.h"
#include "remat/search/excess.h"
#include "remat/search/runs.h"

enum {
  MAX_DEPTH = 200,
  FIRST_SHARE = 128, /* values of less than such a part of the largest excess are passed over */
  LESS_SHARE = 8,    /* by which it is divided when that leads nowhere */
  LAST_SHARE = 2,
  ROUND_STEPS = 40, /* what a round takes for a step of the line, in visits of other passes */
  VISIT_LOOKS = 32, /* positions that one looks at in the time for a step of a closure */
};
static_assert(LAST_SHARE > 0 && LAST_SHARE <= FIRST_SHARE && LESS_SHARE > 1,
              "shares become less until the last one");
static const double least_gain = 0.1; /* of the excess, in a round that leads anywhere */

/* A value that is not held over a gap between two readers: it is computed again. */
typedef struct Eviction {
  StepId step;
  StepId held_until; /* the last reader before the gap; the step itself if there is none */
  StepId reader;     /* the first one after it */
  StepId place;      /* before which it is computed again */
  int64_t bytes;     /* that are free in the gap */
  double excess;     /* that goes away */
  double rate;       /* seconds for each byte of that; before it is evaluated, at least so many */
} Eviction;

typedef struct Mend {
  const Line *line;
  bool keeps_places;
  int64_t least_bytes;    /* that are worth an eviction */
  const bool *is_refused; /* by node */
  LineMemory memory;      /* of the line; `last_of` as evictions change it */
  StepId *owner;          /* by part of the line: its step */
  StepId *overwriter;     /* by part of the line, if it owns memory, as LineOverwrites.by */
  Rows uses;              /* by step: the places in Line.sources that name it, ascending */
  StepId *reader_of;      /* as Line.sources: the step that reads there */
  StepId *held_by;        /* as Line.sources: until when the reader holds it */
  Excess excess;          /* as evictions change it */
  bool *is_touched;       /* by step: an eviction has changed what is known of it */
  VEC(Eviction) heap;     /* the least rate first */
  VEC(Eviction) chosen;
  Runs runs;
  /* what a recomputation takes: its closure */
  IdVec closure;      /* steps that run again, with the value's own */
  IdVec held;         /* parts that are held longer for them */
  IdVec used;         /* other steps that they read */
  uint32_t *stamp_of; /* by step: of the closure that it was in last */
  uint32_t stamp;
  uint32_t *last_of; /* by step of the closure: the place in it of its last reader */
  double seconds;    /* of the closure */
  uint64_t num_looked;
  Patience *patience;
  Arena *arena;
} Mend;

static const SearchNode *node_of(const Mend *mend, StepId step) {
  return &mend->line->graph->nodes[mend->line->nodes[step]];
}

static void list_uses(Mend *mend) {
  const Line *line = mend->line;
  RowItems uses = {0};
  mend->reader_of = arena_array(mend->arena, StepId, line->first_source[line->len]);
  for (StepId step = 0; step < line->len; step++) {
    for (uint32_t i = line->first_source[step]; i < line->first_source[step + 1]; i++) {
      mend->reader_of[i] = step;
      *vec_push(mend->arena, &uses) = (RowItem){line->sources[i], i};
    }
  }
  mend->uses = rows_build(&uses, line->len, mend->arena);
}

/* Until when readers hold what they read: themselves, or until the last reader of what they
 * forward. */
static void note_holding(Mend *mend) {
  const Line *line = mend->line;
  mend->held_by = arena_array(mend->arena, StepId, line->first_source[line->len]);
  for (StepId step = 0; step < line->len; step++) {
    const SearchNode *node = node_of(mend, step);
    StepId *held_by = &mend->held_by[line->first_source[step]];
    for (uint32_t i = 0; i < node->num_operands; i++)
      held_by[i] = step;
    for (uint32_t i = 0; i < node->num_parts; i++) {
      uint32_t operand = line->graph->parts.data[node->first_part + i].operand;
      StepId last = mend->memory.last_of[line->first_part[step] + i];
      if (operand != NO_ID && last > held_by[operand]) held_by[operand] = last;
    }
  }
}

static Mend mend_begin(const Line *line, int64_t limit_bytes, Arena *arena) {
  uint32_t len = line->len;
  Mend mend = {.line = line,
               .memory = line_measure(line, arena),
               .owner = line_owners(line, arena),
               .is_touched = arena_zarray(arena, bool, len),
               .runs = runs_of_line(line, arena),
               .stamp_of = arena_zarray(arena, uint32_t, len),
               .last_of = arena_array(arena, uint32_t, len),
               .arena = arena};
  mend.overwriter = line_overwrites(line, mend.memory.root_of, arena, arena).by;
  mend.excess = excess_new(mend.memory.bytes_at, len, limit_bytes, arena);
  if (len) excess_note(&mend.excess, 0, len - 1);
  list_uses(&mend);
  note_holding(&mend);
  return mend;
}

/* ---- gaps ---- */

/* Bytes of a step that somebody reads at `place` or after it. */
static int64_t bytes_until(const Mend *mend, StepId step, StepId place) {
  int64_t bytes = 0;
  for (uint32_t part = mend->line->first_part[step]; part < mend->line->first_part[step + 1];
       part++) {
    if (mend->memory.last_of[part] >= place) bytes += line_part_bytes(mend->line, step, part);
  }
  return bytes;
}

static bool is_overwritten(const Mend *mend, StepId step) {
  for (uint32_t part = mend->line->first_part[step]; part < mend->line->first_part[step + 1];
       part++) {
    if (mend->overwriter[part] != NO_ID) return true;
  }
  return false;
}

/* What `bytes` more from step `begin` to the one before `end` add to the excess. */
static double added_excess(Mend *mend, StepId begin, StepId end, int64_t bytes) {
  if (begin >= end) return 0;
  mend->num_looked += ((end - begin) >> EXCESS_BLOCK_BITS) + 1;
  return excess_added(&mend->excess, begin, end, bytes);
}

static bool has_room_for(Mend *mend, StepId begin, StepId end, int64_t bytes) {
  mend->num_looked += ((end - begin) >> EXCESS_BLOCK_BITS) + 1;
  return excess_has_room(&mend->excess, begin, end, bytes);
}

static bool is_before(const Eviction *a, const Eviction *b) {
  if (a->rate != b->rate) return a->rate < b->rate;
  if (a->excess != b->excess) return a->excess > b->excess;
  return a->step != b->step ? a->step < b->step : a->reader < b->reader;
}

static void push(Mend *mend, Eviction eviction) {
  (void)vec_push(mend->arena, &mend->heap);
  Eviction *heap = mend->heap.data;
  uint32_t i = mend->heap.len - 1;
  for (; i > 0 && is_before(&eviction, &heap[(i - 1) / 2]); i = (i - 1) / 2)
    heap[i] = heap[(i - 1) / 2];
  heap[i] = eviction;
}

static Eviction pop(Mend *mend) {
  Eviction *heap = mend->heap.data, top = heap[0], last = heap[--mend->heap.len];
  uint32_t i = 0;
  for (;;) {
    uint32_t child = 2 * i + 1;
    if (child >= mend->heap.len) break;
    if (child + 1 < mend->heap.len && is_before(&heap[child + 1], &heap[child])) child++;
    if (!is_before(&heap[child], &last)) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = last;
  return top;
}

/* Adds the gaps between the readers of a step over which something is in excess. Where there is no
 * reader before the gap, the step moves, which costs nothing by itself. */
static void add_gaps(Mend *mend, StepId step) {
  NodeId node = mend->line->nodes[step];
  if (!(node_of(mend, step)->flags & NODE_CAN_CLONE) || mend->is_refused[node]) return;
  bool may_move = !mend->keeps_places && !is_overwritten(mend, step), is_first = true;
  StepId held_until = step;
  for (uint32_t i = mend->uses.first[step]; i < mend->uses.first[step + 1]; i++) {
    uint32_t use = mend->uses.ids[i];
    StepId reader = mend->reader_of[use];
    if (reader > held_until + 1 && (may_move || !is_first)) {
      int64_t bytes = bytes_until(mend, step, reader);
      double excess =
          bytes > mend->least_bytes ? -added_excess(mend, held_until + 1, reader, -bytes) : 0;
      double rate = is_first ? 0 : node_of(mend, step)->seconds / excess;
      if (excess > 0)
        push(mend, (Eviction){.step = step,
                              .held_until = held_until,
                              .reader = reader,
                              .bytes = bytes,
                              .excess = excess,
                              .rate = rate});
    }
    StepId until = mend->held_by[use];
    if (until > held_until) held_until = until;
    is_first = false;
  }
}

/* ---- what it takes to compute a value again ---- */

static bool is_in_closure(const Mend *mend, StepId step) {
  return mend->stamp_of[step] == mend->stamp;
}

static bool add_to_closure(Mend *mend, StepId step, StepId place, uint32_t depth);

/* Sees to it that what a step of the closure reads by an operand is there at `place`: it is held
 * until then anyway, or can be without any excess, or is computed again, too. */
static bool provide(Mend *mend, StepId step, uint32_t index, StepId place, uint32_t depth) {
  const Line *line = mend->line;
  const NodeOperand *operand = node_operand(line->graph, line->nodes[step], index);
  StepId source = line->sources[line->first_source[step] + index];
  if (is_in_closure(mend, source)) return true;
  bool is_gone = false, has_room = true;
  uint32_t num_held = mend->held.len;
  for (uint32_t i = 0; i < operand->num_parts; i++) {
    uint32_t root = mend->memory.root_of[line_read_part(line, step, index, i)];
    int64_t bytes = line_part_bytes(line, mend->owner[root], root);
    StepId last = mend->memory.last_of[root];
    is_gone |= mend->overwriter[root] < place;
    if (bytes == 0 || last >= place) continue;
    has_room = has_room && has_room_for(mend, last + 1, place, bytes);
    *vec_push(mend->arena, &mend->held) = root;
  }
  if (!is_gone && mend->is_touched[source]) return false;
  if (!is_gone && has_room) {
    *vec_push(mend->arena, &mend->used) = source;
    return true;
  }
  mend->held.len = num_held;
  bool can_clone = line->graph->nodes[line->nodes[source]].flags & NODE_CAN_CLONE;
  return can_clone && add_to_closure(mend, source, place, depth + 1);
}

static bool add_to_closure(Mend *mend, StepId step, StepId place, uint32_t depth) {
  const uint32_t *first = mend->line->first_source;
  mend->num_looked += VISIT_LOOKS;
  int64_t most = mend->line->graph->parameters->mend_closure;
  if (depth > MAX_DEPTH || mend->closure.len >= most || mend->is_touched[step]) return false;
  mend->stamp_of[step] = mend->stamp;
  mend->seconds += node_of(mend, step)->seconds;
  *vec_push(mend->arena, &mend->closure) = step;
  for (uint32_t i = 0; i < first[step + 1] - first[step]; i++) {
    if (!provide(mend, step, i, place, depth)) return false;
  }
  return true;
}

/* Bytes of a step of the closure that go away after step `k` of it, which reads it last; 0 if
 * others read it later. */
static int64_t release(Mend *mend, StepId source, uint32_t k, StepId wanted) {
  if (!is_in_closure(mend, source) || source == wanted || mend->last_of[source] != k) return 0;
  int64_t bytes = 0;
  for (uint32_t part = mend->line->first_part[source]; part < mend->line->first_part[source + 1];
       part++)
    bytes += line_part_bytes(mend->line, source, part);
  mend->last_of[source] = NO_ID;
  return bytes;
}

static void note_last_readers(Mend *mend) {
  const Line *line = mend->line;
  for (uint32_t k = 0; k < mend->closure.len; k++) {
    StepId step = mend->closure.data[k];
    mend->last_of[step] = k;
    for (uint32_t i = line->first_source[step]; i < line->first_source[step + 1]; i++) {
      if (is_in_closure(mend, line->sources[i])) mend->last_of[line->sources[i]] = k;
    }
  }
}

/* The excess while the closure runs before `place`, in the order of its steps. `wanted` stays. */
static double closure_excess(Mend *mend, StepId place, StepId wanted) {
  const Line *line = mend->line;
  const SearchGraph *graph = line->graph;
  sort_numbers(mend->closure.data, mend->closure.len);
  note_last_readers(mend);
  int64_t live = mend->memory.bytes_before[place];
  double excess = 0;
  for (uint32_t k = 0; k < mend->closure.len; k++) {
    StepId step = mend->closure.data[k];
    const SearchNode *node = node_of(mend, step);
    for (uint32_t i = 0; i < node->num_parts; i++) {
      const NodePart *part = &graph->parts.data[node->first_part + i];
      for (uint32_t r = 0; part->bytes > 0 && r < part->num_reuses; r++) {
        uint32_t operand = graph->reuses.data[part->first_reuse + r].operand;
        int64_t taken = release(mend, line->sources[line->first_source[step] + operand], k, wanted);
        live -= taken;
        if (taken) break;
      }
      live += part->bytes;
    }
    excess += excess_over(&mend->excess, live + node->inner_bytes);
    for (uint32_t i = line->first_source[step]; i < line->first_source[step + 1]; i++)
      live -= release(mend, line->sources[i], k, wanted);
  }
  return excess;
}

/* ---- choosing ---- */

/* Where least is live after what is in excess in the gap. */
static StepId find_valley(Mend *mend, const Eviction *eviction) {
  const int64_t *before = mend->memory.bytes_before;
  StepId valley = eviction->reader;
  for (StepId step = eviction->reader; step-- > eviction->held_until + 1;) {
    mend->num_looked++;
    if (excess_over(&mend->excess, mend->excess.bytes_at[step]) > 0) break;
    if (before[step] < before[valley]) valley = step;
  }
  return valley;
}

/* Finds out what an eviction is worth if the value is computed again at `place`. Returns whether it
 * is worth anything. */
static bool evaluate_at(Mend *mend, Eviction *eviction, StepId place) {
  StepId step = eviction->step;
  mend->closure.len = mend->held.len = mend->used.len = 0;
  mend->stamp++;
  mend->seconds = 0;
  eviction->place = place;
  eviction->excess = -added_excess(mend, eviction->held_until + 1, place, -eviction->bytes);
  if (eviction->excess <= 0 || !add_to_closure(mend, step, place, 0)) return false;
  eviction->excess -= closure_excess(mend, place, step);
  if (eviction->excess <= 0) return false;
  bool moves = eviction->held_until == step;
  eviction->rate = (mend->seconds - (moves ? node_of(mend, step)->seconds : 0)) / eviction->excess;
  return true;
}

/* Directly before the reader, much else may be live; then an earlier place may be better. */
static bool evaluate(Mend *mend, Eviction *eviction) {
  if (evaluate_at(mend, eviction, eviction->reader)) return true;
  StepId valley = find_valley(mend, eviction);
  return valley != eviction->reader && evaluate_at(mend, eviction, valley);
}

static void add_bytes(Mend *mend, StepId begin, StepId end, int64_t bytes) {
  if (begin >= end) return;
  for (StepId step = begin; step < end; step++) {
    mend->excess.bytes_at[step] += bytes;
    mend->memory.bytes_before[step] += bytes;
  }
  excess_note(&mend->excess, begin, end - 1);
}

/* Adds the runs of the closure, those that run last first, as the list of a place wants them. */
static void add_runs(Mend *mend, const Eviction *eviction) {
  const Line *line = mend->line;
  RunId *run_of = arena_array(mend->arena, RunId, mend->closure.len);
  for (uint32_t k = mend->closure.len; k-- > 0;) {
    StepId step = mend->closure.data[k];
    run_of[k] = runs_add(&mend->runs, line->nodes[step], eviction->place);
    mend->last_of[step] = run_of[k];
    mend->is_touched[step] = true;
  }
  for (uint32_t k = 0; k < mend->closure.len; k++) {
    StepId step = mend->closure.data[k];
    uint32_t first = line->first_source[step];
    for (uint32_t i = 0; i < line->first_source[step + 1] - first; i++) {
      StepId source = line->sources[first + i];
      runs_sources(&mend->runs, run_of[k])[i] =
          is_in_closure(mend, source) ? mend->last_of[source] : source;
    }
  }
}

/* Gives the readers after the gap the new run. What the closure reads, and what it computes, has
 * other readers now, so that no other eviction may touch it before all is measured again. */
static void carry_out(Mend *mend, const Eviction *eviction) {
  const Line *line = mend->line;
  StepId step = eviction->step;
  add_runs(mend, eviction);
  add_bytes(mend, eviction->held_until + 1, eviction->place, -eviction->bytes);
  for (uint32_t i = 0; i < mend->held.len; i++) {
    uint32_t part = mend->held.data[i];
    StepId last = mend->memory.last_of[part];
    if (last >= eviction->place) continue; /* it was in the list twice */
    add_bytes(mend, last + 1, eviction->place, line_part_bytes(line, mend->owner[part], part));
    mend->memory.last_of[part] = eviction->place;
    mend->is_touched[mend->owner[part]] = true;
  }
  for (uint32_t i = 0; i < mend->used.len; i++) {
    bool is_given = node_of(mend, mend->used.data[i])->flags & NODE_IS_GIVEN;
    if (!is_given) mend->is_touched[mend->used.data[i]] = true;
  }
  for (uint32_t i = mend->uses.first[step]; i < mend->uses.first[step + 1]; i++) {
    uint32_t use = mend->uses.ids[i];
    if (mend->reader_of[use] >= eviction->reader) mend->runs.sources[use] = mend->last_of[step];
  }
  mend->runs.is_dropped[step] = eviction->held_until == step;
  *vec_push(mend->arena, &mend->chosen) = *eviction;
}

/* Chooses at most `most` evictions. */
static void choose(Mend *mend, uint32_t most) {
  for (StepId step = 0; step < mend->line->len; step++)
    add_gaps(mend, step);
  while (mend->heap.len && mend->chosen.len < most) {
    Eviction eviction = pop(mend);
    if (mend->is_touched[eviction.step]) continue;
    bool is_worth = evaluate(mend, &eviction);
    if (!patience_spend(mend->patience, mend->num_looked / 4)) break;
    mend->num_looked = 0;
    if (is_worth && mend->heap.len && is_before(&mend->heap.data[0], &eviction)) {
      push(mend, eviction); /* others may be better */
    } else if (is_worth) {
      carry_out(mend, &eviction);
    }
  }
}

/* ---- rounds ---- */

/* The state between rounds. */
typedef struct Mending {
  Line best;
  double excess;
  int64_t peak_bytes;
  uint32_t most;  /* evictions in a round */
  uint32_t share; /* FIRST_SHARE to LAST_SHARE */
  bool *is_refused;
  Arena *kept;
} Mending;

static void measure(Mending *mending, const Line *line, int64_t limit_bytes) {
  LineMemory memory = line_measure(line, mending->kept);
  mending->best = *line;
  mending->excess = line_excess(line, &memory, limit_bytes);
  mending->peak_bytes = memory.peak_bytes;
}

/* One round. What has been chosen is measured, since evictions can matter to each other in ways
 * that they do not see. Returns whether it led anywhere. */
static bool run_round(Mending *mending, int64_t limit_bytes, bool keeps_places, Patience *patience,
                      Arena *arena) {
  double before = mending->excess;
  Mend mend = mend_begin(&mending->best, limit_bytes, arena);
  mend.keeps_places = keeps_places;
  mend.is_refused = mending->is_refused;
  mend.patience = patience;
  mend.least_bytes = (mending->peak_bytes - limit_bytes) / mending->share;
  choose(&mend, mending->most);
  if (mend.chosen.len == 0) return false;
  StepId *place_of;
  Line line = runs_build(&mend.runs, &place_of, arena);
  LineMemory memory = line_measure(&line, arena);
  if (line_excess(&line, &memory, limit_bytes) < before) {
    line = line_copy(&line, mending->kept);
    measure(mending, &line, limit_bytes);
  } else if (mend.chosen.len == 1) {
    mending->is_refused[mending->best.nodes[mend.chosen.data[0].step]] = true;
  } else {
    mending->most = mend.chosen.len / 2;
  }
  return mending->excess <= (1 - least_gain) * before;
}

static uint32_t less_share(uint32_t share) {
  share /= LESS_SHARE;
  return share > LAST_SHARE ? share : LAST_SHARE;
}

Line line_mended(const Line *line, int64_t limit_bytes, bool keeps_places, Patience *patience,
                 Arena *out, Arena *scratch) {
  Arena *kept = arena_new(arena_options(scratch));
  Mending mending = {.most = UINT32_MAX,
                     .share = FIRST_SHARE,
                     .is_refused = arena_zarray(kept, bool, line->graph->num_nodes),
                     .kept = kept};
  measure(&mending, line, limit_bytes);
  int64_t num_rounds = line->graph->parameters->mend_rounds;
  for (int64_t round = 0; round < num_rounds && mending.excess > 0; round++) {
    Arena *arena = arena_new(arena_options(scratch));
    uint64_t steps = (uint64_t)mending.best.len * ROUND_STEPS;
    bool has_steps = patience_spend(patience, steps);
    bool goes_on = has_steps && run_round(&mending, limit_bytes, keeps_places, patience, arena);
    arena_free(arena);
    if (!has_steps || (!goes_on && mending.share == LAST_SHARE)) break;
    if (!goes_on) mending.share = less_share(mending.share);
  }
  Line result = line_copy(&mending.best, out);
  arena_free(kept);
  return result;
}
