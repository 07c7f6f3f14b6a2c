/* Gradient checkpointing (Griewank and Walther, "Revolve"; Chen et al., "Training Deep Nets with
 * Sublinear Memory Cost"; the modes of the library gradient-checkpointing for TensorFlow).
 *
 * The order of a computation has a turn, before which it is the forward part of a training step and
 * behind which the backward part (remat/algorithms/turn.h). Some values of the forward part are
 * kept; whatever else the backward part reads is computed again just before, from what is kept. The
 * algorithms differ in what they keep. What turns out needless for the budget is undone
 * (remat/algorithms/derematerialize.c).
 *
 * The computation at the peak is changed, its callers first; a loop's body only where it has both
 * parts itself; each of them again when another one has changed. O(n log n) for each of these. */
#include "analysis/memory/remat_memory.h"
#include "remat/job/algorithm.h"
#include "remat/algorithms/checkpoint_plan.h"
#include "remat/legality/collection.h"
#include "remat/rewrite/dce.h"
#include "remat/algorithms/derematerialize.h"
#include "remat/job/state.h"
#include "remat/algorithms/turn.h"

typedef enum Keep {
  KEEP_HEAVY,      /* dots, convolutions, custom calls, collectives, fusions with one */
  KEEP_CUTS,       /* what crosses the cuts between segments */
  KEEP_COLLECTION, /* what expressions match */
} Keep;

typedef struct Checkpoint {
  RematJob *job;
  Module *module;
  Keep keep;
  bool *is_done;          /* by CompId: is not looked at any more in this round */
  uint32_t num_changes;   /* of computations */
  uint32_t *seen_changes; /* by CompId: how many there were when it was looked at */
  RematStats *stats;
  Arena *arena, *scratch;
} Checkpoint;

/* ---- one computation ---- */

static void mark_checkpoints(const Checkpoint *checkpoint, CheckpointPlan *plan,
                             const bool *is_heavy) {
  const LateClones *clones = &plan->clones;
  const Collection *collection = checkpoint->job->collection;
  for (SchedPos pos = 0; pos <= clones->turn; pos++) {
    InstId id = clones->sequence.ids[pos];
    Value *value = &plan->values[pos];
    if (checkpoint->keep == KEEP_HEAVY) value->is_checkpoint = is_heavy[id];
    if (checkpoint->keep == KEEP_COLLECTION && collection) {
      value->is_checkpoint =
          collection_has(collection, checkpoint->module, id, checkpoint->scratch);
    }
  }
}

/* What is found of a computation and its place in the module. */
typedef struct Site {
  CompId comp;
  PointsTo points_to;
  const int64_t *bytes_at; /* by position */
  SchedPos *positions;     /* by InstId, of the sequence's instructions */
  bool *is_heavy;          /* by InstId */
} Site;

static Site open_site(const Checkpoint *checkpoint, CompId comp, Arena *arena) {
  const Module *module = checkpoint->module;
  const Schedule *schedule = checkpoint->job->schedule;
  Site site = {.comp = comp,
               .points_to = points_to_build(module, arena, checkpoint->scratch),
               .positions = arena_array(arena, SchedPos, module->insts.len),
               .is_heavy = find_heavy(module, arena, checkpoint->scratch)};
  site.bytes_at = remat_memory(module, schedule, arena, checkpoint->scratch).of[comp].bytes_at;
  for (SchedPos pos = 0; pos < schedule->of[comp].len; pos++)
    site.positions[schedule->of[comp].ids[pos]] = pos;
  return site;
}

/* The plan for one turn; its peak is not set when there is none. */
static bool make_plan(const Checkpoint *checkpoint, const Site *site, SchedPos turn,
                      CheckpointPlan *plan, Arena *arena) {
  Sequence sequence = checkpoint->job->schedule->of[site->comp];
  bool is_body = site->comp != checkpoint->module->entry;
  uint32_t min_nested = (uint32_t)checkpoint->job->parameters->checkpoint_nested;
  if (turn == NO_ID || (is_body && !is_nested_at(checkpoint->module, sequence, site->positions,
                                                 turn, min_nested, checkpoint->scratch))) {
    return false;
  }
  *plan = checkpoint_plan_begin(checkpoint->job, &site->points_to, site->comp, turn, site->bytes_at,
                                arena, checkpoint->scratch);
  mark_checkpoints(checkpoint, plan, site->is_heavy);
  checkpoint_plan_keep_only(plan);
  if (checkpoint->keep != KEEP_COLLECTION) checkpoint_plan_cut(plan);
  return true;
}

/* Of the turns that there may be the one whose plan needs the least. Returns the number of clones.
 */
static uint32_t rewrite_computation(const Checkpoint *checkpoint, CompId comp, Arena *out) {
  Arena *arena = arena_new(arena_options(checkpoint->scratch));
  Site site = open_site(checkpoint, comp, arena);
  Sequence sequence = checkpoint->job->schedule->of[comp];
  CheckpointPlan best = {.peak_bytes = INT64_MAX}, plan;
  SchedPos turns[NUM_TURN_RULES];
  for (int rule = 0; rule < NUM_TURN_RULES; rule++) {
    turns[rule] = find_turn(checkpoint->module, sequence, site.positions, site.is_heavy,
                            (TurnRule)rule, checkpoint->scratch);
    bool is_new = true;
    for (int i = 0; i < rule; i++)
      is_new &= turns[i] != turns[rule];
    if (is_new && make_plan(checkpoint, &site, turns[rule], &plan, arena) &&
        plan.peak_bytes < best.peak_bytes) {
      best = plan;
    }
  }
  uint32_t num_clones = 0;
  if (best.peak_bytes != INT64_MAX) num_clones = checkpoint_plan_apply(&best, out);
  arena_free(arena);
  return num_clones;
}

/* ---- all of them ---- */

/* The outermost computation that runs at the peak and has not been looked at; NO_ID = none, or the
 * budget is met. */
static CompId next_computation(const Checkpoint *checkpoint, const CallMemory *memory) {
  const Module *module = checkpoint->module;
  CompId found = NO_ID;
  bool is_over = memory->peak_bytes > checkpoint->job->peak_limit_bytes;
  for (InstId id = is_over ? memory->peak_inst : NO_ID; id != NO_ID;) {
    CompId comp = inst_get(module, id)->parent;
    if (!checkpoint->is_done[comp]) found = comp;
    id = memory->caller[comp];
  }
  return found;
}

/* False, and nothing has changed, when that does not lower the peak. `memory`, of the state, is in
 * `*arena`; both are replaced. */
static bool reduce(Checkpoint *checkpoint, CompId comp, CallMemory *memory, Arena **arena,
                   Arena *out) {
  RematJob *job = checkpoint->job;
  RematState saved = remat_state_save(job, checkpoint->arena);
  uint32_t num_clones = rewrite_computation(checkpoint, comp, out);
  if (num_clones == 0) return false;
  dce_run(job->rewrite, checkpoint->scratch);
  dce_update_schedule(checkpoint->module, job->schedule, out);
  Arena *arena_then = arena_new(arena_options(checkpoint->scratch));
  CallMemory then = remat_state_memory(job, arena_then, checkpoint->scratch);
  if (then.peak_bytes >= memory->peak_bytes) {
    arena_free(arena_then);
    remat_state_load(job, &saved);
    return false;
  }
  arena_free(*arena);
  *arena = arena_then;
  *memory = then;
  checkpoint->stats->num_steps += num_clones;
  return true;
}

/* Each computation that comes to the peak once. Computations are cloned with fusions only, so that
 * the ids of those that run stay. */
static void sweep(Checkpoint *checkpoint, Arena *out) {
  Arena *arena = arena_new(arena_options(checkpoint->scratch));
  CallMemory memory = remat_state_memory(checkpoint->job, arena, checkpoint->scratch);
  for (CompId comp; (comp = next_computation(checkpoint, &memory)) != NO_ID;) {
    checkpoint->is_done[comp] = true;
    checkpoint->num_changes += reduce(checkpoint, comp, &memory, &arena, out);
    checkpoint->seen_changes[comp] = checkpoint->num_changes;
  }
  arena_free(arena);
}

/* What one computation holds counts for those that run with it, so these are looked at again. */
static void checkpoint_all(Checkpoint *checkpoint, Arena *out) {
  uint32_t num_comps = checkpoint->module->comps.len;
  checkpoint->is_done = arena_zarray(checkpoint->arena, bool, num_comps);
  checkpoint->seen_changes = arena_zarray(checkpoint->arena, uint32_t, num_comps);
  for (int round = 0; round < checkpoint->job->parameters->checkpoint_rounds; round++) {
    uint32_t num_changes = checkpoint->num_changes;
    sweep(checkpoint, out);
    if (checkpoint->num_changes == num_changes) break;
    for (CompId comp = 0; comp < num_comps; comp++)
      checkpoint->is_done[comp] = checkpoint->seen_changes[comp] == checkpoint->num_changes;
  }
}

static void checkpoint_run(RematJob *job, Keep keep, RematStats *stats, Arena *out,
                           Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Checkpoint checkpoint = {.job = job,
                           .module = job->rewrite->module,
                           .keep = keep,
                           .stats = stats,
                           .arena = arena,
                           .scratch = scratch};
  checkpoint_all(&checkpoint, out);
  if (stats->num_steps) derematerialize(job, out, scratch);
  stats->xla_reported_after_bytes = -1;
  *job->schedule =
      schedule_copy(job->schedule, checkpoint.module, out); /* a state's is in `arena` */
  arena_free(arena);
}

void remat_checkpoint_speed(RematJob *job, RematStats *stats, Arena *out, Arena *scratch) {
  checkpoint_run(job, KEEP_HEAVY, stats, out, scratch);
}

void remat_checkpoint_memory(RematJob *job, RematStats *stats, Arena *out, Arena *scratch) {
  checkpoint_run(job, KEEP_CUTS, stats, out, scratch);
}

void remat_checkpoint_collection(RematJob *job, RematStats *stats, Arena *out, Arena *scratch) {
  checkpoint_run(job, KEEP_COLLECTION, stats, out, scratch);
}
