#include "remat/algorithms/checkpoint_plan.h"

#include "analysis/memory/remat_memory.h"
#include "analysis/memory/tracker.h"

/* ---- what there is ---- */

static bool is_alias(const CheckpointPlan *plan, SchedPos pos) {
  return plan->origins[pos] != pos;
}

/* The position of what an operand comes from. */
static SchedPos origin_of(const CheckpointPlan *plan, SchedPos reader, uint32_t index) {
  const LateClones *clones = &plan->clones;
  InstId operand = inst_operand(clones->module, clones->sequence.ids[reader], index);
  return plan->origins[clones->positions[operand]];
}

static uint32_t num_operands_at(const CheckpointPlan *plan, SchedPos pos) {
  const LateClones *clones = &plan->clones;
  return inst_get(clones->module, clones->sequence.ids[pos])->num_operands;
}

static void find_origins(CheckpointPlan *plan) {
  const LateClones *clones = &plan->clones;
  for (SchedPos pos = 0; pos < clones->sequence.len; pos++) {
    bool is_through = inst_is_pass_through(clones->module, clones->sequence.ids[pos]);
    plan->origins[pos] = pos;
    if (is_through) plan->origins[pos] = origin_of(plan, pos, 0);
  }
}

/* Values are read by what computes, not by bitcasts and get-tuple-elements. A tuple or loop in the
 * early part may hand on the memory of what it reads to the late part. */
static void find_readers(CheckpointPlan *plan) {
  const LateClones *clones = &plan->clones;
  for (SchedPos pos = 0; pos < clones->sequence.len; pos++) {
    bool is_early = pos <= clones->turn;
    bool holds = is_early && inst_keeps_operand_memory(clones->module, clones->sequence.ids[pos]);
    if (is_alias(plan, pos)) continue;
    for (uint32_t i = 0; i < num_operands_at(plan, pos); i++) {
      SchedPos origin = origin_of(plan, pos, i);
      if (origin > clones->turn) continue;
      Value *value = &plan->values[origin];
      *(is_early ? &value->last_early : &value->last_late) = pos;
      value->is_fixed |= holds;
    }
  }
}

/* What could be computed again, and what of it is wanted. */
static void find_needed(CheckpointPlan *plan) {
  const LateClones *clones = &plan->clones;
  for (SchedPos pos = clones->turn + 1; pos-- > 0;) {
    Value *value = &plan->values[pos];
    value->is_needed |= value->last_late != NO_ID;
    if (!value->is_needed || value->is_fixed) continue;
    for (uint32_t i = 0; i < num_operands_at(plan, pos); i++) {
      Value *read = &plan->values[origin_of(plan, pos, i)];
      read->is_needed = true;
      if (pos > read->last_rebuilt) read->last_rebuilt = pos;
    }
  }
}

CheckpointPlan checkpoint_plan_begin(RematJob *job, const PointsTo *points_to, CompId comp,
                                     SchedPos turn, const int64_t *bytes_at, Arena *arena,
                                     Arena *scratch) {
  CheckpointPlan plan = {.clones = late_clones_begin(job, comp, turn, arena, scratch),
                         .bytes_at = bytes_at};
  const LateClones *clones = &plan.clones;
  Sequence sequence = clones->sequence;
  plan.origins = arena_array(arena, SchedPos, sequence.len);
  plan.values = arena_zarray(arena, Value, (size_t)turn + 1);
  find_origins(&plan);
  ArenaMark mark = arena_mark(arena);
  RematIntervals intervals =
      remat_intervals(clones->module, points_to, sequence, comp, clones->positions, arena, scratch);
  for (uint32_t i = 0; i < intervals.len; i++) {
    RematInterval interval = intervals.list[i];
    if (interval.begin <= turn) plan.values[interval.begin].bytes += interval.bytes;
  }
  arena_reset(arena, mark);
  for (SchedPos pos = 0; pos <= turn; pos++) {
    Value *value = &plan.values[pos];
    InstId id = clones->sequence.ids[pos];
    value->is_fixed = value->bytes == 0 || clone_verdict(job->legality, id) != KEEP_NONE;
    value->last_early = value->last_rebuilt = pos;
    value->last_late = NO_ID;
    value->is_kept = true;
  }
  find_readers(&plan);
  find_needed(&plan);
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    if (bytes_at[pos] > plan.peak_bytes) plan.peak_bytes = bytes_at[pos];
  }
  late_clones_find_first_uses(&plan.clones);
  return plan;
}

/* ---- what a plan needs ---- */

/* Bytes by position that a plan adds to the schedule as it is. */
typedef struct Model {
  const CheckpointPlan *plan;
  int64_t *change;     /* what is added from this position on */
  int64_t *during;     /* what clones hold while those that go before this position are computed, */
  int64_t *during_top; /* and the most of it */
  SchedPos *place;     /* of clones, NO_ID = there is none */
  SchedPos *end;       /* the last reader of the clone, or of the value if it is kept */
  SchedPos *last;      /* the last value to be computed again from it, at the same place */
} Model;

static void add(const Model *model, SchedPos begin, SchedPos last, int64_t bytes) {
  if (begin > last) return;
  model->change[begin] += bytes;
  model->change[last + 1] -= bytes;
}

static void raise_end(SchedPos *end, SchedPos reader) {
  if (*end == NO_ID || reader > *end) *end = reader;
}

/* Where clones go and how long they and what they read must be there. */
static void place_clones(const Model *model) {
  const CheckpointPlan *plan = model->plan;
  for (SchedPos pos = plan->clones.turn + 1; pos-- > 0;) {
    const Value *value = &plan->values[pos];
    SchedPos first = plan->clones.fates[pos].first_use;
    if (value->last_late != NO_ID) {
      if (first < model->place[pos]) model->place[pos] = first;
      raise_end(&model->end[pos], value->last_late);
    }
    if (value->is_kept || model->place[pos] == NO_ID) continue;
    for (uint32_t i = 0; i < num_operands_at(plan, pos); i++) {
      SchedPos read = origin_of(plan, pos, i), place = model->place[pos];
      if (place < model->place[read]) {
        model->place[read] = place;
        model->last[read] = pos;
      }
      raise_end(&model->end[read], place);
    }
  }
}

/* Clones that go to one place are computed one after the other. */
static void add_clone(const Model *model, SchedPos pos) {
  const CheckpointPlan *plan = model->plan;
  SchedPos place = model->place[pos];
  model->during[place] += plan->values[pos].bytes;
  if (model->during[place] > model->during_top[place])
    model->during_top[place] = model->during[place];
  for (uint32_t i = 0; i < num_operands_at(plan, pos); i++) {
    SchedPos read = origin_of(plan, pos, i);
    bool is_done = !plan->values[read].is_kept && model->last[read] == pos &&
                   model->place[read] == place && model->end[read] == place &&
                   plan->clones.fates[read].first_use != place;
    if (!is_done) continue;
    model->during[place] -= plan->values[read].bytes;
    model->last[read] = NO_ID; /* once, if it is an operand twice */
  }
}

static void add_values(const Model *model) {
  const CheckpointPlan *plan = model->plan;
  for (SchedPos pos = 0; pos <= plan->clones.turn; pos++) {
    const Value *value = &plan->values[pos];
    if (model->end[pos] == NO_ID) continue;
    SchedPos last = value->last_late == NO_ID ? value->last_early : value->last_late;
    if (value->is_kept) {
      add(model, last + 1, model->end[pos], value->bytes);
      continue;
    }
    if (last > value->last_early) add(model, value->last_early + 1, last, -value->bytes);
    add_clone(model, pos);
    if (model->end[pos] > model->place[pos] ||
        plan->clones.fates[pos].first_use == model->place[pos]) {
      add(model, model->place[pos], model->end[pos], value->bytes);
    }
  }
}

/* The peak with what the plan keeps, by the live ranges of values in the model xla-remat. */
static int64_t model_peak(const CheckpointPlan *plan) {
  Arena *arena = plan->clones.scratch;
  ArenaMark mark = arena_mark(arena);
  uint32_t len = plan->clones.sequence.len;
  Model model = {.plan = plan,
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
    int64_t bytes = plan->bytes_at[pos] + added;
    int64_t passing = model.during_top[pos] - model.during[pos];
    if (bytes + passing > peak) peak = bytes + passing;
  }
  arena_reset(arena, mark);
  return peak;
}

void checkpoint_plan_keep_only(CheckpointPlan *plan) {
  for (SchedPos pos = 0; pos <= plan->clones.turn; pos++) {
    Value *value = &plan->values[pos];
    value->is_kept = value->is_fixed || value->is_checkpoint;
  }
  plan->peak_bytes = model_peak(plan);
}

/* ---- segments ---- */

typedef struct Cuts {
  int64_t *crossing; /* by position: bytes kept if it is cut behind it */
  int64_t *saved;    /* by position: bytes that the late part wants of what comes before */
  uint32_t *count;   /* by position: cuts before it */
} Cuts;

static bool can_rebuild(const Value *value) {
  return value->is_needed && !value->is_fixed && !value->is_checkpoint;
}

static void find_crossing(const CheckpointPlan *plan, Cuts *cuts) {
  SchedPos turn = plan->clones.turn;
  for (SchedPos pos = 0; pos <= turn; pos++) {
    const Value *value = &plan->values[pos];
    cuts->saved[pos + 1] = cuts->saved[pos];
    if (!can_rebuild(value)) continue;
    if (value->last_late != NO_ID) cuts->saved[pos + 1] += value->bytes;
    cuts->crossing[pos] += value->bytes;
    cuts->crossing[value->last_rebuilt] -= value->bytes;
  }
  for (SchedPos pos = 1; pos <= turn; pos++)
    cuts->crossing[pos] += cuts->crossing[pos - 1];
}

/* How many bytes a segment has saved. */
typedef struct Spacing {
  int64_t least, most;
} Spacing;

/* Cuts where the segment before has saved enough, there where the fewest bytes cross, the later the
 * better. */
static void choose_cuts(const CheckpointPlan *plan, const Cuts *cuts, Spacing spacing) {
  SchedPos turn = plan->clones.turn, begin = 0, best = NO_ID;
  memset(cuts->count, 0, ((size_t)turn + 2) * sizeof *cuts->count);
  for (SchedPos pos = 0; pos < turn; pos++) {
    int64_t saved = cuts->saved[pos + 1] - cuts->saved[begin];
    if (best != NO_ID && saved > spacing.most) {
      cuts->count[best + 1]++;
      begin = best + 1;
      pos = best; /* the next one is looked at as the first of its segment */
      best = NO_ID;
      continue;
    }
    if (saved > 0 && saved >= spacing.least &&
        (best == NO_ID || cuts->crossing[pos] <= cuts->crossing[best])) {
      best = pos;
    }
  }
  for (SchedPos pos = 1; pos <= turn; pos++)
    cuts->count[pos] += cuts->count[pos - 1];
}

static void keep_crossing(CheckpointPlan *plan, const Cuts *cuts) {
  for (SchedPos pos = 0; pos <= plan->clones.turn; pos++) {
    Value *value = &plan->values[pos];
    bool is_cut = cuts->count[value->last_rebuilt] > cuts->count[pos];
    value->is_kept = !can_rebuild(value) || is_cut;
  }
}

void checkpoint_plan_cut(CheckpointPlan *plan) {
  static const uint8_t numbers[] = {1,  2,  3,  4,  5,  6,  7,  8,  10, 12,
                                    14, 17, 20, 25, 32, 40, 50, 64, 90, 128};
  Arena *arena = plan->clones.scratch;
  ArenaMark mark = arena_mark(arena);
  size_t len = (size_t)plan->clones.turn + 2;
  Cuts cuts = {.crossing = arena_zarray(arena, int64_t, len),
               .saved = arena_zarray(arena, int64_t, len),
               .count = arena_zarray(arena, uint32_t, len)};
  find_crossing(plan, &cuts);
  int64_t all_saved = cuts.saved[plan->clones.turn + 1];
  Spacing best = {all_saved, INT64_MAX}; /* no cut */
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    int64_t most = all_saved / numbers[i];
    for (int slack = 0; slack < plan->clones.job->parameters->checkpoint_slacks; slack++) {
      Spacing spacing = {most / (slack + 2), most};
      choose_cuts(plan, &cuts, spacing);
      keep_crossing(plan, &cuts);
      int64_t peak_bytes = model_peak(plan);
      if (peak_bytes >= plan->peak_bytes) continue;
      plan->peak_bytes = peak_bytes;
      best = spacing;
    }
  }
  choose_cuts(plan, &cuts, best);
  keep_crossing(plan, &cuts);
  arena_reset(arena, mark);
}

/* ---- doing it ---- */

uint32_t checkpoint_plan_apply(CheckpointPlan *plan, Arena *out) {
  LateClones *clones = &plan->clones;
  bool *is_wanted = arena_zarray(clones->arena, bool, (size_t)clones->turn + 1);
  for (SchedPos pos = clones->turn + 1; pos-- > 0;) {
    is_wanted[pos] |= plan->values[pos].last_late != NO_ID;
    if (!is_wanted[pos] || plan->values[pos].is_kept) continue;
    clones->fates[pos].is_cloned = true;
    for (uint32_t i = 0; i < num_operands_at(plan, pos); i++)
      is_wanted[origin_of(plan, pos, i)] = true;
  }
  return late_clones_apply(clones, out);
}
