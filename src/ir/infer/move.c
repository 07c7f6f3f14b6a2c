/* Rules for opcodes that move, repeat or count elements. */
#include "ir/infer/infer_shape_internal.h"

#include <inttypes.h>

#include "ir/bytes.h"

/* If the instruction has no shape, XLA reads `dimensions` as the sizes of new dimensions in front
 * of the operand's. */
bool infer_broadcast(Inference *inf) {
  if (!infer_expect_arrays(inf, 0, 1)) return false;
  const Shape *operand = infer_operand(inf, 0);
  IntSlice sizes = infer_ints(inf, ATTR_DIMENSIONS);
  if (operand->has_unbounded) return infer_fail(inf, "its operand has an unbounded dimension");
  Dims dims = dims_new(inf, (size_t)sizes.len + operand->rank);
  for (uint32_t i = 0; i < sizes.len; i++)
    dims_push(&dims, sizes.data[i], false);
  for (uint32_t i = 0; i < operand->rank; i++)
    dims_push_from(&dims, operand, i);
  return infer_make_array(inf, (ElementType)operand->type, &dims, &inf->result);
}

/* ---- concatenate ---- */

/* Combines the dimension along which arrays are concatenated: the sizes are added, and the sum is
 * `?` if one of them is. */
static bool add_to_dim(Inference *inf, Dims *dims, uint32_t dim, const Shape *shape) {
  int64_t size = shape->dims[dim];
  dims->dynamic[dim] |= dim_is_dynamic(shape, dim);
  if (size == UNBOUNDED_DIM || dims->sizes[dim] == UNBOUNDED_DIM) {
    dims->sizes[dim] = UNBOUNDED_DIM;
    return true;
  }
  return add_bytes(dims->sizes[dim], size, &dims->sizes[dim]) ||
         infer_fail(inf, "the size of the result overflows 64 bits");
}

/* Combines any other dimension: the result has the known size, and is dynamic if an operand's
 * is. */
static bool agree_on_dim(Inference *inf, Dims *dims, uint32_t dim, const Shape *shape) {
  int64_t size = shape->dims[dim];
  if (size == UNBOUNDED_DIM) return true;
  if (dims->sizes[dim] != UNBOUNDED_DIM && dims->sizes[dim] != size) {
    return infer_fail(inf, "dimension %u has the sizes %" PRId64 " and %" PRId64, dim,
                      dims->sizes[dim], size);
  }
  dims->sizes[dim] = size;
  dims->dynamic[dim] |= dim_is_dynamic(shape, dim);
  return true;
}

static bool join_operand(Inference *inf, Dims *dims, uint32_t i, int64_t dimension) {
  const Shape *first = infer_operand(inf, 0), *shape = infer_operand(inf, i);
  if (shape->rank != first->rank || !type_same_up_to_precision(shape->type, first->type)) {
    return infer_fail(inf, "operand 0 is %s, operand %u is %s",
                      infer_shown(inf, infer_operand_id(inf, 0)), i,
                      infer_shown(inf, infer_operand_id(inf, i)));
  }
  for (uint32_t dim = 0; dim < shape->rank; dim++) {
    if (dim == dimension ? !add_to_dim(inf, dims, dim, shape)
                         : !agree_on_dim(inf, dims, dim, shape)) {
      return false;
    }
  }
  return true;
}

/* XLA compares each operand with the first only, so the types of the first and the last operand
 * decide. */
static bool concatenated_type(Inference *inf, ElementType *type) {
  ElementType first = infer_operand(inf, 0)->type;
  *type = first;
  for (uint32_t i = 1; i < inf->spec->num_operands; i++) {
    if (!infer_higher_type(inf, infer_operand(inf, i)->type, first, type)) return false;
  }
  return true;
}

bool infer_concatenate(Inference *inf) {
  uint32_t count = inf->spec->num_operands;
  if (count == 0) return infer_fail(inf, "it has no operands");
  if (!infer_expect_arrays(inf, 0, count)) return false;
  uint32_t rank = infer_operand(inf, 0)->rank;
  int64_t dimension = infer_int(inf, ATTR_DIMENSIONS, -1);
  if (!dim_in_range(dimension, rank)) {
    return infer_fail(inf, "its operand has no dimension %" PRId64, dimension);
  }
  Dims dims = dims_new(inf, rank);
  for (uint32_t i = 0; i < rank; i++)
    dims_push(&dims, i == dimension ? 0 : UNBOUNDED_DIM, false);
  for (uint32_t i = 0; i < count; i++) {
    if (!join_operand(inf, &dims, i, dimension)) return false;
  }
  for (uint32_t i = 0; i < rank; i++)
    dims.dynamic[i] |= dims.sizes[i] == UNBOUNDED_DIM;
  ElementType type;
  return concatenated_type(inf, &type) && infer_make_array(inf, type, &dims, &inf->result);
}

/* ---- pad ---- */

typedef struct DimPadding { /* as in the attribute */
  int64_t low, high, interior;
} DimPadding;

static bool pad_dim(Inference *inf, int64_t size, DimPadding padding, int64_t *padded) {
  int64_t gaps = size > 1 ? size - 1 : 0, inside;
  if (!mul_bytes(gaps, padding.interior, &inside) || !add_bytes(size, padding.low, padded) ||
      !add_bytes(*padded, padding.high, padded) || !add_bytes(*padded, inside, padded)) {
    return infer_fail(inf, "the size of the result overflows 64 bits");
  }
  return true;
}

bool infer_pad(Inference *inf) {
  if (!infer_expect_arrays(inf, 0, 1)) return false;
  const Shape *operand = infer_operand(inf, 0), *value = infer_operand(inf, 1);
  IntSlice padding = infer_ints(inf, ATTR_PADDING);
  if (!shape_has_no_dims(value) || !type_same_up_to_precision(operand->type, value->type)) {
    return infer_fail(inf, "its operand is %s and the padding value is %s",
                      infer_shown(inf, infer_operand_id(inf, 0)),
                      infer_shown(inf, infer_operand_id(inf, 1)));
  }
  if (padding.len != (uint64_t)operand->rank * 3) {
    return infer_fail(inf, "its operand has rank %u, its padding %u", operand->rank,
                      padding.len / 3);
  }
  Dims dims = dims_new(inf, operand->rank);
  for (uint32_t i = 0; i < operand->rank; i++) {
    const int64_t *ints = padding.data + (size_t)i * 3;
    DimPadding dim = {.low = ints[0], .high = ints[1], .interior = ints[2]};
    int64_t size = operand->dims[i];
    if (size != UNBOUNDED_DIM && !pad_dim(inf, size, dim, &size)) return false;
    dims_push(&dims, size, dim_is_dynamic(operand, i));
  }
  ElementType type;
  return infer_higher_type(inf, operand->type, value->type, &type) &&
         infer_make_array(inf, type, &dims, &inf->result);
}

/* ---- reverse, transpose ---- */

bool infer_reverse(Inference *inf) {
  if (!infer_expect_arrays(inf, 0, 1)) return false;
  IntSlice dimensions = infer_ints(inf, ATTR_DIMENSIONS);
  if (!infer_expect_in_range(inf, "dimensions", dimensions, infer_operand(inf, 0)->rank)) {
    return false;
  }
  if (!ints_are_unique(dimensions)) return infer_fail(inf, "it reverses a dimension twice");
  inf->result = infer_operand_id(inf, 0);
  return true;
}

/* The elements are not moved in memory: each dimension keeps its place in the minor-to-major order,
 * under its new number. */
bool infer_transpose(Inference *inf) {
  if (!infer_expect_arrays(inf, 0, 1)) return false;
  const Shape *operand = infer_operand(inf, 0);
  uint32_t rank = operand->rank;
  IntSlice dimensions = infer_ints(inf, ATTR_DIMENSIONS);
  if (!ints_are_permutation(dimensions, rank)) {
    return infer_fail(inf, "its dimensions are no permutation of those of %s",
                      infer_shown(inf, infer_operand_id(inf, 0)));
  }
  Draft draft;
  draft_begin(inf, &draft, operand);
  int64_t *new_number = arena_array(inf->scratch, int64_t, rank);
  int64_t *order = arena_array(inf->scratch, int64_t, rank);
  for (uint32_t i = 0; i < rank; i++) {
    uint32_t from = (uint32_t)dimensions.data[i];
    draft.dims[i] = operand->dims[from];
    draft.dynamic[i] = dim_is_dynamic(operand, from);
    new_number[from] = i;
  }
  for (uint32_t i = 0; i < rank; i++) {
    int64_t dim = operand->minor_to_major ? operand->minor_to_major[i] : (int64_t)(rank - 1 - i);
    if (!dim_in_range(dim, rank)) {
      return infer_fail(inf, "its operand's layout orders other dimensions");
    }
    order[i] = new_number[dim];
  }
  draft.spec.minor_to_major = order;
  inf->result = draft_finish(inf, &draft);
  return true;
}

/* ---- dimension sizes ---- */

/* Sizes are 32-bit integers at run time. */
static bool check_sized_dim(Inference *inf, int64_t *dimension) {
  if (!infer_expect_dims(inf, 0, 1)) return false;
  const Shape *operand = infer_operand(inf, 0);
  *dimension = infer_int(inf, ATTR_DIMENSIONS, -1);
  if (!dim_in_range(*dimension, operand->rank)) {
    return infer_fail(inf, "its operand has no dimension %" PRId64, *dimension);
  }
  return operand->dims[*dimension] <= INT32_MAX ||
         infer_fail(inf, "dimension %" PRId64 " has a size beyond 32 bits", *dimension);
}

bool infer_get_dimension_size(Inference *inf) {
  int64_t dimension;
  if (!check_sized_dim(inf, &dimension)) return false;
  inf->result = shape_scalar(inf->shapes, TYPE_S32);
  return true;
}

bool infer_set_dimension_size(Inference *inf) {
  int64_t dimension;
  if (!check_sized_dim(inf, &dimension)) return false;
  const Shape *size = infer_operand(inf, 1);
  if (!shape_has_no_dims(size) || size->type != TYPE_S32) {
    return infer_fail(inf, "the size is %s, not s32[]", infer_shown(inf, infer_operand_id(inf, 1)));
  }
  Draft draft;
  draft_begin(inf, &draft, infer_operand(inf, 0));
  draft.dynamic[dimension] = true;
  inf->result = draft_finish(inf, &draft);
  return true;
}

/* ---- topk ---- */

/* The result holds the k largest elements along the last dimension, and their indices. */
bool infer_topk(Inference *inf) {
  if (!infer_expect_arrays(inf, 0, 1)) return false;
  const Shape *operand = infer_operand(inf, 0);
  int64_t k = infer_int(inf, ATTR_K, 0);
  if (operand->rank == 0) return infer_fail(inf, "its operand is a scalar");
  uint32_t last = operand->rank - 1;
  if (operand->dims[last] < k) { /* true for `?` as well */
    return infer_fail(inf, "k is %" PRId64 ", beyond the last dimension of %s", k,
                      infer_shown(inf, infer_operand_id(inf, 0)));
  }
  Dims dims = dims_new(inf, operand->rank);
  for (uint32_t i = 0; i < last; i++)
    dims_push_from(&dims, operand, i);
  dims_push(&dims, k, false);
  ShapeId parts[2];
  if (!infer_make_array(inf, (ElementType)operand->type, &dims, &parts[0])) return false;
  Draft places;
  draft_begin(inf, &places, shape_get(inf->shapes, parts[0]));
  draft_set_type(&places, TYPE_S32);
  parts[1] = draft_finish(inf, &places);
  return infer_make_tuple(inf, parts, 2, &inf->result);
}
