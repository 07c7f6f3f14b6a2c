/* Rules for elementwise opcodes: unary and binary operations, clamp and select. The result keeps
 * the layout of an operand that has its dimensions. If operands of different shapes are combined,
 * the result has the default layout. */
#include "ir/infer/infer_shape_internal.h"

/* ---- unary ---- */

typedef enum TypeDemand {
  DEMAND_FLOAT,
  DEMAND_FLOAT_OR_COMPLEX,
  DEMAND_INTEGER,
  DEMAND_INTEGER_OR_PRED,
  DEMAND_SIGNED, /* signed integer or floating */
  DEMAND_SIGNED_OR_COMPLEX,
  DEMAND_NUMBER, /* anything but pred */
} TypeDemand;

static const char *const demand_texts[] = {
    [DEMAND_FLOAT] = "floating",
    [DEMAND_FLOAT_OR_COMPLEX] = "floating or complex",
    [DEMAND_INTEGER] = "integer",
    [DEMAND_INTEGER_OR_PRED] = "pred or integer",
    [DEMAND_SIGNED] = "signed or floating",
    [DEMAND_SIGNED_OR_COMPLEX] = "signed, floating or complex",
    [DEMAND_NUMBER] = "integer, floating or complex",
};

static bool meets_demand(unsigned type, TypeDemand demand) {
  bool is_signed = type_is_float(type) || type_has_class(type, TYPE_CLASS_SINT);
  switch (demand) {
    case DEMAND_FLOAT: return type_is_float(type);
    case DEMAND_FLOAT_OR_COMPLEX: return type_is_float(type) || type_is_complex(type);
    case DEMAND_INTEGER: return type_is_integer(type);
    case DEMAND_INTEGER_OR_PRED: return type == TYPE_PRED || type_is_integer(type);
    case DEMAND_SIGNED: return is_signed;
    case DEMAND_SIGNED_OR_COMPLEX: return is_signed || type_is_complex(type);
    case DEMAND_NUMBER: return type != TYPE_PRED;
  }
  return false;
}

static bool expect_type(Inference *inf, unsigned type, TypeDemand demand) {
  return meets_demand(type, demand) ||
         infer_fail(inf, "its operand has the element type %s, which is not %s",
                    infer_type_text(type), demand_texts[demand]);
}

static TypeDemand unary_demand(Opcode opcode) {
  switch (opcode) {
    case OPCODE_CBRT:
    case OPCODE_CEIL:
    case OPCODE_ERF:
    case OPCODE_FLOOR:
    case OPCODE_IS_FINITE:
    case OPCODE_ROUND_NEAREST_AFZ:
    case OPCODE_ROUND_NEAREST_EVEN: return DEMAND_FLOAT;
    case OPCODE_COUNT_LEADING_ZEROS:
    case OPCODE_POPCNT: return DEMAND_INTEGER;
    case OPCODE_NOT: return DEMAND_INTEGER_OR_PRED;
    case OPCODE_ABS:
    case OPCODE_SIGN: return DEMAND_SIGNED_OR_COMPLEX;
    case OPCODE_NEGATE: return DEMAND_NUMBER;
    default: return DEMAND_FLOAT_OR_COMPLEX;
  }
}

bool infer_unary(Inference *inf) {
  if (!infer_expect_arrays(inf, 0, 1)) return false;
  Opcode opcode = inf->spec->opcode;
  const Shape *operand = infer_operand(inf, 0);
  if (!expect_type(inf, operand->type, unary_demand(opcode))) return false;
  bool is_part = opcode == OPCODE_ABS || opcode == OPCODE_REAL || opcode == OPCODE_IMAG;
  bool to_component = is_part && type_is_complex(operand->type);
  if (!to_component && opcode != OPCODE_IS_FINITE) {
    inf->result = infer_operand_id(inf, 0);
    return true;
  }
  Draft draft;
  draft_begin(inf, &draft, operand);
  draft_set_type(&draft, to_component ? type_of_component(operand->type) : TYPE_PRED);
  inf->result = draft_finish(inf, &draft);
  return true;
}

/* ---- binary ---- */

/* Combines one dimension of two operands of the same rank: a size of 1 is broadcast to the other
 * size, and of `?` and a size the size is used. */
static bool merge_dim(const Shape *lhs, const Shape *rhs, uint32_t dim, Dims *dims) {
  int64_t left = lhs->dims[dim], right = rhs->dims[dim];
  if (left == 1) {
    dims_push_from(dims, rhs, dim);
  } else if (right == 1) {
    dims_push_from(dims, lhs, dim);
  } else if (left == right) {
    dims_push(dims, left, dim_is_dynamic(lhs, dim) || dim_is_dynamic(rhs, dim));
  } else if (sizes_fit(left, right)) {
    dims_push_from(dims, left == UNBOUNDED_DIM ? rhs : lhs, dim);
  } else {
    return false;
  }
  return true;
}

/* Combines operands of different shapes. Their ranks may differ only if one of them is a scalar. */
static bool merge_shapes(Inference *inf, ElementType type, ShapeId *shape) {
  const Shape *lhs = infer_operand(inf, 0), *rhs = infer_operand(inf, 1);
  if (lhs->rank == 0) lhs = rhs;
  if (rhs->rank == 0) rhs = lhs;
  bool fits = lhs->rank == rhs->rank;
  Dims dims = dims_new(inf, lhs->rank);
  for (uint32_t i = 0; fits && i < lhs->rank; i++)
    fits = merge_dim(lhs, rhs, i, &dims);
  if (!fits) {
    return infer_fail(inf, "its operands are %s and %s", infer_shown(inf, infer_operand_id(inf, 0)),
                      infer_shown(inf, infer_operand_id(inf, 1)));
  }
  return infer_make_array(inf, type, &dims, shape);
}

static void join_shapes(Inference *inf, ElementType type, ShapeId *shape) {
  const Shape *rhs = infer_operand(inf, 1);
  Draft draft;
  draft_begin(inf, &draft, infer_operand(inf, 0));
  draft_set_type(&draft, type);
  for (uint32_t i = 0; i < rhs->rank; i++)
    draft.dynamic[i] |= dim_is_dynamic(rhs, i);
  *shape = draft_finish(inf, &draft);
}

/* Infers the shape of the result before complex and compare change its element type. */
static bool infer_mixed(Inference *inf, ShapeId *shape) {
  const Shape *lhs = infer_operand(inf, 0), *rhs = infer_operand(inf, 1);
  ElementType type;
  if (!type_same_up_to_precision(lhs->type, rhs->type)) {
    return infer_fail(inf, "its operands have the element types %s and %s",
                      infer_type_text(lhs->type), infer_type_text(rhs->type));
  }
  if (!infer_higher_type(inf, lhs->type, rhs->type, &type)) return false;
  bool is_unbounded = lhs->has_unbounded || rhs->has_unbounded;
  if (is_unbounded || !shape_same_dims(lhs, rhs)) return merge_shapes(inf, type, shape);
  join_shapes(inf, type, shape);
  return true;
}

static bool check_binary_types(Inference *inf, unsigned lhs, unsigned rhs) {
  switch (inf->spec->opcode) {
    case OPCODE_AND:
    case OPCODE_OR:
    case OPCODE_XOR: return expect_type(inf, lhs, DEMAND_INTEGER_OR_PRED);
    case OPCODE_ATAN2: return expect_type(inf, lhs, DEMAND_FLOAT_OR_COMPLEX);
    case OPCODE_COMPLEX:
      return (lhs == rhs && (lhs == TYPE_F32 || lhs == TYPE_F64)) ||
             infer_fail(inf, "its operands are %s and %s, not both f32 or both f64",
                        infer_type_text(lhs), infer_type_text(rhs));
    case OPCODE_DIVIDE:
    case OPCODE_POWER:
    case OPCODE_REMAINDER:
    case OPCODE_SHIFT_LEFT:
    case OPCODE_SHIFT_RIGHT_ARITHMETIC:
    case OPCODE_SHIFT_RIGHT_LOGICAL:
    case OPCODE_SUBTRACT:
      return expect_type(inf, lhs, DEMAND_NUMBER) && expect_type(inf, rhs, DEMAND_NUMBER);
    default: return true;
  }
}

bool infer_binary(Inference *inf) {
  if (!infer_expect_arrays(inf, 0, 2)) return false;
  Opcode opcode = inf->spec->opcode;
  unsigned lhs = infer_operand(inf, 0)->type;
  ShapeId mixed;
  if (!check_binary_types(inf, lhs, infer_operand(inf, 1)->type) || !infer_mixed(inf, &mixed)) {
    return false;
  }
  inf->result = mixed;
  if (opcode != OPCODE_COMPARE && opcode != OPCODE_COMPLEX) return true;
  Draft draft;
  draft_begin(inf, &draft, shape_get(inf->shapes, mixed));
  draft_set_type(&draft, opcode == OPCODE_COMPARE ? TYPE_PRED
                         : lhs == TYPE_F32        ? TYPE_C64
                                                  : TYPE_C128);
  inf->result = draft_finish(inf, &draft);
  return true;
}

/* ---- ternary ---- */

static bool fail_ternary(Inference *inf) {
  return infer_fail(
      inf, "its operands are %s, %s and %s", infer_shown(inf, infer_operand_id(inf, 0)),
      infer_shown(inf, infer_operand_id(inf, 1)), infer_shown(inf, infer_operand_id(inf, 2)));
}

/* The operands are minimum, value and maximum. The bounds are scalars or have the shape of the
 * value. */
bool infer_clamp(Inference *inf) {
  if (!infer_expect_arrays(inf, 0, 3)) return false;
  ShapeId value = infer_operand_id(inf, 1);
  unsigned type = shape_get(inf->shapes, value)->type;
  for (uint32_t i = 0; i < 3; i += 2) {
    const Shape *bound = infer_operand(inf, i);
    if (!type_same_up_to_precision(bound->type, type)) return fail_ternary(inf);
    if (bound->rank == 0) continue;
    if (!infer_compatible(inf, infer_operand_id(inf, i), value, TYPES_UP_TO_PRECISION)) {
      return fail_ternary(inf);
    }
  }
  /* If the value has a `?` dimension, the bounds may still contradict each other. */
  const Shape *low = infer_operand(inf, 0), *high = infer_operand(inf, 2);
  if (low->rank && high->rank && !shape_same_dims(low, high)) return fail_ternary(inf);
  inf->result = value;
  return true;
}

static bool check_select(Inference *inf) {
  const Shape *pred = infer_operand(inf, 0);
  const Shape *on_true = infer_operand(inf, 1), *on_false = infer_operand(inf, 2);
  if (pred->type != TYPE_PRED) {
    return infer_fail(inf, "it decides by %s, not pred", infer_type_text(pred->type));
  }
  bool fits = type_same_up_to_precision(on_true->type, on_false->type) &&
              shape_same_dims(on_true, on_false);
  if (fits && pred->rank) fits = shape_same_dims(pred, on_true) && shape_same_dims(pred, on_false);
  return fits || fail_ternary(inf);
}

static void select_dim(Draft *draft, const Shape *pred, const Shape *on_true, const Shape *on_false,
                       uint32_t i) {
  bool true_dynamic = dim_is_dynamic(on_true, i), false_dynamic = dim_is_dynamic(on_false, i);
  bool is_unbounded = on_true->dims[i] == UNBOUNDED_DIM || on_false->dims[i] == UNBOUNDED_DIM;
  if (is_unbounded) { /* the other operand has the known size */
    draft->dims[i] = on_true->dims[i] == UNBOUNDED_DIM ? on_false->dims[i] : on_true->dims[i];
    draft->dynamic[i] = true_dynamic && false_dynamic;
  } else {
    bool pred_dynamic = pred->rank && dim_is_dynamic(pred, i);
    draft->dynamic[i] = pred_dynamic || true_dynamic || false_dynamic;
  }
}

/* The result has the predicate's layout unless the predicate is a scalar, but the element size in
 * the layout is that of on_true. */
bool infer_select(Inference *inf) {
  if (!infer_expect_arrays(inf, 0, 3) || !check_select(inf)) return false;
  const Shape *pred = infer_operand(inf, 0);
  const Shape *on_true = infer_operand(inf, 1), *on_false = infer_operand(inf, 2);
  ElementType type;
  if (!infer_higher_type(inf, on_true->type, on_false->type, &type)) return false;
  Draft draft;
  draft_begin(inf, &draft, pred->rank ? pred : on_true);
  draft_set_type(&draft, type);
  for (uint32_t i = 0; i < on_true->rank; i++)
    select_dim(&draft, pred, on_true, on_false, i);
  draft.extras.element_bits = on_true->extras ? on_true->extras->element_bits : 0;
  inf->result = draft_finish(inf, &draft);
  return true;
}
