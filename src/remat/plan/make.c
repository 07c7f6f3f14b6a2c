#include <stdlib.h>

#include "analysis/range/narrow.h"
#include "ir/infer/infer_shape.h"
#include "remat/plan/apply.h"

/* Whether a step has made its instruction. */
typedef enum State {
  STATE_NEW,
  STATE_OPEN, /* its operand is made first */
  STATE_DONE,
} State;

static rh_status check_legal(const Apply *apply, const PlanStep *step, InstId id) {
  KeepReason reason = recompute_verdict(apply->job->legality, id);
  bool is_fine = plan_is_clone(step->action) ? reason == KEEP_NONE : compress_is_legal(reason);
  if (is_fine) return RH_OK;
  return plan_fail(apply, step->instruction.offset, "'%.*s' is left alone: %s",
                   SHOWN(step->instruction.name), keep_reason_sentence(reason));
}

/* Gives what was made the name that the plan has for it; no one reads it yet. */
static rh_status name_made(Apply *apply, InstId id, PlanRef made) {
  Instruction *inst = inst_get(apply->module, id);
  Str name = made.name;
  if (name.len == 0 || (inst->flags & INST_COMPACT_GTE && is_written_compact(name))) return RH_OK;
  if (is_written_compact(name)) {
    return plan_fail(apply, made.offset, "only elements of tuples have a # in their names");
  }
  inst->flags = (uint16_t)((inst->flags & ~(unsigned)INST_COMPACT_GTE) | INST_CHANGED);
  inst->name = arena_strndup(apply->module->arena, name.data, name.len);
  inst->name_len = name.len;
  return RH_OK;
}

static rh_status make_compressed(Apply *apply, const PlanStep *step, InstId original,
                                 InstId operand, InstId *made) {
  Module *module = apply->module;
  bool is_back = step->action == PLAN_UNCOMPRESS;
  ShapeId shape = inst_get(module, original)->shape;
  ShapeId compact = shape_is_array(inst_shape(module, original))
                        ? target_compact_shape(module->backend.target, &module->shapes, shape)
                        : shape;
  if (compact == shape || inst_get(module, operand)->shape != (is_back ? compact : shape)) {
    return plan_fail(apply, step->instruction.offset,
                     "no other layout of '%.*s' takes fewer bytes on the target '%s'",
                     SHOWN(step->instruction.name), module->backend.target->name);
  }
  *made = rewrite_add_copy(apply->rewrite, operand, is_back ? shape : compact, original,
                           is_back ? "remat_uncompressed" : "remat_compressed", apply->scratch);
  return RH_OK;
}

static rh_status make_narrow(Apply *apply, const PlanStep *step, InstId original, InstId operand,
                             InstId *made) {
  Module *module = apply->module;
  bool is_back = step->action == PLAN_WIDEN;
  ShapeId shape = inst_get(module, original)->shape;
  if (!apply->narrow) apply->narrow = narrow_shapes(module, apply->arena, apply->scratch);
  ShapeId narrow = apply->narrow[original];
  if (narrow == shape || inst_get(module, operand)->shape != (is_back ? narrow : shape)) {
    return plan_fail(apply, step->instruction.offset,
                     "'%.*s' is not known to fit a type of fewer bits",
                     SHOWN(step->instruction.name));
  }
  *made = rewrite_add_copy(apply->rewrite, operand, is_back ? shape : narrow, original,
                           is_back ? "remat_uncompressed" : "remat_compressed", apply->scratch);
  return RH_OK;
}

/* Half of a copy to the host's memory or back. */
static rh_status make_half_copy(Apply *apply, const PlanStep *step, InstId original, InstId operand,
                                InstId *made) {
  Module *module = apply->module;
  ShapeId here = inst_get(module, original)->shape, is = inst_get(module, operand)->shape;
  bool is_array = shape_is_array(inst_shape(module, original)) &&
                  infer_shape_is_valid(module, here, NULL, apply->scratch);
  ShapeId there = is_array ? shape_in_memory_space(&module->shapes, here, HOST_MEMORY_SPACE) : here;
  bool is_start = step->action == PLAN_LEAVE || step->action == PLAN_ENTER;
  ShapeId from = step->action == PLAN_LEAVE ? here : there;
  ShapeId to = step->action == PLAN_LEAVE || step->action == PLAN_LEFT ? there : here;
  bool fits = is_start ? is == from
                       : inst_get(module, operand)->opcode == OPCODE_COPY_START &&
                             inst_shape(module, operand)->elements[0] == to;
  if (here == there || !fits) {
    return plan_fail(apply, step->operand.offset, "this is not what '%.*s' can be copied from",
                     SHOWN(step->instruction.name));
  }
  *made = is_start ? rewrite_add_copy_start(apply->rewrite, operand, to, original)
                   : rewrite_add_copy_done(apply->rewrite, operand, original);
  return RH_OK;
}

static rh_status make_bitcast(Apply *apply, const PlanStep *step, CompId comp, InstId operand,
                              InstId *made) {
  const Module *module = apply->module;
  InstId like;
  rh_status status = plan_find_old(apply, comp, step->instruction, &like);
  if (status != RH_OK) return status;
  const Shape *shape = inst_shape(module, operand), *wanted = inst_shape(module, like);
  if (!shape_is_array(shape) || !shape_is_array(wanted) || shape->bytes != wanted->bytes) {
    return plan_fail(apply, step->instruction.offset, "'%.*s' and '%.*s' are not of one size",
                     SHOWN(step->instruction.name), SHOWN(step->operand.name));
  }
  *made = rewrite_add_bitcast(apply->rewrite, operand, inst_get(module, like)->shape);
  return RH_OK;
}

static rh_status make_element(Apply *apply, const PlanStep *step, InstId operand, InstId *made) {
  const Shape *shape = inst_shape(apply->module, operand);
  if (!shape_is_tuple(shape) || step->index < 0 || step->index >= (int64_t)shape->rank) {
    return plan_fail(apply, step->operand.offset, "'%.*s' has no element %lld",
                     SHOWN(step->operand.name), (long long)step->index);
  }
  *made = rewrite_add_get_tuple_element(apply->rewrite, operand, step->index);
  return RH_OK;
}

static rh_status make_clone(Apply *apply, const PlanStep *step, InstId original, InstId *result) {
  InstId made = *result = rewrite_clone(apply->rewrite, original, apply->scratch);
  if (step->channel >= 0 && inst_get(apply->module, made)->flags & INST_HAS_CHANNEL) {
    inst_get(apply->module, made)->index = step->channel;
    if (step->channel >= apply->rewrite->next_channel_id && step->channel < INT64_MAX) {
      apply->rewrite->next_channel_id = step->channel + 1;
    }
  }
  return plan_name_callees(apply, made, step);
}

/* Operands of what is no clone are made already; a step whose operand is skipped is skipped. */
static rh_status make_step(Apply *apply, uint32_t index) {
  const PlanStep *step = &apply->plan->steps.data[index];
  CompId comp = apply->comps[index];
  InstId original = NO_ID, operand = NO_ID, made = NO_ID;
  rh_status status = RH_OK;
  bool is_helper = step->action == PLAN_ELEMENT || step->action == PLAN_BITCAST;
  if (!is_helper) status = plan_find_old(apply, comp, step->instruction, &original);
  if (status == RH_OK && !is_helper) status = check_legal(apply, step, original);
  if (status == RH_OK && !plan_is_clone(step->action)) {
    status = plan_find_any(apply, comp, step->operand, &operand);
    if (status == RH_OK && operand == NO_ID) return RH_OK;
  }
  if (status != RH_OK) return status;
  switch (step->action) {
    case PLAN_ELEMENT: status = make_element(apply, step, operand, &made); break;
    case PLAN_BITCAST: status = make_bitcast(apply, step, comp, operand, &made); break;
    case PLAN_COMPRESS:
    case PLAN_UNCOMPRESS: status = make_compressed(apply, step, original, operand, &made); break;
    case PLAN_NARROW:
    case PLAN_WIDEN: status = make_narrow(apply, step, original, operand, &made); break;
    case PLAN_LEAVE:
    case PLAN_LEFT:
    case PLAN_ENTER:
    case PLAN_BACK: status = make_half_copy(apply, step, original, operand, &made); break;
    default: status = make_clone(apply, step, original, &made);
  }
  if (status != RH_OK) return status;
  apply->made[index] = made;
  return name_made(apply, made, step->made);
}

/* The step that must be done first, NO_ID = none. */
static uint32_t needed_step(const Apply *apply, uint32_t index) {
  const PlanStep *step = &apply->plan->steps.data[index];
  if (plan_is_clone(step->action) || step->is_skipped) return NO_ID;
  uint32_t needed = plan_find_step(apply, apply->comps[index], step->operand.name);
  return needed == NO_ID || apply->states[needed] == STATE_DONE ? NO_ID : needed;
}

static rh_status make_with_operands(Apply *apply, uint32_t index) {
  rh_status status = RH_OK;
  VEC(uint32_t) work = {0};
  *vec_push(apply->arena, &work) = index;
  while (status == RH_OK && work.len) {
    uint32_t top = work.data[work.len - 1], needed = needed_step(apply, top);
    if (needed != NO_ID && apply->states[needed] == STATE_OPEN) {
      const PlanStep *step = &apply->plan->steps.data[top];
      return plan_fail(apply, step->operand.offset, "'%.*s' is made from itself",
                       SHOWN(step->operand.name));
    }
    apply->states[top] = STATE_OPEN;
    if (needed != NO_ID) {
      *vec_push(apply->arena, &work) = needed;
      continue;
    }
    if (!apply->plan->steps.data[top].is_skipped) status = make_step(apply, top);
    apply->states[top] = STATE_DONE;
    work.len--;
  }
  return status;
}

typedef struct Numbered {
  int64_t number;
  uint32_t step;
} Numbered;

static int by_number_then_step(const void *pa, const void *pb) {
  const Numbered *a = pa, *b = pb;
  if (a->number != b->number) return a->number < b->number ? -1 : 1;
  return (a->step > b->step) - (a->step < b->step);
}

/* In the order of their numbers: copies of computations are numbered as they are made. */
rh_status plan_make(Apply *apply) {
  uint32_t len = apply->plan->steps.len;
  Numbered *order = arena_array(apply->arena, Numbered, len);
  for (uint32_t i = 0; i < len; i++) {
    int64_t number = apply->plan->steps.data[i].number;
    order[i] = (Numbered){number < 0 ? INT64_MAX : number, i};
  }
  if (len) qsort(order, len, sizeof *order, by_number_then_step);
  rh_status status = RH_OK;
  for (uint32_t i = 0; status == RH_OK && i < len; i++) {
    if (apply->states[order[i].step] == STATE_NEW)
      status = make_with_operands(apply, order[i].step);
  }
  return status;
}
