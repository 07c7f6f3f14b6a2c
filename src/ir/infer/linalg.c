/* Rules for opcodes that perform a whole algorithm: fft, cholesky, triangular-solve,
 * batch-norm-*. */
#include "ir/infer/infer_shape_internal.h"

#include <inttypes.h>

static bool is_float_or_complex(unsigned type) {
  return type_is_float(type) || type_is_complex(type);
}

/* ---- cholesky, triangular-solve ---- */

/* Checks that operand 0 is a matrix, or a batch of matrices in its leading dimensions. */
static bool check_matrix(Inference *inf) {
  const Shape *matrix = infer_operand(inf, 0);
  uint32_t rank = matrix->rank;
  if (!is_float_or_complex(infer_type(matrix)) || rank < 2 ||
      !sizes_fit(matrix->dims[rank - 2], matrix->dims[rank - 1])) {
    return infer_fail(inf,
                      "operand 0 is %s, which holds no square matrices of floating or complex "
                      "numbers",
                      infer_shown(inf, infer_operand_id(inf, 0)));
  }
  return true;
}

bool infer_cholesky(Inference *inf) {
  inf->result = infer_operand_id(inf, 0);
  return check_matrix(inf);
}

enum { TRANSPOSE_INVALID = 0 }; /* ORDER words of transpose_a */

bool infer_triangular_solve(Inference *inf) {
  if (!check_matrix(inf)) return false;
  const Shape *a = infer_operand(inf, 0), *b = infer_operand(inf, 1);
  bool left_side = infer_int(inf, ATTR_LEFT_SIDE, false) != 0;
  bool fits = infer_type(b) == a->type && a->rank == b->rank;
  if (fits) fits = sizes_fit(a->dims[a->rank - 1], b->dims[b->rank - (left_side ? 2 : 1)]);
  for (uint32_t i = 0; fits && i < a->rank - 2; i++)
    fits = a->dims[i] == b->dims[i];
  if (!fits) {
    return infer_fail(inf, "its operands are %s and %s", infer_shown(inf, infer_operand_id(inf, 0)),
                      infer_shown(inf, infer_operand_id(inf, 1)));
  }
  if (infer_int(inf, ATTR_TRANSPOSE_A, TRANSPOSE_INVALID) == TRANSPOSE_INVALID) {
    return infer_fail(inf, "it lacks the attribute 'transpose_a'");
  }
  inf->result = infer_operand_id(inf, 1);
  return true;
}

/* ---- fft ---- */

static bool check_fft_operand(Inference *inf, int64_t fft_type, IntSlice length) {
  const Shape *operand = infer_operand(inf, 0);
  unsigned type = infer_type(operand);
  bool is_real = fft_type == FFT_REAL;
  if (is_real ? type != TYPE_F32 && type != TYPE_F64 : !type_is_complex(type)) {
    return infer_fail(inf, "its operand has the element type %s, not %s", infer_type_text(type),
                      is_real ? "f32 or f64" : "a complex one");
  }
  if (length.len < 1 || length.len > 3 || operand->rank < length.len) {
    return infer_fail(inf, "its length has rank %u, its operand %u", length.len, operand->rank);
  }
  return true;
}

static bool fail_fft_dim(Inference *inf, uint32_t dim) {
  return infer_fail(inf, "dimension %u of its operand, %s, contradicts its length", dim,
                    infer_shown(inf, infer_operand_id(inf, 0)));
}

/* The spectrum of real numbers is symmetric, so only half of its last dimension is stored. */
static bool infer_rfft(Inference *inf, IntSlice length, Draft *draft) {
  const Shape *operand = infer_operand(inf, 0);
  uint32_t first = operand->rank - length.len, last = operand->rank - 1;
  for (uint32_t i = first; i <= last; i++) {
    bool is_known = operand->dims[i] != UNBOUNDED_DIM;
    if (is_known && operand->dims[i] != length.data[i - first]) return fail_fft_dim(inf, i);
  }
  draft_set_type(draft, operand->type == TYPE_F32 ? TYPE_C64 : TYPE_C128);
  int64_t size = length.data[length.len - 1];
  if (size == 0) return true;
  draft->dims[last] = size / 2 + 1;
  if (operand->dims[last] == UNBOUNDED_DIM) draft->dynamic[last] = false;
  return draft->dims[last] >= 0 || fail_fft_dim(inf, last);
}

static bool infer_irfft(Inference *inf, IntSlice length, Draft *draft) {
  const Shape *operand = infer_operand(inf, 0);
  uint32_t first = operand->rank - length.len, last = operand->rank - 1;
  for (uint32_t i = first; i < last; i++) {
    if (operand->dims[i] != length.data[i - first]) return fail_fft_dim(inf, i);
  }
  int64_t size = length.data[length.len - 1], half = operand->dims[last];
  bool is_empty = size == 0 && half == 0;
  if (size < 0 || (!is_empty && !sizes_fit(half, size / 2 + 1))) return fail_fft_dim(inf, last);
  draft_set_type(draft, type_of_component(operand->type));
  draft->dims[last] = size;
  if (half == UNBOUNDED_DIM) draft->dynamic[last] = false;
  return true;
}

bool infer_fft(Inference *inf) {
  int64_t fft_type = infer_int(inf, ATTR_FFT_TYPE, FFT_FORWARD);
  IntSlice length = infer_ints(inf, ATTR_FFT_LENGTH);
  if (!check_fft_operand(inf, fft_type, length)) return false;
  if (fft_type == FFT_FORWARD || fft_type == FFT_INVERSE) {
    inf->result = infer_operand_id(inf, 0);
    return true;
  }
  if (!infer_expect_arrays(inf, 0, 1)) return false;
  Draft draft;
  draft_begin(inf, &draft, infer_operand(inf, 0));
  if (fft_type == FFT_REAL ? !infer_rfft(inf, length, &draft) : !infer_irfft(inf, length, &draft)) {
    return false;
  }
  inf->result = draft_finish(inf, &draft);
  return true;
}

/* ---- batch-norm-* ---- */

/* Finds the feature dimension of the operand. */
static bool find_features(Inference *inf, uint32_t *features) {
  const Shape *operand = infer_operand(inf, 0);
  int64_t index = infer_int(inf, ATTR_FEATURE_INDEX, -1);
  if (!infer_expect_arrays(inf, 0, 1)) return false;
  if (!dim_in_range(index, operand->rank)) {
    return infer_fail(inf, "its operand has no dimension %" PRId64 " for the features", index);
  }
  *features = (uint32_t)index;
  return type_is_float(operand->type) ||
         infer_fail(inf, "its operand has the element type %s, which is not floating",
                    infer_type_text(operand->type));
}

/* Checks scale, offset, mean or variance, which is a vector with one number for each feature. Of
 * mean and variance, XLA's inference mode checks the first dimension only. */
static bool check_feature_vector(Inference *inf, uint32_t i, uint32_t features) {
  const Shape *operand = infer_operand(inf, 0), *vector = infer_operand(inf, i);
  bool is_loose = inf->spec->opcode == OPCODE_BATCH_NORM_INFERENCE && i >= 3;
  bool has_rank = is_loose ? shape_has_dims(vector) && vector->rank > 0
                           : shape_is_array(vector) && vector->rank == 1;
  if (!has_rank || !type_same_up_to_precision(vector->type, operand->type) ||
      !sizes_fit(vector->dims[0], operand->dims[features])) {
    return infer_fail(inf, "operand %u is %s, which has not one number per feature of %s", i,
                      infer_shown(inf, infer_operand_id(inf, i)),
                      infer_shown(inf, infer_operand_id(inf, 0)));
  }
  return true;
}

static bool check_output_grad(Inference *inf) {
  const Shape *operand = infer_operand(inf, 0), *grad = infer_operand(inf, 4);
  return (shape_is_array(grad) && type_is_float(grad->type) && shape_same_dims(operand, grad)) ||
         infer_fail(inf, "its operand is %s, the gradient %s",
                    infer_shown(inf, infer_operand_id(inf, 0)),
                    infer_shown(inf, infer_operand_id(inf, 4)));
}

/* The result of training is a tuple of the operand's shape and two vectors: the mean and the
 * variance. The result of grad has the same form, with the gradients of scale and offset. */
bool infer_batch_norm(Inference *inf) {
  Opcode opcode = inf->spec->opcode;
  bool is_grad = opcode == OPCODE_BATCH_NORM_GRAD;
  uint32_t features = 0, num_vectors = inf->spec->num_operands - (is_grad ? 2 : 1);
  if (!find_features(inf, &features)) return false;
  for (uint32_t i = 1; i <= num_vectors; i++) {
    if (!check_feature_vector(inf, i, features)) return false;
  }
  if (is_grad && !check_output_grad(inf)) return false;
  for (uint32_t i = 0; i < inf->spec->num_operands; i++) {
    if (!infer_check_valid(inf, infer_operand_id(inf, i))) return false;
  }
  inf->result = infer_operand_id(inf, 0);
  if (opcode == OPCODE_BATCH_NORM_INFERENCE) return true;

  const Shape *operand = infer_operand(inf, 0);
  Dims dims = dims_new(inf, 1);
  dims_push_from(&dims, operand, features);
  ShapeId vector;
  if (!infer_make_array(inf, (ElementType)operand->type, &dims, &vector)) return false;
  return infer_join_tuple(inf, (ShapeId[]){inf->result, vector, vector}, 3, &inf->result);
}
