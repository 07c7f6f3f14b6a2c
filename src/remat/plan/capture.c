#include "remat/plan/capture.h"

#include "ir/sort.h"
#include "remat/plan/fields.h"
#include "remat/rewrite/same_value.h"

typedef struct Capture {
  const CaptureSource *source;
  const Rewrite *rewrite;
  const Module *before, *after;
  uint32_t num_old;
  uint32_t *step_of; /* by InstId of the module after: the step that makes it, NO_ID = none */
  Plan *plan;
  Arena *out, *scratch;
} Capture;

/* ---- instructions of the module before ---- */

/* Follows a clone or copy back to the instruction whose value it holds. This is an instruction of
 * the module before, or else a helper. */
static InstId base_of(const Capture *capture, InstId id) {
  for (InstId original; (original = rewrite_value_source(capture->rewrite, id)) != NO_ID;)
    id = original;
  return id;
}

/* Results and operands of a fusion are removed in its own copy of the called computation. Returns
 * the instruction of the module before that an instruction of such a copy was copied from. */
static InstId inner_of(const Capture *capture, InstId id) {
  return rewrite_inner_original(capture->rewrite, id, capture->num_old);
}

/* Returns the index that result `index` of a fusion had before other results were removed. */
static uint32_t old_result(const Capture *capture, InstId id, uint32_t index) {
  const Module *before = capture->before, *after = capture->after;
  InstId base = base_of(capture, id);
  bool is_fusion = base < capture->num_old && inst_get(after, id)->opcode == OPCODE_FUSION;
  if (!is_fusion || inst_get(after, id)->shape == inst_get(before, base)->shape) return index;
  InstId old_root = comp_get(before, inst_callees(before, base)[0])->root;
  InstId root = comp_get(after, inst_callees(after, id)[0])->root;
  uint32_t next = 0;
  for (uint32_t i = 0;; i++, next++) {
    bool is_tuple = shape_is_tuple(inst_shape(after, id));
    InstId result = inner_of(capture, is_tuple ? inst_operand(after, root, i) : root);
    while (inst_operand(before, old_root, next) != result)
      next++;
    if (i == index) return next;
  }
}

/* Returns the index that operand `index` of a fusion had before other operands were removed. As
 * long as there are operands without parameters, none has been removed. */
static uint32_t old_operand(const Capture *capture, InstId id, uint32_t index) {
  if (inst_get(capture->after, id)->opcode != OPCODE_FUSION) return index;
  IdList params = comp_get(capture->after, inst_callees(capture->after, id)[0])->params;
  if (index >= params.len) return index;
  InstId param = inner_of(capture, id_list(capture->after, params)[index]);
  return (uint32_t)inst_get(capture->before, param)->index;
}

/* Whether an instruction is a fusion of which only one result is left. */
static bool has_become_element(const Capture *capture, InstId id) {
  InstId base = base_of(capture, id);
  return base < capture->num_old && inst_get(capture->after, id)->opcode == OPCODE_FUSION &&
         shape_is_tuple(inst_shape(capture->before, base)) &&
         !shape_is_tuple(inst_shape(capture->after, id));
}

/* Returns the get-tuple-element that took the result of the module before which is the only one
 * left of a fusion; several elements of the tuple may have been this result. */
static InstId element_before(const Capture *capture, InstId fusion) {
  const Module *before = capture->before;
  InstId base = base_of(capture, fusion);
  InstId root = comp_get(before, inst_callees(before, base)[0])->root;
  InstId result = inst_operand(before, root, old_result(capture, fusion, 0));
  for (uint32_t i = 0; i < inst_get(before, base)->users.len; i++) {
    InstId user = inst_users(before, base)[i];
    const Instruction *inst = inst_get(before, user);
    bool is_element = inst->opcode == OPCODE_GET_TUPLE_ELEMENT;
    if (is_element && inst_operand(before, root, (uint32_t)inst->index) == result) return user;
  }
  return base;
}

/* Returns the id by which a plan refers to the value of an instruction. */
static uint32_t value_of(const Capture *capture, InstId id) {
  if (!has_become_element(capture, id)) return id;
  if (id >= capture->num_old) return PLAN_OF_STEP | (capture->step_of[id] + 1);
  return element_before(capture, id);
}

/* Returns the instruction of the module before whose value the instruction of a step holds, or else
 * a helper. A copy of a fusion with one result left holds an element of the module before. */
static InstId held_by(const Capture *capture, InstId id) {
  bool is_copy = rewrite_original(capture->rewrite, id) == NO_ID;
  InstId source = rewrite_value_source(capture->rewrite, id);
  if (is_copy && source != NO_ID && has_become_element(capture, source))
    return element_before(capture, source);
  return base_of(capture, id);
}

/* ---- steps ---- */

static PlanRef ref_to(uint32_t id) {
  return (PlanRef){.offset = NO_OFFSET, .id = id};
}

/* Returns the action of an instruction that copies a value of the module before. */
static PlanAction copy_action_of(const Capture *capture, InstId id, InstId base) {
  const Instruction *inst = inst_get(capture->after, id);
  bool is_back = inst->shape == inst_get(capture->before, base)->shape;
  const Shape *shape = inst_shape(capture->after, id);
  switch (inst->opcode) {
    case OPCODE_COPY_START: {
      const Shape *to = shape_get(&capture->after->shapes, shape->elements[0]);
      return shape_is_on_host(to) ? PLAN_LEAVE : PLAN_ENTER;
    }
    case OPCODE_COPY_DONE: return is_back ? PLAN_BACK : PLAN_LEFT;
    case OPCODE_CONVERT: return is_back ? PLAN_WIDEN : PLAN_NARROW;
    default: return is_back ? PLAN_UNCOMPRESS : PLAN_COMPRESS;
  }
}

static PlanAction action_of(const Capture *capture, InstId id, InstId base, bool *is_replaced) {
  const Module *after = capture->after;
  if (base >= capture->num_old) {
    return inst_get(after, id)->opcode == OPCODE_BITCAST ? PLAN_BITCAST : PLAN_ELEMENT;
  }
  if (rewrite_original(capture->rewrite, id) == NO_ID) {
    return copy_action_of(capture, id, base);
  }
  if (!(inst_get(after, base)->flags & INST_DEAD) || is_replaced[base]) return PLAN_RECOMPUTE;
  is_replaced[base] = true;
  return PLAN_MOVE;
}

/* Finds an instruction of the module before that has the shape of a bitcast. */
static InstId like(const Capture *capture, InstId bitcast) {
  Sequence sequence =
      capture->source->before_schedule->of[inst_get(capture->after, bitcast)->parent];
  ShapeId shape = inst_get(capture->after, bitcast)->shape;
  for (uint32_t i = 0; i < sequence.len; i++) {
    if (inst_get(capture->before, sequence.ids[i])->shape == shape) return sequence.ids[i];
  }
  return NO_ID;
}

/* Sets the operand of a step that does not make a clone. */
static void add_operand(const Capture *capture, PlanStep *step) {
  const Module *after = capture->after;
  InstId id = step->made.id;
  if (inst_get(after, id)->num_operands == 0) return; /* no plan has such a step */
  InstId operand = inst_operand(after, id, 0);
  step->operand = ref_to(value_of(capture, operand));
  if (step->action == PLAN_BITCAST) step->instruction = ref_to(like(capture, id));
  if (step->action == PLAN_ELEMENT)
    step->index = old_result(capture, operand, (uint32_t)inst_get(after, id)->index);
}

static PlanStep *add_step(Capture *capture, CompId comp, PlanAction action) {
  PlanStep *step = vec_push(capture->out, &capture->plan->steps);
  *step = plan_empty_step;
  step->action = action;
  step->computation = ref_to(comp);
  return step;
}

/* Adds a step for a new instruction; the steps are in the order in which their instructions run. If
 * only one result of a fusion is left, a step that takes this element is added after it. */
static void add_made(Capture *capture, InstId id, InstId before, bool *is_replaced) {
  const Module *after = capture->after;
  CompId comp = inst_get(after, id)->parent;
  InstId base = held_by(capture, id);
  IdList control = inst_control(after, id)->predecessors;
  PlanStep *step = add_step(capture, comp, action_of(capture, id, base, is_replaced));
  capture->step_of[id] = capture->plan->steps.len - 1;
  step->number = id;
  step->instruction = ref_to(base < capture->num_old ? base : NO_ID);
  step->made = ref_to(id);
  step->before = ref_to(before);
  if (inst_get(after, id)->flags & INST_HAS_CHANNEL) step->channel = inst_get(after, id)->index;
  for (uint32_t i = 0; i < control.len; i++) {
    InstId predecessor = id_list(after, control)[i];
    *vec_push(capture->out, &step->control.list) = ref_to(value_of(capture, predecessor));
  }
  if (!plan_is_clone(step->action)) add_operand(capture, step);
  if (!has_become_element(capture, id)) return;
  step = add_step(capture, comp, PLAN_ELEMENT);
  step->number = id;
  step->operand = ref_to(id);
  step->made = ref_to(value_of(capture, id));
  step->before = ref_to(before);
  step->index = old_result(capture, id, 0);
}

static void add_steps(Capture *capture) {
  const Schedule *schedule = capture->source->schedule;
  bool *is_replaced = arena_zarray(capture->scratch, bool, capture->num_old);
  for (CompId comp = 0; comp < capture->source->before_schedule->num_comps; comp++) {
    if (capture->source->before_schedule->of[comp].len == 0) continue;
    Sequence sequence = schedule->of[comp];
    InstId *next_old = arena_array(capture->scratch, InstId, (size_t)sequence.len + 1);
    next_old[sequence.len] = NO_ID;
    for (uint32_t i = sequence.len; i-- > 0;)
      next_old[i] = sequence.ids[i] < capture->num_old ? sequence.ids[i] : next_old[i + 1];
    for (uint32_t i = 0; i < sequence.len; i++) {
      if (sequence.ids[i] >= capture->num_old)
        add_made(capture, sequence.ids[i], next_old[i], is_replaced);
    }
  }
}

/* Numbers the steps from 1 on, in the order in which the instructions were made. */
static void number_steps(Capture *capture) {
  uint32_t num_insts = capture->after->insts.len;
  int64_t *numbers = arena_zarray(capture->scratch, int64_t, num_insts);
  for (uint32_t i = 0; i < capture->plan->steps.len; i++)
    numbers[capture->plan->steps.data[i].number] = 1;
  for (InstId id = 1; id < num_insts; id++)
    numbers[id] += numbers[id - 1];
  for (uint32_t i = 0; i < capture->plan->steps.len; i++) {
    PlanStep *step = &capture->plan->steps.data[i];
    step->number = numbers[step->number];
  }
}

/* ---- users ---- */

/* Adds `user` to a step, with the positions at which it reads the step's instruction, as they were
 * in the module before. The positions are omitted if these are all operands that have the value. */
static void add_user(Capture *capture, PlanStep *step, InstId id, InstId user) {
  const Module *before = capture->before;
  PlanUser entry = {.ref = ref_to(user)};
  for (uint32_t k = 0; k < inst_get(capture->after, user)->num_operands; k++) {
    if (inst_operand(capture->after, user, k) != id) continue;
    *vec_push(capture->out, &entry.operands) = old_operand(capture, user, k);
  }
  InstId base = base_of(capture, user), value = inst_operand(before, base, entry.operands.data[0]);
  uint32_t num_same = 0;
  for (uint32_t k = 0; k < inst_get(before, base)->num_operands; k++)
    num_same += same_value_is(before, NULL, inst_operand(before, base, k), value, capture->scratch);
  if (num_same == entry.operands.len) entry.operands.len = 0;
  *vec_push(capture->out, &step->users) = entry;
  /* A fusion can have the same result twice: the operand in the module before shows which element
   * it was. */
  if (step->action != PLAN_ELEMENT) return;
  InstId tuple = base_of(capture, step->operand.id);
  int64_t element = same_value_element(before, value, tuple, capture->scratch);
  if (element >= 0) step->index = element;
}

static bool makes_no_clone(const Capture *capture, InstId id) {
  return id >= capture->num_old &&
         !plan_is_clone(capture->plan->steps.data[capture->step_of[id]].action);
}

/* If a fusion of which only one result is left is the root, the element that was the root before
 * reads it, and is removed when the plan is applied, as it was here. */
static void add_root(Capture *capture, PlanStep *step, InstId id) {
  InstId root = comp_get(capture->before, inst_get(capture->after, id)->parent)->root;
  if (inst_is_root(capture->after, id))
    *vec_push(capture->out, &step->users) = (PlanUser){.ref = ref_to(root)};
}

static void add_users(Capture *capture) {
  for (uint32_t i = 0; i < capture->plan->steps.len; i++) {
    PlanStep *step = &capture->plan->steps.data[i];
    bool is_of_step = step->made.id & PLAN_OF_STEP;
    InstId id = is_of_step ? step->operand.id : step->made.id;
    if (!is_of_step && has_become_element(capture, id)) {
      add_root(capture, step, id);
      continue; /* the next step has its users */
    }
    ArenaMark mark = arena_mark(capture->scratch);
    uint32_t len = inst_get(capture->after, id)->users.len;
    SortItem *users = arena_array(capture->scratch, SortItem, len);
    for (uint32_t k = 0; k < len; k++)
      users[k].key = users[k].id = inst_users(capture->after, id)[k];
    sort_by_key(users, len, capture->scratch);
    for (uint32_t k = 0; k < len; k++) {
      if (!makes_no_clone(capture, users[k].id)) add_user(capture, step, id, users[k].id);
    }
    arena_reset(capture->scratch, mark);
  }
}

/* Whether an instruction of the module before is an element of a fusion of which only this result
 * is left. A fusion can have the same result twice, and another element of it is gone for good. */
static bool is_left_of(const Capture *capture, InstId id, InstId fusion) {
  const Module *before = capture->before;
  if (!has_become_element(capture, fusion)) return false;
  bool is_element = inst_get(before, id)->opcode == OPCODE_GET_TUPLE_ELEMENT &&
                    inst_operand(before, id, 0) == fusion;
  InstId left = element_before(capture, fusion);
  return is_element && inst_get(before, id)->index == inst_get(before, left)->index;
}

/* Whether operand `index` of an instruction is another instruction of the module before than it was
 * there, and that is all that has changed. */
static bool reads_other_old(const Capture *capture, InstId id, uint32_t index) {
  InstId operand = inst_operand(capture->after, id, index), base = base_of(capture, id);
  if (operand >= capture->num_old || base >= capture->num_old) return false;
  if (makes_no_clone(capture, id)) return false;
  /* The tuple of a fusion's results is shorter where some of them are gone. */
  bool is_shorter =
      inst_get(capture->after, id)->num_operands != inst_get(capture->before, base)->num_operands;
  if (is_shorter && inst_get(capture->after, id)->opcode != OPCODE_FUSION) return false;
  InstId was = inst_operand(capture->before, base, old_operand(capture, id, index));
  return was != operand && !is_left_of(capture, was, operand);
}

/* Adds a step for each instruction of the module before that others read now although they read an
 * element of a tuple around it before, or another element that is the same result of a fusion. */
static void add_reads(Capture *capture) {
  const Schedule *schedule = capture->source->schedule;
  uint32_t *step_for = arena_array(capture->scratch, uint32_t, capture->num_old);
  memset(step_for, 0xff, capture->num_old * sizeof *step_for);
  for (CompId comp = 0; comp < capture->source->before_schedule->num_comps; comp++) {
    if (capture->source->before_schedule->of[comp].len == 0) continue;
    for (SchedPos pos = 0; pos < schedule->of[comp].len; pos++) {
      InstId user = schedule->of[comp].ids[pos], last = NO_ID;
      for (uint32_t k = 0; k < inst_get(capture->after, user)->num_operands; k++) {
        InstId operand = inst_operand(capture->after, user, k);
        if (operand == last || !reads_other_old(capture, user, k)) continue;
        last = operand;
        if (step_for[operand] == NO_ID) {
          step_for[operand] = capture->plan->steps.len;
          add_step(capture, comp, PLAN_READ)->instruction = ref_to(value_of(capture, operand));
        }
        PlanStep *step = &capture->plan->steps.data[step_for[operand]];
        uint32_t num_users = step->users.len;
        bool is_known = num_users && step->users.data[num_users - 1].ref.id == user;
        if (!is_known) add_user(capture, step, operand, user);
      }
    }
  }
}

/* ---- changes of the instructions of the module before ---- */

static bool is_gone(const Capture *capture, InstId id) {
  return (inst_get(capture->after, id)->flags & INST_DEAD) != 0;
}

/* If `id` is an element of a fusion of which only one result is left (remat/rewrite/dce.h), returns
 * the fusion: instructions that had to run after the element must now run after the fusion. Returns
 * NO_ID for any other instruction. */
static InstId left_fusion(const Capture *capture, InstId id) {
  if (inst_get(capture->before, id)->opcode != OPCODE_GET_TUPLE_ELEMENT) return NO_ID;
  InstId fusion = inst_operand(capture->before, id, 0);
  return !is_gone(capture, fusion) && is_left_of(capture, id, fusion) ? fusion : NO_ID;
}

/* Returns the control predecessor of `id` in the module before that corresponds to `predecessor` in
 * the module after, NO_ID = none. */
static InstId control_before(const Capture *capture, InstId id, InstId predecessor) {
  IdList old = inst_control(capture->before, id)->predecessors;
  for (uint32_t i = 0; i < old.len; i++) {
    InstId was = id_list(capture->before, old)[i];
    if ((is_gone(capture, was) ? left_fusion(capture, was) : was) == predecessor) return was;
  }
  return NO_ID;
}

static void compare_control(Capture *capture, InstId id) {
  IdList control = inst_control(capture->after, id)->predecessors;
  const InstId *is = id_list(capture->after, control);
  bool is_same = control.len == inst_control(capture->before, id)->predecessors.len;
  for (uint32_t i = 0; i < control.len; i++)
    is_same &= control_before(capture, id, is[i]) != NO_ID;
  if (is_same) return;
  PlanControl *entry = vec_push(capture->out, &capture->plan->control);
  *entry = (PlanControl){.computation = ref_to(inst_get(capture->before, id)->parent),
                         .instruction = ref_to(id)};
  for (uint32_t i = 0; i < control.len; i++) {
    InstId was = control_before(capture, id, is[i]);
    *vec_push(capture->out, &entry->predecessors.list) =
        ref_to(was == NO_ID ? value_of(capture, is[i]) : was);
  }
}

static void compare_order(Capture *capture, CompId comp) {
  Sequence old = capture->source->before_schedule->of[comp],
           new = capture->source->schedule->of[comp];
  PlanOrder order = {.computation = ref_to(comp)};
  uint32_t next = 0;
  bool is_same = true;
  for (uint32_t i = 0; i < new.len; i++) {
    if (new.ids[i] >= capture->num_old) continue;
    *vec_push(capture->out, &order.instructions.list) = ref_to(new.ids[i]);
    while (next < old.len && is_gone(capture, old.ids[next]))
      next++;
    is_same &= next < old.len && old.ids[next++] == new.ids[i];
  }
  if (!is_same) *vec_push(capture->out, &capture->plan->orders) = order;
}

static void compare(Capture *capture) {
  for (CompId comp = 0; comp < capture->source->before_schedule->num_comps; comp++) {
    Sequence old = capture->source->before_schedule->of[comp];
    if (old.len == 0 || comp_get(capture->after, comp)->flags & COMP_DEAD) continue;
    for (uint32_t i = 0; i < old.len; i++) {
      if (!is_gone(capture, old.ids[i])) compare_control(capture, old.ids[i]);
    }
    compare_order(capture, comp);
  }
}

/* ---- copies of called computations ---- */

static void add_clones(Capture *capture) {
  const CalleeClones *clones = capture->source->clones;
  for (uint32_t i = 0; i < clones->list.len; i++) {
    const CalleeClone *clone = &clones->list.data[i];
    PlanClone *entry = vec_push(capture->out, &capture->plan->clones);
    *entry = (PlanClone){.computation = ref_to(clone->from),
                         .made = ref_to(clone->clone),
                         .same_as = ref_to(clone->same)};
    for (uint32_t k = 0; k < clone->callers.len; k++) {
      InstId id = clone->callers.data[k];
      CompId comp = inst_get(capture->before, id)->parent;
      *vec_push(capture->out, &entry->callers) = (PlanCaller){ref_to(comp), ref_to(id)};
    }
  }
}

/* ---- the plan ---- */

void plan_capture(Plan *plan, const CaptureSource *source, Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  uint32_t num_insts = source->rewrite->module->insts.len;
  Capture capture = {.source = source,
                     .rewrite = source->rewrite,
                     .before = source->before,
                     .after = source->rewrite->module,
                     .num_old = source->before->insts.len,
                     .step_of = arena_array(arena, uint32_t, num_insts),
                     .plan = plan,
                     .out = out,
                     .scratch = arena};
  memset(capture.step_of, 0xff, num_insts * sizeof(uint32_t));
  plan->fingerprint = plan_fingerprint(source->before);
  plan->module = source->before->source->header.name;
  plan->target = source->before->backend.target->name;
  for (InstId id = 0; id < capture.num_old; id++) {
    bool was_dead = inst_get(capture.before, id)->flags & INST_DEAD;
    plan->drops_dead_code |= !was_dead && is_gone(&capture, id);
  }
  add_clones(&capture);
  add_steps(&capture);
  number_steps(&capture);
  add_users(&capture);
  add_reads(&capture);
  compare(&capture);
  plan_explain(plan, source, scratch);
  arena_free(arena);
}
