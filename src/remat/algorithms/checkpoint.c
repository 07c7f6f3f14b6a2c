/* Gradient checkpointing (Griewank and Walther, "Revolve"; Chen et al., "Training Deep Nets with
 * Sublinear Memory Cost"; the modes of the library gradient-checkpointing for TensorFlow).
 *
 * The order of a computation is divided at one position: the forward part of a training step comes
 * before it, and the backward part after it (remat/algorithms/forward_end.h). Some values of the
 * forward part are kept. All other values that the backward part reads are recomputed from the kept
 * ones, just before they are read. The algorithms differ in the values that they keep.
 * Recomputations that the budget does not need are undone in the end
 * (remat/algorithms/derematerialize.c).
 *
 * Of the computations that run at the peak, callers are changed first. A loop's body is changed
 * only if it has both parts itself. A computation is visited again after another one has changed.
 * O(n log n) for each visit. */
#include "analysis/memory/remat_memory.h"
#include "remat/job/algorithm.h"
#include "remat/algorithms/checkpoint_choice.h"
#include "remat/legality/collection.h"
#include "remat/rewrite/dce.h"
#include "remat/algorithms/derematerialize.h"
#include "remat/job/state.h"
#include "remat/algorithms/forward_end.h"

typedef enum CheckpointKind {
  /* dots, convolutions, custom calls, collectives, and fusions that contain one */
  CHECKPOINT_HEAVY,
  CHECKPOINT_CUTS,       /* values that cross the cuts between segments */
  CHECKPOINT_COLLECTION, /* values that the user's expressions match */
} CheckpointKind;

typedef struct Checkpoint {
  RematJob *job;
  Module *module;
  CheckpointKind kind;
  bool *is_done;          /* by CompId: is not visited again in this round */
  uint32_t num_changes;   /* number of times that a computation has changed */
  uint32_t *seen_changes; /* by CompId: `num_changes` at the last visit */
  RematStats *stats;
  Arena *arena, *scratch;
} Checkpoint;

/* ---- one computation ---- */

static void mark_checkpoints(const Checkpoint *checkpoint, CheckpointChoice *choice,
                             const bool *is_heavy) {
  const LateClones *clones = &choice->clones;
  const Collection *collection = checkpoint->job->collection;
  for (SchedPos pos = 0; pos <= clones->early_end; pos++) {
    InstId id = clones->sequence.ids[pos];
    CheckpointValue *value = &choice->values[pos];
    if (checkpoint->kind == CHECKPOINT_HEAVY) value->is_checkpoint = is_heavy[id];
    if (checkpoint->kind == CHECKPOINT_COLLECTION && collection) {
      value->is_checkpoint =
          collection_has(collection, checkpoint->module, id, checkpoint->scratch);
    }
  }
}

/* One computation, and what has been found out about it. */
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

/* Makes the choice for one end of the forward part. Returns false if the computation does not have
 * both parts. */
static bool make_choice(const Checkpoint *checkpoint, const Site *site, SchedPos forward_end,
                        CheckpointChoice *choice, Arena *arena) {
  Sequence sequence = checkpoint->job->schedule->of[site->comp];
  bool is_body = site->comp != checkpoint->module->entry;
  uint32_t min_nested = (uint32_t)checkpoint->job->parameters->checkpoint_nested;
  if (forward_end == NO_ID ||
      (is_body && !is_nested_at(checkpoint->module, sequence, site->positions, forward_end,
                                min_nested, checkpoint->scratch))) {
    return false;
  }
  *choice = checkpoint_choice_begin(checkpoint->job, &site->points_to, site->comp, forward_end,
                                    site->bytes_at, arena, checkpoint->scratch);
  mark_checkpoints(checkpoint, choice, site->is_heavy);
  checkpoint_choice_keep_only(choice);
  if (checkpoint->kind != CHECKPOINT_COLLECTION) checkpoint_choice_cut(choice);
  return true;
}

/* Tries all possible ends of the forward part, and applies the choice that needs the least memory.
 * Returns the number of clones. */
static uint32_t rewrite_computation(const Checkpoint *checkpoint, CompId comp, Arena *out) {
  Arena *arena = arena_new(arena_options(checkpoint->scratch));
  Site site = open_site(checkpoint, comp, arena);
  Sequence sequence = checkpoint->job->schedule->of[comp];
  CheckpointChoice best = {.peak_bytes = INT64_MAX}, choice;
  SchedPos ends[NUM_FORWARD_END_RULES];
  for (int rule = 0; rule < NUM_FORWARD_END_RULES; rule++) {
    ends[rule] = find_forward_end(checkpoint->module, sequence, site.positions, site.is_heavy,
                                  (ForwardEndRule)rule, checkpoint->scratch);
    bool is_new = true;
    for (int i = 0; i < rule; i++)
      is_new &= ends[i] != ends[rule];
    if (is_new && make_choice(checkpoint, &site, ends[rule], &choice, arena) &&
        choice.peak_bytes < best.peak_bytes) {
      best = choice;
    }
  }
  uint32_t num_clones = 0;
  if (best.peak_bytes != INT64_MAX) num_clones = checkpoint_choice_apply(&best, out);
  arena_free(arena);
  return num_clones;
}

/* ---- all computations ---- */

/* The outermost computation that runs at the peak and has not been visited; NO_ID if there is none,
 * or if the budget is met. */
static CompId next_computation(const Checkpoint *checkpoint, const CallMemory *memory) {
  const Module *module = checkpoint->module;
  CompId found = NO_ID;
  bool is_over = memory->peak_bytes > checkpoint->job->peak_limit.bytes;
  for (InstId id = is_over ? memory->peak_inst : NO_ID; id != NO_ID;) {
    CompId comp = inst_get(module, id)->parent;
    if (!checkpoint->is_done[comp]) found = comp;
    id = memory->caller[comp];
  }
  return found;
}

/* Rewrites one computation. If that does not lower the peak, changes nothing and returns false.
 * `memory` is that of the current state and is in `*arena`; both are replaced. */
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

/* Visits each computation that comes to the peak once. Only computations of fusions are cloned, so
 * the ids of the computations that run as sequences do not change. */
static void sweep(Checkpoint *checkpoint, Arena *out) {
  Arena *arena = arena_new(arena_options(checkpoint->scratch));
  CallMemory memory = remat_state_memory(checkpoint->job, arena, checkpoint->scratch);
  for (CompId comp; (comp = next_computation(checkpoint, &memory)) != NO_ID;) {
    if (patience_is_stopped(checkpoint->job->patience)) break;
    checkpoint->is_done[comp] = true;
    checkpoint->num_changes += reduce(checkpoint, comp, &memory, &arena, out);
    checkpoint->seen_changes[comp] = checkpoint->num_changes;
  }
  arena_free(arena);
}

/* Sweeps until nothing changes: the memory that one computation holds counts for those that run at
 * the same time, so these are visited again. */
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

static void checkpoint_run(RematJob *job, CheckpointKind kind, RematStats *stats, Arena *out,
                           Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Checkpoint checkpoint = {.job = job,
                           .module = job->rewrite->module,
                           .kind = kind,
                           .stats = stats,
                           .arena = arena,
                           .scratch = scratch};
  checkpoint_all(&checkpoint, out);
  if (stats->num_steps) derematerialize(job, out, scratch);
  stats->xla_reported_after_bytes = -1;
  /* The schedule of a loaded state is in `arena`. */
  *job->schedule = schedule_copy(job->schedule, checkpoint.module, out);
  arena_free(arena);
}

void remat_checkpoint_speed(RematJob *job, RematStats *stats, Arena *out, Arena *scratch) {
  checkpoint_run(job, CHECKPOINT_HEAVY, stats, out, scratch);
}

void remat_checkpoint_memory(RematJob *job, RematStats *stats, Arena *out, Arena *scratch) {
  checkpoint_run(job, CHECKPOINT_CUTS, stats, out, scratch);
}

void remat_checkpoint_collection(RematJob *job, RematStats *stats, Arena *out, Arena *scratch) {
  checkpoint_run(job, CHECKPOINT_COLLECTION, stats, out, scratch);
}
