/* The flops of a convolution. XLA counts a multiply-add for every pair of a kernel position and an
 * output position that meets an input element, but none for padding or a dilation hole. Source:
 * HloCostAnalysis::GetConvolutionFlops, which visits all pairs; here the number of pairs is
 * computed, in O(spatial size) per dimension. */
#include "analysis/cost/cost_internal.h"

/* Wide enough for any product of two 64-bit sizes. */
typedef __int128_t Wide;

/* One spatial dimension. Output position o and kernel position k meet input element i when
 *   o * stride + k * window_dilation - pad_low = i * base_dilation,  0 <= i < input. */
typedef struct Spatial {
  int64_t input, kernel, output;
  int64_t stride, pad_low, base_dilation, window_dilation;
} Spatial;

/* If both sides have more positions than this, all pairs are counted. */
enum { MAX_WALKED_POSITIONS = 1 << 22 };

static Wide floor_div(Wide a, Wide b) {
  Wide quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

/* The inverse of `a` modulo `m`, for coprime a and m (extended Euclid). */
static Wide inverse_mod(Wide a, Wide m) {
  Wide r0 = m, r1 = a % m, t0 = 0, t1 = 1;
  while (r1 != 0) {
    Wide quotient = r0 / r1, r2 = r0 - quotient * r1, t2 = t0 - quotient * t1;
    r0 = r1, r1 = r2, t0 = t1, t1 = t2;
  }
  return t0 < 0 ? t0 + m : t0;
}

static Wide gcd(Wide a, Wide b) {
  while (b != 0) {
    Wide rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Numbers x in [0, count) for which x * step + offset is one of 0, hole, …, (input - 1) * hole. */
typedef struct Progression {
  int64_t count, step, hole, input;
  Wide period;  /* solutions are this far apart */
  Wide inverse; /* of step / gcd modulo the period */
  Wide common;  /* gcd of step and hole */
} Progression;

static Progression progression_make(int64_t count, int64_t step, int64_t hole, int64_t input) {
  Wide common = gcd(step, hole);
  Wide period = hole / common;
  return (Progression){.count = count,
                       .step = step,
                       .hole = hole,
                       .input = input,
                       .period = period,
                       .inverse = inverse_mod(step / common, period),
                       .common = common};
}

static Wide progression_count(const Progression *of, Wide offset) {
  if (of->step == 1 && of->hole == 1) { /* the usual case: every x in the range is a solution */
    Wide begin = offset < 0 ? -offset : 0;
    Wide end = of->input - offset < of->count ? of->input - offset : of->count;
    return end > begin ? end - begin : 0;
  }
  if (offset % of->common != 0) return 0;
  Wide low = -floor_div(offset, of->step); /* smallest x with x * step + offset >= 0 */
  if (low < 0) low = 0;
  Wide high = floor_div((Wide)(of->input - 1) * of->hole - offset, of->step);
  if (high > of->count - 1) high = of->count - 1;
  /* solve x * step = -offset modulo hole, after division by their gcd */
  Wide wanted = -offset / of->common % of->period;
  if (wanted < 0) wanted += of->period;
  Wide first = wanted * of->inverse % of->period;
  first += -floor_div(first - low, of->period) * of->period; /* the first solution >= low */
  return first > high ? 0 : (high - first) / of->period + 1;
}

static int64_t valid_positions(const Spatial *s) {
  if (s->input <= 0 || s->kernel <= 0 || s->output <= 0 || s->stride <= 0 ||
      s->base_dilation <= 0 || s->window_dilation <= 0) {
    return 0;
  }
  /* The formula is symmetric in o and k: walk the side with fewer positions. */
  bool walks_kernel = s->kernel <= s->output;
  int64_t walked = walks_kernel ? s->kernel : s->output;
  int64_t walk_step = walks_kernel ? s->window_dilation : s->stride;
  if (walked > MAX_WALKED_POSITIONS) return saturating_mul(s->kernel, s->output);
  Progression other =
      walks_kernel ? progression_make(s->output, s->stride, s->base_dilation, s->input)
                   : progression_make(s->kernel, s->window_dilation, s->base_dilation, s->input);
  Wide count = 0;
  for (int64_t i = 0; i < walked; i++) {
    count += progression_count(&other, (Wide)i * walk_step - s->pad_low);
  }
  return count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

/* The dimension numbers: {n, batch, feature, n spatial; input feature, output feature, n spatial;
 * batch, feature, n spatial} of input, kernel and output (ir/attribute.h). */
typedef struct DimLabels {
  int64_t num_spatial;
  const int64_t *input, *kernel, *output;
} DimLabels;

static bool read_dim_labels(const Module *module, InstId id, DimLabels *labels) {
  IntSlice ints = inst_attr_ints(module, id, ATTR_DIM_LABELS);
  if (ints.len == 0 || (int64_t)ints.len < 1 + 3 * (ints.data[0] + 2)) return false;
  int64_t part = ints.data[0] + 2;
  *labels = (DimLabels){.num_spatial = ints.data[0],
                        .input = ints.data + 1,
                        .kernel = ints.data + 1 + part,
                        .output = ints.data + 1 + 2 * part};
  return true;
}

static Spatial spatial_of(const DimLabels *labels, uint32_t index, WindowDim dim,
                          const Shape *input, const Shape *kernel, const Shape *output) {
  return (Spatial){.input = cost_dim(input, labels->input[2 + index]),
                   .kernel = cost_dim(kernel, labels->kernel[2 + index]),
                   .output = cost_dim(output, labels->output[2 + index]),
                   .stride = dim.stride,
                   .pad_low = dim.pad_low,
                   .base_dilation = dim.base_dilation,
                   .window_dilation = dim.window_dilation};
}

int64_t cost_convolution_flops(const Module *module, InstId id) {
  const Shape *input = cost_operand_shape(module, id, 0);
  const Shape *kernel = cost_operand_shape(module, id, 1);
  const Shape *output = inst_shape(module, id);
  IntSlice window = inst_attr_ints(module, id, ATTR_WINDOW);
  int64_t feature_groups = inst_attr_int(module, id, ATTR_FEATURE_GROUP_COUNT, 1);
  int64_t batch_groups = inst_attr_int(module, id, ATTR_BATCH_GROUP_COUNT, 1);
  DimLabels labels;
  if (!read_dim_labels(module, id, &labels) || feature_groups == 0 || batch_groups == 0) return 0;

  int64_t count = cost_dim(input, labels.input[1]) / feature_groups;
  count = saturating_mul(count, cost_dim(output, labels.output[1]));
  count = saturating_mul(count, cost_dim(input, labels.input[0]) / batch_groups);
  for (uint32_t i = 0; i < labels.num_spatial && i < cost_window_rank(window); i++) {
    WindowDim dim = cost_window_dim(window, i);
    Spatial spatial = spatial_of(&labels, i, dim, input, kernel, output);
    count = saturating_mul(count, valid_positions(&spatial));
  }
  enum { FLOPS_PER_MULTIPLY_ADD = 2 };
  return saturating_mul(count, FLOPS_PER_MULTIPLY_ADD);
}
