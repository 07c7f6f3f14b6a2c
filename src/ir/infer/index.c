/* Rules for gather and scatter. */
#include "ir/infer/infer_shape_internal.h"

#include <inttypes.h>

/* The indices operand. Each index is a vector along index_vector_dim. That dimension may be the one
 * after the last; then each element is a vector of one. */
typedef struct Indices {
  const Shape *shape;
  uint32_t vector_dim;
  uint32_t rank; /* includes index_vector_dim if the array lacks it */
} Indices;

static bool read_indices(Inference *inf, uint32_t operand, Indices *indices) {
  if (!infer_expect_arrays(inf, operand, 1)) return false;
  const Shape *shape = infer_operand(inf, operand);
  int64_t vector_dim = infer_int(inf, ATTR_INDEX_VECTOR_DIM, -1);
  if (!type_is_integer(shape->type)) {
    return infer_fail(inf, "its indices are %s, which are no integers",
                      infer_shown(inf, infer_operand_id(inf, operand)));
  }
  if (!dim_in_range(vector_dim, shape->rank + 1)) {
    return infer_fail(inf, "its indices have rank %u, but index_vector_dim is %" PRId64,
                      shape->rank, vector_dim);
  }
  indices->shape = shape;
  indices->vector_dim = (uint32_t)vector_dim;
  indices->rank = shape->rank + (vector_dim == shape->rank);
  return true;
}

static int64_t index_length(const Indices *indices) {
  bool is_scalar = indices->vector_dim == indices->shape->rank;
  return is_scalar ? 1 : indices->shape->dims[indices->vector_dim];
}

/* Returns the next dimension of the indices other than index_vector_dim. */
static uint32_t next_index_dim(const Indices *indices, uint32_t *next) {
  if (*next == indices->vector_dim) ++*next;
  return (*next)++;
}

/* Checks a list of dimensions, which must increase and be less than `rank`. */
static bool check_rising(Inference *inf, const char *what, IntSlice dims, uint32_t rank) {
  if (!ints_are_rising(dims)) return infer_fail(inf, "%s is not in rising order", what);
  return infer_expect_in_range(inf, what, dims, rank);
}

static bool check_unique(Inference *inf, const char *what, IntSlice dims, uint32_t rank) {
  if (!infer_expect_in_range(inf, what, dims, rank)) return false;
  return ints_are_unique(dims) || infer_fail(inf, "%s names a dimension twice", what);
}

/* The attributes that gather and scatter have under different names. `map` gives the dimension of
 * the operand for each element of an index. The batching dimensions form pairs. */
typedef struct IndexDims {
  IntSlice window; /* dimensions of the slices within the result or the updates */
  IntSlice absent; /* dimensions of the operand that the slices do not have */
  IntSlice map;
  IntSlice batching;
  IntSlice index_batching;
} IndexDims;

static const char *index_attr(const Inference *inf, AttrId gather, AttrId scatter) {
  return attribute_info(inf->spec->opcode == OPCODE_GATHER ? gather : scatter)->text;
}

/* `rank` is the rank of the operand, and `window_rank` that of the array with the window
 * dimensions. */
static bool check_index_dims(Inference *inf, const IndexDims *dims, const Indices *indices,
                             uint32_t rank, uint64_t window_rank) {
  const char *window = index_attr(inf, ATTR_OFFSET_DIMS, ATTR_UPDATE_WINDOW_DIMS);
  const char *absent = index_attr(inf, ATTR_COLLAPSED_SLICE_DIMS, ATTR_INSERTED_WINDOW_DIMS);
  const char *map = index_attr(inf, ATTR_START_INDEX_MAP, ATTR_SCATTER_DIMS_TO_OPERAND_DIMS);
  const char *batching = index_attr(inf, ATTR_OPERAND_BATCHING_DIMS, ATTR_INPUT_BATCHING_DIMS);
  const char *index_batching =
      index_attr(inf, ATTR_START_INDICES_BATCHING_DIMS, ATTR_SCATTER_INDICES_BATCHING_DIMS);
  if (!check_rising(inf, window, dims->window, (uint32_t)window_rank) ||
      !check_rising(inf, absent, dims->absent, rank) || !check_unique(inf, map, dims->map, rank) ||
      !check_rising(inf, batching, dims->batching, rank) ||
      !check_unique(inf, index_batching, dims->index_batching, indices->rank)) {
    return false;
  }
  if (!sizes_fit(dims->map.len, index_length(indices))) {
    return infer_fail(inf, "%s has %u entries, but its indices are vectors of %" PRId64, map,
                      dims->map.len, index_length(indices));
  }
  if (dims->batching.len != dims->index_batching.len) {
    return infer_fail(inf, "%s and %s have %u and %u entries", batching, index_batching,
                      dims->batching.len, dims->index_batching.len);
  }
  return (uint64_t)dims->window.len + dims->absent.len + dims->batching.len == rank ||
         infer_fail(inf, "%s, %s and %s do not cover the %u dimensions of the operand", window,
                    absent, batching, rank);
}

/* ---- gather ---- */

static bool check_slice_sizes(Inference *inf, const IndexDims *dims, IntSlice sizes) {
  const Shape *operand = infer_operand(inf, 0);
  if (sizes.len != operand->rank) {
    return infer_fail(inf, "it has %u slice sizes for %u dimensions", sizes.len, operand->rank);
  }
  for (uint32_t i = 0; i < sizes.len; i++) {
    if (operand->dims[i] == UNBOUNDED_DIM) continue;
    if (sizes.data[i] < 0 || sizes.data[i] > operand->dims[i]) {
      return infer_fail(inf, "slice size %" PRId64 " of dimension %u is not within %s",
                        sizes.data[i], i, infer_shown(inf, infer_operand_id(inf, 0)));
    }
  }
  const IntSlice flat[] = {dims->absent, dims->batching};
  for (int list = 0; list < 2; list++) {
    for (uint32_t i = 0; i < flat[list].len; i++) {
      if (sizes.data[flat[list].data[i]] > 1) {
        return infer_fail(inf, "dimension %" PRId64 " is collapsed, but its slice size is %" PRId64,
                          flat[list].data[i], sizes.data[flat[list].data[i]]);
      }
    }
  }
  return true;
}

/* Appends the next window dimension of the result, which comes from a dimension of the operand. A
 * dynamic dimension stays dynamic if the slice takes all of it. */
static void push_slice_dim(Dims *result, const Shape *operand, const IndexDims *dims,
                           IntSlice sizes, uint32_t *next) {
  while (ints_contain(dims->absent, *next) || ints_contain(dims->batching, *next))
    ++*next;
  uint32_t dim = (*next)++;
  bool is_whole = sizes.data[dim] == operand->dims[dim];
  dims_push(result, sizes.data[dim], is_whole && dim_is_dynamic(operand, dim));
}

bool infer_gather(Inference *inf) {
  Indices indices;
  if (!infer_expect_arrays(inf, 0, 1) || !read_indices(inf, 1, &indices)) return false;
  const Shape *operand = infer_operand(inf, 0);
  IndexDims dims = {.window = infer_ints(inf, ATTR_OFFSET_DIMS),
                    .absent = infer_ints(inf, ATTR_COLLAPSED_SLICE_DIMS),
                    .map = infer_ints(inf, ATTR_START_INDEX_MAP),
                    .batching = infer_ints(inf, ATTR_OPERAND_BATCHING_DIMS),
                    .index_batching = infer_ints(inf, ATTR_START_INDICES_BATCHING_DIMS)};
  IntSlice sizes = infer_ints(inf, ATTR_SLICE_SIZES);
  uint32_t rank = dims.window.len + indices.rank - 1;
  if (!check_index_dims(inf, &dims, &indices, operand->rank, rank) ||
      !check_slice_sizes(inf, &dims, sizes)) {
    return false;
  }
  Dims result = dims_new(inf, rank);
  uint32_t next_slice_dim = 0, next_dim = 0;
  for (uint32_t i = 0; i < rank; i++) {
    if (ints_contain(dims.window, i)) {
      push_slice_dim(&result, operand, &dims, sizes, &next_slice_dim);
    } else {
      dims_push_from(&result, indices.shape, next_index_dim(&indices, &next_dim));
    }
  }
  return infer_make_array(inf, (ElementType)operand->type, &result, &inf->result);
}

/* ---- scatter ---- */

static IndexDims scatter_dims(const Inference *inf) {
  return (IndexDims){.window = infer_ints(inf, ATTR_UPDATE_WINDOW_DIMS),
                     .absent = infer_ints(inf, ATTR_INSERTED_WINDOW_DIMS),
                     .map = infer_ints(inf, ATTR_SCATTER_DIMS_TO_OPERAND_DIMS),
                     .batching = infer_ints(inf, ATTR_INPUT_BATCHING_DIMS),
                     .index_batching = infer_ints(inf, ATTR_SCATTER_INDICES_BATCHING_DIMS)};
}

static bool fail_updates(Inference *inf, uint32_t i, uint32_t count) {
  return infer_fail(inf, "updates %s do not fit operand %s and indices %s",
                    infer_shown(inf, infer_operand_id(inf, count + 1 + i)),
                    infer_shown(inf, infer_operand_id(inf, i)),
                    infer_shown(inf, infer_operand_id(inf, count)));
}

/* Makes XLA's search for the dimensions that updates lack, which advances in two lists at the same
 * time. If a dimension is in both lists, the search does not advance beyond it in the second
 * one. */
static bool is_absent(const IndexDims *dims, uint32_t dim, uint32_t *next_absent,
                      uint32_t *next_batching) {
  if (*next_absent < dims->absent.len && dims->absent.data[*next_absent] == dim) {
    ++*next_absent;
    return true;
  }
  if (*next_batching < dims->batching.len && dims->batching.data[*next_batching] == dim) {
    ++*next_batching;
    return true;
  }
  return false;
}

/* Checks that the window dimensions of the updates are at most as large as the operand's, and that
 * all other dimensions are as large as those of the indices. */
static bool check_updates(Inference *inf, const IndexDims *dims, const Indices *indices, uint32_t i,
                          uint32_t count) {
  const Shape *operand = infer_operand(inf, i), *updates = infer_operand(inf, count + 1 + i);
  uint32_t window = 0, next_absent = 0, next_batching = 0;
  for (uint32_t dim = 0; dim < operand->rank && window < dims->window.len; dim++) {
    if (is_absent(dims, dim, &next_absent, &next_batching)) continue;
    if (updates->dims[dims->window.data[window++]] > operand->dims[dim]) {
      return fail_updates(inf, i, count);
    }
  }
  uint32_t next_dim = 0;
  for (uint32_t dim = 0; dim < updates->rank; dim++) {
    if (ints_contain(dims->window, dim)) continue;
    uint32_t from = next_index_dim(indices, &next_dim);
    if (!sizes_fit(updates->dims[dim], indices->shape->dims[from])) {
      return fail_updates(inf, i, count);
    }
  }
  return true;
}

static bool check_scattered(Inference *inf, const IndexDims *dims, const Indices *indices,
                            uint32_t i, uint32_t count) {
  uint32_t update = count + 1 + i;
  if (!infer_expect_arrays(inf, i, 1) || !infer_expect_arrays(inf, update, 1)) return false;
  uint32_t rank = infer_operand(inf, update)->rank;
  if (rank != (uint64_t)indices->rank - 1 + dims->window.len) return fail_updates(inf, i, count);
  return check_index_dims(inf, dims, indices, infer_operand(inf, i)->rank, rank) &&
         check_updates(inf, dims, indices, i, count);
}

/* The operands are arrays, indices and updates. */
bool infer_scatter(Inference *inf) {
  uint32_t count = inf->spec->num_operands / 2;
  Indices indices;
  if (!read_indices(inf, count, &indices)) return false;
  IndexDims dims = scatter_dims(inf);
  ReducerInput *inputs = arena_array(inf->scratch, ReducerInput, count);
  for (uint32_t i = 0; i < count; i++) {
    if (!check_scattered(inf, &dims, &indices, i, count)) return false;
    inputs[i] =
        (ReducerInput){.init = shape_scalar(inf->shapes, (ElementType)infer_operand(inf, i)->type),
                       .type = infer_operand(inf, count + 1 + i)->type};
  }
  if (!infer_check_reducer(inf, inf->spec->callees[0], inputs, count)) return false;
  inf->result = infer_operand_id(inf, 0);
  return count == 1 || infer_make_tuple(inf, infer_operand_ids(inf), count, &inf->result);
}
