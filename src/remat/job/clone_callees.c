#include "remat/job/clone_callees.h"

#include "remat/rewrite/dce.h"
#include "remat/job/state.h"

typedef struct Cloner {
  RematJob *job;
  Module *module;
  CallMemory memory;
  CallGraph graph;
  /* bounds the growth: with nested calls, the number of clones can be exponential */
  uint32_t max_insts;
  CalleeClones clones;
  Arena *arena; /* holds `memory` and `graph` */
  Arena *out, *scratch;
} Cloner;

/* ---- making clones ---- */

static bool is_caller(const Cloner *cloner, InstId id) {
  return inst_runs_callees(cloner->module, id) &&
         comp_is_sequential(&cloner->graph, inst_get(cloner->module, id)->parent);
}

static bool is_over_limit(const Cloner *cloner, CompId comp) {
  Sequence sequence = cloner->job->schedule->of[comp];
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    if (cloner->memory.bytes_at[sequence.ids[pos]] > cloner->job->peak_limit.bytes) return true;
  }
  return false;
}

CompId callee_original(const CalleeClones *clones, CompId comp) {
  uint32_t low = 0, high = clones->list.len;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    const CalleeClone *clone = &clones->list.data[middle];
    if (clone->clone == comp) return clone->original;
    if (clone->clone < comp) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return comp;
}

/* Records the original of each instruction of the clone, so that what must be kept in the callee is
 * kept in the clone, too. */
static void note_callee_originals(Rewrite *rewrite, CompId comp) {
  const Module *module = rewrite->module;
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId id = comp_inst(module, comp, i);
    rewrite_set_callee_original(rewrite, rewrite->image.data[id], id);
  }
}

bool callee_is_cloneable(const Module *module, const CallGraph *graph, CompId comp) {
  return comp != module->entry && graph->context[comp] == CALLED_AS_SEQUENCE;
}

CalleeClone *callee_clone_add(CalleeClones *clones, RematJob *job, CompId from, Arena *out,
                              Arena *scratch) {
  CompId original = callee_original(clones, from);
  if (from >= job->schedule->num_comps)
    dce_update_schedule(job->rewrite->module, job->schedule, out);
  CompId clone = rewrite_clone_computation(job->rewrite, from, job->schedule, scratch);
  note_callee_originals(job->rewrite, from);
  CalleeClone *added = vec_push(out, &clones->list);
  *added = (CalleeClone){.original = original, .from = from, .clone = clone, .same = NO_ID};
  return added;
}

/* Returns false if `caller` does not call `from` any more. */
static bool set_callee(RematJob *job, InstId caller, CompId from, CompId to, Arena *scratch) {
  Module *module = job->rewrite->module;
  bool has_called = false;
  for (uint32_t i = 0; i < inst_get(module, caller)->num_callees; i++) {
    if (inst_callees(module, caller)[i] != from) continue;
    rewrite_set_callee(job->rewrite, caller, i, to, scratch);
    has_called = true;
  }
  return has_called;
}

bool callee_clone_redirect(CalleeClone *clone, RematJob *job, InstId caller, Arena *out,
                           Arena *scratch) {
  bool has_called = inst_runs_callees(job->rewrite->module, caller) &&
                    set_callee(job, caller, clone->from, clone->clone, scratch);
  if (has_called) *vec_push(out, &clone->callers) = caller;
  return has_called;
}

/* The callers that hold the same amount of memory, and the computation that they will call. */
typedef struct Room {
  int64_t held_bytes;
  uint32_t clone; /* index of the clone in the list; NO_ID = the computation itself */
} Room;

static bool may_clone(const Cloner *cloner, uint32_t max_insts) {
  return cloner->clones.list.len < cloner->job->parameters->callees_clones &&
         cloner->module->insts.len < max_insts;
}

static uint32_t room_for(Cloner *cloner, CompId comp, bool is_first) {
  uint32_t any_case = (uint32_t)cloner->job->parameters->callees_insts;
  uint32_t max_insts = cloner->max_insts > any_case ? cloner->max_insts : any_case;
  if (is_first || !may_clone(cloner, max_insts)) return NO_ID;
  callee_clone_add(&cloner->clones, cloner->job, comp, cloner->out, cloner->scratch);
  return cloner->clones.list.len - 1;
}

/* Makes a clone for each room except the first, as long as the limits allow more clones. */
static bool split(Cloner *cloner, CompId comp) {
  IdSpan callers = callers_of(&cloner->graph, comp);
  uint32_t num_clones = cloner->clones.list.len;
  Arena *arena = arena_new(arena_options(cloner->scratch));
  VEC(Room) rooms = {0};
  for (uint32_t k = 0; k < callers.len; k++) {
    InstId caller = callers.ids[k];
    if (!is_caller(cloner, caller)) continue;
    int64_t held_bytes = cloner->memory.around[caller];
    uint32_t i = 0;
    while (i < rooms.len && rooms.data[i].held_bytes != held_bytes)
      i++;
    if (i == rooms.len)
      *vec_push(arena, &rooms) = (Room){held_bytes, room_for(cloner, comp, i == 0)};
    if (rooms.data[i].clone == NO_ID) continue;
    CalleeClone *clone = &cloner->clones.list.data[rooms.data[i].clone];
    callee_clone_redirect(clone, cloner->job, caller, cloner->out, cloner->scratch);
  }
  arena_free(arena);
  return cloner->clones.list.len > num_clones;
}

/* Takes the outermost computation that should be cloned, because cloning it gives its callees more
 * callers. */
static bool clone_once(Cloner *cloner) {
  const CallGraph *graph = &cloner->graph;
  for (uint32_t i = graph->num_reachable; i-- > 0;) {
    CompId comp = graph->post_order[i];
    if (!callee_is_cloneable(cloner->module, graph, comp)) continue;
    if (callers_of(graph, comp).len < 2) continue;
    if (is_over_limit(cloner, comp) && split(cloner, comp)) return true;
  }
  return false;
}

CalleeClones clone_callees(RematJob *job, Arena *out, Arena *scratch) {
  Module *module = job->rewrite->module;
  Cloner cloner = {.job = job,
                   .module = module,
                   .max_insts = module->insts.len * (uint32_t)job->parameters->callees_growth,
                   .out = out,
                   .scratch = scratch};
  bool has_changed = true;
  while (has_changed && may_clone(&cloner, cloner.max_insts) &&
         !patience_is_stopped(job->patience)) {
    cloner.arena = arena_new(arena_options(scratch));
    cloner.memory = remat_state_memory(job, cloner.arena, scratch);
    cloner.graph = call_graph_build(module, cloner.arena, scratch);
    has_changed = clone_once(&cloner);
    if (has_changed) dce_update_schedule(module, job->schedule, out);
    arena_free(cloner.arena);
  }
  return cloner.clones;
}

/* ---- sharing equal computations again ---- */

typedef struct Comparison {
  const Module *module;
  const Schedule *schedule;
  SchedPos *positions; /* by InstId */
} Comparison;

static bool have_same_places(const Comparison *comparison, const InstId *a, const InstId *b,
                             uint32_t len) {
  for (uint32_t i = 0; i < len; i++) {
    if (comparison->positions[a[i]] != comparison->positions[b[i]]) return false;
  }
  return true;
}

/* A fusion owns the computation that it calls. Two such computations are equal if they have the
 * same origin and the same number of instructions. */
static bool have_same_callees(const Module *module, InstId a, InstId b) {
  bool is_owner = inst_get(module, a)->opcode == OPCODE_FUSION;
  for (uint32_t i = 0; i < inst_get(module, a)->num_callees; i++) {
    CompId of_a = inst_callees(module, a)[i], of_b = inst_callees(module, b)[i];
    bool is_alike = is_owner && comp_get(module, of_a)->origin == comp_get(module, of_b)->origin &&
                    comp_num_insts(module, of_a) == comp_num_insts(module, of_b);
    if (of_a != of_b && !is_alike) return false;
  }
  return true;
}

static bool is_same_inst(const Comparison *comparison, InstId a, InstId b) {
  const Module *module = comparison->module;
  const Instruction *x = inst_get(module, a), *y = inst_get(module, b);
  IdList before_a = inst_control(module, a)->predecessors;
  IdList before_b = inst_control(module, b)->predecessors;
  return x->opcode == y->opcode && x->shape == y->shape && x->origin == y->origin &&
         x->index == y->index && x->num_operands == y->num_operands &&
         x->num_callees == y->num_callees && inst_is_root(module, a) == inst_is_root(module, b) &&
         before_a.len == before_b.len &&
         have_same_places(comparison, module->ids.data + x->operands,
                          module->ids.data + y->operands, x->num_operands) &&
         have_same_places(comparison, id_list(module, before_a), id_list(module, before_b),
                          before_a.len) &&
         have_same_callees(module, a, b);
}

/* Operands and control predecessors come before the instructions that have them, so their positions
 * have been set by this comparison. */
static bool is_same_comp(const Comparison *comparison, CompId a, CompId b) {
  Sequence of_a = comparison->schedule->of[a], of_b = comparison->schedule->of[b];
  if (of_a.len != of_b.len) return false;
  for (SchedPos pos = 0; pos < of_a.len; pos++) {
    comparison->positions[of_a.ids[pos]] = comparison->positions[of_b.ids[pos]] = pos;
    if (!is_same_inst(comparison, of_a.ids[pos], of_b.ids[pos])) return false;
  }
  return true;
}

/* The original, or an earlier clone, that equals this clone; NO_ID if there is none. */
static CompId find_same(const Comparison *comparison, const CalleeClones *clones, uint32_t index) {
  CalleeClone late = clones->list.data[index];
  if (is_same_comp(comparison, late.original, late.clone)) return late.original;
  for (uint32_t i = 0; i < index; i++) {
    CalleeClone early = clones->list.data[i];
    if (early.original == late.original && is_same_comp(comparison, early.clone, late.clone))
      return early.clone;
  }
  return NO_ID;
}

bool callee_clone_undo(const CalleeClone *clone, RematJob *job, Arena *scratch) {
  const Module *module = job->rewrite->module;
  if (clone->same == NO_ID) return false;
  for (InstId id = 0; id < module->insts.len; id++) {
    bool is_caller = !(inst_get(module, id)->flags & INST_DEAD) && inst_runs_callees(module, id);
    if (is_caller) set_callee(job, id, clone->clone, clone->same, scratch);
  }
  return true;
}

void share_callees(RematJob *job, CalleeClones *clones, Arena *out, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  Module *module = job->rewrite->module;
  Comparison comparison = {.module = module,
                           .schedule = job->schedule,
                           .positions = arena_zarray(scratch, SchedPos, module->insts.len)};
  bool has_changed = false;
  for (uint32_t i = clones->list.len; i-- > 0;) { /* callees were cloned after their callers */
    clones->list.data[i].same = find_same(&comparison, clones, i);
    has_changed |= callee_clone_undo(&clones->list.data[i], job, scratch);
  }
  arena_reset(scratch, mark);
  if (!has_changed) return;
  dce_run(job->rewrite, scratch);
  dce_update_schedule(module, job->schedule, out);
}
