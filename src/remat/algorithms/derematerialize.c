#include "remat/algorithms/derematerialize.h"

#include <stdlib.h>

#include "analysis/memory/remat_memory.h"
#include "analysis/memory/timeline.h"
#include "remat/rewrite/dce.h"
#include "remat/job/state.h"
#include "analysis/memory/tracker.h"

double recompute_key(const RematJob *job, InstId id) {
  const CostTable *costs = job->costs;
  const Module *module = job->rewrite->module;
  const RematParameters *parameters = job->parameters;
  if (id >= costs->num_insts) id = inst_get(module, id)->origin;
  if (id == NO_ID) return 0;
  Cost cost = costs->of[id];
  const KnownCost *given = costs->known ? costs->known[id] : NULL;
  if (given && given->flops >= 0) cost.flops = given->flops;
  if (given && given->transcendentals >= 0) cost.transcendentals = given->transcendentals;
  if (given && given->bytes >= 0) cost.bytes = given->bytes;
  double flops =
      (double)cost.flops + (double)parameters->cost_transcendental * (double)cost.transcendentals;
  return flops / (double)(cost.bytes + parameters->cost_byte);
}

static bool have_same_origin(const Module *module, InstId a, InstId b) {
  return inst_get(module, a)->origin == inst_get(module, b)->origin;
}

/* Whether two fusions have the same results. A fusion that has lost results (remat/rewrite/dce.h)
 * may have kept other ones than its clone. */
static bool have_same_results(const Module *module, InstId a, InstId b) {
  if (inst_get(module, a)->opcode != OPCODE_FUSION) return true;
  InstId root_a = comp_get(module, inst_callees(module, a)[0])->root;
  InstId root_b = comp_get(module, inst_callees(module, b)[0])->root;
  if (!have_same_origin(module, root_a, root_b)) return false;
  bool are_tuples = inst_get(module, root_a)->opcode == OPCODE_TUPLE;
  for (uint32_t i = 0; are_tuples && i < inst_get(module, root_a)->num_operands; i++) {
    InstId result_a = inst_operand(module, root_a, i), result_b = inst_operand(module, root_b, i);
    if (!have_same_origin(module, result_a, result_b)) return false;
  }
  return true;
}

bool clone_can_be_undone(const Module *module, InstId clone, InstId original) {
  return !(inst_get(module, original)->flags & INST_DEAD) &&
         inst_get(module, original)->shape == inst_get(module, clone)->shape &&
         have_same_results(module, original, clone);
}

typedef struct Undo {
  InstId clone;
  InstId original;
  double key;
} Undo;

typedef struct Undos {
  VEC(Undo) list;
} Undos;

static int by_key_then_clone(const void *pa, const void *pb) {
  const Undo *a = pa, *b = pb;
  if (a->key != b->key) return a->key > b->key ? -1 : 1;
  return (a->clone > b->clone) - (a->clone < b->clone);
}

/* ---- simulating one computation ---- */

typedef struct Simulation {
  SchedPos *positions; /* by InstId */
  ItemList list;
  Tracker tracker;
  Timeline timeline;
  int64_t comp_limit_bytes; /* what the computation may hold, without the bytes of its callers */
  Arena *arena;
} Simulation;

/* The position of the last user of a buffer, `except` not included; of its definer if there is
 * none. */
static SchedPos last_use(const Simulation *sim, TrackedId id, InstId except) {
  const TrackedBuffer *buffer = tracked_buffer(&sim->tracker, id);
  SchedPos last = sim->positions[buffer->definer];
  for (uint32_t i = 0; i < buffer->uses.len; i++) {
    InstId user = buffer->uses.data[i].user;
    if (user != except && sim->positions[user] > last) last = sim->positions[user];
  }
  return last;
}

/* Extends the live range of the original to that of the clone, removes that of the clone, and
 * shortens the live ranges of the clone's operands to their other users. If this exceeds the limit,
 * changes nothing and returns false. */
static bool try_undo(Simulation *sim, const Undo *undo) {
  const RematItem *clone = item_get(&sim->list, undo->clone);
  const RematItem *original = item_get(&sim->list, undo->original);
  if (clone->defined.len != original->defined.len) return false;
  timeline_keep(&sim->timeline);
  for (uint32_t i = 0; i < clone->defined.len; i++) {
    const TrackedBuffer *of_clone = tracked_buffer(&sim->tracker, clone->defined.data[i]);
    const TrackedBuffer *kept = tracked_buffer(&sim->tracker, original->defined.data[i]);
    SchedPos clone_last = last_use(sim, clone->defined.data[i], NO_ID);
    SchedPos kept_last = last_use(sim, original->defined.data[i], NO_ID);
    timeline_try(&sim->timeline, sim->positions[undo->clone], clone_last, -of_clone->bytes);
    if (of_clone->is_live_out) {
      timeline_try(&sim->timeline, sim->positions[undo->original], kept_last, -kept->bytes);
    } else {
      timeline_try(&sim->timeline, kept_last + 1, clone_last, kept->bytes);
    }
  }
  for (uint32_t i = 0; i < clone->used.len; i++) {
    TrackedId id = clone->used.data[i];
    SchedPos last = last_use(sim, id, NO_ID), without = last_use(sim, id, undo->clone);
    timeline_try(&sim->timeline, without + 1, last, -tracked_buffer(&sim->tracker, id)->bytes);
  }
  SchedPos ignored;
  if (timeline_peak(&sim->timeline, &ignored) <= sim->comp_limit_bytes) return true;
  timeline_take_back(&sim->timeline);
  return false;
}

/* Updates the uses of the buffers, after try_undo has updated the timeline. */
static void commit_undo(Simulation *sim, const Undo *undo) {
  RematItem *clone = item_get(&sim->list, undo->clone);
  const RematItem *original = item_get(&sim->list, undo->original);
  for (uint32_t i = 0; i < clone->defined.len; i++) {
    TrackedId old_id = clone->defined.data[i], new_id = original->defined.data[i];
    TrackedBuffer *of_clone = tracked_buffer(&sim->tracker, old_id);
    TrackedBuffer *kept = tracked_buffer(&sim->tracker, new_id);
    for (uint32_t k = 0; k < of_clone->uses.len; k++) {
      BufferUse use = of_clone->uses.data[k];
      *vec_push(sim->arena, &kept->uses) = use;
      IdVec *used = &item_get(&sim->list, use.user)->used;
      for (uint32_t n = 0; n < used->len; n++) {
        if (used->data[n] == old_id) used->data[n] = new_id;
      }
    }
    of_clone->uses.len = 0;
    if (of_clone->is_live_out) {
      kept->is_live_out = true;
      kept->bytes = 0;
    }
    of_clone->bytes = 0;
  }
  for (uint32_t i = 0; i < clone->used.len; i++) {
    BufferUses *uses = &tracked_buffer(&sim->tracker, clone->used.data[i])->uses;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < uses->len; k++) {
      if (uses->data[k].user != undo->clone) uses->data[kept++] = uses->data[k];
    }
    uses->len = kept;
  }
  clone->used.len = 0;
}

/* Appends the clones of one computation that can be undone to `chosen`. */
static void choose_undos(Simulation *sim, Undos *candidates, int64_t max_passes, Patience *patience,
                         Undos *chosen, Arena *out) {
  for (int pass = 0; pass < max_passes; pass++) {
    uint32_t refused = 0;
    for (uint32_t i = 0; i < candidates->list.len; i++) {
      Undo undo = candidates->list.data[i];
      if (patience_is_stopped(patience)) return;
      if (try_undo(sim, &undo)) {
        commit_undo(sim, &undo);
        *vec_push(out, &chosen->list) = undo;
      } else {
        candidates->list.data[refused++] = undo;
      }
    }
    if (refused == candidates->list.len) break;
    candidates->list.len = refused;
  }
}

/* ---- all computations ---- */

typedef struct Deremat {
  RematJob *job;
  Module *module;
  PointsTo points_to;
  RematMemory memory;
  /* by CompId: bytes by which its peak may rise; -1 = no caller has been visited yet */
  int64_t *slack;
  /* shared by the computations, whose instructions are disjoint */
  ItemTable items;
  SchedPos *positions;
  Undos chosen;
  Arena *arena, *scratch;
} Deremat;

static Undos find_undos(Deremat *deremat, CompId comp, Arena *out) {
  const Module *module = deremat->module;
  Sequence sequence = deremat->job->schedule->of[comp];
  Undos undos = {0};
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    InstId clone = sequence.ids[pos];
    InstId original = rewrite_original(deremat->job->rewrite, clone);
    if (original == NO_ID || !clone_can_be_undone(module, clone, original)) continue;
    double key = recompute_key(deremat->job, clone);
    *vec_push(out, &undos.list) = (Undo){clone, original, key};
  }
  if (undos.list.len) {
    qsort(undos.list.data, undos.list.len, sizeof *undos.list.data, by_key_then_clone);
  }
  return undos;
}

/* The memory that is left at a call is the amount by which the called computations may rise. */
static void share_slack(Deremat *deremat, CompId comp, const Simulation *sim) {
  const Module *module = deremat->module;
  Sequence sequence = deremat->job->schedule->of[comp];
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    const Instruction *inst = inst_get(module, sequence.ids[pos]);
    if (inst->num_callees == 0 || !opcode_is_control_flow((Opcode)inst->opcode)) continue;
    int64_t left = sim->comp_limit_bytes - timeline_max(&sim->timeline, pos, pos);
    int64_t share = left > 0 ? left / inst->num_callees : 0;
    for (uint32_t i = 0; i < inst->num_callees; i++) {
      int64_t *slack = &deremat->slack[inst_callees(module, sequence.ids[pos])[i]];
      if (*slack < 0 || share < *slack) *slack = share;
    }
  }
}

static void visit_computation(Deremat *deremat, CompId comp) {
  Arena *arena = arena_new(arena_options(deremat->scratch));
  Sequence sequence = deremat->job->schedule->of[comp];
  Simulation sim = {.arena = arena, .positions = deremat->positions};
  for (SchedPos pos = 0; pos < sequence.len; pos++)
    sim.positions[sequence.ids[pos]] = pos;
  sim.list = item_list_build(&deremat->items, sequence, deremat->module->insts.len);
  sim.tracker =
      tracker_build(deremat->module, &deremat->points_to, &sim.list, comp, arena, deremat->scratch);
  const CompMemory *memory = &deremat->memory.of[comp];
  sim.timeline = timeline_build(memory->bytes_at, sequence.len, arena);
  sim.comp_limit_bytes = memory->peak_bytes + deremat->slack[comp];
  Undos candidates = find_undos(deremat, comp, arena);
  choose_undos(&sim, &candidates, deremat->job->parameters->undo_passes, deremat->job->patience,
               &deremat->chosen, deremat->arena);
  share_slack(deremat, comp, &sim);
  arena_free(arena);
}

/* Applies the first `count` undos to the saved state. */
static void apply(Deremat *deremat, const RematState *saved, uint32_t count, Arena *out) {
  RematJob *job = deremat->job;
  remat_state_load(job, saved);
  for (uint32_t i = 0; i < count; i++) {
    const Undo *undo = &deremat->chosen.list.data[i];
    rewrite_replace_all_uses(job->rewrite, undo->clone, undo->original, deremat->scratch);
  }
  dce_run(job->rewrite, deremat->scratch);
  dce_update_schedule(deremat->module, job->schedule, out);
}

/* Applies as many undos as fit. The simulation does not model everything (loops that share memory,
 * other memory models), so the result is measured; if it is too large, fewer undos are applied. */
static void apply_what_fits(Deremat *deremat, int64_t peak_limit_bytes, Arena *out) {
  RematState saved = remat_state_save(deremat->job, deremat->arena);
  uint32_t fits = 0, too_many = deremat->chosen.list.len + 1, count = deremat->chosen.list.len;
  while (too_many - fits > 1 && !patience_is_stopped(deremat->job->patience)) {
    apply(deremat, &saved, count, deremat->arena);
    if (remat_state_peak(deremat->job, deremat->scratch) <= peak_limit_bytes) {
      fits = count;
    } else {
      too_many = count;
    }
    count = fits + (too_many - fits) / 2;
  }
  apply(deremat, &saved, fits, out);
}

void derematerialize(RematJob *job, Arena *out, Arena *scratch) {
  Module *module = job->rewrite->module;
  if (patience_is_stopped(job->patience)) {
    *job->schedule = schedule_copy(job->schedule, module, out);
    return;
  }
  Arena *arena = arena_new(arena_options(scratch));
  Deremat deremat = {.job = job,
                     .module = module,
                     .items = {.arena = arena},
                     .positions = arena_array(arena, SchedPos, module->insts.len),
                     .arena = arena,
                     .scratch = scratch};
  int64_t peak_bytes = remat_state_peak(job, scratch);
  int64_t peak_limit_bytes = job->peak_limit.bytes;
  if (peak_limit_bytes < peak_bytes) peak_limit_bytes = peak_bytes;
  CallGraph graph = call_graph_build(module, arena, scratch);
  deremat.points_to = points_to_build(module, arena, scratch);
  deremat.memory = remat_memory(module, job->schedule, arena, scratch);
  deremat.slack = arena_array(arena, int64_t, module->comps.len);
  memset(deremat.slack, 0xff, module->comps.len * sizeof *deremat.slack);
  deremat.slack[module->entry] = peak_limit_bytes - peak_bytes;
  for (uint32_t i = graph.num_reachable; i-- > 0;) { /* callers before callees */
    CompId comp = graph.post_order[i];
    if (patience_is_stopped(job->patience)) break;
    if (comp_is_sequential(&graph, comp) && deremat.slack[comp] >= 0) {
      visit_computation(&deremat, comp);
    }
  }
  apply_what_fits(&deremat, peak_limit_bytes, out);
  arena_free(arena);
}
