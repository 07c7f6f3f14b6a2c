#include "advice/batch.h"

#include "ir/attribute.h"
#include "remat/algorithms/forward_end.h"

void batch_add_positions(Batch *batch, int64_t positions) {
  for (uint32_t i = 0; i < MAX_POSITIONS; i++) {
    if (batch->positions[i] == positions) return;
    if (batch->positions[i] != 0) continue;
    batch->positions[i] = positions;
    return;
  }
}

/* The leading dimension of `merged` if it is that of `apart` and some behind it in one; else 0. */
static int64_t merged_dims(const Shape *apart, const Shape *merged, int64_t samples) {
  bool is_apart = shape_is_array(apart) && apart->num_elements > 0 && apart->rank > 1 &&
                  apart->dims[0] == samples;
  if (!is_apart || !shape_is_array(merged) || merged->rank == 0) return 0;
  int64_t product = samples;
  for (uint32_t i = 1; i < apart->rank && product < merged->dims[0]; i++) {
    product *= apart->dims[i];
    if (product == merged->dims[0] && product > samples) return product;
  }
  return 0;
}

void batch_find_positions(const Module *module, Batch *batch) {
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    bool is_reshape = inst->opcode == OPCODE_BITCAST || inst->opcode == OPCODE_RESHAPE;
    if (!is_reshape || inst->flags & INST_DEAD) continue;
    const Shape *from = inst_shape(module, inst_operand(module, id, 0));
    int64_t merged = merged_dims(from, inst_shape(module, id), batch->samples);
    if (merged == 0) merged = merged_dims(inst_shape(module, id), from, batch->samples);
    if (merged) batch_add_positions(batch, merged);
  }
}

static bool is_positions(const Batch *batch, int64_t dim) {
  for (uint32_t i = 0; i < MAX_POSITIONS && batch->positions[i]; i++) {
    if (batch->positions[i] == dim) return true;
  }
  return false;
}

bool batch_is_dim(const Shape *shape, uint32_t i, const Batch *batch) {
  return (shape->dims[i] == batch->samples && (i == 0 || batch->is_unique)) ||
         is_positions(batch, shape->dims[i]);
}

static uint32_t num_batch_dims(const Shape *shape, const Batch *batch) {
  uint32_t count = 0;
  for (uint32_t i = 0; shape_is_array(shape) && i < shape->rank; i++)
    count += batch_is_dim(shape, i, batch);
  return count;
}

bool batch_is_in(const Shape *shape, const Batch *batch) {
  return num_batch_dims(shape, batch) > 0;
}

/* ---- whether samples are separate ---- */

static bool has_batch(const Shape *shape, IntSlice dims, const Batch *batch) {
  for (uint32_t i = 0; shape_is_array(shape) && i < dims.len; i++) {
    int64_t dim = dims.data[i];
    if (dim >= 0 && dim < shape->rank && batch_is_dim(shape, (uint32_t)dim, batch)) return true;
  }
  return false;
}

/* Whether an operand, or an element of it, has the batch in its shape. */
static bool reads_batch(const Module *module, InstId id, const Batch *batch) {
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    if (batch_is_in(inst_shape(module, inst_operand(module, id, i)), batch)) return true;
  }
  return false;
}

static bool contracts_batch(const Module *module, InstId id, const Batch *batch) {
  static const AttrId contracting[] = {ATTR_LHS_CONTRACTING_DIMS, ATTR_RHS_CONTRACTING_DIMS};
  for (uint32_t i = 0; i < 2; i++) {
    const Shape *shape = inst_shape(module, inst_operand(module, id, i));
    if (has_batch(shape, inst_attr_ints(module, id, contracting[i]), batch)) return true;
  }
  return false;
}

/* Whether an operation takes some samples out of all, or puts them together. */
static bool divides_batch(const Module *module, InstId id, const Batch *batch) {
  return batch_is_in(inst_shape(module, id), batch) !=
         batch_is_in(inst_shape(module, inst_operand(module, id, 0)), batch);
}

/* Whether an operation goes along the batch, as its attribute `dimensions` has it. */
static bool goes_along(const Module *module, InstId id, const Batch *batch) {
  const Shape *shape = inst_shape(module, inst_operand(module, id, 0));
  return has_batch(shape, inst_attr_ints(module, id, ATTR_DIMENSIONS), batch);
}

static bool sums_batch(const Module *module, InstId id, const Batch *batch) {
  switch (inst_get(module, id)->opcode) {
    case OPCODE_DOT: return contracts_batch(module, id, batch);
    case OPCODE_REDUCE: return goes_along(module, id, batch);
    default: return false;
  }
}

static bool mixes_samples(const Module *module, InstId id, const Batch *batch) {
  if (num_batch_dims(inst_shape(module, id), batch) > 1) return true;
  switch (inst_get(module, id)->opcode) {
    case OPCODE_SORT: return goes_along(module, id, batch);
    case OPCODE_SLICE:
    case OPCODE_CONCATENATE:
    case OPCODE_PAD:
    case OPCODE_DYNAMIC_SLICE:
    case OPCODE_DYNAMIC_UPDATE_SLICE: return divides_batch(module, id, batch);
    case OPCODE_GATHER: return batch_is_in(inst_shape(module, inst_operand(module, id, 0)), batch);
    case OPCODE_CUSTOM_CALL: return is_unknown_call(module, id) && reads_batch(module, id, batch);
    case OPCODE_CHOLESKY:
    case OPCODE_TRIANGULAR_SOLVE:
    case OPCODE_SCATTER:
    case OPCODE_REVERSE: return reads_batch(module, id, batch);
    default: return false;
  }
}

/* Marks what is computed from what is marked by one instruction: its result, and parameters of what
 * it calls. Returns whether something was new. */
static bool mark_computed(const Module *module, InstId id, bool *is_marked) {
  const Instruction *inst = inst_get(module, id);
  bool is_call = inst->num_callees == 1 && inst_runs_callees(module, id);
  bool is_fused = inst->opcode == OPCODE_FUSION || is_call;
  const Computation *callee = is_fused ? comp_get(module, inst_callees(module, id)[0]) : NULL;
  bool was_marked = is_marked[id], is_new = false;
  if (callee) is_marked[id] |= is_marked[callee->root];
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    if (!is_marked[inst_operand(module, id, i)]) continue;
    is_marked[id] |= !callee;
    if (!callee || i >= callee->params.len) continue;
    InstId param = id_list(module, callee->params)[i];
    is_new |= !is_marked[param];
    is_marked[param] = true;
  }
  return is_new || is_marked[id] != was_marked;
}

/* Whether something that has the batch in its shape is computed from a sum over it. */
static bool goes_on_from_sums(const Module *module, const Batch *batch, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  bool *is_marked = arena_zarray(arena, bool, module->insts.len);
  bool is_new = false, is_found = false;
  for (InstId id = 0; id < module->insts.len; id++)
    is_new |= is_marked[id] = sums_batch(module, id, batch);
  while (is_new) {
    is_new = false;
    for (InstId id = 0; id < module->insts.len; id++)
      is_new |= mark_computed(module, id, is_marked);
  }
  for (InstId id = 0; id < module->insts.len; id++) {
    bool is_loop = inst_get(module, id)->opcode == OPCODE_WHILE;
    is_found |= is_marked[id] && (is_loop || batch_is_in(inst_shape(module, id), batch));
  }
  arena_free(arena);
  return is_found;
}

bool batch_is_separate(const Module *module, const Batch *batch, Arena *scratch) {
  for (InstId id = 0; id < module->insts.len; id++) {
    if (!(inst_get(module, id)->flags & INST_DEAD) && mixes_samples(module, id, batch))
      return false;
  }
  return !goes_on_from_sums(module, batch, scratch);
}
