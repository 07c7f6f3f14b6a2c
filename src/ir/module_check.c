#include "ir/module_check.h"

#include "ir/bytes.h"

/* The sum of all buffers must stay below this, so that no later sum can overflow. */
static const int64_t MAX_TOTAL_BYTES = INT64_C(1) << 60;

/* Analyses store data for each part of each shape, and a short text can infer any number of
 * parts. */
static const uint64_t MAX_TOTAL_PARTS = UINT64_C(1) << 24;

typedef struct Checker {
  const Module *module;
  rh_diags *diags;
  InstId id; /* the instruction that is being checked */
  int64_t total_bytes;
  uint64_t total_parts;
} Checker;

uint32_t inst_offset(const Module *module, InstId id) {
  InstId origin = inst_get(module, id)->origin;
  if (origin == NO_ID) return NO_OFFSET;
  const InstSource *source = &module->source->insts.data[origin];
  return source->text.end ? source->text.begin : NO_OFFSET;
}

static bool fail(Checker *checker, const char *what) {
  Str name = inst_name(checker->module, checker->id);
  diag_fail(checker->diags, RH_ERR_INPUT,
            DIAG_ABOUT(RH_CODE_CONTRADICTION, inst_offset(checker->module, checker->id)),
            "'%.*s': %s", (int)name.len, name.data, what);
  return false;
}

static bool fits(const Checker *checker, ShapeId a, ShapeId b) {
  const ShapeTable *shapes = &checker->module->shapes;
  return shape_compatible(shapes, a, b) &&
         shape_get(shapes, a)->num_parts == shape_get(shapes, b)->num_parts;
}

/* Fails with `what` followed by both shapes. Of two tuples, the message shows the first elements
 * that differ. */
static bool fail_shapes(Checker *checker, const char *what, ShapeId a, ShapeId b) {
  const ShapeTable *shapes = &checker->module->shapes;
  for (;;) {
    const Shape *left = shape_get(shapes, a), *right = shape_get(shapes, b);
    if (!shape_is_tuple(left) || !shape_is_tuple(right) || left->rank != right->rank) break;
    uint32_t i = 0;
    while (i < left->rank && fits(checker, left->elements[i], right->elements[i]))
      i++;
    if (i == left->rank) break;
    a = left->elements[i];
    b = right->elements[i];
  }
  Arena *arena = arena_new(arena_options(checker->module->arena));
  Str one = shape_text(shapes, a, false, arena), other = shape_text(shapes, b, false, arena);
  fail(checker, arena_printf(arena, "%s: %.*s and %.*s", what, (int)one.len, one.data,
                             (int)other.len, other.data));
  arena_free(arena);
  return false;
}

/* Fails because an instruction has `num_operands` operands but `num` of something else. */
static bool fail_count(Checker *checker, const char *what, uint32_t num, uint32_t num_operands) {
  Arena *arena = arena_new(arena_options(checker->module->arena));
  fail(checker, arena_printf(arena, "%s: %u for %u operand%s", what, num, num_operands,
                             num_operands == 1 ? "" : "s"));
  arena_free(arena);
  return false;
}

static const Instruction *inst_of(const Checker *checker) {
  return inst_get(checker->module, checker->id);
}

static ShapeId operand_shape(const Checker *checker, uint32_t index) {
  return inst_get(checker->module, inst_operand(checker->module, checker->id, index))->shape;
}

/* Adds `bytes` to the total. After the sum became too large, which is reported once, it is not
 * checked again. */
static bool check_total(Checker *checker, int64_t bytes) {
  if (checker->total_bytes > MAX_TOTAL_BYTES) return true;
  if (!add_bytes(checker->total_bytes, bytes, &checker->total_bytes)) {
    checker->total_bytes = INT64_MAX;
  }
  return checker->total_bytes <= MAX_TOTAL_BYTES ||
         fail(checker, "the sizes of all shapes add up to more than 2^60 bytes");
}

static bool check_num_parts(Checker *checker, uint32_t num_parts) {
  if (checker->total_parts > MAX_TOTAL_PARTS) return true;
  checker->total_parts += num_parts;
  return checker->total_parts <= MAX_TOTAL_PARTS ||
         fail(checker, "the shapes have more than 2^24 parts altogether");
}

static bool check_bytes(Checker *checker) {
  const ShapeTable *shapes = &checker->module->shapes;
  const Shape *shape = shape_get(shapes, inst_of(checker)->shape);
  if (shape->has_unbounded) return fail(checker, "a dimension of unknown size has no bytes");
  if (shape->total_bytes < 0) return fail(checker, "the size of its shape overflows 64 bits");
  return check_num_parts(checker, shape->num_parts) && check_total(checker, shape->total_bytes);
}

static bool check_tuple(Checker *checker) {
  const Instruction *inst = inst_of(checker);
  const Shape *shape = shape_get(&checker->module->shapes, inst->shape);
  if (!shape_is_tuple(shape) || shape->rank != inst->num_operands) {
    return fail(checker, "the tuple's shape has another number of elements than operands");
  }
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    if (!fits(checker, shape->elements[i], operand_shape(checker, i))) {
      return fail_shapes(checker, "an element of the tuple's shape differs from its operand's",
                         shape->elements[i], operand_shape(checker, i));
    }
  }
  return true;
}

static bool check_get_tuple_element(Checker *checker) {
  const Shape *tuple = shape_get(&checker->module->shapes, operand_shape(checker, 0));
  int64_t index = inst_of(checker)->index;
  if (!shape_is_tuple(tuple)) return fail(checker, "its operand is no tuple");
  if (index < 0 || index >= tuple->rank) return fail(checker, "its operand has no such element");
  return fits(checker, inst_of(checker)->shape, tuple->elements[index]) ||
         fail_shapes(checker, "its shape differs from the element's", inst_of(checker)->shape,
                     tuple->elements[index]);
}

/* Checks that the tuple element of operand 0 which an instruction forwards has the shape of the
 * instruction. */
static bool check_forwarded_element(Checker *checker, uint32_t element, uint32_t min_elements) {
  const Shape *tuple = shape_get(&checker->module->shapes, operand_shape(checker, 0));
  if (!shape_is_tuple(tuple) || tuple->rank < min_elements) {
    return fail(checker, "its operand is not a tuple of the right kind");
  }
  return fits(checker, inst_of(checker)->shape, tuple->elements[element]) ||
         fail_shapes(checker, "its shape differs from what its operand holds",
                     inst_of(checker)->shape, tuple->elements[element]);
}

static bool check_copy_start(Checker *checker) {
  const Shape *shape = shape_get(&checker->module->shapes, inst_of(checker)->shape);
  if (!shape_is_tuple(shape) || shape->rank != 3) {
    return fail(checker, "its shape is not (destination, source, context)");
  }
  return (fits(checker, shape->elements[0], operand_shape(checker, 0)) &&
          fits(checker, shape->elements[1], operand_shape(checker, 0)) &&
          shape_get(&checker->module->shapes, shape->elements[1])->num_parts == 1) ||
         fail(checker, "destination or source differ from its operand's shape");
}

/* Checks the parameters of `callee` against `count` operands from `first` on, and its root against
 * `result`. */
static bool check_callee(Checker *checker, CompId callee, uint32_t first, uint32_t count,
                         ShapeId result) {
  const Module *module = checker->module;
  const Computation *comp = comp_get(module, callee);
  if (comp->params.len != count) {
    return fail_count(checker, "the called computation has another number of parameters",
                      comp->params.len, count);
  }
  for (uint32_t i = 0; i < count; i++) {
    ShapeId param = inst_get(module, id_list(module, comp->params)[i])->shape;
    if (!fits(checker, param, operand_shape(checker, first + i))) {
      return fail_shapes(checker, "a parameter of the called computation differs from its operand",
                         param, operand_shape(checker, first + i));
    }
  }
  ShapeId root = inst_get(module, comp->root)->shape;
  return result == NO_ID || fits(checker, root, result) ||
         fail_shapes(checker, "the called computation's result has another shape", root, result);
}

static bool check_while(Checker *checker) {
  const Module *module = checker->module;
  const CompId *callees = inst_callees(module, checker->id); /* body, condition */
  ShapeId state = inst_of(checker)->shape;
  if (!fits(checker, state, operand_shape(checker, 0))) {
    return fail_shapes(checker, "its shape differs from its initial state's", state,
                       operand_shape(checker, 0));
  }
  if (!check_callee(checker, callees[0], 0, 1, state) ||
      !check_callee(checker, callees[1], 0, 1, NO_ID)) {
    return false;
  }
  const Shape *result = inst_shape(module, comp_get(module, callees[1])->root);
  return (shape_is_scalar(result) && result->type == TYPE_PRED) ||
         fail(checker, "its condition is not of shape pred[]");
}

static bool check_conditional(Checker *checker) {
  for (uint32_t i = 0; i < inst_of(checker)->num_callees; i++) {
    CompId branch = inst_callees(checker->module, checker->id)[i];
    if (!check_callee(checker, branch, i + 1, 1, inst_of(checker)->shape)) return false;
  }
  return true;
}

static bool check_async(Checker *checker) {
  const Instruction *inst = inst_of(checker);
  const ShapeTable *shapes = &checker->module->shapes;
  if (inst->opcode == OPCODE_ASYNC_DONE) {
    const Shape *state = shape_get(shapes, operand_shape(checker, 0));
    return (shape_is_tuple(state) && state->rank >= 2) ||
           fail(checker, "its operand is not of the form ((operands), result, …)");
  }
  const Shape *state = shape_get(shapes, inst->shape);
  if (!shape_is_tuple(state) || state->rank < 2 ||
      !shape_is_tuple(shape_get(shapes, state->elements[0]))) {
    return fail(checker, "its shape is not of the form ((operands), result, …)");
  }
  if (inst->opcode == OPCODE_ASYNC_UPDATE) {
    const Shape *before = shape_get(shapes, operand_shape(checker, 0));
    return (shape_is_tuple(before) && before->rank >= 2) ||
           fail(checker, "its operand is not of the form ((operands), result, …)");
  }
  const Shape *params = shape_get(shapes, state->elements[0]);
  if (params->rank != inst->num_operands) {
    return fail(checker, "its shape lists another number of operands");
  }
  for (uint32_t i = 0; i < params->rank; i++) {
    if (!fits(checker, params->elements[i], operand_shape(checker, i))) {
      return fail(checker, "an operand's shape differs from the one in its own");
    }
  }
  return true;
}

static bool check_fusion(Checker *checker) {
  const Instruction *inst = inst_of(checker);
  CompId fused = inst_callees(checker->module, checker->id)[0];
  uint32_t num_params = comp_get(checker->module, fused)->params.len;
  uint32_t count = num_params < inst->num_operands ? num_params : inst->num_operands;
  return check_callee(checker, fused, 0, count, inst->shape);
}

/* XLA's parser does not compare the shapes of a copy. XLA:TPU writes copies that convert the
 * elements on the way; other differences do not occur. */
static bool converts(const Checker *checker, ShapeId from, ShapeId to) {
  const Shape *a = shape_get(&checker->module->shapes, from);
  const Shape *b = shape_get(&checker->module->shapes, to);
  return shape_is_array(a) && shape_is_array(b) && a->type != b->type && a->rank == b->rank &&
         memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

static bool check_copy(Checker *checker) {
  ShapeId to = inst_of(checker)->shape, from = operand_shape(checker, 0);
  return fits(checker, to, from) || converts(checker, from, to) ||
         fail_shapes(checker, "its shape differs from its operand's", to, from);
}

static bool check_inst(Checker *checker) {
  const Instruction *inst = inst_of(checker);
  const Module *module = checker->module;
  switch (inst->opcode) {
    case OPCODE_TUPLE: return check_tuple(checker);
    case OPCODE_GET_TUPLE_ELEMENT: return check_get_tuple_element(checker);
    case OPCODE_COPY: return check_copy(checker);
    case OPCODE_OPT_BARRIER:
    case OPCODE_DOMAIN:
      return fits(checker, inst->shape, operand_shape(checker, 0)) ||
             fail_shapes(checker, "its shape differs from its operand's", inst->shape,
                         operand_shape(checker, 0));
    case OPCODE_BITCAST:
      return (inst_shape(module, checker->id)->num_parts == 1 &&
              shape_get(&module->shapes, operand_shape(checker, 0))->num_parts == 1) ||
             fail(checker, "a bitcast is between arrays");
    case OPCODE_COPY_START: return check_copy_start(checker);
    case OPCODE_COPY_DONE: return check_forwarded_element(checker, 0, 1);
    case OPCODE_WHILE: return check_while(checker);
    case OPCODE_CONDITIONAL: return check_conditional(checker);
    case OPCODE_CALL:
      return check_callee(checker, inst_callees(module, checker->id)[0], 0, inst->num_operands,
                          inst->shape);
    case OPCODE_FUSION: return check_fusion(checker);
    default: return !opcode_is_async((Opcode)inst->opcode) || check_async(checker);
  }
}

rh_status module_check(const Module *module, rh_diags *diags) {
  Checker checker = {.module = module, .diags = diags};
  for (checker.id = 0; checker.id < module->insts.len; checker.id++) {
    if (inst_get(module, checker.id)->flags & INST_DEAD) continue;
    if (!check_bytes(&checker) || !check_inst(&checker)) return RH_ERR_INPUT;
  }
  return RH_OK;
}

uint32_t module_check_all(const Module *module, uint32_t max_errors, bool *is_broken,
                          rh_diags *diags) {
  Checker checker = {.module = module, .diags = diags};
  uint32_t num_errors = 0;
  for (checker.id = 0; checker.id < module->insts.len; checker.id++) {
    if (inst_get(module, checker.id)->flags & INST_DEAD) continue;
    bool is_consistent = check_bytes(&checker) && check_inst(&checker);
    is_broken[checker.id] = !is_consistent || checker.total_parts > MAX_TOTAL_PARTS;
    if (is_consistent) continue;
    num_errors++;
    if (num_errors == max_errors) checker.diags = NULL;
  }
  return num_errors;
}
