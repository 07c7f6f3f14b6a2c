#include "remat/protect/protect.h"

#include "ir/infer/infer_shape.h"
#include "remat/protect/protect_internal.h"

rh_protect protect_resolve(rh_protect how, rh_emit emit) {
  if (how != RH_PROTECT_AUTO) return how;
  return emit == RH_EMIT_UNSCHEDULED ? RH_PROTECT_CONTROL_DEPS : RH_PROTECT_NONE;
}

/* Whether a clone should wait for the instruction. A free instruction may run at any time, so
 * waiting for it delays nothing. Clones and their helpers do not count either. */
static bool is_worth_waiting_for(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  return !opcode_has((Opcode)inst->opcode, OPF_FREE) && !(inst->flags & INST_REMAT);
}

bool is_fused_later(const Module *module) {
  return !module->source->header.is_scheduled && !module_has_fusions(module);
}

/* ---- control dependencies ---- */

static void add_control(Rewrite *rewrite, Sequence sequence) {
  Module *module = rewrite->module;
  InstId before = NO_ID;
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    if (rewrite_value_source(rewrite, id) != NO_ID && before != NO_ID) {
      module_add_control(module, before, id);
    } else if (is_worth_waiting_for(module, id)) {
      before = id;
    }
  }
}

/* ---- groups ---- */

/* The state for one computation. */
typedef struct Protector {
  Rewrite *rewrite;
  CloneGroups *groups;
  bool (*protect)(ProtectJob *job);
  /* the instruction that a clone without other protection waits for; NO_ID = none yet */
  InstId before;
  InstId tie;    /* ProtectJob.tie */
  IdVec order;   /* the new sequence */
  IdVec *images; /* see ProtectJob */
  Arena *scratch;
} Protector;

/* Appends an instruction that is in no group. The next instruction may overwrite the memory of an
 * earlier one, so the tie is always the last array, or none. */
static void pass_by(Protector *protector, InstId id) {
  const Module *module = protector->rewrite->module;
  const Instruction *inst = inst_get(module, id);
  *vec_push(protector->scratch, &protector->order) = id;
  bool is_array = shape_is_array(inst_shape(module, id));
  if (rewrite_value_source(protector->rewrite, id) != NO_ID) {
    if (protector->before != NO_ID)
      module_add_control(protector->rewrite->module, protector->before, id);
    protector->tie = NO_ID;
  } else if (is_worth_waiting_for(module, id)) {
    protector->before = id;
    protector->tie = is_array && clone_group_may_tie(module, id) ? id : NO_ID;
  } else if (inst->opcode == OPCODE_GET_TUPLE_ELEMENT && is_array &&
             inst_operand(module, id, 0) == protector->before && clone_group_may_tie(module, id)) {
    protector->tie = id;
  }
}

/* Appends a member of a group that cannot be protected otherwise, with a control dependency. */
static void keep_waiting(Protector *protector, InstId id) {
  Rewrite *rewrite = protector->rewrite;
  *vec_push(protector->scratch, &protector->order) = id;
  if (rewrite_value_source(rewrite, id) == NO_ID || protector->before == NO_ID) return;
  if (clone_group_is_cheap(protector->groups, id)) return;
  module_add_control(rewrite->module, protector->before, id);
}

static bool are_valid(const ProtectJob *job, const InstId *ids, uint32_t len) {
  Module *module = job->rewrite->module;
  for (uint32_t i = 0; i < len; i++) {
    ShapeId shape = inst_get(module, ids[i])->shape;
    if (!infer_shape_is_valid(module, shape, NULL, job->scratch)) return false;
  }
  return true;
}

/* Whether operands, results and the tie can be elements of tuples. */
static bool is_fit_for_tuples(const ProtectJob *job) {
  const CloneGroup *group = job->group;
  return are_valid(job, group->operands.data, group->operands.len) &&
         are_valid(job, group->members.data, group->members.len) &&
         (job->tie == NO_ID || are_valid(job, &job->tie, 1));
}

static SchedPos protect_group(Protector *protector, const CloneGroup *group) {
  ProtectJob job = {.rewrite = protector->rewrite,
                    .groups = protector->groups,
                    .group = group,
                    .tie = protector->tie,
                    .order = &protector->order,
                    .images = protector->images,
                    .scratch = protector->scratch};
  for (uint32_t i = 0; i < group->before.len; i++)
    protect_push(&job, group->before.data[i]);
  if (!is_fit_for_tuples(&job) || !protector->protect(&job)) {
    for (uint32_t i = 0; i < group->members.len; i++)
      keep_waiting(protector, group->members.data[i]);
  }
  for (uint32_t i = 0; i < group->after.len; i++)
    protect_push(&job, group->after.data[i]);
  protector->tie = NO_ID;
  return group->end;
}

static void protect_comp(Protector *protector, Sequence *sequence, Arena *out) {
  for (SchedPos pos = 0; pos < sequence->len;) {
    CloneGroup group;
    if (clone_group_at(protector->groups, *sequence, pos, &group)) {
      pos = protect_group(protector, &group);
    } else {
      pass_by(protector, sequence->ids[pos++]);
    }
  }
  *sequence = (Sequence){.ids = arena_array(out, InstId, protector->order.len),
                         .len = protector->order.len};
  if (sequence->len) {
    memcpy(sequence->ids, protector->order.data, sequence->len * sizeof *sequence->ids);
  }
}

void protect_clones(Rewrite *rewrite, Schedule *schedule, rh_protect how, Arena *out,
                    Arena *scratch) {
  if (how == RH_PROTECT_NONE) return;
  ArenaMark mark = arena_mark(scratch);
  IdVec images = {0};
  bool is_conditional = how == RH_PROTECT_CONDITIONAL;
  CloneGroups groups = {.rewrite = rewrite,
                        .is_fused_later = is_fused_later(rewrite->module),
                        .num_insts = rewrite->module->insts.len,
                        .arena = scratch};
  Arena *arena = arena_new(arena_options(scratch));
  if (is_conditional) groups.is_unfit = unfit_for_branches(rewrite, arena, scratch);
  for (CompId comp = 0; comp < schedule->num_comps; comp++) {
    if (schedule->of[comp].len == 0) continue;
    if (how == RH_PROTECT_CONTROL_DEPS) {
      add_control(rewrite, schedule->of[comp]);
      continue;
    }
    Protector protector = {
        .rewrite = rewrite,
        .groups = &groups,
        .protect = is_conditional ? protect_with_conditional : protect_with_barrier,
        .before = NO_ID,
        .tie = NO_ID,
        .images = &images,
        .scratch = scratch};
    protect_comp(&protector, &schedule->of[comp], out);
    module_sweep_comp(rewrite->module, comp);
  }
  arena_free(arena);
  arena_reset(scratch, mark);
}
