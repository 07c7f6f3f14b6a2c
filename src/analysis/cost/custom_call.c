/* Custom calls whose work is known. HloCostAnalysis gives -1 for all of them. On GPUs most products
 * are custom calls, so most of a model's work would be left out.
 *
 * A note `cost_estimate` in the backend_config, which Pallas kernels have, takes precedence.
 * Convolutions are counted without regard to padding, and attention without regard to masks, so
 * both may do less work than is counted. */

#include "analysis/flow/backend_config.h"
#include "analysis/cost/cost_internal.h"

typedef enum Work {
  WORK_UNKNOWN,
  WORK_PRODUCT,
  WORK_CONVOLUTION,
  WORK_GRADIENT_OF_INPUT,
  WORK_GRADIENT_OF_FILTER,
  WORK_ATTENTION,
  WORK_GRADIENT_OF_ATTENTION,
} Work;

static const struct {
  const char *target;
  Work work;
} targets[] = {
#define CUSTOM_CALL(target, work) {target, work},
#include "analysis/cost/custom_calls.def"
};

static bool matches(Str target, const char *pattern) {
  size_t len = strlen(pattern);
  bool is_begin = pattern[len - 1] == '*';
  if (is_begin) len--;
  return (is_begin ? target.len >= len : target.len == len) &&
         memcmp(target.data, pattern, len) == 0;
}

static Work work_of(const Module *module, InstId id) {
  if (inst_get(module, id)->opcode != OPCODE_CUSTOM_CALL) return WORK_UNKNOWN;
  Str target = inst_attr_string(module, id, ATTR_CUSTOM_CALL_TARGET);
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
    if (matches(target, targets[i].target)) return targets[i].work;
  }
  return WORK_UNKNOWN;
}

/* ---- costs from the backend_config ---- */

/* Finds a key in `object` and, up to `depth` levels deep, in the objects inside. */
static const cJSON *find_key(const cJSON *object, const char *key, int depth) {
  const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, key), *item;
  if (found || depth == 0) return found;
  cJSON_ArrayForEach(item, object) {
    found = cJSON_IsObject(item) ? find_key(item, key, depth - 1) : NULL;
    if (found) return found;
  }
  return NULL;
}

static bool read_count(const cJSON *item, int64_t *count) {
  return json_integer(item, count) && *count >= 0;
}

static bool estimated_cost(const Module *module, InstId id, Cost *cost) {
  BackendConfig config = backend_config_read(module, id, "cost_estimate");
  const cJSON *estimate = find_key(config.json, "cost_estimate", 2);
  bool is_given =
      read_count(cJSON_GetObjectItemCaseSensitive(estimate, "flops"), &cost->flops) &&
      read_count(cJSON_GetObjectItemCaseSensitive(estimate, "bytes_accessed"), &cost->bytes);
  const cJSON *transcendentals = cJSON_GetObjectItemCaseSensitive(estimate, "transcendentals");
  if (!read_count(transcendentals, &cost->transcendentals)) cost->transcendentals = 0;
  backend_config_free(&config);
  return is_given;
}

/* ---- costs from shapes ---- */

static const Shape *result_shape(const Module *module, InstId id) {
  const Shape *shape = inst_shape(module, id);
  if (!shape_is_tuple(shape)) return shape;
  return shape->rank ? shape_get(&module->shapes, shape->elements[0]) : NULL;
}

/* The product of the dimensions of `shape` that a list in the backend_config names. */
static bool product_of(const cJSON *dims, const Shape *shape, int64_t *product) {
  const cJSON *item;
  *product = 1;
  if (!cJSON_IsArray(dims) || !shape || !shape_is_array(shape)) return false;
  cJSON_ArrayForEach(item, dims) {
    int64_t dim;
    if (!read_count(item, &dim) || dim >= shape->rank) return false;
    *product = saturating_mul(*product, cost_dim(shape, dim));
  }
  return true;
}

static int64_t product_flops(const Module *module, InstId id) {
  BackendConfig config = backend_config_read(module, id, "lhs_contracting_dimensions");
  int64_t contracted = -1;
  bool is_known = product_of(find_key(config.json, "lhs_contracting_dimensions", 3),
                             cost_operand_shape(module, id, 0), &contracted);
  backend_config_free(&config);
  const Shape *result = result_shape(module, id);
  if (!is_known || !result) return -1;
  return saturating_mul(2, saturating_mul(cost_elements(result), contracted));
}

/* The kernel's output features by dim_labels, `b01f_01io->b01f`; -1 when the labels do not give
 * them. */
static int64_t kernel_features(const Module *module, InstId id, const Shape *kernel) {
  Str labels = inst_attr_text(module, id, ATTR_DIM_LABELS);
  int64_t dim = -1;
  for (uint32_t i = 0; i < labels.len && labels.data[i] != '-'; i++) {
    if (labels.data[i] == '_') {
      dim = 0;
    } else if (labels.data[i] == 'o' && dim >= 0) {
      return cost_dim(kernel, dim);
    } else if (dim >= 0) {
      dim++;
    }
  }
  return -1;
}

/* Every element of the output needs a multiply-add for each kernel element of its output
 * feature. */
static int64_t convolution_flops(const Module *module, InstId id, const Shape *output,
                                 const Shape *kernel) {
  if (!output || !kernel || !shape_is_array(kernel) || !shape_is_array(output)) return -1;
  int64_t features = kernel_features(module, id, kernel);
  if (features <= 0) return -1;
  return saturating_mul(2, saturating_mul(cost_elements(output), cost_elements(kernel) / features));
}

/* The flops of one of the products of attention, all queries with all keys. The backend_config has
 * the shape of the scores, [batch, heads, queries, keys]. */
static int64_t attention_product_flops(const Module *module, InstId id) {
  const Shape *query = cost_operand_shape(module, id, 0);
  BackendConfig config = backend_config_read(module, id, "intermediate_tensor_shape");
  const cJSON *scores = find_key(config.json, "intermediate_tensor_shape", 2);
  const cJSON *dims = cJSON_GetObjectItemCaseSensitive(scores, "dimensions");
  int num_dims = cJSON_GetArraySize(dims);
  int64_t keys = -1;
  bool is_known =
      query && num_dims > 0 && read_count(cJSON_GetArrayItem(dims, num_dims - 1), &keys);
  backend_config_free(&config);
  return is_known ? saturating_mul(2, saturating_mul(cost_elements(query), keys)) : -1;
}

static int64_t times(int64_t count, int64_t flops) {
  return flops < 0 ? -1 : saturating_mul(count, flops);
}

static int64_t flops_of(const Module *module, InstId id) {
  const Shape *result = result_shape(module, id);
  const Shape *first = cost_operand_shape(module, id, 0);
  const Shape *second = cost_operand_shape(module, id, 1);
  switch (work_of(module, id)) {
    case WORK_PRODUCT: return product_flops(module, id);
    case WORK_CONVOLUTION: return convolution_flops(module, id, result, second);
    case WORK_GRADIENT_OF_INPUT: return convolution_flops(module, id, first, second);
    case WORK_GRADIENT_OF_FILTER: return convolution_flops(module, id, second, result);
    case WORK_ATTENTION: return times(2, attention_product_flops(module, id));
    /* The scores are recomputed, and each product has two gradients. */
    case WORK_GRADIENT_OF_ATTENTION: return times(5, attention_product_flops(module, id));
    case WORK_UNKNOWN: break;
  }
  return -1;
}

bool cost_of_custom_call(const Module *module, InstId id, Cost *cost) {
  if (inst_get(module, id)->opcode != OPCODE_CUSTOM_CALL) return false;
  if (estimated_cost(module, id, cost)) return true;
  *cost = (Cost){.flops = flops_of(module, id)};
  if (cost->flops < 0) return false;
  cost->bytes = cost_default_bytes(module, id);
  return true;
}

ElementType cost_custom_call_type(const Module *module, InstId id, bool has_given_flops) {
  const Shape *first = cost_operand_shape(module, id, 0);
  bool is_product = has_given_flops || work_of(module, id) != WORK_UNKNOWN;
  return is_product && first && shape_is_array(first) ? (ElementType)first->type : NUM_TYPES;
}
