/* Compares the shapes of results with the shapes that the operands give. Where XLA can infer a
 * shape, it is inferred (ir/infer/infer_shape.h). For other opcodes the written shape is an input,
 * and the rules are in explicit.c. */
#include "analysis/lint/lint.h"

/* module_check checks forwarding instructions, control flow and callees. The others of these
 * opcodes can have any shape. */
static bool is_checked_elsewhere(Opcode opcode) {
  switch (opcode) {
    case OPCODE_ADD_DEPENDENCY: /* the parser gives it the shape of its operand */
    case OPCODE_AFTER_ALL:
    case OPCODE_CALL:
    case OPCODE_CONDITIONAL:
    case OPCODE_COPY:
    case OPCODE_DOMAIN:
    case OPCODE_GET_TUPLE_ELEMENT:
    case OPCODE_OPT_BARRIER:
    case OPCODE_PARTITION_ID:
    case OPCODE_REPLICA_ID:
    case OPCODE_TUPLE:
    case OPCODE_WHILE: return true;
    default: return false;
  }
}

/* The written element type is valid, because the client chose it with preferred_element_type. */
static bool has_free_type(Opcode opcode) {
  return opcode == OPCODE_DOT || opcode == OPCODE_RAGGED_DOT || opcode == OPCODE_SCALED_DOT ||
         opcode == OPCODE_CONVOLUTION;
}

/* The elements are those of the operand, so their type cannot change. */
static bool has_exact_type(Opcode opcode) {
  return opcode == OPCODE_BROADCAST || opcode == OPCODE_DYNAMIC_RESHAPE ||
         opcode == OPCODE_DYNAMIC_UPDATE_SLICE || opcode == OPCODE_RESHAPE;
}

/* The opcode forwards several precisions separately, or converts them itself
 * (CheckMixedPrecisionOperands). */
static bool may_mix_precision(Opcode opcode) {
  return has_free_type(opcode) || opcode == OPCODE_REDUCE_WINDOW || opcode == OPCODE_SORT ||
         opcode == OPCODE_REDUCE_PRECISION || opcode == OPCODE_CUSTOM_CALL;
}

static bool lint_mixed_operands(Lint *lint, InstId id) {
  const Instruction *inst = inst_get(lint->module, id);
  if (lint->is_for_tpu || may_mix_precision((Opcode)inst->opcode)) return true;
  uint32_t first = NO_ID;
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    const Shape *shape = inst_shape(lint->module, inst_operand(lint->module, id, i));
    if (shape_is_tuple(shape) || !type_is_float(shape->type)) continue;
    if (first == NO_ID) first = i;
    const Shape *other = inst_shape(lint->module, inst_operand(lint->module, id, first));
    if (other->type == shape->type) continue;
    return lint_find_at(lint, LINT_MIXED_PRECISION, id, lint_place_operand(lint, id, i),
                        "operand %u is of type %s, operand %u of %s", first,
                        infer_type_text(other->type), i, infer_type_text(shape->type));
  }
  return true;
}

/* Parameters of a computation that is applied to each element must have the types of the operands;
 * inference compares them only up to precision
 * (SameElementTypesForOperandsAndToApplyParameters). */
static void lint_param_types(Lint *lint, InstId id) {
  const Module *module = lint->module;
  const Instruction *inst = inst_get(module, id);
  bool applies = inst->opcode == OPCODE_MAP || inst->opcode == OPCODE_REDUCE ||
                 inst->opcode == OPCODE_REDUCE_WINDOW;
  if (!applies || lint->is_for_tpu) return;
  CompId applied = inst_callees(module, id)[0];
  IdList params = comp_get(module, applied)->params;
  for (uint32_t i = 0; i < inst->num_operands && i < params.len; i++) {
    unsigned wanted = infer_type(inst_shape(module, inst_operand(module, id, i)));
    unsigned found = infer_type(inst_shape(module, id_list(module, params)[i]));
    if (wanted == found) continue;
    lint_find_at(lint, LINT_MIXED_PRECISION, id, lint_place_callee(lint, id, applied),
                 "parameter %u of its computation is of type %s, operand %u of %s", i,
                 infer_type_text(found), i, infer_type_text(wanted));
    return;
  }
}

static void lint_result(Lint *lint, Inference *inf, InstId id) {
  const Instruction *inst = inst_get(lint->module, id);
  Opcode opcode = (Opcode)inst->opcode;
  if (lint_fits(lint, inst->shape, inf->result)) return;
  bool is_exact = has_exact_type(opcode) && !lint->is_for_tpu;
  TypeRule rule = has_free_type(opcode) ? TYPES_ANY
                  : is_exact            ? TYPES_EQUAL
                                        : TYPES_UP_TO_PRECISION;
  if (!infer_compatible(inf, inst->shape, inf->result, rule)) {
    lint_find_inst(lint, LINT_RESULT_SHAPE, id, "its shape is %s, its operands give %s",
                   lint_shown(lint, inst->shape), lint_shown(lint, inf->result));
  } else if (rule == TYPES_UP_TO_PRECISION && !lint->is_for_tpu) {
    lint_find_inst(lint, LINT_MIXED_PRECISION, id, "its shape is %s, its operands give %s",
                   lint_shown(lint, inst->shape), lint_shown(lint, inf->result));
  }
}

/* When an elementwise operation is inferred, scalars and dimensions of size 1 are broadcast; an
 * instruction may not do this. False when one does. */
static bool lint_broadcasting(Lint *lint, InstId id) {
  const Instruction *inst = inst_get(lint->module, id);
  if (!opcode_has((Opcode)inst->opcode, OPF_ELEMENTWISE)) return true;
  const Shape *result = inst_shape(lint->module, id);
  if (!shape_has_dims(result)) return true;
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    ShapeId operand = lint_operand_shape(lint, id, i);
    const Shape *shape = shape_get(&lint->module->shapes, operand);
    if (!shape_has_dims(shape)) return true; /* the shape rule reports it */
    if (shape_same_dims(shape, result)) continue;
    bool is_choice = inst->opcode == OPCODE_SELECT || inst->opcode == OPCODE_CLAMP;
    if (is_choice && shape->rank == 0) continue;
    return lint_find_at(lint, LINT_IMPLICIT_BROADCAST, id, lint_place_operand(lint, id, i),
                        "its shape is %s, operand %u is %s", lint_shown(lint, inst->shape), i,
                        lint_shown(lint, operand));
  }
  return true;
}

enum { COMPARE_FLOAT, COMPARE_TOTAL_ORDER, COMPARE_SIGNED, COMPARE_UNSIGNED }; /* ORDER FLOAT … */

static void lint_compare(Lint *lint, InstId id) {
  if (!inst_attr(lint->module, id, ATTR_TYPE)) return;
  const Shape *shape = inst_shape(lint->module, inst_operand(lint->module, id, 1));
  if (!shape_has_dims(shape)) return;
  int64_t type = inst_attr_int(lint->module, id, ATTR_TYPE, 0);
  bool fits;
  if (type_is_float(shape->type)) {
    fits = type == COMPARE_FLOAT || type == COMPARE_TOTAL_ORDER;
  } else if (type_is_complex(shape->type)) {
    fits = type == COMPARE_FLOAT;
  } else {
    fits =
        type == (type_has_class(shape->type, TYPE_CLASS_SINT) ? COMPARE_SIGNED : COMPARE_UNSIGNED);
  }
  if (fits) return;
  Str text = inst_attr_text(lint->module, id, ATTR_TYPE);
  lint_find_at(lint, LINT_COMPARE_TYPE, id, lint_place_attr(lint, id, ATTR_TYPE),
               "type=%.*s compares no operands of type %s", (int)text.len, text.data,
               infer_type_text(shape->type));
}

/* XLA assumes that a map is over all dimensions of the operands, whatever is written. */
static bool maps_as_written(const Lint *lint, InstId id) {
  if (inst_get(lint->module, id)->num_operands == 0) return true;
  const Shape *shape = inst_shape(lint->module, inst_operand(lint->module, id, 0));
  return inst_attr_ints(lint->module, id, ATTR_DIMENSIONS).len == shape->rank;
}

/* The scales come after both operands, or, in newer versions of XLA, each after its operand. */
static bool infer_scaled_dot(Lint *lint, Inference *inf, InstId id) {
  bool is_inferred = infer_dot(inf, 1);
  const char *why = inf->why;
  ShapeId result = inf->result, written = inst_get(lint->module, id)->shape;
  if (is_inferred && infer_compatible(inf, written, result, TYPES_ANY)) return true;
  if (infer_dot(inf, 2) && infer_compatible(inf, written, inf->result, TYPES_ANY)) return true;
  inf->why = why;
  inf->result = result;
  return is_inferred;
}

/* XLA writes ones for a missing scale. */
static bool is_no_scale(const Shape *scaled, const Shape *scale) {
  bool has_ones = scale->type == TYPE_BF16, has_others = false;
  for (uint32_t i = 0; has_ones && i < scale->rank; i++)
    has_ones = scale->dims[i] == 1;
  for (uint32_t i = 0; i < scaled->rank; i++)
    has_others |= scaled->dims[i] != 1;
  return has_ones && has_others && scaled->type == TYPE_BF16;
}

/* The fault of a scale, NULL if there is none. */
static const char *scale_fault(Inference *inf, uint32_t scaled, uint32_t scale,
                               AttrId contracting) {
  const Shape *operand = infer_operand(inf, scaled), *factor = infer_operand(inf, scale);
  if (!shape_has_dims(factor) || is_no_scale(operand, factor)) return NULL;
  bool fits = operand->rank == factor->rank && infer_ints(inf, contracting).len == 1;
  for (uint32_t i = 0; fits && i < factor->rank; i++)
    fits = factor->dims[i] == 0 || operand->dims[i] % factor->dims[i] == 0;
  if (fits) return NULL;
  infer_fail(inf, "operand %u, %s, does not scale operand %u, %s, along one contracting dimension",
             scale, infer_shown(inf, infer_operand_id(inf, scale)), scaled,
             infer_shown(inf, infer_operand_id(inf, scaled)));
  return inf->why;
}

static const char *scales_fault(Inference *inf, uint32_t rhs) {
  uint32_t lhs_scale = 3 - rhs;
  const char *fault = scale_fault(inf, 0, lhs_scale, ATTR_LHS_CONTRACTING_DIMS);
  if (!fault) fault = scale_fault(inf, rhs, 3, ATTR_RHS_CONTRACTING_DIMS);
  bool has_none =
      shape_has_no_dims(infer_operand(inf, lhs_scale)) && shape_has_no_dims(infer_operand(inf, 3));
  return fault || !has_none ? fault : "both of its scales are scalars, expected one that is not";
}

/* Either position of the scales is accepted. */
static void lint_scales(Lint *lint, Inference *inf, InstId id) {
  const char *fault = scales_fault(inf, 1);
  ShapeId written = inst_get(lint->module, id)->shape, result = inf->result;
  if (!fault) return;
  bool is_other = infer_dot(inf, 2) && infer_compatible(inf, written, inf->result, TYPES_ANY) &&
                  !scales_fault(inf, 2);
  inf->result = result;
  if (!is_other) lint_find_inst(lint, LINT_OPERAND_SHAPE, id, "%s", fault);
}

static bool infer(Lint *lint, Inference *inf, InstId id) {
  bool has_several = inf->spec->opcode == OPCODE_REDUCE_WINDOW && inf->spec->num_operands > 2;
  if (has_several) return infer_reduce_windows(inf);
  if (inf->spec->opcode == OPCODE_SCALED_DOT) return infer_scaled_dot(lint, inf, id);
  return infer_shape(lint->module, inf->spec, &inf->result, &inf->why, lint->scratch);
}

/* Whether the shape is not inferred. */
static bool is_skipped(const Lint *lint, InstId id) {
  const Instruction *inst = inst_get(lint->module, id);
  Opcode opcode = (Opcode)inst->opcode;
  if (!opcode_has(opcode, OPF_INFER) || is_checked_elsewhere(opcode)) return true;
  return opcode == OPCODE_MAP && !maps_as_written(lint, id);
}

void lint_shapes(Lint *lint, InstId id) {
  const Instruction *inst = inst_get(lint->module, id);
  Opcode opcode = (Opcode)inst->opcode;
  if (lint_is_oversized(lint, id)) return;
  if (opcode == OPCODE_COMPARE) lint_compare(lint, id);
  InferSpec spec;
  Inference inf = lint_inference(lint, id, &spec);
  LintExplicit result = lint_explicit(&inf, lint->schedule && !lint->is_for_tpu, inst->shape);
  if (result == EXPLICIT_NO_RULE) {
    if (is_skipped(lint, id) || !lint_broadcasting(lint, id)) return;
    result = infer(lint, &inf, id) ? EXPLICIT_SHAPE : EXPLICIT_FAULT;
  }
  if (result == EXPLICIT_FAULT) {
    lint_find_inst(lint, LINT_OPERAND_SHAPE, id, "%s", inf.why);
  } else if (result == EXPLICIT_BITCAST_SIZE) {
    lint_find_inst(lint, LINT_BITCAST_SIZE, id, "%s", inf.why);
  } else {
    lint_result(lint, &inf, id);
    if (lint_mixed_operands(lint, id)) lint_param_types(lint, id);
    if (opcode == OPCODE_SCALED_DOT) lint_scales(lint, &inf, id);
  }
}
