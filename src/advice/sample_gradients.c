#include "advice/sample_gradients.h"

enum { MAX_RANK = 8 };

/* An argument that is weights: a matrix or more, without the batch in it. */
static bool is_weights(const Module *module, InstId param, const Batch *batch) {
  const Shape *shape = inst_shape(module, param);
  return shape_is_array(shape) && shape->rank >= 2 && !batch_is_in(shape, batch);
}

static bool take_dim(int64_t *dims, uint32_t len, int64_t dim) {
  for (uint32_t i = 0; i < len; i++) {
    if (dims[i] != dim) continue;
    dims[i] = -1;
    return true;
  }
  return false;
}

/* Whether a shape has the dimensions of weights and one of the samples, in any order. */
static bool is_of_weights(const Shape *shape, const Shape *weights, const Batch *batch) {
  int64_t dims[MAX_RANK];
  if (!shape_is_array(shape) || shape->rank != weights->rank + 1 || shape->rank > MAX_RANK)
    return false;
  memcpy(dims, shape->dims, shape->rank * sizeof *dims);
  bool is_one = take_dim(dims, shape->rank, batch->samples);
  for (uint32_t i = 0; i < weights->rank && is_one; i++)
    is_one = take_dim(dims, shape->rank, weights->dims[i]);
  return is_one;
}

bool sample_gradients_has_shape(const Advisor *advisor, const Batch *batch, const Shape *shape) {
  const Module *module = advisor->module;
  const Computation *entry = comp_get(module, module->entry);
  for (uint32_t i = 0; i < entry->params.len; i++) {
    InstId param = id_list(module, entry->params)[i];
    if (is_weights(module, param, batch) && is_of_weights(shape, inst_shape(module, param), batch))
      return true;
  }
  return false;
}

/* Whether the largest weights have an array of them for each sample, in a fusion or not. */
static bool is_of_largest(const Module *module, const Batch *batch) {
  const Computation *entry = comp_get(module, module->entry);
  const Shape *largest = NULL;
  for (uint32_t i = 0; i < entry->params.len; i++) {
    InstId param = id_list(module, entry->params)[i];
    const Shape *shape = inst_shape(module, param);
    if (!is_weights(module, param, batch)) continue;
    if (!largest || shape->num_elements > largest->num_elements) largest = shape;
  }
  for (InstId id = 0; id < module->insts.len && largest; id++) {
    bool is_dead = inst_get(module, id)->flags & INST_DEAD;
    if (!is_dead && is_of_weights(inst_shape(module, id), largest, batch)) return true;
  }
  return false;
}

/* Whether some derivative is under vmap. */
static bool has_vmap(const Module *module) {
  for (InstId id = 0; id < module->insts.len; id++) {
    Str name = inst_op_name(module, id);
    if (str_contains(name, "vmap(transpose(")) return true;
  }
  return false;
}

int64_t sample_gradients_bytes(const Advisor *advisor, const Batch *batch) {
  const Module *module = advisor->module;
  int64_t bytes = 0;
  for (uint32_t i = 0; i < advisor->live.len; i++) {
    const LiveBuffer *live = &advisor->live.list[i];
    const Shape *shape = shape_get(&module->shapes, live_buffer_shape(module, live));
    if (sample_gradients_has_shape(advisor, batch, shape)) bytes += live->bytes;
  }
  return bytes > 0 && is_of_largest(module, batch) && has_vmap(module) ? bytes : 0;
}

bool sample_gradients_are_much(const Advisor *advisor, const Batch *batch) {
  return advisor->framework == FRAMEWORK_JAX &&
         4 * sample_gradients_bytes(advisor, batch) >= advisor->before.counted_bytes;
}
