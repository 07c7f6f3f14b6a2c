#include "analysis/range/narrow.h"
#include "ir/infer/infer_shape.h"
#include "ir/sort.h"
#include "remat/plan/apply.h"

static void check_legal(Apply *apply, const PlanStep *step, InstId id) {
  KeepReason reason = repeat_verdict(apply->job->legality, id, apply->scratch);
  if (reason == KEEP_COPY && step->action == PLAN_RECOMPUTE)
    return; /* for a loop that runs again */
  if (plan_is_clone(step->action) ? reason == KEEP_NONE : compress_is_legal(reason)) return;
  plan_fail(apply, step->instruction.offset, "'%.*s' is left alone: %s",
            SHOWN(step->instruction.name), keep_reason_sentence(reason));
}

/* Gives a made instruction the name that the plan has for it. It has no users yet. */
static void name_made(Apply *apply, InstId id, PlanRef made) {
  Instruction *inst = inst_get(apply->module, id);
  Str name = made.name;
  if (name.len == 0 || (inst->flags & INST_COMPACT_GTE && is_written_compact(name))) return;
  if (is_written_compact(name))
    plan_fail(apply, made.offset, "only elements of tuples have a # in their names");
  inst->flags = (uint16_t)((inst->flags & ~(unsigned)INST_COMPACT_GTE) | INST_CHANGED);
  inst->name = arena_strndup(apply->module->arena, name.data, name.len);
  inst->name_len = name.len;
}

/* Makes a copy in another form, with the shape `compact`, or a copy back from it. */
static InstId make_copy(Apply *apply, const PlanStep *step, InstId original, InstId operand,
                        ShapeId compact, bool is_back) {
  ShapeId shape = inst_get(apply->module, original)->shape;
  bool fits = inst_get(apply->module, operand)->shape == (is_back ? compact : shape);
  if (compact != shape && fits) {
    return rewrite_add_copy(apply->rewrite, operand, is_back ? shape : compact, original,
                            is_back ? "remat_uncompressed" : "remat_compressed", apply->scratch);
  }
  if (step->action == PLAN_NARROW || step->action == PLAN_WIDEN) {
    return plan_fail(apply, step->instruction.offset,
                     "'%.*s' is not known to fit a type of fewer bits",
                     SHOWN(step->instruction.name));
  }
  return plan_fail(apply, step->instruction.offset,
                   "no other layout of '%.*s' takes fewer bytes on the target '%s'",
                   SHOWN(step->instruction.name), apply->module->backend.target->name);
}

static InstId make_compressed(Apply *apply, const PlanStep *step, InstId original, InstId operand) {
  Module *module = apply->module;
  ShapeId shape = inst_get(module, original)->shape;
  ShapeId compact = shape_is_array(inst_shape(module, original))
                        ? target_compact_shape(module->backend.target, &module->shapes, shape)
                        : shape;
  return make_copy(apply, step, original, operand, compact, step->action == PLAN_UNCOMPRESS);
}

static InstId make_narrow(Apply *apply, const PlanStep *step, InstId original, InstId operand) {
  if (!apply->narrow) apply->narrow = narrow_shapes(apply->module, apply->arena, apply->scratch);
  return make_copy(apply, step, original, operand, apply->narrow[original],
                   step->action == PLAN_WIDEN);
}

/* Makes one half of a copy to the host's memory or back. */
static InstId make_half_copy(Apply *apply, const PlanStep *step, InstId original, InstId operand) {
  Module *module = apply->module;
  ShapeId here = inst_get(module, original)->shape, is = inst_get(module, operand)->shape;
  bool is_array = shape_is_array(inst_shape(module, original)) &&
                  infer_shape_is_valid(module, here, NULL, apply->scratch);
  ShapeId there = is_array ? shape_in_memory_space(&module->shapes, here, HOST_MEMORY_SPACE) : here;
  bool is_start = step->action == PLAN_LEAVE || step->action == PLAN_ENTER;
  bool is_to_host = step->action == PLAN_LEAVE || step->action == PLAN_LEFT;
  ShapeId from = is_to_host ? here : there, to = is_to_host ? there : here;
  bool fits = is_start ? is == from
                       : inst_get(module, operand)->opcode == OPCODE_COPY_START &&
                             inst_shape(module, operand)->elements[0] == to;
  if (here == there || !fits) {
    return plan_fail(apply, step->operand.offset, "this is not what '%.*s' can be copied from",
                     SHOWN(step->instruction.name));
  }
  return is_start ? rewrite_add_copy_start(apply->rewrite, operand, to, original)
                  : rewrite_add_copy_done(apply->rewrite, operand, original);
}

static InstId make_bitcast(Apply *apply, const PlanStep *step, InstId like, InstId operand) {
  const Shape *shape = inst_shape(apply->module, operand),
              *wanted = inst_shape(apply->module, like);
  if (!shape_is_array(shape) || !shape_is_array(wanted) || shape->bytes != wanted->bytes) {
    return plan_fail(apply, step->instruction.offset, "'%.*s' and '%.*s' are not of one size",
                     SHOWN(step->instruction.name), SHOWN(step->operand.name));
  }
  return rewrite_add_bitcast(apply->rewrite, operand, inst_get(apply->module, like)->shape);
}

static InstId make_element(Apply *apply, const PlanStep *step, InstId operand) {
  const Shape *shape = inst_shape(apply->module, operand);
  if (!shape_is_tuple(shape) || step->index < 0 || step->index >= (int64_t)shape->rank) {
    return plan_fail(apply, step->operand.offset, "'%.*s' has no element %lld",
                     SHOWN(step->operand.name), (long long)step->index);
  }
  return rewrite_add_get_tuple_element(apply->rewrite, operand, step->index);
}

static InstId make_clone(Apply *apply, const PlanStep *step, InstId original) {
  InstId made = rewrite_repeat(apply->rewrite, original, apply->job->schedule, apply->scratch);
  if (step->channel >= 0 && inst_get(apply->module, made)->flags & INST_HAS_CHANNEL) {
    inst_get(apply->module, made)->index = step->channel;
    if (step->channel >= apply->rewrite->next_channel_id && step->channel < INT64_MAX) {
      apply->rewrite->next_channel_id = step->channel + 1;
    }
  }
  plan_name_callees(apply, made, step);
  return made;
}

/* Makes the instruction of a step. If it is not a clone, its operand must have been made before. A
 * step whose operand is skipped is skipped, too. */
static void make_step(Apply *apply, uint32_t index) {
  const PlanStep *step = &apply->plan->steps.data[index];
  CompId comp = apply->comps[index];
  InstId original = NO_ID, operand = NO_ID, made = NO_ID;
  bool is_helper = step->action == PLAN_ELEMENT || step->action == PLAN_BITCAST;
  if (!is_helper) original = plan_find_old(apply, comp, step->instruction);
  if (step->action == PLAN_READ) {
    apply->made[index] = original;
    return;
  }
  if (original != NO_ID) check_legal(apply, step, original);
  if (!plan_is_clone(step->action)) {
    operand = plan_find_any(apply, comp, step->operand);
    if (operand == NO_ID) return;
  }
  if (step->action == PLAN_BITCAST) original = plan_find_old(apply, comp, step->instruction);
  if (apply->status != RH_OK) return;
  switch (step->action) {
    case PLAN_ELEMENT: made = make_element(apply, step, operand); break;
    case PLAN_BITCAST: made = make_bitcast(apply, step, original, operand); break;
    case PLAN_COMPRESS:
    case PLAN_UNCOMPRESS: made = make_compressed(apply, step, original, operand); break;
    case PLAN_NARROW:
    case PLAN_WIDEN: made = make_narrow(apply, step, original, operand); break;
    case PLAN_LEAVE:
    case PLAN_LEFT:
    case PLAN_ENTER:
    case PLAN_BACK: made = make_half_copy(apply, step, original, operand); break;
    default: made = make_clone(apply, step, original);
  }
  if (made == NO_ID) return;
  apply->made[index] = made;
  name_made(apply, made, step->made);
}

/* How far the making of a step's instruction has come. */
typedef enum State {
  STATE_NEW,
  STATE_OPEN, /* its operand is being made first */
  STATE_DONE,
} State;

/* Returns the step that makes the operand of a step, NO_ID = none. */
static uint32_t needed_step(const Apply *apply, uint32_t index) {
  const PlanStep *step = &apply->plan->steps.data[index];
  bool has_operand = !plan_is_clone(step->action) && step->action != PLAN_READ;
  if (!has_operand || step->is_skipped) return NO_ID;
  return plan_find_step(apply, apply->comps[index], step->operand.name);
}

/* Makes a step after the steps that it needs. Each step needs at most one other. */
static void make_with_operands(Apply *apply, uint8_t *states, uint32_t index) {
  VEC(uint32_t) chain = {0};
  for (uint32_t step = index; step != NO_ID && states[step] != STATE_DONE;
       step = needed_step(apply, step)) {
    if (states[step] == STATE_OPEN) {
      PlanRef operand = apply->plan->steps.data[chain.data[chain.len - 1]].operand;
      plan_fail(apply, operand.offset, "'%.*s' is made from itself", SHOWN(operand.name));
      return;
    }
    states[step] = STATE_OPEN;
    *vec_push(apply->arena, &chain) = step;
  }
  while (chain.len) {
    uint32_t step = chain.data[--chain.len];
    if (!apply->plan->steps.data[step].is_skipped) make_step(apply, step);
    states[step] = STATE_DONE;
  }
}

/* Makes the steps in the order of their numbers, because the copies of computations are numbered as
 * they are made. */
void plan_make(Apply *apply) {
  uint32_t len = apply->plan->steps.len;
  uint8_t *states = arena_zarray(apply->arena, uint8_t, len);
  SortItem *order = arena_array(apply->arena, SortItem, len);
  for (uint32_t i = 0; i < len; i++) {
    int64_t number = apply->plan->steps.data[i].number;
    order[i] = (SortItem){number < 0 ? INT64_MAX : (uint64_t)number, i};
  }
  sort_by_key(order, len, apply->scratch);
  for (uint32_t i = 0; apply->status == RH_OK && i < len; i++)
    make_with_operands(apply, states, order[i].id);
}
