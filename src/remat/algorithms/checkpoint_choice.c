#include "remat/algorithms/checkpoint_choice.h"

#include "analysis/memory/remat_memory.h"
#include "analysis/memory/tracker.h"

/* ---- values and their readers ---- */

static bool is_alias(const CheckpointChoice *choice, SchedPos pos) {
  return choice->origins[pos] != pos;
}

/* The position of the instruction that computes an operand, found through bitcasts and
 * get-tuple-elements. */
static SchedPos origin_of(const CheckpointChoice *choice, SchedPos reader, uint32_t index) {
  const LateClones *clones = &choice->clones;
  InstId operand = inst_operand(clones->module, clones->sequence.ids[reader], index);
  return choice->origins[clones->positions[operand]];
}

static uint32_t num_operands_at(const CheckpointChoice *choice, SchedPos pos) {
  const LateClones *clones = &choice->clones;
  return inst_get(clones->module, clones->sequence.ids[pos])->num_operands;
}

static void find_origins(CheckpointChoice *choice) {
  const LateClones *clones = &choice->clones;
  for (SchedPos pos = 0; pos < clones->sequence.len; pos++) {
    bool is_through = inst_is_pass_through(clones->module, clones->sequence.ids[pos]);
    choice->origins[pos] = pos;
    if (is_through) choice->origins[pos] = origin_of(choice, pos, 0);
  }
}

/* Finds the readers of each value, which are never bitcasts or get-tuple-elements. A tuple or loop
 * in the early part may pass the memory of its operand on to the late part; the operand is then
 * fixed. */
static void find_readers(CheckpointChoice *choice) {
  const LateClones *clones = &choice->clones;
  for (SchedPos pos = 0; pos < clones->sequence.len; pos++) {
    bool is_early = pos <= clones->early_end;
    bool holds = is_early && inst_keeps_operand_memory(clones->module, clones->sequence.ids[pos]);
    if (is_alias(choice, pos)) continue;
    for (uint32_t i = 0; i < num_operands_at(choice, pos); i++) {
      SchedPos origin = origin_of(choice, pos, i);
      if (origin > clones->early_end) continue;
      CheckpointValue *value = &choice->values[origin];
      *(is_early ? &value->last_early : &value->last_late) = pos;
      value->is_fixed |= holds;
    }
  }
}

/* Finds the values that are needed if everything that can be recomputed is recomputed. */
static void find_needed(CheckpointChoice *choice) {
  const LateClones *clones = &choice->clones;
  for (SchedPos pos = clones->early_end + 1; pos-- > 0;) {
    CheckpointValue *value = &choice->values[pos];
    value->is_needed |= value->last_late != NO_ID;
    if (!value->is_needed || value->is_fixed) continue;
    for (uint32_t i = 0; i < num_operands_at(choice, pos); i++) {
      CheckpointValue *read = &choice->values[origin_of(choice, pos, i)];
      read->is_needed = true;
      if (pos > read->last_rebuilt) read->last_rebuilt = pos;
    }
  }
}

CheckpointChoice checkpoint_choice_begin(RematJob *job, const PointsTo *points_to, CompId comp,
                                         SchedPos early_end, const int64_t *bytes_at, Arena *arena,
                                         Arena *scratch) {
  CheckpointChoice choice = {.clones = late_clones_begin(job, comp, early_end, arena, scratch),
                             .bytes_at = bytes_at};
  const LateClones *clones = &choice.clones;
  Sequence sequence = clones->sequence;
  choice.origins = arena_array(arena, SchedPos, sequence.len);
  choice.values = arena_zarray(arena, CheckpointValue, (size_t)early_end + 1);
  find_origins(&choice);
  ArenaMark mark = arena_mark(arena);
  RematIntervals intervals =
      remat_intervals(clones->module, points_to, sequence, comp, clones->positions, arena, scratch);
  for (uint32_t i = 0; i < intervals.len; i++) {
    RematInterval interval = intervals.list[i];
    if (interval.begin <= early_end) choice.values[interval.begin].bytes += interval.bytes;
  }
  arena_reset(arena, mark);
  for (SchedPos pos = 0; pos <= early_end; pos++) {
    CheckpointValue *value = &choice.values[pos];
    InstId id = clones->sequence.ids[pos];
    value->is_fixed = value->bytes == 0 || clone_verdict(job->legality, id) != KEEP_NONE;
    value->last_early = value->last_rebuilt = pos;
    value->last_late = NO_ID;
    value->is_kept = true;
  }
  find_readers(&choice);
  find_needed(&choice);
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    if (bytes_at[pos] > choice.peak_bytes) choice.peak_bytes = bytes_at[pos];
  }
  late_clones_find_first_uses(&choice.clones);
  return choice;
}

/* ---- the memory that a choice needs ---- */

/* The bytes that a choice adds to the unchanged schedule, by position. */
typedef struct Model {
  const CheckpointChoice *choice;
  int64_t *change; /* bytes added from this position on */
  /* bytes that clones placed before this position hold while they are computed */
  int64_t *during;
  int64_t *during_top; /* the maximum of `during` */
  SchedPos *place;     /* of clones; NO_ID = there is no clone */
  SchedPos *end;       /* the last reader of the clone, or of the value if it is kept */
  SchedPos *last;      /* the last value at the same place that is recomputed from this one */
} Model;

static void add(const Model *model, SchedPos begin, SchedPos last, int64_t bytes) {
  if (begin > last) return;
  model->change[begin] += bytes;
  model->change[last + 1] -= bytes;
}

static void raise_end(SchedPos *end, SchedPos reader) {
  if (*end == NO_ID || reader > *end) *end = reader;
}

/* Finds the places of clones, and how long clones and their operands must be live. */
static void place_clones(const Model *model) {
  const CheckpointChoice *choice = model->choice;
  for (SchedPos pos = choice->clones.early_end + 1; pos-- > 0;) {
    const CheckpointValue *value = &choice->values[pos];
    SchedPos first = choice->clones.early_values[pos].first_use;
    if (value->last_late != NO_ID) {
      if (first < model->place[pos]) model->place[pos] = first;
      raise_end(&model->end[pos], value->last_late);
    }
    if (value->is_kept || model->place[pos] == NO_ID) continue;
    for (uint32_t i = 0; i < num_operands_at(choice, pos); i++) {
      SchedPos read = origin_of(choice, pos, i), place = model->place[pos];
      if (place < model->place[read]) {
        model->place[read] = place;
        model->last[read] = pos;
      }
      raise_end(&model->end[read], place);
    }
  }
}

/* Adds a clone. Clones at the same place are computed one after the other. */
static void add_clone(const Model *model, SchedPos pos) {
  const CheckpointChoice *choice = model->choice;
  SchedPos place = model->place[pos];
  model->during[place] += choice->values[pos].bytes;
  if (model->during[place] > model->during_top[place])
    model->during_top[place] = model->during[place];
  for (uint32_t i = 0; i < num_operands_at(choice, pos); i++) {
    SchedPos read = origin_of(choice, pos, i);
    bool is_done = !choice->values[read].is_kept && model->last[read] == pos &&
                   model->place[read] == place && model->end[read] == place &&
                   choice->clones.early_values[read].first_use != place;
    if (!is_done) continue;
    model->during[place] -= choice->values[read].bytes;
    model->last[read] = NO_ID; /* only once, even if it is an operand twice */
  }
}

static void add_values(const Model *model) {
  const CheckpointChoice *choice = model->choice;
  for (SchedPos pos = 0; pos <= choice->clones.early_end; pos++) {
    const CheckpointValue *value = &choice->values[pos];
    if (model->end[pos] == NO_ID) continue;
    SchedPos last = value->last_late == NO_ID ? value->last_early : value->last_late;
    if (value->is_kept) {
      add(model, last + 1, model->end[pos], value->bytes);
      continue;
    }
    if (last > value->last_early) add(model, value->last_early + 1, last, -value->bytes);
    add_clone(model, pos);
    if (model->end[pos] > model->place[pos] ||
        choice->clones.early_values[pos].first_use == model->place[pos]) {
      add(model, model->place[pos], model->end[pos], value->bytes);
    }
  }
}

/* The peak with the values that the choice keeps, by the live ranges of the model xla-remat. */
static int64_t model_peak(const CheckpointChoice *choice) {
  Arena *arena = choice->clones.scratch;
  ArenaMark mark = arena_mark(arena);
  uint32_t len = choice->clones.sequence.len;
  Model model = {.choice = choice,
                 .change = arena_zarray(arena, int64_t, (size_t)len + 1),
                 .during = arena_zarray(arena, int64_t, len),
                 .during_top = arena_zarray(arena, int64_t, len),
                 .place = arena_array(arena, SchedPos, len),
                 .end = arena_array(arena, SchedPos, len),
                 .last = arena_array(arena, SchedPos, len)};
  memset(model.place, 0xff, len * sizeof *model.place);
  memset(model.end, 0xff, len * sizeof *model.end);
  memset(model.last, 0xff, len * sizeof *model.last);
  place_clones(&model);
  add_values(&model);
  int64_t added = 0, peak = 0;
  for (SchedPos pos = 0; pos < len; pos++) {
    added += model.change[pos];
    int64_t bytes = choice->bytes_at[pos] + added;
    int64_t passing = model.during_top[pos] - model.during[pos];
    if (bytes + passing > peak) peak = bytes + passing;
  }
  arena_reset(arena, mark);
  return peak;
}

void checkpoint_choice_keep_only(CheckpointChoice *choice) {
  for (SchedPos pos = 0; pos <= choice->clones.early_end; pos++) {
    CheckpointValue *value = &choice->values[pos];
    value->is_kept = value->is_fixed || value->is_checkpoint;
  }
  choice->peak_bytes = model_peak(choice);
}

/* ---- segments ---- */

typedef struct Cuts {
  int64_t *crossing; /* by position: bytes that are kept if a cut is placed after this position */
  int64_t *saved;    /* by position: bytes of earlier values that the late part reads */
  uint32_t *count;   /* by position: number of cuts before it */
} Cuts;

static bool can_rebuild(const CheckpointValue *value) {
  return value->is_needed && !value->is_fixed && !value->is_checkpoint;
}

static void find_crossing(const CheckpointChoice *choice, Cuts *cuts) {
  SchedPos early_end = choice->clones.early_end;
  for (SchedPos pos = 0; pos <= early_end; pos++) {
    const CheckpointValue *value = &choice->values[pos];
    cuts->saved[pos + 1] = cuts->saved[pos];
    if (!can_rebuild(value)) continue;
    if (value->last_late != NO_ID) cuts->saved[pos + 1] += value->bytes;
    cuts->crossing[pos] += value->bytes;
    cuts->crossing[value->last_rebuilt] -= value->bytes;
  }
  for (SchedPos pos = 1; pos <= early_end; pos++)
    cuts->crossing[pos] += cuts->crossing[pos - 1];
}

/* The bytes that a segment saves. */
typedef struct Spacing {
  int64_t least, most;
} Spacing;

/* Places a cut when the segment has saved enough bytes, where the fewest bytes cross it. Of equal
 * positions, the latest one is taken. */
static void choose_cuts(const CheckpointChoice *choice, const Cuts *cuts, Spacing spacing) {
  SchedPos early_end = choice->clones.early_end, begin = 0, best = NO_ID;
  memset(cuts->count, 0, ((size_t)early_end + 2) * sizeof *cuts->count);
  for (SchedPos pos = 0; pos < early_end; pos++) {
    int64_t saved = cuts->saved[pos + 1] - cuts->saved[begin];
    if (best != NO_ID && saved > spacing.most) {
      cuts->count[best + 1]++;
      begin = best + 1;
      pos = best; /* visits the next position again, as the first one of its segment */
      best = NO_ID;
      continue;
    }
    if (saved > 0 && saved >= spacing.least &&
        (best == NO_ID || cuts->crossing[pos] <= cuts->crossing[best])) {
      best = pos;
    }
  }
  for (SchedPos pos = 1; pos <= early_end; pos++)
    cuts->count[pos] += cuts->count[pos - 1];
}

static void keep_crossing(CheckpointChoice *choice, const Cuts *cuts) {
  for (SchedPos pos = 0; pos <= choice->clones.early_end; pos++) {
    CheckpointValue *value = &choice->values[pos];
    bool is_cut = cuts->count[value->last_rebuilt] > cuts->count[pos];
    value->is_kept = !can_rebuild(value) || is_cut;
  }
}

void checkpoint_choice_cut(CheckpointChoice *choice) {
  static const uint8_t numbers[] = {1,  2,  3,  4,  5,  6,  7,  8,  10, 12,
                                    14, 17, 20, 25, 32, 40, 50, 64, 90, 128};
  Arena *arena = choice->clones.scratch;
  ArenaMark mark = arena_mark(arena);
  size_t len = (size_t)choice->clones.early_end + 2;
  Cuts cuts = {.crossing = arena_zarray(arena, int64_t, len),
               .saved = arena_zarray(arena, int64_t, len),
               .count = arena_zarray(arena, uint32_t, len)};
  find_crossing(choice, &cuts);
  int64_t all_saved = cuts.saved[choice->clones.early_end + 1];
  Spacing best = {all_saved, INT64_MAX}; /* no cut */
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    int64_t most = all_saved / numbers[i];
    for (int slack = 0; slack < choice->clones.job->parameters->checkpoint_slacks; slack++) {
      Spacing spacing = {most / (slack + 2), most};
      choose_cuts(choice, &cuts, spacing);
      keep_crossing(choice, &cuts);
      int64_t peak_bytes = model_peak(choice);
      if (peak_bytes >= choice->peak_bytes) continue;
      choice->peak_bytes = peak_bytes;
      best = spacing;
    }
  }
  choose_cuts(choice, &cuts, best);
  keep_crossing(choice, &cuts);
  arena_reset(arena, mark);
}

/* ---- applying a choice ---- */

uint32_t checkpoint_choice_apply(CheckpointChoice *choice, Arena *out) {
  LateClones *clones = &choice->clones;
  bool *is_wanted = arena_zarray(clones->arena, bool, (size_t)clones->early_end + 1);
  for (SchedPos pos = clones->early_end + 1; pos-- > 0;) {
    is_wanted[pos] |= choice->values[pos].last_late != NO_ID;
    if (!is_wanted[pos] || choice->values[pos].is_kept) continue;
    clones->early_values[pos].is_cloned = true;
    for (uint32_t i = 0; i < num_operands_at(choice, pos); i++)
      is_wanted[origin_of(choice, pos, i)] = true;
  }
  return late_clones_apply(clones, out);
}
