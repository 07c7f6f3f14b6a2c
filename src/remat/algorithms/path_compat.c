/* Microsoft's path recomputation as it was published (tensorflow-rematerialization, remat.patch);
 * remat/algorithms/path.c implements what was intended.
 *
 * Rounds run as long as each lowers the peak. In a round, every "articulation point" that has begun
 * by the peak is cloned for each of its readers after the peak. Each clone gets its own clones of
 * its operands, and so on, up to `path_depth` instructions deep. Then dead code is removed and
 * everything is scheduled again by `default`, whatever the order was before. In the end, clones of
 * points are undone, the most expensive point first, as long as the peak is below the limit; the
 * last undo can raise the peak above it.
 *
 * The search for articulation points follows users only, so it does not find paths around an
 * instruction: every instruction that is the first to reach one of its users counts as a point. A
 * computation other than the entry is visited once, in the first round that visits its caller.
 *
 * Differences from the original:
 *   - Where the original depends on an order of addresses, the order of the text decides.
 *   - Clones are identified by their originals, not by their names.
 *   - If the original makes a clone three times, and the first two are dead at once, only the last
 *     one is made.
 *   - Instructions with side effects keep their order.
 *   - The number of clones is bounded; in the original there are 2^depth of them on diamonds. */
#include <stdlib.h>

#include "analysis/memory/remat_memory.h"
#include "remat/job/algorithm.h"
#include "remat/rewrite/dce.h"
#include "remat/algorithms/derematerialize.h"
#include "analysis/memory/item_list.h"
#include "remat/legality/safe_order.h"
#include "remat/job/state.h"

typedef struct PathCompat {
  RematJob *job;
  Module *module;
  RematStats *stats;
  uint32_t num_old; /* instructions before the first round */
  /* computations before the first round; they include all that run as sequences */
  uint32_t num_comps;
  uint32_t num_left;   /* clones that may still be made */
  bool *is_point;      /* by InstId, for the first `num_old`: an articulation point */
  bool *is_visited;    /* by CompId: a called computation that some round has visited */
  VEC(InstId) effects; /* instructions with side effects, in the order in which they run */
  RematMemory memory;
  int64_t xla_limit_bytes; /* as XLA's pass counts it */
  bool is_exact;           /* the schedule is new since the last round or undo */
  Arena *memory_arena;
  Arena *out, *arena, *scratch;
} PathCompat;

/* ---- articulation points ---- */

typedef struct Frame {
  InstId inst;
  uint32_t next_user;
  uint32_t num_children; /* users that were reached from here first */
} Frame;

static void mark_points_from(PathCompat *compat, InstId root, bool *is_reached) {
  const Module *module = compat->module;
  ArenaMark mark = arena_mark(compat->scratch);
  VEC(Frame) stack = {0};
  *vec_push(compat->scratch, &stack) = (Frame){.inst = root};
  is_reached[root] = true;
  while (stack.len) {
    Frame *frame = &stack.data[stack.len - 1];
    if (frame->next_user < inst_get(module, frame->inst)->users.len) {
      InstId user = inst_users(module, frame->inst)[frame->next_user++];
      if (is_reached[user]) continue;
      is_reached[user] = true;
      frame->num_children++;
      *vec_push(compat->scratch, &stack) = (Frame){.inst = user};
      continue;
    }
    compat->is_point[frame->inst] = frame->num_children > (stack.len == 1 ? 1 : 0);
    stack.len--;
  }
  arena_reset(compat->scratch, mark);
}

static void find_points_and_effects(PathCompat *compat) {
  const Schedule *schedule = compat->job->schedule;
  const SideEffects *effects = &compat->job->legality->effects;
  bool *is_reached = arena_zarray(compat->arena, bool, compat->num_old);
  for (CompId comp = 0; comp < schedule->num_comps; comp++) {
    for (SchedPos pos = 0; pos < schedule->of[comp].len; pos++) {
      InstId id = schedule->of[comp].ids[pos];
      if (!is_reached[id]) mark_points_from(compat, id, is_reached);
      if (inst_has_side_effect(compat->module, effects, id))
        *vec_push(compat->arena, &compat->effects) = id;
    }
  }
}

/* ---- cloning ---- */

/* One computation in one round. */
typedef struct Visit {
  PathCompat *compat;
  ItemList list;
  Arena *arena;
} Visit;

typedef struct Hop {
  InstId source, user;
  uint32_t depth;
} Hop;

typedef struct Hops {
  VEC(Hop) stack;
} Hops;

static void push_operands(const Visit *visit, InstId clone, uint32_t depth, Hops *hops) {
  const Module *module = visit->compat->module;
  uint32_t num_operands = inst_get(module, clone)->num_operands;
  for (uint32_t k = num_operands; k-- > 0;) {
    InstId operand = inst_operand(module, clone, k);
    bool is_known = false;
    for (uint32_t i = 0; i < k; i++)
      is_known |= inst_operand(module, clone, i) == operand;
    if (is_known) continue;
    *vec_push(visit->arena, &hops->stack) = (Hop){operand, clone, depth};
  }
}

static bool is_successor_placed(const Visit *visit, InstId id) {
  const Module *module = visit->compat->module;
  IdList successors = inst_control(module, id)->successors;
  for (uint32_t i = 0; i < successors.len; i++) {
    if (item_get(&visit->list, id_list(module, successors)[i])->is_placed) return true;
  }
  return false;
}

/* Adds a clone of `source` directly after it, for `user`. */
static InstId add_clone(Visit *visit, InstId source, InstId user) {
  PathCompat *compat = visit->compat;
  Rewrite *rewrite = compat->job->rewrite;
  InstId clone = rewrite_clone(rewrite, source, compat->scratch);
  for (uint32_t k = 0; k < inst_get(compat->module, user)->num_operands; k++) {
    if (inst_operand(compat->module, user, k) == source)
      rewrite_set_operand(rewrite, user, k, clone);
  }
  module_copy_control(compat->module, source, clone);
  InstId next = item_get(&visit->list, source)->next;
  IdVec before = {.data = &next, .len = 1};
  item_list_create(&visit->list, clone);
  item_list_insert_before(&visit->list, clone, &before);
  item_get(&visit->list, clone)->is_placed = true;
  return clone;
}

/* Clones the path back from `source` for `user`. The clone of a clone's operand is not cloned again
 * in the same round: in the original it has only one reader, so it counts as a move. */
static void clone_path(Visit *visit, InstId source, InstId user) {
  PathCompat *compat = visit->compat;
  uint32_t depth = compat->job->options->path_depth;
  Hops hops = {0};
  *vec_push(visit->arena, &hops.stack) = (Hop){source, user, depth};
  while (hops.stack.len && compat->num_left && !patience_is_stopped(compat->job->patience)) {
    Hop hop = hops.stack.data[--hops.stack.len];
    if (hop.depth == 0 || item_get(&visit->list, hop.source)->is_move ||
        recompute_verdict(compat->job->legality, hop.source) != KEEP_NONE ||
        is_successor_placed(visit, hop.source)) {
      continue;
    }
    InstId clone = add_clone(visit, hop.source, hop.user);
    item_get(&visit->list, clone)->is_move = hop.depth != depth;
    compat->stats->num_steps++;
    compat->num_left--;
    push_operands(visit, clone, hop.depth - 1, &hops);
  }
}

static void clone_for_readers(Visit *visit, InstId id) {
  const Module *module = visit->compat->module;
  IdSpan users = inst_copy_users(module, id, visit->arena);
  for (uint32_t i = 0; i < users.len; i++) {
    if (!item_get(&visit->list, users.ids[i])->is_placed) clone_path(visit, id, users.ids[i]);
  }
}

static void add_callees(PathCompat *compat, InstId id, IdVec *comps) {
  const Instruction *inst = inst_get(compat->module, id);
  if (!opcode_is_control_flow((Opcode)inst->opcode)) return;
  for (uint32_t i = 0; i < inst->num_callees; i++) {
    CompId callee = inst_callees(compat->module, id)[i];
    if (compat->is_visited[callee]) continue;
    compat->is_visited[callee] = true;
    *vec_push(compat->arena, comps) = callee;
  }
}

/* Clones the points of one computation that have begun by the peak. If the instruction at the peak
 * is not a point, points after it are visited, too, and count as begun from their position on. */
static void visit_computation(PathCompat *compat, CompId comp, IdVec *comps) {
  Sequence *sequence = &compat->job->schedule->of[comp];
  if (sequence->len == 0) return;
  Arena *arena = arena_new(arena_options(compat->scratch));
  ItemTable items = {.arena = arena};
  Visit visit = {.compat = compat, .arena = arena};
  visit.list = item_list_build(&items, *sequence, compat->module->insts.len);
  SchedPos peak = compat->memory.of[comp].peak_pos;
  InstId peak_inst = sequence->ids[peak];
  for (SchedPos pos = 0; pos <= peak; pos++)
    item_get(&visit.list, sequence->ids[pos])->is_placed = true;
  for (InstId id = visit.list.first; id != NO_ID; id = item_get(&visit.list, id)->next) {
    if (id >= compat->num_old || !compat->is_point[id]) continue;
    item_get(&visit.list, id)->is_placed = true;
    if (id == peak_inst || patience_is_stopped(compat->job->patience)) break;
    clone_for_readers(&visit, id);
    add_callees(compat, id, comps);
  }
  *sequence = item_list_sequence(&visit.list, compat->module, compat->out);
  arena_free(arena);
}

/* ---- the exact peak ---- */

static void recount(PathCompat *compat) {
  arena_free(compat->memory_arena);
  compat->memory_arena = arena_new(arena_options(compat->scratch));
  compat->memory =
      remat_memory(compat->module, compat->job->schedule, compat->memory_arena, compat->scratch);
}

/* A copy of the module in which each instruction with side effects waits for the previous one; NULL
 * if there are fewer than two. */
static Module *with_waiting_effects(const PathCompat *compat) {
  if (compat->effects.len < 2) return NULL;
  Module *module = module_copy(compat->module);
  for (uint32_t i = 1; i < compat->effects.len; i++) {
    InstId first = compat->effects.data[i - 1], second = compat->effects.data[i];
    bool is_gone = (inst_get(module, first)->flags | inst_get(module, second)->flags) & INST_DEAD;
    if (is_gone || inst_get(module, first)->parent != inst_get(module, second)->parent) continue;
    module_add_control(module, first, second);
  }
  return module;
}

/* Schedules the module with XLA's scheduler `default`, but keeps the order of side effects. */
static void reschedule(PathCompat *compat) {
  RematJob *job = compat->job;
  dce_run(job->rewrite, compat->scratch);
  dce_update_schedule(compat->module, job->schedule, compat->out);
  Module *waiting = with_waiting_effects(compat);
  InstId bad;
  bool is_valid = schedule_is_valid(compat->module, job->schedule, &bad, compat->scratch);
  Schedule best;
  schedule_safely(scheduler_find("default"), waiting ? waiting : compat->module,
                  is_valid ? job->schedule : NULL, &best, compat->out, compat->scratch);
  module_free(waiting);
  for (CompId comp = 0; comp < compat->num_comps; comp++) {
    if (compat->memory.of[comp].bytes_at) job->schedule->of[comp] = best.of[comp];
  }
  compat->stats->num_steps++;
  compat->is_exact = true;
  recount(compat);
}

static void run_round(PathCompat *compat) {
  IdVec comps = {0};
  *vec_push(compat->arena, &comps) = compat->module->entry;
  for (uint32_t i = 0; i < comps.len; i++)
    visit_computation(compat, comps.data[i], &comps);
}

/* Runs rounds as long as each lowers the peak. A round that is stopped before its end is reverted:
 * clones without the order that is made for them are of no use, and to make the order takes as long
 * as the rest of the round. */
static void run_rounds(PathCompat *compat) {
  RematJob *job = compat->job;
  int64_t last_bytes = INT64_MAX;
  while (last_bytes > compat->memory.peak_bytes &&
         compat->memory.peak_bytes > compat->xla_limit_bytes && compat->num_left &&
         !patience_is_stopped(job->patience)) {
    Arena *arena = arena_new(arena_options(compat->scratch));
    RematState before = remat_state_save(job, arena);
    uint64_t num_steps = compat->stats->num_steps;
    last_bytes = compat->memory.peak_bytes;
    run_round(compat);
    if (patience_is_stopped(job->patience)) {
      remat_state_load(job, &before);
      *job->schedule = schedule_copy(job->schedule, compat->module, compat->out);
      compat->stats->num_steps = num_steps;
      compat->is_exact = true;
    } else {
      reschedule(compat);
    }
    arena_free(arena);
  }
}

/* ---- undoing ---- */

typedef struct Point {
  InstId inst;
  double key;
} Point;

static int by_key_then_inst(const void *pa, const void *pb) {
  const Point *a = pa, *b = pb;
  if (a->key != b->key) return a->key > b->key ? -1 : 1;
  return (a->inst > b->inst) - (a->inst < b->inst);
}

/* The points that have clones. `next` links the clones of each point in a list. */
typedef struct Clones {
  VEC(Point) points;
  InstId *first; /* by InstId, for instructions of the input */
  InstId *next;  /* by InstId */
  SchedPos *positions;
} Clones;

static void locate(const PathCompat *compat, SchedPos *positions) {
  const Schedule *schedule = compat->job->schedule;
  for (CompId comp = 0; comp < schedule->num_comps; comp++) {
    for (SchedPos pos = 0; pos < schedule->of[comp].len; pos++)
      positions[schedule->of[comp].ids[pos]] = pos;
  }
}

/* Lists the points that have clones. The original only knows the costs of the entry computation, so
 * points of other computations come last. */
static Clones find_clones(const PathCompat *compat, Arena *arena) {
  const Module *module = compat->module;
  const Schedule *schedule = compat->job->schedule;
  Clones clones = {.first = arena_array(arena, InstId, compat->num_old),
                   .next = arena_array(arena, InstId, module->insts.len),
                   .positions = arena_array(arena, SchedPos, module->insts.len)};
  memset(clones.first, 0xff, compat->num_old * sizeof *clones.first);
  for (CompId comp = 0; comp < schedule->num_comps; comp++) {
    for (SchedPos pos = schedule->of[comp].len; pos-- > 0;) {
      InstId id = schedule->of[comp].ids[pos];
      InstId point = rewrite_first_original(compat->job->rewrite, id);
      if (point == id || !compat->is_point[point]) continue;
      if (inst_get(module, point)->flags & INST_DEAD) continue;
      if (clones.first[point] == NO_ID) {
        bool is_known = inst_get(module, point)->parent == module->entry;
        double key = is_known ? recompute_key(compat->job, point) : 0;
        *vec_push(arena, &clones.points) = (Point){point, key};
      }
      clones.next[id] = clones.first[point];
      clones.first[point] = id;
    }
  }
  uint32_t len = clones.points.len;
  if (len) qsort(clones.points.data, len, sizeof *clones.points.data, by_key_then_inst);
  locate(compat, clones.positions);
  return clones;
}

/* Redirects the users of all clones of a point to the point. Returns the most by which this can
 * raise the peak of the current order; INT64_MAX = unknown. */
static int64_t undo(PathCompat *compat, const Clones *clones, InstId point) {
  const Module *module = compat->module;
  bool is_known = inst_get(module, point)->parent == module->entry, has_users = false;
  for (InstId clone = clones->first[point]; clone != NO_ID; clone = clones->next[clone]) {
    bool is_dead = inst_get(module, clone)->flags & INST_DEAD;
    if (is_dead || !clone_can_be_undone(module, clone, point)) continue;
    IdList users = inst_get(module, clone)->users;
    for (uint32_t i = 0; i < users.len; i++)
      is_known &= clones->positions[id_list(module, users)[i]] > clones->positions[point];
    has_users |= users.len > 0;
    rewrite_replace_all_uses(compat->job->rewrite, clone, point, compat->scratch);
    module_drop_control(compat->module, clone);
  }
  if (!has_users) return 0;
  compat->is_exact = false;
  return is_known ? result_device_bytes(module, point) : INT64_MAX;
}

/* Undoes points. Dead clones count until the exact peak is needed. The exact peak is only
 * determined when the estimate reaches the limit, because it cannot have reached the limit before.
 */
static void undo_points(PathCompat *compat) {
  Arena *arena = arena_new(arena_options(compat->scratch));
  Clones clones = find_clones(compat, arena);
  int64_t most_bytes = compat->memory.peak_bytes;
  for (uint32_t i = 0; i < clones.points.len && most_bytes < compat->xla_limit_bytes; i++) {
    if (patience_is_stopped(compat->job->patience)) break;
    InstId point = clones.points.data[i].inst;
    if (inst_get(compat->module, point)->flags & INST_DEAD) continue;
    int64_t more_bytes = undo(compat, &clones, point);
    bool is_order = more_bytes != INT64_MAX;
    if (is_order) most_bytes += more_bytes;
    if (is_order && most_bytes < compat->xla_limit_bytes) continue;
    if (is_order) recount(compat);
    if (!is_order || compat->memory.peak_bytes >= compat->xla_limit_bytes) {
      reschedule(compat);
      locate(compat, clones.positions);
    }
    most_bytes = compat->memory.peak_bytes;
  }
  if (!compat->is_exact) reschedule(compat);
  arena_free(arena);
}

void remat_path_compat(RematJob *job, RematStats *stats, Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Module *module = job->rewrite->module;
  PathCompat compat = {
      .job = job,
      .module = module,
      .stats = stats,
      .num_old = module->insts.len,
      .num_comps = module->comps.len,
      .num_left = module->insts.len * (uint32_t)job->parameters->path_compat_growth +
                  (uint32_t)job->parameters->path_compat_clones,
      .is_point = arena_zarray(arena, bool, module->insts.len),
      .is_visited = arena_zarray(arena, bool, module->comps.len),
      .memory_arena = arena_new(arena_options(scratch)),
      .out = out,
      .arena = arena,
      .scratch = scratch};
  find_points_and_effects(&compat);
  recount(&compat);
  compat.xla_limit_bytes = remat_state_xla_limit(job, &compat.memory, scratch);
  run_rounds(&compat);
  stats->is_cut = compat.num_left == 0;
  undo_points(&compat);
  stats->xla_reported_after_bytes = -1;
  arena_free(compat.memory_arena);
  arena_free(arena);
}
