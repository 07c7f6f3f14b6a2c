/* Rules for dot products: dot, scaled-dot, ragged-dot. */
#include "ir/infer/infer_shape_internal.h"

#include <inttypes.h>

#include "ir/bytes.h"

/* ---- sparsity ---- */

enum { SPARSITY_GIVEN, SPARSITY_NON_ZEROS, SPARSITY_BLOCK, SPARSITY_DIMENSION, SPARSITY_WORDS };

/* A sparse operand holds only the non-zeros of each block along one of its dimensions. */
bool infer_logical_size(Inference *inf, uint32_t side, int64_t dim, int64_t *size) {
  *size = infer_operand(inf, side)->dims[dim];
  IntSlice config = infer_ints(inf, ATTR_SPARSITY_CONFIG);
  if (config.len != 2 * SPARSITY_WORDS) return true;
  const int64_t *words = config.data + (size_t)side * SPARSITY_WORDS;
  if (!words[SPARSITY_GIVEN] || words[SPARSITY_DIMENSION] != dim) return true;
  int64_t non_zeros = words[SPARSITY_NON_ZEROS], block = words[SPARSITY_BLOCK];
  if (non_zeros <= 0 || block <= 0) return infer_fail(inf, "its sparsity is not positive");
  if (*size == UNBOUNDED_DIM) return true;
  if (*size % non_zeros != 0) {
    return infer_fail(inf, "its sparse dimension has the size %" PRId64 ", no multiple of %" PRId64,
                      *size, non_zeros);
  }
  return mul_bytes(*size / non_zeros, block, size) ||
         infer_fail(inf, "the size of its sparse dimension overflows 64 bits");
}

/* ---- dimension numbers ---- */

/* One side of a dot product. */
typedef struct DotSide {
  uint32_t operand;
  const Shape *shape;
  IntSlice contracting;
  IntSlice batch;
} DotSide;

typedef struct DotSides {
  DotSide lhs, rhs;
} DotSides;

static DotSides dot_sides(const Inference *inf, uint32_t rhs) {
  return (DotSides){.lhs = {.operand = 0,
                            .shape = infer_operand(inf, 0),
                            .contracting = infer_ints(inf, ATTR_LHS_CONTRACTING_DIMS),
                            .batch = infer_ints(inf, ATTR_LHS_BATCH_DIMS)},
                    .rhs = {.operand = rhs,
                            .shape = infer_operand(inf, rhs),
                            .contracting = infer_ints(inf, ATTR_RHS_CONTRACTING_DIMS),
                            .batch = infer_ints(inf, ATTR_RHS_BATCH_DIMS)}};
}

static bool is_free(const DotSide *side, int64_t dim) {
  return !ints_contain(side->contracting, dim) && !ints_contain(side->batch, dim);
}

/* Checks that all dimensions of both lists exist and that none occurs twice. */
static bool check_side(Inference *inf, const DotSide *side) {
  const IntSlice lists[] = {side->contracting, side->batch};
  for (int list = 0; list < 2; list++) {
    for (uint32_t i = 0; i < lists[list].len; i++) {
      int64_t dim = lists[list].data[i];
      if (!dim_in_range(dim, side->shape->rank)) {
        return infer_fail(inf, "operand %u has no dimension %" PRId64, side->operand, dim);
      }
      if (ints_contain((IntSlice){lists[list].data, i}, dim) ||
          (list == 1 && ints_contain(side->contracting, dim))) {
        return infer_fail(inf, "dimension %" PRId64 " of operand %u is named twice", dim,
                          side->operand);
      }
    }
  }
  return true;
}

static bool fail_pair(Inference *inf, const char *kind, int64_t left, int64_t right) {
  return infer_fail(inf, "%s dimensions %" PRId64 " and %" PRId64 " differ in size", kind, left,
                    right);
}

/* Only dot itself has sparse operands. Its rhs is operand 1. */
static bool check_pairs(Inference *inf, const DotSides *sides) {
  const DotSide *lhs = &sides->lhs, *rhs = &sides->rhs;
  if (lhs->contracting.len != rhs->contracting.len || lhs->batch.len != rhs->batch.len) {
    return infer_fail(inf, "its operands have %u and %u contracting, %u and %u batch dimensions",
                      lhs->contracting.len, rhs->contracting.len, lhs->batch.len, rhs->batch.len);
  }
  for (uint32_t i = 0; i < lhs->contracting.len; i++) {
    int64_t left = lhs->contracting.data[i], right = rhs->contracting.data[i];
    int64_t left_size = lhs->shape->dims[left], right_size = rhs->shape->dims[right];
    if (inf->spec->opcode == OPCODE_DOT && (!infer_logical_size(inf, 0, left, &left_size) ||
                                            !infer_logical_size(inf, 1, right, &right_size))) {
      return false;
    }
    if (!sizes_fit(left_size, right_size)) return fail_pair(inf, "contracting", left, right);
  }
  for (uint32_t i = 0; i < lhs->batch.len; i++) {
    int64_t left = lhs->batch.data[i], right = rhs->batch.data[i];
    if (!sizes_fit(lhs->shape->dims[left], rhs->shape->dims[right])) {
      return fail_pair(inf, "batch", left, right);
    }
  }
  return true;
}

static bool check_dot(Inference *inf, const DotSides *sides) {
  return check_side(inf, &sides->lhs) && check_side(inf, &sides->rhs) && check_pairs(inf, sides);
}

/* Appends to `dims` the batch dimensions and then the free dimensions of the left and of the right
 * side, without those of the right side that are in `skipped`. */
static bool make_product(Inference *inf, const DotSides *sides, Dims *dims, IntSlice skipped) {
  const DotSide *lhs = &sides->lhs, *rhs = &sides->rhs;
  for (uint32_t i = 0; i < lhs->batch.len; i++) {
    dims_push_from(dims, lhs->shape, (uint32_t)lhs->batch.data[i]);
  }
  for (uint32_t i = 0; i < lhs->shape->rank; i++) {
    if (is_free(lhs, i)) dims_push_from(dims, lhs->shape, i);
  }
  for (uint32_t i = 0; i < rhs->shape->rank; i++) {
    if (is_free(rhs, i) && !ints_contain(skipped, i)) dims_push_from(dims, rhs->shape, i);
  }
  ElementType type;
  return infer_higher_type(inf, lhs->shape->type, rhs->shape->type, &type) &&
         infer_make_array(inf, type, dims, &inf->result);
}

bool infer_dot(Inference *inf, uint32_t rhs) {
  if (!infer_expect_arrays(inf, 0, 1) || !infer_expect_arrays(inf, rhs, 1)) return false;
  DotSides sides = dot_sides(inf, rhs);
  if (!check_dot(inf, &sides)) return false;
  Dims dims = dims_new(inf, (size_t)sides.lhs.shape->rank + sides.rhs.shape->rank);
  return make_product(inf, &sides, &dims, (IntSlice){0});
}

/* ---- ragged-dot ---- */

/* Which kind of dimension of the left side is divided into groups. */
typedef enum RaggedMode {
  RAGGED_FREE,        /* [b,m,k] [g,b,k,n] -> [b,m,n]: m is divided, each group has its own rhs */
  RAGGED_CONTRACTING, /* [b,m,k] [b,k,n] -> [g,b,m,n]: k is divided, each group has its own result
                       */
  RAGGED_BATCH,       /* [b,m,k] [b,k,n] -> [b,m,n]: b is divided */
} RaggedMode;

static RaggedMode ragged_mode(const DotSide *lhs, int64_t ragged) {
  if (ints_contain(lhs->batch, ragged)) return RAGGED_BATCH;
  return ints_contain(lhs->contracting, ragged) ? RAGGED_CONTRACTING : RAGGED_FREE;
}

static void push_until(Dims *dims, const Shape *shape, IntSlice list, int64_t end) {
  for (uint32_t i = 0; i < list.len && list.data[i] != end; i++) {
    dims_push_from(dims, shape, (uint32_t)list.data[i]);
  }
}

/* Checks the shape of the group sizes. It is [g], or [g] for each index of the dimensions outside
 * the ragged one: the batch dimensions, then the dimensions of the ragged one's own kind that
 * precede it. */
static bool check_group_sizes(Inference *inf, const DotSide *lhs, int64_t ragged, RaggedMode mode) {
  const Shape *groups = infer_operand(inf, 2);
  if (groups->rank == 1) return true;
  Dims outer = dims_new(inf, (size_t)lhs->batch.len + lhs->shape->rank);
  push_until(&outer, lhs->shape, lhs->batch, mode == RAGGED_BATCH ? ragged : -1);
  if (mode == RAGGED_CONTRACTING) push_until(&outer, lhs->shape, lhs->contracting, ragged);
  for (uint32_t i = 0; mode == RAGGED_FREE && i < ragged; i++) {
    if (is_free(lhs, i)) dims_push_from(&outer, lhs->shape, i);
  }
  bool fits = groups->rank == outer.rank + 1;
  for (uint32_t i = 0; fits && i < outer.rank; i++)
    fits = groups->dims[i] == outer.sizes[i];
  return fits ||
         infer_fail(inf,
                    "the group sizes are %s, which does not fit dimension %" PRId64 " of operand 0",
                    infer_shown(inf, infer_operand_id(inf, 2)), ragged);
}

static bool check_group_dims(Inference *inf, const DotSide *rhs, IntSlice group_dims,
                             RaggedMode mode, int64_t num_groups) {
  for (uint32_t i = 0; i < group_dims.len; i++) {
    if (!dim_in_range(group_dims.data[i], rhs->shape->rank) || !is_free(rhs, group_dims.data[i])) {
      return infer_fail(inf, "operand 1 has no free dimension %" PRId64 " for the groups",
                        group_dims.data[i]);
    }
  }
  uint32_t wanted = mode == RAGGED_FREE ? 1 : 0;
  if (group_dims.len != wanted) {
    return infer_fail(inf, "operand 1 has %u group dimensions, not %u", group_dims.len, wanted);
  }
  if (wanted && !sizes_fit(rhs->shape->dims[group_dims.data[0]], num_groups)) {
    return infer_fail(inf, "operand 1 has %" PRId64 " groups, the group sizes name %" PRId64,
                      rhs->shape->dims[group_dims.data[0]], num_groups);
  }
  return true;
}

bool infer_ragged_dot(Inference *inf) {
  if (!infer_expect_arrays(inf, 0, 3)) return false;
  DotSides sides = dot_sides(inf, 1);
  if (!check_dot(inf, &sides)) return false;
  IntSlice ragged_dims = infer_ints(inf, ATTR_LHS_RAGGED_DIMS);
  if (ragged_dims.len != 1 || !dim_in_range(ragged_dims.data[0], sides.lhs.shape->rank)) {
    return infer_fail(inf, "it needs one ragged dimension of operand 0");
  }
  int64_t ragged = ragged_dims.data[0];
  RaggedMode mode = ragged_mode(&sides.lhs, ragged);
  if (!check_group_sizes(inf, &sides.lhs, ragged, mode)) return false;
  const Shape *groups = infer_operand(inf, 2);
  int64_t num_groups = groups->dims[groups->rank - 1];
  IntSlice group_dims = infer_ints(inf, ATTR_RHS_GROUP_DIMS);
  if (!check_group_dims(inf, &sides.rhs, group_dims, mode, num_groups)) return false;
  Dims dims = dims_new(inf, (size_t)sides.lhs.shape->rank + sides.rhs.shape->rank + 1);
  if (mode == RAGGED_CONTRACTING) dims_push_from(&dims, groups, groups->rank - 1);
  return make_product(inf, &sides, &dims, group_dims);
}
