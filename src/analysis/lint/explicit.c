/* Rules for written shapes. Source: xla/service/shape_inference.cc, and ShapeVerifier where that
 * has no rule. */
#include "analysis/lint/lint.h"

#include <inttypes.h>

/* ---- types ---- */

static ShapeId with_type(Inference *inf, ShapeId like, ElementType type) {
  Draft draft;
  draft_begin(inf, &draft, shape_get(inf->shapes, like));
  draft_set_type(&draft, type);
  return draft_finish(inf, &draft);
}

static bool expect_array_result(Inference *inf, ShapeId written) {
  return shape_has_dims(shape_get(inf->shapes, written)) ||
         infer_fail(inf, "its shape, %s, is no array", infer_shown(inf, written));
}

static bool explicit_convert(Inference *inf, ShapeId written) {
  if (!expect_array_result(inf, written) || !infer_expect_arrays(inf, 0, 1)) return false;
  ElementType type = (ElementType)shape_get(inf->shapes, written)->type;
  inf->result = with_type(inf, infer_operand_id(inf, 0), type);
  return true;
}

/* The storage of a PrimitiveType: types narrower than a byte take only their own bits, but pred
 * takes 8. */
static unsigned storage_bits(unsigned type) {
  return type == TYPE_PRED ? 8 : type_info((ElementType)type)->bits;
}

/* Bits are regrouped, which adds or removes one minor dimension. */
static bool explicit_bitcast_convert(Inference *inf, ShapeId written) {
  if (!expect_array_result(inf, written) || !infer_expect_arrays(inf, 0, 1)) return false;
  const Shape *to = shape_get(inf->shapes, written), *from = infer_operand(inf, 0);
  unsigned old_bits = storage_bits(from->type), new_bits = storage_bits(to->type);
  unsigned wide = old_bits > new_bits ? old_bits : new_bits;
  unsigned narrow = old_bits > new_bits ? new_bits : old_bits;
  if (type_is_complex(from->type) != type_is_complex(to->type) || wide % narrow) {
    return infer_fail(inf, "elements of type %s are no bits of elements of type %s",
                      infer_type_text(from->type), infer_type_text(to->type));
  }
  int64_t ratio = wide / narrow;
  bool is_wider = new_bits > old_bits;
  if (is_wider && (from->rank == 0 || !sizes_fit(from->dims[from->rank - 1], ratio))) {
    return infer_fail(inf, "%" PRId64 " elements of %s make one of type %s", ratio,
                      infer_shown(inf, infer_operand_id(inf, 0)), infer_type_text(to->type));
  }
  uint32_t rank = is_wider ? from->rank - 1 : from->rank;
  Dims dims = dims_new(inf, (size_t)rank + 1);
  for (uint32_t i = 0; i < rank; i++)
    dims_push_from(&dims, from, i);
  if (old_bits > new_bits) dims_push(&dims, ratio, false);
  return infer_make_array(inf, (ElementType)to->type, &dims, &inf->result);
}

static bool explicit_stochastic_convert(Inference *inf, ShapeId written) {
  if (!infer_expect_arrays(inf, 0, 2)) return false;
  const Shape *from = infer_operand(inf, 0), *random = infer_operand(inf, 1);
  if (!type_has_class(random->type, TYPE_CLASS_UINT) || !type_is_float(from->type) ||
      type_info((ElementType)from->type)->bits != type_info((ElementType)random->type)->bits) {
    return infer_fail(inf, "operands of types %s and %s are no numbers with their random bits",
                      infer_type_text(from->type), infer_type_text(random->type));
  }
  if (!infer_compatible(inf, infer_operand_id(inf, 0), infer_operand_id(inf, 1), TYPES_ANY)) {
    return infer_fail(inf, "operand 0 is %s, its random bits %s",
                      infer_shown(inf, infer_operand_id(inf, 0)),
                      infer_shown(inf, infer_operand_id(inf, 1)));
  }
  return explicit_convert(inf, written);
}

static bool explicit_reduce_precision(Inference *inf) {
  if (!infer_expect_arrays(inf, 0, 1)) return false;
  if (!type_is_float(infer_operand(inf, 0)->type)) {
    return infer_fail(inf, "its operand is of type %s, which is not floating",
                      infer_type_text(infer_operand(inf, 0)->type));
  }
  if (infer_int(inf, ATTR_EXPONENT_BITS, 1) < 1 || infer_int(inf, ATTR_MANTISSA_BITS, 0) < 0) {
    return infer_fail(inf, "a number needs an exponent bit, and mantissa bits are not negative");
  }
  inf->result = infer_operand_id(inf, 0);
  return true;
}

/* ---- slices ---- */

static bool explicit_slice(Inference *inf) {
  IntSlice slice = infer_ints(inf, ATTR_SLICE);
  if (!infer_expect_arrays(inf, 0, 1)) return false;
  const Shape *from = infer_operand(inf, 0);
  if (slice.len != (uint64_t)from->rank * 3) {
    return infer_fail(inf, "it slices %u dimensions of %s", slice.len / 3,
                      infer_shown(inf, infer_operand_id(inf, 0)));
  }
  Dims dims = dims_new(inf, from->rank);
  for (uint32_t i = 0; i < from->rank; i++) {
    int64_t start = slice.data[i * 3], limit = slice.data[i * 3 + 1];
    int64_t stride = slice.data[i * 3 + 2];
    bool is_inside = from->dims[i] == UNBOUNDED_DIM || limit <= from->dims[i];
    if (start < 0 || start > limit || stride <= 0 || !is_inside) {
      return infer_fail(inf,
                        "[%" PRId64 ":%" PRId64 ":%" PRId64 "] is no slice of dimension %u of %s",
                        start, limit, stride, i, infer_shown(inf, infer_operand_id(inf, 0)));
    }
    int64_t length = limit - start;
    dims_push(&dims, length / stride + (length % stride != 0), dim_is_dynamic(from, i));
  }
  return infer_make_array(inf, (ElementType)from->type, &dims, &inf->result);
}

/* Start indices, beginning with operand `first`: a scalar for each dimension, or one array of
 * all. */
static bool check_starts(Inference *inf, uint32_t first) {
  uint32_t rank = infer_operand(inf, 0)->rank, count = inf->spec->num_operands - first;
  for (uint32_t i = 0; i < count; i++) {
    const Shape *start = infer_operand(inf, first + i);
    bool is_list = i == 0 && count == 1 && shape_is_array(start) && start->rank == 1 &&
                   sizes_fit(start->dims[0], rank);
    bool is_scalar = shape_is_scalar(start) && count == rank;
    bool is_same = shape_get(inf->shapes, infer_operand_id(inf, first))->type == start->type;
    if ((is_list || is_scalar) && type_is_integer(start->type) && is_same) continue;
    return infer_fail(inf, "operand %u, %s, is no start index of %s", first + i,
                      infer_shown(inf, infer_operand_id(inf, first + i)),
                      infer_shown(inf, infer_operand_id(inf, 0)));
  }
  return count || rank == 0 || infer_fail(inf, "it has no start indices");
}

static bool explicit_dynamic_slice(Inference *inf) {
  if (!infer_expect_arrays(inf, 0, 1) || !check_starts(inf, 1)) return false;
  const Shape *from = infer_operand(inf, 0);
  IntSlice sizes = infer_ints(inf, ATTR_DYNAMIC_SLICE_SIZES);
  if (sizes.len != from->rank) {
    return infer_fail(inf, "it has %u slice sizes for %s", sizes.len,
                      infer_shown(inf, infer_operand_id(inf, 0)));
  }
  Dims dims = dims_new(inf, from->rank);
  for (uint32_t i = 0; i < from->rank; i++) {
    int64_t size = sizes.data[i];
    if (size < 0 || (from->dims[i] != UNBOUNDED_DIM && size > from->dims[i])) {
      return infer_fail(inf, "a slice of size %" PRId64 " is not in dimension %u of %s", size, i,
                        infer_shown(inf, infer_operand_id(inf, 0)));
    }
    dims_push(&dims, size, false);
  }
  return infer_make_array(inf, (ElementType)from->type, &dims, &inf->result);
}

/* The result is the operand, which may be a buffer, with a part replaced. */
static bool explicit_dynamic_update_slice(Inference *inf) {
  if (!infer_expect_dims(inf, 0, 1) || !infer_expect_arrays(inf, 1, 1) || !check_starts(inf, 2)) {
    return false;
  }
  const Shape *into = infer_operand(inf, 0), *update = infer_operand(inf, 1);
  bool fits = into->rank == update->rank && type_same_up_to_precision(into->type, update->type);
  for (uint32_t i = 0; fits && i < into->rank; i++) {
    fits = update->dims[i] <= into->dims[i] || into->dims[i] == UNBOUNDED_DIM;
  }
  inf->result = infer_operand_id(inf, 0);
  return fits || infer_fail(inf, "its update, %s, is no part of %s",
                            infer_shown(inf, infer_operand_id(inf, 1)),
                            infer_shown(inf, infer_operand_id(inf, 0)));
}

/* ---- shape changes ---- */

/* Operand dimension i is result dimension `dimensions[i]`. */
static bool explicit_broadcast(Inference *inf, ShapeId written) {
  if (!expect_array_result(inf, written) || !infer_expect_dims(inf, 0, 1)) return false;
  const Shape *from = infer_operand(inf, 0), *to = shape_get(inf->shapes, written);
  IntSlice along = infer_ints(inf, ATTR_DIMENSIONS);
  if (along.len != from->rank) {
    return infer_fail(inf, "it has %u dimensions for the operand, %s", along.len,
                      infer_shown(inf, infer_operand_id(inf, 0)));
  }
  if (from->type != to->type) {
    inf->result = with_type(inf, written, (ElementType)from->type);
    return true;
  }
  for (uint32_t i = 0; i < from->rank; i++) {
    bool fits =
        dim_in_range(along.data[i], to->rank) && sizes_fit(from->dims[i], to->dims[along.data[i]]);
    if (fits) continue;
    return infer_fail(inf, "dimension %u of its operand, %s, is not dimension %" PRId64 " of %s", i,
                      infer_shown(inf, infer_operand_id(inf, 0)), along.data[i],
                      infer_shown(inf, written));
  }
  if (!ints_are_unique(along)) return infer_fail(inf, "it names a dimension twice");
  inf->result = written;
  return true;
}

/* The parser has checked that the numbers of elements agree. */
static bool explicit_reshape(Inference *inf, ShapeId written) {
  if (!expect_array_result(inf, written) || !infer_expect_dims(inf, 0, 1)) return false;
  inf->result = with_type(inf, written, (ElementType)infer_operand(inf, 0)->type);
  if (inf->spec->opcode == OPCODE_RESHAPE) return true;
  for (uint32_t i = 1; i < inf->spec->num_operands; i++) {
    const Shape *size = infer_operand(inf, i);
    if (shape_has_dims(size) && size->type == TYPE_S32) continue;
    return infer_fail(inf, "operand %u is %s, a size is s32[]", i,
                      infer_shown(inf, infer_operand_id(inf, i)));
  }
  return true;
}

static bool explicit_iota(Inference *inf, ShapeId written) {
  const Shape *shape = shape_get(inf->shapes, written);
  int64_t dim = infer_int(inf, ATTR_IOTA_DIMENSION, 0);
  inf->result = written;
  if (!expect_array_result(inf, written)) return false;
  if (!dim_in_range(dim, shape->rank)) {
    return infer_fail(inf, "%s has no dimension %" PRId64, infer_shown(inf, written), dim);
  }
  return shape->type != TYPE_PRED || infer_fail(inf, "it counts in pred");
}

/* ---- random numbers ---- */

static bool explicit_rng(Inference *inf, ShapeId written) {
  enum { RNG_NORMAL = 2 }; /* ORDER rng_invalid, … */
  if (inf->spec->num_operands != 2) return infer_fail(inf, "it does not have two operands");
  const Shape *low = infer_operand(inf, 0), *high = infer_operand(inf, 1);
  if (!shape_is_scalar(low) || !shape_is_scalar(high) || low->type != high->type) {
    return infer_fail(inf, "its operands, %s and %s, are not two scalars of a type",
                      infer_shown(inf, infer_operand_id(inf, 0)),
                      infer_shown(inf, infer_operand_id(inf, 1)));
  }
  bool is_normal = infer_int(inf, ATTR_DISTRIBUTION, 0) == RNG_NORMAL;
  if (type_is_complex(low->type) || (is_normal && !type_is_float(low->type))) {
    return infer_fail(inf, "there is no such distribution of %s", infer_type_text(low->type));
  }
  if (!expect_array_result(inf, written)) return false;
  inf->result = with_type(inf, written, (ElementType)low->type);
  return true;
}

/* (state, bits), or the bits alone. */
static bool explicit_rng_bits(Inference *inf, ShapeId written) {
  const Shape *shape = shape_get(inf->shapes, written);
  inf->result = written;
  if (!shape_is_tuple(shape)) return true;
  if (shape->rank != 2 ||
      !infer_compatible(inf, shape->elements[0], infer_operand_id(inf, 0), TYPES_EQUAL)) {
    return infer_fail(inf, "its shape, %s, is not its state, %s, and the bits",
                      infer_shown(inf, written), infer_shown(inf, infer_operand_id(inf, 0)));
  }
  return true;
}

static bool explicit_rng_state(Inference *inf) {
  Dims dims = dims_new(inf, 1);
  dims_push(&dims, 2, false);
  return infer_make_array(inf, TYPE_U64, &dims, &inf->result);
}

/* ---- bitcast, tokens ---- */

/* Tiles and padding are decided by the backend, so only the bytes without layout are compared. */
static bool bitcast_keeps_bytes(Inference *inf, ShapeId written) {
  const Shape *to = shape_get(inf->shapes, written), *from = infer_operand(inf, 0);
  inf->result = written;
  bool is_known = to->bytes >= 0 && from->bytes >= 0 && !to->has_dynamic && !from->has_dynamic;
  return !is_known || to->bytes == from->bytes ||
         infer_fail(inf, "it has %" PRId64 " bytes, its operand has %" PRId64, to->bytes,
                    from->bytes);
}

static bool explicit_token(Inference *inf, uint32_t operand, ShapeId written) {
  inf->result = written;
  return shape_is_token(infer_operand(inf, operand)) ||
         infer_fail(inf, "operand %u is %s, not a token", operand,
                    infer_shown(inf, infer_operand_id(inf, operand)));
}

/* (destination, source, context); module_check checks the first two. */
static bool explicit_copy_start(Inference *inf) {
  ShapeId copied = infer_operand_id(inf, 0);
  const ShapeId elements[] = {copied, copied, shape_scalar(inf->shapes, TYPE_U32)};
  return infer_join_tuple(inf, elements, sizeof elements / sizeof *elements, &inf->result);
}

static bool explicit_outfeed(Inference *inf, ShapeId written) {
  IntSlice shape = infer_ints(inf, ATTR_OUTFEED_SHAPE);
  if (shape.len == 1 &&
      !infer_compatible(inf, (ShapeId)shape.data[0], infer_operand_id(inf, 0), TYPES_EQUAL)) {
    return infer_fail(inf, "outfeed_shape is %s, its operand %s",
                      infer_shown(inf, (ShapeId)shape.data[0]),
                      infer_shown(inf, infer_operand_id(inf, 0)));
  }
  return explicit_token(inf, 1, written);
}

static bool explicit_shape(Inference *inf, ShapeId written) {
  switch (inf->spec->opcode) {
    case OPCODE_ADD_DEPENDENCY: return explicit_token(inf, 1, written);
    case OPCODE_BITCAST_CONVERT: return explicit_bitcast_convert(inf, written);
    case OPCODE_BROADCAST: return explicit_broadcast(inf, written);
    case OPCODE_CONVERT: return explicit_convert(inf, written);
    case OPCODE_COPY_START: return explicit_copy_start(inf);
    case OPCODE_DYNAMIC_RESHAPE:
    case OPCODE_RESHAPE: return explicit_reshape(inf, written);
    case OPCODE_DYNAMIC_SLICE: return explicit_dynamic_slice(inf);
    case OPCODE_DYNAMIC_UPDATE_SLICE: return explicit_dynamic_update_slice(inf);
    case OPCODE_INFEED: return explicit_token(inf, 0, written);
    case OPCODE_IOTA: return explicit_iota(inf, written);
    case OPCODE_OUTFEED: return explicit_outfeed(inf, written);
    case OPCODE_REDUCE_PRECISION: return explicit_reduce_precision(inf);
    case OPCODE_RNG: return explicit_rng(inf, written);
    case OPCODE_RNG_BIT_GENERATOR: return explicit_rng_bits(inf, written);
    case OPCODE_RNG_GET_AND_UPDATE_STATE: return explicit_rng_state(inf);
    case OPCODE_SLICE: return explicit_slice(inf);
    case OPCODE_STOCHASTIC_CONVERT: return explicit_stochastic_convert(inf, written);
    default: inf->result = NO_ID; return true;
  }
}

LintExplicit lint_explicit(Inference *inf, bool is_scheduled, ShapeId written) {
  if (inf->spec->opcode == OPCODE_BITCAST) {
    bool is_right = !is_scheduled || bitcast_keeps_bytes(inf, written);
    inf->result = written;
    return is_right ? EXPLICIT_SHAPE : EXPLICIT_BITCAST_SIZE;
  }
  if (!explicit_shape(inf, written)) return EXPLICIT_FAULT;
  return inf->result == NO_ID ? EXPLICIT_NO_RULE : EXPLICIT_SHAPE;
}
