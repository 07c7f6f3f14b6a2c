/* XLA:GPU's own estimates of time. Under --xla_gpu_collect_cost_model_stats, which needs no device,
 * several models note in the backend_config of fusions and of cuBLAS's products how long the kernel
 * runs, without its launch (gpu_cost_model_stats_collection.cc,
 * sol_gpu_cost_model_stats_collection.cc in xla/service/gpu/model):
 *
 *   "reification_cost":[{"exec_time_us":22.99,…,"name":""},{"exec_time_us":22.92,…,"name":"sol"}]
 *
 * Otherwise the list is empty. Earlier versions have one such object in "fusion_backend_config".
 * Which model is asked depends on what it knows:
 *
 * - A product has the time of "sol", which interpolates a table of measured ones. The table has
 *   products whose result has the type of their operands; others are taken for several times what
 *   they are, because their dimensions are scaled by the size of the result's type, and have none
 *   here. It has up to 4 products in a batch, of 256 to 4,096 rows, columns and contracted elements
 *   (matmul_interpolator.cc). What lies below, or has more in a batch, is taken to run at the rate
 * of the nearest of these: a few rows in next to no time, and a hundred small products, which the
 *   device computes side by side, one after the other. Those have none here, either. The other
 *   models do not know matrix units.
 * - A fusion of Triton's that multiplies nothing has the time by which XLA chooses its tiles,
 *   "indexing-cost-model"; "sol" takes it for nothing.
 * - Any other fusion has that of "sol", or what has no name, which is the same but for what
 *   operands share. */
#include "analysis/flow/backend_config.h"
#include "analysis/cost/cost_internal.h"

static const char KEY[] = "exec_time_us";

/* The seconds of the model called `name`; -1 = it has not said anything. */
static double seconds_by(const cJSON *costs, const char *name) {
  const cJSON *item;
  cJSON_ArrayForEach(item, costs) {
    const cJSON *model = cJSON_GetObjectItemCaseSensitive(item, "name");
    const cJSON *time = cJSON_GetObjectItemCaseSensitive(item, KEY);
    const char *found = cJSON_IsString(model) ? model->valuestring : "";
    if (strcmp(found, name) != 0 || !cJSON_IsNumber(time)) continue;
    return time->valuedouble > 0 && time->valuedouble < 1e15 ? time->valuedouble * 1e-6 : -1;
  }
  return -1;
}

static bool is_of_triton(const cJSON *fusion_config) {
  static const char BEGIN[] = "__triton";
  const cJSON *kind = cJSON_GetObjectItemCaseSensitive(fusion_config, "kind");
  return cJSON_IsString(kind) && strncmp(kind->valuestring, BEGIN, strlen(BEGIN)) == 0;
}

static bool has_type(const Shape *shape, ElementType type) {
  if (shape_is_tuple(shape)) return false;
  return shape_is_array(shape) && (ElementType)shape->type == type;
}

/* Whether the result of the product that an instruction is, or has in it, is of the type of its
 * operands. Of a tuple, as cuBLAS's calls return, the first element is the result. */
static bool keeps_type(const Module *module, InstId id, ElementType type) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode == OPCODE_FUSION && inst->num_callees > 0) {
    CompId comp = inst_callees(module, id)[0];
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      InstId inner = comp_inst(module, comp, i);
      if (inst_get(module, inner)->opcode == OPCODE_DOT && !keeps_type(module, inner, type)) {
        return false;
      }
    }
    return has_type(inst_shape(module, id), type);
  }
  const Shape *result = inst_shape(module, id);
  if (shape_is_tuple(result) && result->rank > 0) {
    result = shape_get(&module->shapes, result->elements[0]);
  }
  return has_type(result, type) && has_type(cost_operand_shape(module, id, 0), type);
}

static double dims_product(const Shape *shape, IntSlice dims) {
  double product = 1;
  for (uint32_t i = 0; i < dims.len; i++)
    product *= (double)cost_dim(shape, dims.data[i]);
  return product;
}

/* Whether the table has products like this one. */
static bool is_in_table(const Module *module, InstId dot) {
  static const double MOST_IN_BATCH = 4, LEAST_SIZE = 256;
  const Shape *lhs = cost_operand_shape(module, dot, 0), *rhs = cost_operand_shape(module, dot, 1);
  double batch = dims_product(lhs, inst_attr_ints(module, dot, ATTR_LHS_BATCH_DIMS));
  double contracted = dims_product(lhs, inst_attr_ints(module, dot, ATTR_LHS_CONTRACTING_DIMS));
  if (!(batch >= 1 && contracted >= LEAST_SIZE) || batch > MOST_IN_BATCH) return false;
  return (double)cost_elements(lhs) >= batch * contracted * LEAST_SIZE &&
         (double)cost_elements(rhs) >= batch * contracted * LEAST_SIZE;
}

/* Whether the table knows a product, or all of a fusion's. */
static bool is_measured(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode == OPCODE_DOT) return is_in_table(module, id);
  if (inst->opcode != OPCODE_FUSION || inst->num_callees == 0) return true;
  CompId comp = inst_callees(module, id)[0];
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId inner = comp_inst(module, comp, i);
    if (inst_get(module, inner)->opcode == OPCODE_DOT && !is_in_table(module, inner)) return false;
  }
  return true;
}

static double seconds_of(const Module *module, const CostTable *table, InstId id,
                         const cJSON *config) {
  const cJSON *fusion = cJSON_GetObjectItemCaseSensitive(config, "fusion_backend_config");
  const cJSON *costs = cJSON_GetObjectItemCaseSensitive(config, "reification_cost");
  ElementType product = (ElementType)table->matrix_types[id];
  if (product != NUM_TYPES) {
    bool is_known = keeps_type(module, id, product) && is_measured(module, id);
    return is_known ? seconds_by(costs, "sol") : -1;
  }
  if (is_of_triton(fusion)) return seconds_by(costs, "indexing-cost-model");
  double seconds = seconds_by(costs, "sol");
  if (seconds < 0) seconds = seconds_by(costs, "");
  const cJSON *single = cJSON_GetObjectItemCaseSensitive(fusion, "reification_cost");
  const cJSON *time = cJSON_GetObjectItemCaseSensitive(single, KEY);
  return seconds < 0 && cJSON_IsNumber(time) && time->valuedouble > 0 ? time->valuedouble * 1e-6
                                                                      : seconds;
}

const double *cost_find_gpu_estimates(const Module *module, const CostTable *table, Arena *out) {
  double *seconds = NULL;
  for (InstId id = 0; id < module->insts.len; id++) {
    BackendConfig config = backend_config_read(module, id, KEY);
    double found = config.json ? seconds_of(module, table, id, config.json) : -1;
    backend_config_free(&config);
    if (found < 0) continue;
    if (!seconds) {
      seconds = arena_array(out, double, module->insts.len);
      for (InstId other = 0; other < module->insts.len; other++)
        seconds[other] = -1;
    }
    seconds[id] = found;
  }
  return seconds;
}
