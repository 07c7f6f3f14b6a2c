/* Checks calls, and what called computations take and return. module_check checks those of loops,
 * branches, calls and fusions. */
#include <inttypes.h>

#include "analysis/lint/lint.h"
#include "ir/chars.h"

static bool fail_callee(Lint *lint, InstId id, CompId callee, const char *why) {
  return lint_find_at(lint, LINT_CALLED_COMPUTATION, id, lint_place_callee(lint, id, callee), "%s",
                      why);
}

/* ---- reducers ---- */

/* Checks a reducer against the inputs and their initial values, which are at different operands for
 * a scatter. */
static bool lint_reducer(Lint *lint, InstId id) {
  const Instruction *inst = inst_get(lint->module, id);
  InferSpec spec;
  Inference inf = lint_inference(lint, id, &spec);
  bool is_scatter = inst->opcode == OPCODE_SCATTER;
  uint32_t count = inst->num_operands / 2;
  if (count == 0 || inst->num_operands % 2 != is_scatter) {
    return lint_find_inst(lint, LINT_OPERAND_COUNT, id, "it has %u operands", inst->num_operands);
  }
  ReducerInput *inputs = arena_array(lint->scratch, ReducerInput, count);
  for (uint32_t i = 0; i < count; i++) {
    unsigned type = infer_type(infer_operand(&inf, i));
    if (type == TYPE_OF_TUPLE) return true; /* the shape rule reports it */
    inputs[i] = (ReducerInput){.init = infer_operand_id(&inf, count + i), .type = type};
    if (!is_scatter) continue;
    inputs[i].init = shape_scalar(inf.shapes, (ElementType)type);
    inputs[i].type = infer_type(infer_operand(&inf, count + 1 + i));
  }
  CompId reducer = spec.callees[0];
  return infer_check_reducer(&inf, reducer, inputs, count) ||
         fail_callee(lint, id, reducer, inf.why);
}

static bool lint_select_and_scatter(Lint *lint, InstId id) {
  InferSpec spec;
  Inference inf = lint_inference(lint, id, &spec);
  unsigned type = infer_type(infer_operand(&inf, 1));
  ReducerInput input = {.init = infer_operand_id(&inf, 2), .type = type};
  if (type == TYPE_OF_TUPLE) return true;
  CompId scatter = spec.callees[1];
  return infer_check_reducer(&inf, scatter, &input, 1) || fail_callee(lint, id, scatter, inf.why);
}

/* Collectives reduce element by element. One reducer serves all operands, whatever their types
 * are. */
static bool lint_collective_reducer(Lint *lint, InstId id) {
  const Module *module = lint->module;
  CompId reducer = inst_callees(module, id)[0];
  const Computation *comp = comp_get(module, reducer);
  const Shape *result = inst_shape(module, comp->root);
  if (comp->params.len != 2) {
    return lint_find_at(lint, LINT_CALLED_COMPUTATION, id, lint_place_callee(lint, id, reducer),
                        "its computation takes %u parameters, not two", comp->params.len);
  }
  if (shape_has_dims(result) && shape_is_effective_scalar(result)) return true;
  return lint_find_at(lint, LINT_CALLED_COMPUTATION, id, lint_place_callee(lint, id, reducer),
                      "its computation returns %s, not a scalar",
                      lint_shown(lint, inst_get(module, comp->root)->shape));
}

/* ---- comparators ---- */

/* A comparator has two adjacent parameters for each operand. */
static bool lint_comparator(Lint *lint, InstId id) {
  const Module *module = lint->module;
  const Instruction *inst = inst_get(module, id);
  CompId comparator = inst_callees(module, id)[0];
  const Computation *comp = comp_get(module, comparator);
  DiagPlace place = lint_place_callee(lint, id, comparator);
  if (inst->num_operands == 0) {
    return lint_find_inst(lint, LINT_OPERAND_COUNT, id, "it has no operands");
  }
  if (comp->params.len != (uint64_t)inst->num_operands * 2) {
    return lint_find_at(lint, LINT_CALLED_COMPUTATION, id, place,
                        "its computation takes %u parameters, not two for each of %u operands",
                        comp->params.len, inst->num_operands);
  }
  const Shape *result = inst_shape(module, comp->root);
  if (!shape_is_scalar(result) || result->type != TYPE_PRED) {
    return lint_find_at(lint, LINT_CALLED_COMPUTATION, id, place,
                        "its computation returns %s, not pred[]",
                        lint_shown(lint, inst_get(module, comp->root)->shape));
  }
  for (uint32_t i = 0; i < comp->params.len; i++) {
    ShapeId id_of_param = inst_get(module, id_list(module, comp->params)[i])->shape;
    const Shape *param = shape_get(&module->shapes, id_of_param);
    const Shape *operand = inst_shape(module, inst_operand(module, id, i / 2));
    bool fits = shape_is_scalar(param) && !shape_is_tuple(operand) &&
                type_same_up_to_precision(param->type, operand->type);
    if (fits) continue;
    return lint_find_at(lint, LINT_CALLED_COMPUTATION, id, place,
                        "parameter %u of its computation is %s, operand %u %s", i,
                        lint_shown(lint, id_of_param), i / 2,
                        lint_shown(lint, lint_operand_shape(lint, id, i / 2)));
  }
  int64_t dim = inst_attr_int(module, id, ATTR_DIMENSIONS, 0);
  if (dim_in_range(dim, inst_shape(module, inst_operand(module, id, 0))->rank)) return true;
  return lint_find_at(lint, LINT_OPERAND_SHAPE, id, lint_place_attr(lint, id, ATTR_DIMENSIONS),
                      "%s has no dimension %" PRId64,
                      lint_shown(lint, lint_operand_shape(lint, id, 0)), dim);
}

/* ---- attributes of a call ---- */

/* Like absl::SimpleAtoi, and not negative. */
static bool is_whole_number(Str text) {
  int64_t value = 0;
  if (text.len && text.data[0] == '+') text = str_make(text.data + 1, text.len - 1);
  for (uint32_t i = 0; i < text.len; i++) {
    if (!char_is_digit(text.data[i]) || __builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, text.data[i] - '0', &value)) {
      return false;
    }
  }
  return text.len > 0;
}

static void lint_composite(Lint *lint, InstId id) {
  if (!inst_attr_int(lint->module, id, ATTR_IS_COMPOSITE, 0)) return;
  DiagPlace place = lint_place_attr(lint, id, ATTR_IS_COMPOSITE);
  Str value;
  if (!lint_frontend(lint, id, "composite.name", &value) || value.len == 0) {
    lint_find_at(lint, LINT_COMPOSITE_CALL, id, place,
                 "expected a composite.name in its frontend_attributes, found none");
  } else if (lint_frontend(lint, id, "composite.attributes", &value) && value.len == 0) {
    lint_find_at(lint, LINT_COMPOSITE_CALL, id, place, "its composite.attributes is empty");
  } else if (lint_frontend(lint, id, "composite.version", &value) && !is_whole_number(value)) {
    lint_find_at(lint, LINT_COMPOSITE_CALL, id, place,
                 "its composite.version is %.*s, expected a whole number", (int)value.len,
                 value.data);
  }
}

static void lint_api_version(Lint *lint, InstId id) {
  if (!inst_has_unspecified_api(lint->module, id)) return;
  lint_find_at(lint, LINT_API_VERSION, id, lint_place_attr(lint, id, ATTR_API_VERSION),
               "XLA prints this api_version, but its parser refuses it; without the attribute it "
               "takes API_VERSION_ORIGINAL");
}

static bool lint_custom_call(Lint *lint, InstId id) {
  lint_api_version(lint, id);
  const Instruction *inst = inst_get(lint->module, id);
  const Shape *result = inst_shape(lint->module, id);
  if (!str_is(inst_attr_string(lint->module, id, ATTR_CUSTOM_CALL_TARGET), "GetRngSeed")) {
    return true;
  }
  if (inst->num_operands) {
    return lint_find_inst(lint, LINT_OPERAND_COUNT, id, "it has %u operands, expected none",
                          inst->num_operands);
  }
  if (shape_is_scalar(result) && result->type == TYPE_U64) return true;
  return lint_find_inst(lint, LINT_RESULT_SHAPE, id, "its shape is %s, expected u64[]",
                        lint_shown(lint, inst->shape));
}

/* ---- threads ---- */

static void lint_threads(Lint *lint, InstId id) {
  const Module *module = lint->module;
  const Instruction *inst = inst_get(module, id);
  Str thread = comp_get(module, inst->parent)->thread;
  for (uint32_t i = 0; i < inst->num_callees; i++) {
    CompId callee = inst_callees(module, id)[i];
    Str other = comp_get(module, callee)->thread;
    if (str_equal(thread, other)) continue;
    lint_find_at(lint, LINT_THREAD, id, lint_place_callee(lint, id, callee),
                 "it runs on thread '%.*s', its computation on '%.*s'", (int)thread.len,
                 thread.data, (int)other.len, other.data);
    return;
  }
}

bool lint_calls(Lint *lint, InstId id) {
  switch (opcode_begun((Opcode)inst_get(lint->module, id)->opcode)) {
    case OPCODE_FUSION:
    case OPCODE_WHILE:
    case OPCODE_CONDITIONAL: lint_threads(lint, id); return true;
    case OPCODE_CALL: lint_composite(lint, id); return true;
    case OPCODE_CUSTOM_CALL: return lint_custom_call(lint, id);
    case OPCODE_REDUCE:
    case OPCODE_REDUCE_WINDOW:
    case OPCODE_SCATTER: return lint_reducer(lint, id);
    case OPCODE_SELECT_AND_SCATTER: return lint_select_and_scatter(lint, id);
    case OPCODE_ALL_REDUCE:
    case OPCODE_REDUCE_SCATTER: return lint_collective_reducer(lint, id);
    case OPCODE_SORT: return lint_comparator(lint, id);
    default: return true;
  }
}
