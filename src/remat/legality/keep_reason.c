#include "remat/legality/keep_reason.h"

#include "analysis/cost/cost.h"
#include "analysis/flow/points_to.h"
#include "analysis/loop/stack.h"
#include "analysis/memory/call_memory.h"
#include "analysis/memory/tracker.h"

/* The computations that run at the peak, and the instruction of each that runs then: the
 * instruction at the peak itself, or the caller that leads to it. */
typedef struct PeakPlaces {
  SchedPos *positions; /* by InstId */
  InstId *at_peak;     /* by CompId; NO_ID = the computation does not run at the peak */
} PeakPlaces;

static PeakPlaces find_places(const Module *module, const Schedule *schedule,
                              const MemoryProfile *profile, Arena *out, Arena *scratch) {
  PeakPlaces places = {.positions = arena_zarray(out, SchedPos, module->insts.len),
                       .at_peak = arena_array(out, InstId, module->comps.len)};
  memset(places.at_peak, 0xff, module->comps.len * sizeof *places.at_peak);
  for (CompId comp = 0; comp < schedule->num_comps; comp++) {
    for (SchedPos pos = 0; pos < schedule->of[comp].len; pos++) {
      places.positions[schedule->of[comp].ids[pos]] = pos;
    }
  }
  Arena *arena = arena_new(arena_options(scratch));
  CallMemory memory = call_memory_of(profile, module, schedule, arena, scratch);
  CallChain chain = call_memory_chain(&memory, module, profile->peak_inst, arena);
  for (uint32_t i = 0; i < chain.len; i++) {
    places.at_peak[inst_get(module, chain.ids[i])->parent] = chain.ids[i];
  }
  arena_free(arena);
  return places;
}

static bool is_result(const Module *module, const PointsTo *points_to, LogicalId id) {
  InstId definer = points_to->buffers.data[id].inst;
  InstId root = comp_get(module, inst_get(module, definer)->parent)->root;
  for (uint32_t i = points_to->first_alias[id]; i < points_to->first_alias[id + 1]; i++) {
    if (points_to->aliases[i].inst == root) return true;
  }
  return false;
}

/* The reason why users of `alias` cannot be redirected to a clone of `definer`; KEEP_NONE if they
 * can. */
static KeepReason reason_by_alias(const Module *module, InstId definer, InstId alias) {
  if (alias_is_pass_through(module, definer, alias)) return KEEP_NONE;
  bool is_bound = opcode_has((Opcode)inst_get(module, alias)->opcode, OPF_PASS_THROUGH) &&
                  inst_has_control(module, alias);
  return is_bound ? KEEP_CONTROL_DEPENDENCY : KEEP_INDIRECT_USE;
}

static ValueUses find_uses(const Module *module, const PointsTo *points_to,
                           const PeakPlaces *places, LogicalId id) {
  InstId definer = points_to->buffers.data[id].inst;
  InstId peak = places->at_peak[inst_get(module, definer)->parent];
  ValueUses uses = {.is_result = is_result(module, points_to, id),
                    .is_nested = points_to->buffers.data[id].depth > 1};
  for (uint32_t i = points_to->first_alias[id]; i < points_to->first_alias[id + 1]; i++) {
    BufferAlias alias = points_to->aliases[i];
    for (uint32_t k = 0; k < inst_get(module, alias.inst)->users.len; k++) {
      InstId user = inst_users(module, alias.inst)[k];
      if (points_to_is_unused_by(module, points_to, alias.inst, alias.part, user)) continue;
      uses.is_in_use |= user == peak;
      /* A loop that has run works in this memory, and its result is there. */
      bool is_later = places->positions[user] > places->positions[peak];
      bool is_carried = inst_get(module, user)->opcode == OPCODE_WHILE && user != peak;
      if (is_carried) uses.by_alias = KEEP_INDIRECT_USE;
      uses.is_read_later |= is_later || is_carried;
      if (uses.by_alias == KEEP_NONE) uses.by_alias = reason_by_alias(module, definer, alias.inst);
    }
  }
  return uses;
}

/* The reason that follows from how the value is used. */
static KeepReason reason_by_uses(const Module *module, const PointsTo *points_to,
                                 const PeakPlaces *places, LogicalId id) {
  InstId definer = points_to->buffers.data[id].inst;
  InstId peak = places->at_peak[inst_get(module, definer)->parent];
  if (peak == NO_ID || definer == peak) return KEEP_IN_USE;
  ValueUses uses = find_uses(module, points_to, places, id);
  return uses_verdict(&uses);
}

/* The elements of loops' states that are stacks which other loops read slice by slice. */
typedef struct SavedStacks {
  Loops loops;
  bool **is_saved; /* by loop and element; NULL = no loop has any */
} SavedStacks;

static SavedStacks find_saved(const Module *module, Arena *out, Arena *scratch) {
  CallGraph *graph = arena_alloc(out, sizeof *graph);
  *graph = call_graph_build(module, out, scratch);
  SavedStacks saved = {.loops = loops_find(module, graph, out, scratch)};
  if (saved.loops.len < 2) return saved;
  Stacks stacks = stacks_find(&saved.loops, out, scratch);
  saved.is_saved = arena_array(out, bool *, saved.loops.len);
  for (uint32_t i = 0; i < saved.loops.len; i++)
    saved.is_saved[i] = arena_zarray(out, bool, saved.loops.list[i].num_elements);
  for (uint32_t i = 0; i < stacks.list.len; i++) {
    const Stack *stack = &stacks.list.data[i];
    saved.is_saved[stack->loop][stack->element] = stack->reads.len > 0;
  }
  return saved;
}

/* Whether the value is such a stack, or what one begins as. */
static bool is_saved(const Module *module, const SavedStacks *saved, const LiveBuffer *buffer) {
  if (!saved->is_saved) return false;
  uint32_t loop = saved->loops.of[buffer->inst];
  if (loop != NO_ID && buffer->part > 0) {
    const Shape *state = inst_shape(module, buffer->inst);
    return saved->is_saved[loop][shape_element_of_part(state, buffer->part)];
  }
  for (uint32_t i = 0; i < inst_get(module, buffer->inst)->users.len; i++) {
    InstId tuple = inst_users(module, buffer->inst)[i];
    if (inst_get(module, tuple)->opcode != OPCODE_TUPLE) continue;
    for (uint32_t k = 0; k < inst_get(module, tuple)->users.len; k++) {
      loop = saved->loops.of[inst_users(module, tuple)[k]];
      for (uint32_t e = 0; loop != NO_ID && e < inst_get(module, tuple)->num_operands; e++) {
        if (inst_operand(module, tuple, e) == buffer->inst && saved->is_saved[loop][e]) return true;
      }
    }
  }
  return false;
}

/* ---- the reasons for one value ---- */

static void add_reason(KeepReasons *reasons, KeepReason reason) {
  if (reasons->len < MAX_KEEP_REASONS) reasons->list[reasons->len++] = reason;
}

typedef struct Explainer {
  const Module *module;
  const Legality *legality;
  Legality open; /* the same with every option that allows more */
  PointsTo points_to;
  SavedStacks saved;
  PeakPlaces places;
  bool *is_live; /* by LogicalId: at the peak */
  bool repeats_loops;
  Arena *scratch;
} Explainer;

/* Why a loop does not run again. What holds for all algorithms comes first. */
static KeepReason reason_of_loop(const Explainer *explainer, InstId id) {
  const Module *module = explainer->module;
  Legality asked = explainer->open;
  asked.allow_collectives = explainer->legality->allow_collectives;
  KeepReason reason = repeat_verdict(&asked, id, explainer->scratch);
  if (reason != KEEP_NONE) return reason;
  if (inst_has_control(module, id)) return KEEP_CONTROL_DEPENDENCY;
  if (while_trip_count(module, id) < 0) return KEEP_LOOP_TRIPS;
  return explainer->repeats_loops ? KEEP_LOOP_TRIED : KEEP_LOOP;
}

/* Why the instruction is not computed twice, whatever the options allow. */
static KeepReason reason_of_inst(const Explainer *explainer, InstId id) {
  const Module *module = explainer->module;
  KeepReason reason = recompute_verdict(&explainer->open, id);
  bool is_inner = inst_get(module, id)->parent != module->entry;
  if (reason == KEEP_PARAMETER) return is_inner ? KEEP_ARGUMENT : KEEP_PARAMETER;
  bool is_loop = inst_get(module, id)->opcode == OPCODE_WHILE;
  return reason == KEEP_CONTROL_FLOW && is_loop ? reason_of_loop(explainer, id) : reason;
}

/* The reason that holds with any options. */
static KeepReason firm_reason(const Explainer *explainer, const LiveBuffer *buffer) {
  const Module *module = explainer->module;
  KeepReason reason = reason_of_inst(explainer, buffer->inst);
  if (reason == KEEP_NONE) {
    LogicalId id = points_to_part(&explainer->points_to, buffer->inst, buffer->part);
    reason = reason_by_uses(module, &explainer->points_to, &explainer->places, id);
  }
  if (reason == KEEP_NONE && inst_has_control(module, buffer->inst)) return KEEP_CONTROL_DEPENDENCY;
  bool is_loop = inst_get(module, buffer->inst)->opcode == OPCODE_WHILE;
  bool is_indirect = is_loop || reason == KEEP_CONTROL_FLOW || reason == KEEP_INDIRECT_USE;
  return is_indirect && is_saved(module, &explainer->saved, buffer) ? KEEP_STACK : reason;
}

static bool is_small(const Explainer *explainer, InstId id) {
  Legality legality = explainer->open;
  legality.small_node_bytes = explainer->legality->small_node_bytes;
  return recompute_verdict(&legality, id) == KEEP_SMALL;
}

static void add_options(const Explainer *explainer, const LiveBuffer *buffer,
                        KeepReasons *reasons) {
  Legality legality = explainer->open;
  legality.allow_collectives = explainer->legality->allow_collectives;
  KeepReason reason = recompute_verdict(&legality, buffer->inst);
  if (reason != KEEP_NONE) add_reason(reasons, reason);
  if (is_small(explainer, buffer->inst)) {
    add_reason(reasons, buffer->part ? KEEP_SMALL_TUPLE : KEEP_SMALL);
  }
  legality = explainer->open;
  legality.steering = explainer->legality->steering;
  reason = recompute_verdict(&legality, buffer->inst);
  if (reason != KEEP_NONE) add_reason(reasons, reason);
}

/* Adds why it would not help to recompute a value that may be recomputed. */
static void add_needs(const Explainer *explainer, const LiveBuffer *buffer, KeepReasons *reasons) {
  const Module *module = explainer->module;
  const PointsTo *points_to = &explainer->points_to;
  int64_t needed_bytes = 0, small_bytes = 0;
  for (uint32_t i = 0; i < inst_get(module, buffer->inst)->num_operands; i++) {
    InstId operand = inst_operand(module, buffer->inst, i);
    LogicalId id = points_to_part(points_to, operand, 0);
    const LogicalBuffer *read = &points_to->buffers.data[id];
    KeepReason reason = recompute_verdict(explainer->legality, read->inst);
    bool is_given = reason == KEEP_PARAMETER || reason == KEEP_CONSTANT;
    if (explainer->is_live[id] || is_given || reason == KEEP_NONE) continue;
    needed_bytes += read->bytes;
    if (reason == KEEP_SMALL) small_bytes += read->bytes;
  }
  if (needed_bytes < buffer->bytes) return;
  add_reason(reasons, KEEP_OPERANDS_LARGER);
  if (needed_bytes - small_bytes < buffer->bytes) add_reason(reasons, KEEP_SMALL_OPERANDS);
}

static KeepReasons explain(const Explainer *explainer, const LiveBuffer *buffer) {
  KeepReasons reasons = {.len = 0};
  if (recompute_verdict(explainer->legality, buffer->inst) == KEEP_PINNED) {
    add_reason(&reasons, KEEP_PINNED);
    return reasons;
  }
  KeepReason firm = firm_reason(explainer, buffer);
  if (firm != KEEP_NONE) {
    add_reason(&reasons, firm);
    return reasons;
  }
  add_options(explainer, buffer, &reasons);
  if (reasons.len == 0) add_needs(explainer, buffer, &reasons);
  if (reasons.len == 0) add_reason(&reasons, KEEP_NONE);
  return reasons;
}

void find_keep_reasons(const Module *module, const Schedule *schedule, const KeepRules *rules,
                       const MemoryProfile *profile, const LiveSet *live, KeepReasons *reasons,
                       Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Explainer explainer = {.module = module,
                         .legality = rules->legality,
                         .open = *rules->legality,
                         .repeats_loops = rules->repeats_loops,
                         .scratch = scratch,
                         .points_to = points_to_build(module, arena, scratch),
                         .saved = find_saved(module, arena, scratch),
                         .places = find_places(module, schedule, profile, arena, scratch)};
  explainer.open.allow_collectives = true;
  explainer.open.small_node_bytes = 0;
  explainer.open.steering = NULL;
  explainer.is_live = arena_zarray(arena, bool, explainer.points_to.buffers.len);
  for (uint32_t i = 0; i < live->len; i++) {
    const LiveBuffer *buffer = &live->list[i];
    explainer.is_live[points_to_part(&explainer.points_to, buffer->inst, buffer->part)] = true;
  }
  for (uint32_t i = 0; i < live->len; i++)
    reasons[i] = explain(&explainer, &live->list[i]);
  arena_free(arena);
}
