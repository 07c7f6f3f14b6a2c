#include "advice/batch.h"

#include "advice/updates.h"
#include "emit/human.h"
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

static uint32_t num_positions(const Batch *batch) {
  uint32_t count = 0;
  while (count < MAX_POSITIONS && batch->positions[count])
    count++;
  return count;
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

/* The leading dimension that rows have behind a reshape that merges dimensions; else 0. */
static int64_t merged_by(const Module *module, InstId id, const Batch *batch) {
  const Shape *from = inst_shape(module, inst_operand(module, id, 0));
  int64_t merged = merged_dims(from, inst_shape(module, id), batch->samples);
  return merged ? merged : merged_dims(inst_shape(module, id), from, batch->samples);
}

/* The dimension that rows have when they are padded to what a product likes, or put one behind the
 * other with others, as the two operands of a merged product are; else 0. */
static int64_t grown_by(const Module *module, InstId id, const Batch *batch) {
  enum { LITTLE_MORE = 8 }; /* one part of so many is added by padding at most */
  const Shape *from = inst_shape(module, inst_operand(module, id, 0));
  const Shape *to = inst_shape(module, id);
  bool is_pad = inst_get(module, id)->opcode == OPCODE_PAD;
  if (!shape_is_array(from) || !shape_is_array(to) || from->rank != to->rank) return 0;
  int64_t grown = 0;
  for (uint32_t i = 0; i < to->rank; i++) {
    int64_t more = to->dims[i] - from->dims[i];
    bool is_grown = batch_is_dim(from, i, batch) && more > 0 &&
                    (!is_pad || more <= from->dims[i] / LITTLE_MORE);
    if (is_grown) grown = to->dims[i];
  }
  return grown;
}

void batch_find_positions(const Module *module, Batch *batch) {
  for (bool is_new = true; is_new;) {
    uint32_t before = num_positions(batch);
    for (InstId id = 0; id < module->insts.len; id++) {
      const Instruction *inst = inst_get(module, id);
      int64_t found = 0;
      if (inst->flags & INST_DEAD || inst->num_operands == 0) continue;
      if (inst->opcode == OPCODE_BITCAST || inst->opcode == OPCODE_RESHAPE)
        found = merged_by(module, id, batch);
      if (inst->opcode == OPCODE_PAD || inst->opcode == OPCODE_CONCATENATE)
        found = grown_by(module, id, batch);
      if (found) batch_add_positions(batch, found);
    }
    is_new = num_positions(batch) > before;
  }
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

/* ---- which it is ---- */

int64_t batch_live_bytes(const Advisor *advisor, const Batch *batch) {
  const Module *module = advisor->module;
  int64_t bytes = 0;
  for (uint32_t i = 0; i < advisor->live.len; i++) {
    const LiveBuffer *live = &advisor->live.list[i];
    const Shape *shape = shape_get(&module->shapes, live_buffer_shape(module, live));
    bool is_given = inst_get(module, live->inst)->opcode == OPCODE_PARAMETER &&
                    inst_get(module, live->inst)->parent == module->entry;
    if (!is_given && !batch->is_version[live->inst] && shape_is_array(shape) &&
        batch_is_in(shape, batch))
      bytes += live->bytes;
  }
  return bytes;
}

static bool is_updated(const Module *module, InstId param, uint32_t part) {
  UpdatedParams params = params_updated_by(module, output_maker(module, part));
  for (uint32_t i = 0; i < params.len; i++) {
    if (params.ids[i] == param) return true;
  }
  return false;
}

/* Whether a parameter is weights, or state, such as a cache: an output is a new version of it, or,
 * where there are gradients, has its dimensions. */
static bool is_state(const Module *module, InstId param, bool has_gradients) {
  InstId root = comp_get(module, module->entry)->root;
  for (uint32_t part = 0; part < inst_shape(module, root)->num_parts; part++) {
    ShapeId shape = shape_part(&module->shapes, inst_get(module, root)->shape, part);
    if (!shape_compatible(&module->shapes, inst_get(module, param)->shape, shape)) continue;
    if (has_gradients || is_updated(module, param, part)) return true;
  }
  return false;
}

/* Whether an argument has a dimension of this size that is not its first, or is state that has one.
 */
static bool is_other_size(const Module *module, int64_t size, bool has_gradients) {
  const Computation *entry = comp_get(module, module->entry);
  for (uint32_t i = 0; i < entry->params.len; i++) {
    InstId param = id_list(module, entry->params)[i];
    const Shape *shape = inst_shape(module, param);
    for (uint32_t d = 0; shape_is_array(shape) && d < shape->rank; d++) {
      if (shape->dims[d] == size && (d > 0 || is_state(module, param, has_gradients))) return true;
    }
  }
  return false;
}

/* By InstId: whether an instruction makes an output that is a new version of an argument, such as a
 * cache that is written in place: it stays where it is when the program is called for fewer
 * samples. */
static const bool *find_versions(const Module *module, Arena *out) {
  InstId root = comp_get(module, module->entry)->root;
  bool *is_version = arena_zarray(out, bool, module->insts.len);
  for (uint32_t part = 0; part < inst_shape(module, root)->num_parts; part++) {
    ShapeId shape = shape_part(&module->shapes, inst_get(module, root)->shape, part);
    InstId maker = output_maker(module, part);
    UpdatedParams params = params_updated_by(module, maker);
    bool is_one = false;
    for (uint32_t i = 0; i < params.len; i++)
      is_one |= shape_compatible(&module->shapes, inst_get(module, params.ids[i])->shape, shape);
    if (is_one) is_version[maker] = true;
    while (is_one && inst_get(module, maker)->opcode == OPCODE_GET_TUPLE_ELEMENT) {
      maker = inst_operand(module, maker, 0);
      is_version[maker] = true;
    }
  }
  return is_version;
}

/* The bytes of what the program returns of each sample. */
static int64_t returned_bytes(const Module *module, const Batch *batch) {
  InstId root = comp_get(module, module->entry)->root;
  int64_t bytes = 0;
  for (uint32_t part = 0; part < inst_shape(module, root)->num_parts; part++) {
    ShapeId id = shape_part(&module->shapes, inst_get(module, root)->shape, part);
    const Shape *shape = shape_get(&module->shapes, id);
    bool is_version = batch->is_version && batch->is_version[output_maker(module, part)];
    if (shape_is_array(shape) && batch_is_in(shape, batch) && !is_version)
      bytes += target_sizes.of_part(module, id);
  }
  return bytes;
}

Batch batch_find(Advisor *advisor) {
  const Module *module = advisor->module;
  const Computation *entry = comp_get(module, module->entry);
  bool gradients = advisor_has_gradients(advisor);
  const bool *is_version = find_versions(module, advisor->arena);
  Batch best = {0};
  int64_t most = 0;
  for (uint32_t i = 0; i < entry->params.len; i++) {
    InstId param = id_list(module, entry->params)[i];
    const Shape *shape = inst_shape(module, param);
    if (!shape_is_array(shape) || shape->num_elements == 0) continue;
    if (shape->rank == 0 || shape->dims[0] < 2) continue;
    if (is_state(module, param, gradients)) continue;
    Batch batch = {.samples = shape->dims[0], .is_version = is_version, .has_gradients = gradients};
    if (shape->rank > 1) batch_add_positions(&batch, shape->dims[0] * shape->dims[1]);
    batch.is_unique = !is_other_size(module, batch.samples, gradients);
    batch_find_positions(module, &batch);
    int64_t bytes = batch_live_bytes(advisor, &batch);
    if (bytes <= most) continue;
    const Metadata *metadata = inst_metadata(module, param);
    Str name = metadata ? human_unescape(module_span(module, metadata->op_name), advisor->out)
                        : inst_name(module, param);
    most = bytes;
    best = batch;
    best.argument = arena_strndup(advisor->out, name.data, name.len);
  }
  best.returned_bytes = returned_bytes(module, &best);
  return best;
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

/* What makes an element of what a fusion returns; NO_ID for anything else. */
static InstId element_maker(const Module *module, InstId id) {
  if (inst_get(module, id)->opcode != OPCODE_GET_TUPLE_ELEMENT) return NO_ID;
  InstId fusion = inst_operand(module, id, 0);
  if (inst_get(module, fusion)->opcode != OPCODE_FUSION) return NO_ID;
  InstId root = comp_get(module, inst_callees(module, fusion)[0])->root;
  if (inst_get(module, root)->opcode != OPCODE_TUPLE) return NO_ID;
  return inst_operand(module, root, (uint32_t)inst_get(module, id)->index);
}

/* Marks what is computed from what is marked by one instruction: its result, and parameters of what
 * it calls. Returns whether something was new. */
static bool mark_computed(const Module *module, InstId id, bool *is_marked) {
  const Instruction *inst = inst_get(module, id);
  bool is_call = inst->num_callees == 1 && inst_runs_callees(module, id);
  bool is_fused = inst->opcode == OPCODE_FUSION || is_call;
  const Computation *callee = is_fused ? comp_get(module, inst_callees(module, id)[0]) : NULL;
  bool was_marked = is_marked[id], is_new = false;
  InstId maker = element_maker(module, id);
  if (maker != NO_ID) {
    is_marked[id] |= is_marked[maker];
    return is_marked[id] != was_marked;
  }
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

bool batch_is_crossed(const Module *module, const Batch *batch) {
  for (InstId id = 0; id < module->insts.len; id++) {
    bool is_dead = inst_get(module, id)->flags & INST_DEAD;
    if (!is_dead && num_batch_dims(inst_shape(module, id), batch) > 1) return true;
  }
  return false;
}

bool batch_is_separate(const Module *module, const Batch *batch, Arena *scratch) {
  for (InstId id = 0; id < module->insts.len; id++) {
    if (!(inst_get(module, id)->flags & INST_DEAD) && mixes_samples(module, id, batch))
      return false;
  }
  return !goes_on_from_sums(module, batch, scratch);
}
