/* Rules for opcodes that slide a window over an array. */
#include "ir/infer/infer_shape_internal.h"

#include <inttypes.h>

#include "ir/bytes.h"

/* ---- windows ---- */

typedef struct InferredDim {
  int64_t size, stride, low, high, base_dilation, window_dilation;
} InferredDim;

enum { WINDOW_WORDS = 7 }; /* integers of the attribute per dimension; the last is the reversal */

static InferredDim window_dim(IntSlice window, uint32_t i) {
  const int64_t *words = window.data + (size_t)i * WINDOW_WORDS;
  return (InferredDim){.size = words[0],
                       .stride = words[1],
                       .low = words[2],
                       .high = words[3],
                       .base_dilation = words[4],
                       .window_dilation = words[5]};
}

/* Computes the extent of `size` elements with gaps between them (window_util::DilatedBound). */
static bool dilate(int64_t size, int64_t dilation, int64_t *dilated) {
  *dilated = 0;
  return size == 0 || (mul_bytes(size - 1, dilation, dilated) && add_bytes(*dilated, 1, dilated));
}

/* Computes the number of positions of the window in a dimension (window_util::StridedBound). */
static bool count_places(Inference *inf, InferredDim dim, int64_t base, int64_t *places) {
  if (dim.size <= 0 || dim.stride <= 0 || dim.base_dilation < 1 || dim.window_dilation < 1) {
    return infer_fail(inf, "a size, stride or dilation of its window is not positive");
  }
  *places = base;
  if (base == UNBOUNDED_DIM) return true;
  int64_t padded, window;
  if (!dilate(base, dim.base_dilation, &padded) || !add_bytes(padded, dim.low, &padded) ||
      !add_bytes(padded, dim.high, &padded) || !dilate(dim.size, dim.window_dilation, &window)) {
    return infer_fail(inf, "the size of the padded operand overflows 64 bits");
  }
  if (padded < 0) return infer_fail(inf, "the padding leaves less than nothing of the operand");
  *places = padded == 0 || window > padded ? 0 : (padded - window) / dim.stride + 1;
  return true;
}

/* Computes the positions of the window in an array of dimensions `base`. `type` is the element type
 * of the result. */
static bool slide_window(Inference *inf, const Dims *base, ElementType type, Dims *places) {
  IntSlice window = infer_ints(inf, ATTR_WINDOW);
  if (window.len != (uint64_t)base->rank * WINDOW_WORDS) {
    return infer_fail(inf, "its window has %u dimensions, not %u", window.len / WINDOW_WORDS,
                      base->rank);
  }
  *places = dims_new(inf, base->rank);
  for (uint32_t i = 0; i < base->rank; i++) {
    int64_t size = 0;
    if (!count_places(inf, window_dim(window, i), base->sizes[i], &size)) return false;
    dims_push(places, size, base->dynamic[i]);
  }
  return infer_check_dims(inf, type, places);
}

static bool slide_over_shape(Inference *inf, const Shape *shape, ElementType type, Dims *places) {
  Dims base = dims_new(inf, shape->rank);
  for (uint32_t i = 0; i < shape->rank; i++)
    dims_push_from(&base, shape, i);
  return slide_window(inf, &base, type, places);
}

/* ---- reduce-window, select-and-scatter ---- */

/* XLA infers only the form with one input, and uses the second operand as its initial value even if
 * there are more operands. */
bool infer_reduce_window(Inference *inf) {
  ReducerInput input = {.init = infer_operand_id(inf, 1),
                        .type = infer_type(infer_operand(inf, 0))};
  Dims places;
  if (!infer_expect_arrays(inf, 0, 1) ||
      !infer_check_reducer(inf, inf->spec->callees[0], &input, 1)) {
    return false;
  }
  ElementType type = (ElementType)infer_operand(inf, 1)->type;
  return slide_over_shape(inf, infer_operand(inf, 0), type, &places) &&
         infer_make_array(inf, type, &places, &inf->result);
}

bool infer_reduce_windows(Inference *inf) {
  uint32_t count = inf->spec->num_operands / 2;
  if (!infer_expect_arrays(inf, 0, count)) return false;
  ShapeId *results = arena_array(inf->scratch, ShapeId, count);
  for (uint32_t i = 0; i < count; i++) {
    if (!shape_same_dims(infer_operand(inf, 0), infer_operand(inf, i))) {
      return infer_fail(inf, "operand 0 is %s, operand %u is %s",
                        infer_shown(inf, infer_operand_id(inf, 0)), i,
                        infer_shown(inf, infer_operand_id(inf, i)));
    }
    ElementType type = (ElementType)infer_operand(inf, count + i)->type;
    Dims places;
    if (!slide_over_shape(inf, infer_operand(inf, i), type, &places) ||
        !infer_make_array(inf, type, &places, &results[i])) {
      return false;
    }
  }
  return infer_make_tuple(inf, results, count, &inf->result);
}

/* Checks that `select` is (element, element) -> pred. */
static bool check_selector(Inference *inf, CompId select, unsigned type) {
  const Shape *result = shape_get(inf->shapes, infer_comp_result(inf, select));
  if (infer_num_params(inf, select) != 2 || !shape_is_scalar(result) || result->type != TYPE_PRED) {
    return infer_fail(inf, "its select computation does not map two elements to pred[]");
  }
  for (uint32_t i = 0; i < 2; i++) {
    const Shape *param = shape_get(inf->shapes, infer_param(inf, select, i));
    if (!shape_is_scalar(param) || !type_same_up_to_precision(param->type, type)) {
      return infer_fail(inf, "its select computation takes %s for elements of type %s",
                        infer_shown(inf, infer_param(inf, select, i)), infer_type_text(type));
    }
  }
  return true;
}

/* The operands are array, source and initial value. The source has one element for each position of
 * the window. */
bool infer_select_and_scatter(Inference *inf) {
  if (!infer_expect_arrays(inf, 0, 1)) return false;
  const Shape *operand = infer_operand(inf, 0), *source = infer_operand(inf, 1);
  ReducerInput input = {.init = infer_operand_id(inf, 2), .type = infer_type(source)};
  ElementType type = (ElementType)operand->type;
  Dims places;
  if (!check_selector(inf, inf->spec->callees[0], type) ||
      !infer_check_reducer(inf, inf->spec->callees[1], &input, 1) ||
      !slide_over_shape(inf, operand, type, &places)) {
    return false;
  }
  bool fits = shape_is_array(source) && source->rank == places.rank &&
              type_same_up_to_precision(source->type, type);
  for (uint32_t i = 0; fits && i < places.rank; i++) {
    fits = sizes_fit(source->dims[i], places.sizes[i]);
  }
  if (!fits) {
    return infer_fail(inf, "its source is %s, which has not one element per place of the window",
                      infer_shown(inf, infer_operand_id(inf, 1)));
  }
  inf->result = infer_operand_id(inf, 0);
  return true;
}

/* ---- convolution ---- */

enum { ROLE_BATCH = 0, ROLE_FEATURE = 1 };          /* roles in the input and the output */
enum { ROLE_IN_FEATURE = 0, ROLE_OUT_FEATURE = 1 }; /* roles in the kernel */
enum { FIRST_SPATIAL = 2 };

typedef struct Convolution {
  uint32_t num_spatial;
  const int64_t *input, *kernel, *output; /* by role; spatial dimensions start at FIRST_SPATIAL */
  int64_t feature_groups, batch_groups;
  int64_t in_features, batch; /* sizes in the input */
  int64_t kernel_in_features, out_features;
} Convolution;

/* A missing label means dimension 0, which is XLA's default. */
static bool read_roles(Inference *inf, Convolution *conv) {
  IntSlice labels = infer_ints(inf, ATTR_DIM_LABELS);
  conv->num_spatial = (uint32_t)labels.data[0];
  uint32_t rank = conv->num_spatial + FIRST_SPATIAL;
  int64_t *roles = arena_array(inf->scratch, int64_t, (size_t)rank * 3);
  for (uint32_t i = 0; i < rank * 3; i++) {
    roles[i] = labels.data[i + 1] < 0 ? 0 : labels.data[i + 1];
  }
  conv->input = roles;
  conv->kernel = roles + rank;
  conv->output = roles + (size_t)rank * 2;
  if (infer_operand(inf, 0)->rank != rank || infer_operand(inf, 1)->rank != rank) {
    return infer_fail(inf, "its dimension labels want operands of rank %u", rank);
  }
  return (ints_are_permutation((IntSlice){conv->input, rank}, rank) &&
          ints_are_permutation((IntSlice){conv->kernel, rank}, rank) &&
          ints_are_permutation((IntSlice){conv->output, rank}, rank)) ||
         infer_fail(inf, "its dimension labels do not name each dimension once");
}

static bool read_groups(Inference *inf, Convolution *conv) {
  conv->feature_groups = infer_int(inf, ATTR_FEATURE_GROUP_COUNT, 1);
  conv->batch_groups = infer_int(inf, ATTR_BATCH_GROUP_COUNT, 1);
  if (conv->feature_groups <= 0 || conv->batch_groups <= 0) {
    return infer_fail(inf, "its group counts are not positive");
  }
  return conv->feature_groups == 1 || conv->batch_groups == 1 ||
         infer_fail(inf, "it has feature groups and batch groups");
}

/* `?` is a negative size here, as in XLA, and is divided like one. */
static bool check_features(Inference *inf, Convolution *conv) {
  const Shape *input = infer_operand(inf, 0), *kernel = infer_operand(inf, 1);
  conv->batch = input->dims[conv->input[ROLE_BATCH]];
  conv->out_features = kernel->dims[conv->kernel[ROLE_OUT_FEATURE]];
  if (!infer_logical_size(inf, 0, conv->input[ROLE_FEATURE], &conv->in_features) ||
      !infer_logical_size(inf, 1, conv->kernel[ROLE_IN_FEATURE], &conv->kernel_in_features)) {
    return false;
  }
  if (conv->out_features % conv->batch_groups != 0 ||
      conv->out_features % conv->feature_groups > 0 || conv->batch % conv->batch_groups != 0) {
    return infer_fail(
        inf, "its groups do not divide %" PRId64 " output features and a batch of %" PRId64,
        conv->out_features, conv->batch);
  }
  if (conv->in_features % conv->feature_groups != 0 ||
      conv->in_features / conv->feature_groups != conv->kernel_in_features) {
    return infer_fail(inf, "its kernel has %" PRId64 " input features, its input %" PRId64,
                      conv->kernel_in_features, conv->in_features);
  }
  return true;
}

/* Computes the number of positions of the window in each spatial dimension. */
static bool spatial_places(Inference *inf, const Convolution *conv, Dims *places) {
  const Shape *input = infer_operand(inf, 0), *kernel = infer_operand(inf, 1);
  IntSlice window = infer_ints(inf, ATTR_WINDOW);
  Dims base = dims_new(inf, conv->num_spatial);
  for (uint32_t i = 0; i < conv->num_spatial; i++) {
    int64_t size = input->dims[conv->input[FIRST_SPATIAL + i]];
    dims_push(&base, size, size == UNBOUNDED_DIM);
  }
  ElementType type = (ElementType)input->type;
  if (!infer_check_dims(inf, type, &base) || !slide_window(inf, &base, type, places)) return false;
  for (uint32_t i = 0; i < conv->num_spatial; i++) {
    if (kernel->dims[conv->kernel[FIRST_SPATIAL + i]] != window_dim(window, i).size) {
      return infer_fail(inf, "its window differs from its kernel, %s",
                        infer_shown(inf, infer_operand_id(inf, 1)));
    }
  }
  return true;
}

/* Arranges the batch, the features and the positions in the order of the output's dimensions. */
static Dims output_dims(Inference *inf, const Convolution *conv, const Dims *places) {
  const Shape *input = infer_operand(inf, 0), *kernel = infer_operand(inf, 1);
  uint32_t rank = conv->num_spatial + FIRST_SPATIAL;
  Dims dims = dims_new(inf, rank);
  dims.rank = rank;
  dims.sizes[conv->output[ROLE_BATCH]] = conv->batch / conv->batch_groups;
  dims.dynamic[conv->output[ROLE_BATCH]] = dim_is_dynamic(input, (uint32_t)conv->input[ROLE_BATCH]);
  dims.sizes[conv->output[ROLE_FEATURE]] = conv->out_features;
  dims.dynamic[conv->output[ROLE_FEATURE]] = false;
  for (uint32_t i = FIRST_SPATIAL; i < rank; i++) {
    dims.sizes[conv->output[i]] = places->sizes[i - FIRST_SPATIAL];
    dims.dynamic[conv->output[i]] = dim_is_dynamic(input, (uint32_t)conv->input[i]) ||
                                    dim_is_dynamic(kernel, (uint32_t)conv->kernel[i]);
  }
  return dims;
}

/* The convolution's kind does not affect the shape. */
bool infer_convolution(Inference *inf) {
  if (!infer_expect_arrays(inf, 0, 2)) return false;
  Convolution conv;
  Dims places;
  if (!read_roles(inf, &conv) || !read_groups(inf, &conv) || !check_features(inf, &conv) ||
      !spatial_places(inf, &conv, &places)) {
    return false;
  }
  const Shape *input = infer_operand(inf, 0), *kernel = infer_operand(inf, 1);
  if (dim_is_dynamic(kernel, (uint32_t)conv.kernel[ROLE_OUT_FEATURE])) {
    return infer_fail(inf, "the output features of its kernel are dynamic");
  }
  Dims dims = output_dims(inf, &conv, &places);
  ElementType type;
  return infer_higher_type(inf, input->type, kernel->type, &type) &&
         infer_make_array(inf, type, &dims, &inf->result);
}
