/* Microsoft's path recomputation (tensorflow-rematerialization, remat.patch), as it was intended.
 *
 * Values that are computed before the peak and read after it need not be held at the peak. Such a
 * value is recomputed just before it is read, together with the path that leads to it from the
 * articulation points of the part before the peak. If no round lowers the peak any more,
 * articulation points may be recomputed, too. In the end, unnecessary recomputations are undone
 * (remat/algorithms/derematerialize.c).
 *
 * Example: a and d are points of `b = f(a); c = g(b); d = h(c)`. If c is read again after the peak,
 * it is recomputed there as `b.remat = f(a); c.remat = g(b.remat)`.
 *
 * Differences from the original:
 *   - Articulation points are true ones; in the original, nearly every instruction is one.
 *   - A value is cloned once per round, however many paths lead to it; in the original it is cloned
 *     once per path, which is 2^depth times on diamonds.
 *   - The values that are cheapest to recompute are taken first, and no more than the budget
 *     requires.
 *   - A round or an undo that does not pay is reverted.
 *   - Nothing is rescheduled.
 *   - All computations that run at the peak are changed, callers first, or callees first if that
 *     gives a better result.
 *
 * A round is O(instructions + edges); the number of rounds is bounded. */
#include <stdlib.h>

#include "analysis/flow/points_to.h"
#include "analysis/memory/timeline.h"
#include "remat/job/algorithm.h"
#include "remat/algorithms/articulation.h"
#include "remat/rewrite/dce.h"
#include "remat/algorithms/derematerialize.h"
#include "remat/algorithms/late_clones.h"
#include "remat/job/state.h"
#include "analysis/memory/tracker.h"

/* Which values a round may recompute. */
typedef enum Phase {
  PHASE_BETWEEN_POINTS,
  PHASE_POINTS_TOO,
  NUM_PHASES,
} Phase;

/* Which of the computations that run at the peak is changed first. */
typedef enum CallOrder {
  CALLERS_FIRST, /* a caller recomputes a value once, and not in every iteration of a loop */
  CALLEES_FIRST,
} CallOrder;

typedef struct Path {
  RematJob *job;
  Module *module;
  RematStats *stats;
  VEC(InstId) refused; /* candidates of rounds that did not pay */
  VEC(InstId) taken;   /* candidates that this round has taken */
  CallOrder order;
  bool has_calls; /* at some peak, a called computation was running */
  Arena *arena, *scratch;
} Path;

/* One computation that runs at the peak. */
typedef struct Site {
  Path *path;
  Module *module;
  CompId comp;
  SchedPos peak; /* the end of the early part; instructions after it are the late part */
  LateClones clones;
  ItemList list;
  Tracker tracker;
  bool *is_point;     /* by InstId: an articulation point */
  bool *is_refused;   /* by InstId */
  bool *is_extended;  /* by TrackedId: the buffer lives longer because a clone reads it */
  Timeline timeline;  /* memory by position, with the effect of the candidates taken so far */
  int64_t peak_bytes; /* memory at `peak` */
  Phase phase;
  Arena *arena;
} Site;

/* ---- candidates ---- */

typedef struct Candidate {
  SchedPos pos;
  int64_t bytes; /* freed at the peak */
  double cost;   /* (flops + 10 transcendentals) / (bytes accessed + 2) */
} Candidate;

static int by_cost_then_position(const void *pa, const void *pb) {
  const Candidate *a = pa, *b = pb;
  if (a->cost != b->cost) return a->cost < b->cost ? -1 : 1;
  return (a->pos > b->pos) - (a->pos < b->pos);
}

static SchedPos last_use(const Site *site, TrackedId id) {
  const TrackedBuffer *buffer = tracked_buffer(&site->tracker, id);
  SchedPos last = site->clones.positions[buffer->definer];
  for (uint32_t i = 0; i < buffer->uses.len; i++) {
    SchedPos pos = site->clones.positions[buffer->uses.data[i].user];
    if (pos > last) last = pos;
  }
  return last;
}

/* Whether all later readers of a value can be redirected to a clone. Before the peak, only bitcasts
 * and get-tuple-elements may forward the value. */
static bool is_redirectable(const Site *site, InstId id) {
  const Module *module = site->module;
  ArenaMark mark = arena_mark(site->path->scratch);
  IdVec work = {0};
  bool is_bound = false;
  *vec_push(site->path->scratch, &work) = id;
  while (!is_bound && work.len) {
    InstId operand = work.data[--work.len];
    for (uint32_t i = 0; i < inst_get(module, operand)->users.len; i++) {
      InstId user = inst_users(module, operand)[i];
      if (site->clones.positions[user] > site->peak) continue;
      if (inst_is_pass_through(module, user)) {
        *vec_push(site->path->scratch, &work) = user;
      } else {
        is_bound |= inst_keeps_operand_memory(module, user) ||
                    opcode_has((Opcode)inst_get(module, user)->opcode, OPF_PASS_THROUGH);
      }
    }
  }
  arena_reset(site->path->scratch, mark);
  return !is_bound;
}

static ValueUses uses_at_peak(const Site *site, const TrackedBuffer *buffer) {
  ValueUses uses = uses_of_tracked(buffer);
  uses.is_read_later = false;
  uses.by_alias = KEEP_NONE; /* is_redirectable() decides this more exactly */
  for (uint32_t i = 0; i < buffer->uses.len; i++) {
    SchedPos user = site->clones.positions[buffer->uses.data[i].user];
    uses.is_in_use |= user == site->peak;
    uses.is_read_later |= user > site->peak;
  }
  return uses;
}

/* Bytes that the instruction at `pos` holds across the peak and that can be freed; 0 if none can.
 */
static int64_t bytes_across_peak(Site *site, SchedPos pos) {
  InstId id = site->clones.sequence.ids[pos];
  const RematItem *item = item_get(&site->list, id);
  int64_t bytes = 0;
  bool is_indirect = false;
  for (uint32_t i = 0; i < item->defined.len; i++) {
    const TrackedBuffer *buffer = tracked_buffer(&site->tracker, item->defined.data[i]);
    ValueUses uses = uses_at_peak(site, buffer);
    KeepReason reason = uses_verdict(&uses);
    if (reason != KEEP_NONE && reason != KEEP_NO_LATER_USE) return 0;
    if (reason == KEEP_NONE) bytes += buffer->bytes;
    is_indirect |= buffer->has_indirect_uses;
  }
  bool is_read = bytes > 0 && site->clones.early_values[pos].first_use != NO_ID;
  if (!is_read || clone_verdict(site->path->job->legality, id) != KEEP_NONE) return 0;
  return !is_indirect || is_redirectable(site, id) ? bytes : 0;
}

typedef struct Candidates {
  VEC(Candidate) list;
} Candidates;

static Candidates find_candidates(Site *site) {
  Candidates candidates = {0};
  late_clones_find_first_uses(&site->clones);
  for (SchedPos pos = 0; pos < site->peak; pos++) {
    int64_t bytes = bytes_across_peak(site, pos);
    InstId id = site->clones.sequence.ids[pos];
    if (bytes == 0) continue;
    if (site->phase == PHASE_BETWEEN_POINTS && site->is_point[id]) continue;
    if (site->is_refused[id]) continue;
    *vec_push(site->arena, &candidates.list) =
        (Candidate){pos, bytes, recompute_key(site->path->job, id)};
  }
  if (candidates.list.len) {
    qsort(candidates.list.data, candidates.list.len, sizeof *candidates.list.data,
          by_cost_then_position);
  }
  return candidates;
}

/* ---- the path of a candidate ---- */

typedef struct Step {
  SchedPos pos;
  uint32_t depth; /* how many more instructions the path may go back */
} Step;

typedef struct Closure {
  VEC(Step) steps;         /* instructions to clone */
  VEC(TrackedId) extended; /* buffers that would live longer because a clone reads them */
  int64_t extended_bytes;  /* the bytes that `extended` adds at the peak */
  bool is_impossible;      /* a clone would read overwritten memory */
} Closure;

static bool closure_has(const Closure *closure, SchedPos pos) {
  for (uint32_t i = 0; i < closure->steps.len; i++) {
    if (closure->steps.data[i].pos == pos) return true;
  }
  return false;
}

/* Whether a clone of `reader` can read a clone of `definer`, because only bitcasts and
 * get-tuple-elements are between the two. */
static bool reads_directly(const Site *site, InstId reader, InstId definer) {
  for (uint32_t i = 0; i < inst_get(site->module, reader)->num_operands; i++) {
    if (late_clones_source(&site->clones, inst_operand(site->module, reader, i)) == definer)
      return true;
  }
  return false;
}

/* Decides how a clone of `reader` at `place` gets one operand buffer: it is live anyway, it is kept
 * live longer, or it is recomputed as a part of the path. */
static void add_operand(Site *site, Closure *closure, InstId reader, TrackedId id, SchedPos place,
                        uint32_t depth) {
  const TrackedBuffer *buffer = tracked_buffer(&site->tracker, id);
  SchedPos pos = site->clones.positions[buffer->definer];
  if (buffer->bytes == 0 || pos >= site->peak) return;
  bool is_direct = reads_directly(site, reader, buffer->definer);
  if (is_direct && (site->clones.early_values[pos].is_cloned || closure_has(closure, pos))) return;
  SchedPos last = last_use(site, id);
  if (last >= place || site->is_extended[id]) return;
  if (last > site->peak) {
    *vec_push(site->arena, &closure->extended) = id;
    return;
  }
  bool is_kept = site->is_point[buffer->definer] && site->phase == PHASE_BETWEEN_POINTS;
  if (depth > 0 && is_direct && !is_kept && buffer->depth <= 1 &&
      clone_verdict(site->path->job->legality, buffer->definer) == KEEP_NONE) {
    *vec_push(site->arena, &closure->steps) = (Step){pos, depth - 1};
    return;
  }
  *vec_push(site->arena, &closure->extended) = id;
  closure->extended_bytes += buffer->bytes;
}

/* Adds operands of the step's instruction to the path that have been overwritten before `place`. */
static void add_overwritten(Site *site, Closure *closure, Step step, SchedPos place) {
  InstId reader = site->clones.sequence.ids[step.pos];
  for (uint32_t i = 0; i < inst_get(site->module, reader)->num_operands; i++) {
    InstId operand = inst_operand(site->module, reader, i);
    InstId overwriter = legality_overwriter(site->path->job->legality, operand);
    if (overwriter == NO_ID || site->clones.positions[overwriter] >= place) continue;
    InstId source = late_clones_source(&site->clones, operand);
    SchedPos pos = source == NO_ID ? NO_ID : site->clones.positions[source];
    if (pos != NO_ID && (site->clones.early_values[pos].is_cloned || closure_has(closure, pos)))
      continue;
    if (pos != NO_ID && step.depth > 0 &&
        clone_verdict(site->path->job->legality, source) == KEEP_NONE) {
      *vec_push(site->arena, &closure->steps) = (Step){pos, step.depth - 1};
    } else {
      closure->is_impossible = true;
      legality_refuse(site->path->job->legality, reader);
    }
  }
}

/* Finds the path from a candidate back to values that are live after the peak anyway. */
static Closure find_closure(Site *site, const Candidate *candidate) {
  Closure closure = {0};
  SchedPos place = site->clones.early_values[candidate->pos].first_use;
  *vec_push(site->arena, &closure.steps) =
      (Step){candidate->pos, site->path->job->options->path_depth};
  for (uint32_t i = 0; i < closure.steps.len; i++) {
    Step step = closure.steps.data[i];
    add_overwritten(site, &closure, step, place);
    const IdVec *used = &item_get(&site->list, site->clones.sequence.ids[step.pos])->used;
    for (uint32_t k = 0; k < used->len; k++) {
      InstId reader = site->clones.sequence.ids[step.pos];
      add_operand(site, &closure, reader, used->data[k], place, step.depth);
    }
    if (closure.is_impossible || closure.extended_bytes >= candidate->bytes) break;
  }
  return closure;
}

static int by_step_position(const void *pa, const void *pb) {
  const Step *a = pa, *b = pb;
  return (a->pos > b->pos) - (a->pos < b->pos);
}

/* The maximum number of bytes that the clones of a path hold together while they are computed one
 * after the other. The last clone, that of the candidate, stays live. */
static int64_t closure_peak(Site *site, Closure *closure) {
  uint32_t len = closure->steps.len;
  Step *steps = closure->steps.data;
  qsort(steps, len, sizeof *steps, by_step_position);
  uint32_t *last_reader = arena_zarray(site->arena, uint32_t, len);
  for (uint32_t k = 0; k < len; k++) {
    for (uint32_t i = 0; i < k; i++) {
      InstId definer = site->clones.sequence.ids[steps[i].pos],
             reader = site->clones.sequence.ids[steps[k].pos];
      if (reads_directly(site, reader, definer)) last_reader[i] = k;
    }
  }
  int64_t live = 0, peak = 0;
  for (uint32_t k = 0; k < len; k++) {
    live += tracker_defined_bytes(&site->tracker, site->clones.sequence.ids[steps[k].pos]);
    if (live > peak) peak = live;
    for (uint32_t i = 0; i < k; i++) {
      if (last_reader[i] != k) continue;
      live -= tracker_defined_bytes(&site->tracker, site->clones.sequence.ids[steps[i].pos]);
    }
  }
  return peak;
}

/* Memory between the instruction at `pos` and the previous one. */
static int64_t bytes_before(const Site *site, SchedPos pos) {
  int64_t here = timeline_max(&site->timeline, pos, pos) -
                 tracker_defined_bytes(&site->tracker, site->clones.sequence.ids[pos]);
  int64_t before = timeline_max(&site->timeline, pos - 1, pos - 1);
  return before < here ? before : here;
}

/* The position of a value's last reader before the peak. */
static SchedPos last_early_use(const Site *site, SchedPos pos) {
  const RematItem *item = item_get(&site->list, site->clones.sequence.ids[pos]);
  SchedPos last = pos;
  for (uint32_t i = 0; i < item->defined.len; i++) {
    const BufferUses *uses = &tracked_buffer(&site->tracker, item->defined.data[i])->uses;
    for (uint32_t k = 0; k < uses->len; k++) {
      SchedPos user = site->clones.positions[uses->data[k].user];
      if (user < site->peak && user > last) last = user;
    }
  }
  return last;
}

/* Tries the effect of a closure on the timeline. Returns the first position changed. */
static SchedPos try_closure(Site *site, const Candidate *candidate, const Closure *closure) {
  SchedPos place = site->clones.early_values[candidate->pos].first_use;
  SchedPos first = last_early_use(site, candidate->pos) + 1;
  timeline_keep(&site->timeline);
  timeline_try(&site->timeline, first, place - 1, -candidate->bytes);
  for (uint32_t i = 0; i < closure->extended.len; i++) {
    TrackedId id = closure->extended.data[i];
    SchedPos begin = last_use(site, id) + 1;
    timeline_try(&site->timeline, begin, place, tracked_buffer(&site->tracker, id)->bytes);
    if (begin < first) first = begin;
  }
  return first;
}

/* Takes the candidate with its path, unless this makes a new peak where the path is computed or
 * where its operands are kept live. */
static bool take(Site *site, const Candidate *candidate, Closure *closure) {
  SchedPos place = site->clones.early_values[candidate->pos].first_use;
  int64_t during = bytes_before(site, place) - candidate->bytes + closure_peak(site, closure);
  if (during >= site->peak_bytes) return false;
  SchedPos first = try_closure(site, candidate, closure);
  if (timeline_max(&site->timeline, first, place) >= site->peak_bytes) {
    timeline_take_back(&site->timeline);
    return false;
  }
  for (uint32_t i = 0; i < closure->steps.len; i++) {
    site->clones.early_values[closure->steps.data[i].pos].is_cloned = true;
  }
  for (uint32_t i = 0; i < closure->extended.len; i++) {
    site->is_extended[closure->extended.data[i]] = true;
  }
  *vec_push(site->path->arena, &site->path->taken) = site->clones.sequence.ids[candidate->pos];
  return true;
}

/* Takes candidates until `wanted_bytes` are freed at the peak. Returns the number of bytes freed.
 */
static int64_t choose(Site *site, const Candidates *candidates, int64_t wanted_bytes) {
  int64_t freed = 0;
  for (uint32_t i = 0; i < candidates->list.len && freed < wanted_bytes; i++) {
    const Candidate *candidate = &candidates->list.data[i];
    if (site->clones.early_values[candidate->pos].is_cloned)
      continue; /* it is part of another candidate's path */
    Closure closure = find_closure(site, candidate);
    if (!closure.is_impossible && closure.extended_bytes < candidate->bytes &&
        take(site, candidate, &closure)) {
      freed += candidate->bytes - closure.extended_bytes;
    }
  }
  return freed;
}

static void open_site(Site *site, const PointsTo *points_to, ItemTable *items,
                      const int64_t *bytes_at) {
  Module *module = site->module;
  Arena *arena = site->arena;
  uint32_t num_insts = module->insts.len;
  site->clones =
      late_clones_begin(site->path->job, site->comp, site->peak, arena, site->path->scratch);
  Sequence sequence = site->clones.sequence;
  site->list = item_list_build(items, sequence, num_insts);
  site->tracker =
      tracker_build(module, points_to, &site->list, site->comp, arena, site->path->scratch);
  site->is_point = arena_zarray(arena, bool, num_insts);
  site->is_refused = arena_zarray(arena, bool, num_insts);
  for (uint32_t i = 0; i < site->path->refused.len; i++) {
    site->is_refused[site->path->refused.data[i]] = true;
  }
  int64_t *bytes = arena_array(arena, int64_t, sequence.len);
  for (SchedPos pos = 0; pos < sequence.len; pos++)
    bytes[pos] = bytes_at[sequence.ids[pos]];
  site->timeline = timeline_build(bytes, sequence.len, arena);
  site->peak_bytes = bytes[site->peak];
  site->is_extended = arena_zarray(arena, bool, site->tracker.buffers.len);
  if (site->phase == PHASE_BETWEEN_POINTS) {
    mark_articulation_points(module, sequence, site->peak, site->clones.positions,
                             site->path->job->legality->small_node_bytes, site->is_point,
                             site->path->scratch);
  }
}

/* Frees up to `wanted_bytes` at the peak instruction of one computation. Returns the number of
 * bytes freed. */
static int64_t relieve(Path *path, InstId peak_inst, const int64_t *bytes_at, Phase phase,
                       int64_t wanted_bytes, Arena *out) {
  Module *module = path->module;
  CompId comp = inst_get(module, peak_inst)->parent;
  Arena *arena = arena_new(arena_options(path->scratch));
  ItemTable items = {.arena = arena};
  PointsTo points_to = points_to_build(module, arena, path->scratch);
  Site site = {.path = path, .module = module, .comp = comp, .phase = phase, .arena = arena};
  while (path->job->schedule->of[comp].ids[site.peak] != peak_inst)
    site.peak++;
  open_site(&site, &points_to, &items, bytes_at);
  Candidates candidates = find_candidates(&site);
  int64_t freed = choose(&site, &candidates, wanted_bytes);
  if (freed > 0) path->stats->num_steps += late_clones_apply(&site.clones, out);
  arena_free(arena);
  return freed;
}

/* ---- rounds ---- */

/* Runs one round at the current peak. The new schedule is in `out`. */
static bool run_round(Path *path, const CallMemory *memory, Phase phase, int64_t wanted_bytes,
                      Arena *out) {
  if (memory->peak_inst == NO_ID) return false;
  Arena *arena = arena_new(arena_options(path->scratch));
  CallChain chain = call_memory_chain(memory, path->module, memory->peak_inst, arena);
  path->taken.len = 0;
  path->has_calls |= chain.len > 1;
  int64_t freed = 0;
  for (uint32_t i = 0; i < chain.len && freed < wanted_bytes; i++) {
    InstId id = chain.ids[path->order == CALLERS_FIRST ? i : chain.len - 1 - i];
    freed += relieve(path, id, memory->bytes_at, phase, wanted_bytes - freed, out);
  }
  arena_free(arena);
  if (freed == 0) return false;
  dce_run(path->job->rewrite, path->scratch);
  dce_update_schedule(path->module, path->job->schedule, out);
  return true;
}

/* The distance of a state from the goal: its peak, and, to compare states with the same peak, the
 * sum of the bytes above the limit. */
typedef struct Distance {
  int64_t peak_bytes;
  double excess;
} Distance;

static Distance distance_of(const CallMemory *memory, uint32_t num_insts,
                            int64_t peak_limit_bytes) {
  Distance distance = {.peak_bytes = memory->peak_bytes};
  for (InstId id = 0; id < num_insts; id++) {
    int64_t over = memory->bytes_at[id] - peak_limit_bytes;
    if (over > 0) distance.excess += (double)over;
  }
  return distance;
}

static bool is_nearer(Distance a, Distance b) {
  return a.peak_bytes != b.peak_bytes ? a.peak_bytes < b.peak_bytes : a.excess < b.excess;
}

/* The best state that was reached. */
typedef struct Best {
  RematState state;
  CallMemory memory;
  Distance distance;
  Arena *arena;
} Best;

/* If the current state is better than the best one, makes it the best one; otherwise returns to the
 * best one. */
static bool keep_or_return(Path *path, Best *best) {
  Arena *arena = arena_new(arena_options(path->scratch));
  CallMemory memory = remat_state_memory(path->job, arena, path->scratch);
  Distance distance = distance_of(&memory, path->module->insts.len, path->job->peak_limit.bytes);
  bool is_new = !best->arena || is_nearer(distance, best->distance);
  if (is_new) {
    RematState state = remat_state_save(path->job, arena);
    if (best->arena) arena_free(best->arena);
    *best = (Best){state, memory, distance, arena};
  } else {
    arena_free(arena);
  }
  remat_state_load(path->job, &best->state);
  return is_new;
}

/* The number of bytes that a round tries to free. It is limited to one step, because each step
 * shows where the next peak is. */
static int64_t round_goal(const Path *path, const Best *best) {
  int64_t missing = best->distance.peak_bytes - path->job->peak_limit.bytes;
  int64_t step = best->distance.peak_bytes / path->job->parameters->path_steps + 1;
  return missing < step ? missing : step;
}

/* Runs rounds from the current state of the job. */
static Best run_rounds(Path *path) {
  int64_t peak_limit_bytes = path->job->peak_limit.bytes;
  Phase phase = PHASE_BETWEEN_POINTS;
  uint32_t failures = 0;
  Best best = {0};
  keep_or_return(path, &best);
  for (int64_t round = 0; round < path->job->parameters->path_rounds; round++) {
    if (best.distance.peak_bytes <= peak_limit_bytes) break;
    if (patience_is_stopped(path->job->patience)) break;
    Arena *arena = arena_new(arena_options(path->scratch));
    bool has_changed = run_round(path, &best.memory, phase, round_goal(path, &best), arena);
    bool is_better = has_changed && keep_or_return(path, &best);
    arena_free(arena);
    if (is_better) {
      path->refused.len = 0;
      failures = 0;
      phase = PHASE_BETWEEN_POINTS;
    } else if (has_changed && ++failures < path->job->parameters->path_failures) {
      for (uint32_t i = 0; i < path->taken.len; i++) {
        *vec_push(path->arena, &path->refused) = path->taken.data[i];
      }
    } else if (++phase == NUM_PHASES) {
      break;
    }
  }
  return best;
}

/* Runs rounds from the input. */
static Best run_order(Path *path, CallOrder order, const RematState *input) {
  remat_state_load(path->job, input);
  path->refused.len = 0;
  path->order = order;
  return run_rounds(path);
}

/* Tries the second order if the first one does not reach the limit. */
static Best run_orders(Path *path, const RematState *input) {
  Best first = run_order(path, CALLERS_FIRST, input);
  bool is_met = first.distance.peak_bytes <= path->job->peak_limit.bytes;
  if (is_met || !path->has_calls || patience_is_stopped(path->job->patience)) return first;
  Best second = run_order(path, CALLEES_FIRST, input);
  bool is_second = is_nearer(second.distance, first.distance);
  arena_free(is_second ? first.arena : second.arena);
  if (is_second) return second;
  remat_state_load(path->job, &first.state);
  return first;
}

void remat_path(RematJob *job, RematStats *stats, Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Path path = {.job = job,
               .module = job->rewrite->module,
               .stats = stats,
               .arena = arena,
               .scratch = scratch};
  RematState input = remat_state_save(job, arena);
  Best best = run_orders(&path, &input);
  derematerialize(job, out, scratch);
  arena_free(best.arena);
  arena_free(arena);
  stats->xla_reported_after_bytes = -1;
}
