#include "advice/region_role.h"

#include "advice/frames.h"
#include "advice/fused_clones.h"
#include "advice/layers.h"
#include "remat/algorithms/forward_end.h"

enum {
  MUCH_SMALLER = 16,
  LITTLE_MORE = 8, /* one part of so many is added by padding at most */
  MAX_FORMS = 16
};

int64_t region_elements(const Module *module, ShapeId id) {
  const Shape *shape = shape_get(&module->shapes, id);
  return shape_is_array(shape) ? shape->num_elements : 0;
}

bool region_has(const Module *module, InstId id, RegionSize size) {
  ShapeId shape = inst_get(module, id)->shape;
  const Shape *whole = shape_get(&module->shapes, shape);
  if (!shape_is_tuple(whole)) return region_is_size(size, region_elements(module, shape));
  for (uint32_t part = 1; part < whole->num_parts; part++) {
    if (region_is_size(size, region_elements(module, shape_part(&module->shapes, shape, part))))
      return true;
  }
  return false;
}

bool region_is_read(const Module *module, InstId id, RegionSize size) {
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    if (region_has(module, inst_operand(module, id, i), size)) return true;
  }
  return false;
}

bool region_has_size_of_argument(const Module *module, InstId id) {
  const Computation *entry = comp_get(module, module->entry);
  for (uint32_t i = 0; i < entry->params.len; i++) {
    InstId param = id_list(module, entry->params)[i];
    if (region_elements(module, inst_get(module, param)->shape) ==
        region_elements(module, inst_get(module, id)->shape))
      return true;
  }
  return false;
}

/* Whether an instruction pads, or a fusion that ends in it. */
static bool is_pad(const Module *module, InstId id) {
  if (inst_get(module, id)->opcode != OPCODE_FUSION)
    return inst_get(module, id)->opcode == OPCODE_PAD;
  InstId root = comp_get(module, inst_callees(module, id)[0])->root;
  while (inst_is_pass_through(module, root))
    root = inst_operand(module, root, 0);
  return inst_get(module, root)->opcode == OPCODE_PAD;
}

int64_t region_unpadded(const Module *module, InstId id) {
  int64_t own = region_elements(module, inst_get(module, id)->shape);
  if (!is_pad(module, id)) return 0;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    int64_t given = region_elements(module, inst_get(module, inst_operand(module, id, i))->shape);
    if (given < own && own - given <= given / LITTLE_MORE) return given;
  }
  return 0;
}

RegionSize region_size(const Advisor *advisor, int64_t elements) {
  const Module *module = advisor->module;
  RegionSize size = {.elements = elements};
  for (InstId id = 0; id < module->insts.len && size.padded == 0; id++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->flags & INST_DEAD || !comp_is_sequential(&advisor->values.graph, inst->parent))
      continue;
    if (region_unpadded(module, id) == elements) size.padded = region_elements(module, inst->shape);
  }
  return size;
}

bool region_is_exceeded(const Module *module, InstId id, int64_t num_elements) {
  ShapeId shape = inst_get(module, id)->shape;
  const Shape *whole = shape_get(&module->shapes, shape);
  for (uint32_t part = 0; part < whole->num_parts; part++) {
    if (region_elements(module, shape_part(&module->shapes, shape, part)) >= num_elements)
      return true;
  }
  return false;
}

/* ---- weights ---- */

/* Whether an instruction has one operand and only gives it another form: layout, type, or the
 * whole of what devices have parts of. */
static bool is_form(const Module *module, InstId id) {
  if (inst_get(module, id)->num_operands != 1) return false;
  if (inst_is_pass_through(module, id)) return true;
  switch (inst_get(module, id)->opcode) {
    case OPCODE_COPY:
    case OPCODE_COPY_START:
    case OPCODE_COPY_DONE:
    case OPCODE_CONVERT:
    case OPCODE_TRANSPOSE:
    case OPCODE_RESHAPE:
    case OPCODE_SLICE:
    case OPCODE_ALL_GATHER:
    case OPCODE_ALL_GATHER_START:
    case OPCODE_ALL_GATHER_DONE: return true;
    default: return false;
  }
}

bool region_only_forms(const Module *module, InstId id) {
  if (inst_get(module, id)->opcode != OPCODE_FUSION) return is_form(module, id);
  CompId comp = inst_callees(module, id)[0];
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId inner = comp_inst(module, comp, i);
    Opcode opcode = (Opcode)inst_get(module, inner)->opcode;
    bool is_given = opcode == OPCODE_PARAMETER || opcode == OPCODE_TUPLE;
    if (!is_given && !is_form(module, inner)) return false;
  }
  return true;
}

static bool is_form_fusion(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  return inst->opcode == OPCODE_FUSION && inst->num_operands == 1 && region_only_forms(module, id);
}

/* Whether a value is a matrix that the computation is given, in whatever form. */
static bool is_weight(const Module *module, InstId id) {
  for (int i = 0; i < MAX_FORMS && (is_form(module, id) || is_form_fusion(module, id)); i++) {
    bool is_part = inst_get(module, id)->opcode == OPCODE_GET_TUPLE_ELEMENT;
    InstId operand = inst_operand(module, id, 0);
    if (is_part && inst_get(module, operand)->opcode == OPCODE_PARAMETER) break;
    id = operand;
  }
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  const Shape *shape = inst_shape(module, id);
  return (opcode == OPCODE_PARAMETER || opcode == OPCODE_GET_TUPLE_ELEMENT) &&
         shape_is_array(shape) && shape->rank >= 2;
}

/* ---- products that are written as sums ---- */

static InstId behind_forms(const Module *module, InstId id) {
  for (int i = 0; i < MAX_FORMS && is_form(module, id); i++)
    id = inst_operand(module, id, 0);
  return id;
}

/* Whether a sum is that of a product with a vector: XLA writes a layer with one output as
 * reduce(multiply(x, broadcast(w))), where w has the dimension that is summed up. */
static bool is_product_with_vector(const Module *module, InstId id) {
  if (inst_get(module, id)->opcode != OPCODE_REDUCE) return false;
  InstId product = behind_forms(module, inst_operand(module, id, 0));
  if (inst_get(module, product)->opcode != OPCODE_MULTIPLY) return false;
  IntSlice summed = inst_attr_ints(module, id, ATTR_DIMENSIONS);
  for (uint32_t i = 0; i < 2; i++) {
    InstId vector = behind_forms(module, inst_operand(module, product, i));
    if (inst_get(module, vector)->opcode != OPCODE_BROADCAST) continue;
    IntSlice dims = inst_attr_ints(module, vector, ATTR_DIMENSIONS);
    for (uint32_t d = 0; d < dims.len; d++) {
      if (ints_have(summed, dims.data[d])) return true;
    }
  }
  return false;
}

/* Calls `is_meant` with an instruction, or with those in the fusion that it is. */
static bool is_sum(const Module *module, InstId id) {
  return inst_get(module, id)->opcode == OPCODE_REDUCE;
}

static bool is_exponential(const Module *module, InstId id) {
  return inst_get(module, id)->opcode == OPCODE_EXPONENTIAL;
}

/* Whether an instruction tells which of a range of numbers equal others, as a one-hot array does.
 */
static bool compares_range(const Module *module, InstId id) {
  if (inst_get(module, id)->opcode != OPCODE_COMPARE) return false;
  for (uint32_t i = 0; i < 2; i++) {
    InstId from = inst_operand(module, id, i);
    for (int k = 0; k < MAX_FORMS; k++) {
      Opcode opcode = (Opcode)inst_get(module, from)->opcode;
      if (opcode == OPCODE_IOTA) return true;
      if (opcode != OPCODE_BROADCAST && !is_form(module, from)) break;
      from = inst_operand(module, from, 0);
    }
  }
  return false;
}

/* ---- what is done with it ---- */

typedef struct Walk {
  const Module *module;
  RegionSize size;
  const bool *is_product;
  bool *is_after; /* by InstId: outside of the region, and computed from it */
  bool has_weights, has_product_after, has_large_after, has_exponential;
  bool is_again;                   /* it is computed again under a checkpoint, or in a loop */
  bool compares, is_only_compared; /* all that makes the region compares a range */
  uint32_t depth;                  /* of the function that the exit shares with the maker */
  RegionUse use;
} Walk;

/* The product itself where it is in a fusion, which may be named after what comes behind it. */
static InstId product_inside(const Module *module, InstId id) {
  if (inst_get(module, id)->opcode != OPCODE_FUSION) return id;
  CompId comp = inst_callees(module, id)[0];
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId inner = comp_inst(module, comp, i);
    Opcode opcode = (Opcode)inst_get(module, inner)->opcode;
    bool is_product = opcode == OPCODE_DOT || opcode == OPCODE_CONVOLUTION;
    if (is_product && frame_of(module, inner)) return inner;
  }
  return id;
}

static bool is_layer(const Walk *walk, InstId id) {
  return walk->is_product[id] && !is_unknown_call(walk->module, id);
}

/* Whether an instruction was of the region before an earlier step of the plan left it to its
 * reader. */
static bool is_shrunk_of(const Module *module, InstId id, RegionSize size) {
  return fused_is_shrunk(module, id) && region_is_read(module, id, size);
}

/* What enters the region. */
static void walk_inside(Walk *walk, InstId id) {
  const Module *module = walk->module;
  Str name = inst_op_name(module, id);
  walk->is_again |= str_contains(name, "/rematted_computation") || str_contains(name, "/while/");
  walk->has_exponential |= inst_any_fused(module, id, is_exponential);
  bool compares = inst_any_fused(module, id, compares_range);
  walk->compares |= compares;
  walk->is_only_compared &= compares || is_form(module, id);
  if (!is_layer(walk, id)) return;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++)
    walk->has_weights |= is_weight(module, inst_operand(module, id, i));
  if (walk->use.maker == NO_ID) walk->use.maker = product_inside(module, id);
}

/* What leaves it, and what is computed from that. */
static void walk_outside(Walk *walk, InstId id, Arena *scratch) {
  const Module *module = walk->module;
  bool reads = false;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    reads |= region_has(module, operand, walk->size) || is_shrunk_of(module, operand, walk->size);
    walk->is_after[id] |= walk->is_after[operand];
  }
  walk->is_after[id] |= reads;
  if (!walk->is_after[id]) return;
  walk->has_product_after |= is_layer(walk, id);
  if (!reads) return;
  walk->has_product_after |= inst_any_fused(module, id, is_product_with_vector);
  walk->has_exponential |= inst_any_fused(module, id, is_exponential);
  walk->has_large_after |= region_is_exceeded(module, id, walk->size.elements / MUCH_SMALLER + 1);
  uint32_t depth = 0;
  if (walk->use.maker != NO_ID) (void)frame_in_common(module, walk->use.maker, id, &depth, scratch);
  if (walk->use.exit != NO_ID && depth <= walk->depth) return;
  walk->use.exit = id;
  walk->use.is_summed = inst_any_fused(module, id, is_sum);
  walk->depth = depth;
}

/* XLA gives a product that it has rewritten no place, and what it adds behind it, a bitcast or a
 * sum over the parts of the product, that of the operation. */
static InstId with_place(const Module *module, InstId id) {
  enum { MAX_ADDED = 4 };
  for (int i = 0; i < MAX_ADDED && id != NO_ID && !frame_of(module, id); i++) {
    if (inst_get(module, id)->users.len != 1) break;
    InstId user = inst_users(module, id)[0];
    if (inst_get(module, user)->num_operands != 1) break;
    id = user;
  }
  return id;
}

/* By InstId: what belongs to the backward part. Where names say what is a transpose, they do, since
 * in a small network the parts lie among each other; what has no name is what it reads. What a
 * checkpoint computes again is a forward part. */
static bool *find_backward(const Module *module, const ForwardPart *forward, Arena *arena) {
  bool *is_backward = arena_zarray(arena, bool, module->insts.len);
  Sequence sequence = forward->sequence;
  bool has_names = false;
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    Str name = inst_op_name(module, id);
    is_backward[id] = str_contains(name, "transpose(");
    has_names |= is_backward[id];
    if (str_contains(name, "/rematted_computation")) is_backward[id] = false;
    for (uint32_t i = 0; !name.len && i < inst_get(module, id)->num_operands; i++)
      is_backward[id] |= is_backward[inst_operand(module, id, i)];
  }
  for (SchedPos pos = 0; pos < sequence.len && !has_names; pos++)
    is_backward[sequence.ids[pos]] = forward->end != NO_ID && pos > forward->end;
  return is_backward;
}

const bool *region_backward(const Advisor *advisor, CompId comp, Arena *out) {
  ForwardPart forward =
      forward_part_of(advisor->module, advisor->schedule->of[comp], advisor->scratch);
  return find_backward(advisor->module, &forward, out);
}

RegionUse region_use(const Advisor *advisor, CompId comp, RegionSize size) {
  const Module *module = advisor->module;
  Sequence sequence = advisor->schedule->of[comp];
  ForwardPart forward = forward_part_of(module, sequence, advisor->scratch);
  Arena *arena = arena_new(arena_options(advisor->scratch));
  Walk walk = {.module = module,
               .size = size,
               .is_product = find_products(module, arena, advisor->scratch),
               .is_after = arena_zarray(arena, bool, module->insts.len),
               .is_only_compared = true,
               .use = {.maker = NO_ID, .exit = NO_ID}};
  const bool *is_backward = find_backward(module, &forward, arena);
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    walk.use.is_read_back |= is_backward[id] && region_has(module, id, size);
    if (is_backward[id]) continue;
    if (region_has(module, id, size) || is_shrunk_of(module, id, size)) {
      walk_inside(&walk, id);
    } else {
      walk_outside(&walk, id, advisor->scratch);
    }
  }
  walk.use.exit = with_place(module, walk.use.exit);
  arena_free(arena);
  /* Without an exit, the forward part ends in it: nobody asked for the value of the loss, or it is
   * computed again for the backward part. */
  bool has_end = walk.use.exit != NO_ID || (walk.has_exponential && !walk.is_again);
  bool is_last = walk.has_weights && has_end && !walk.has_product_after && !walk.has_large_after;
  if (walk.has_weights) walk.use.role = is_last ? REGION_OUTPUTS : REGION_ACTIVATION;
  if (is_last && walk.has_exponential) walk.use.role = REGION_LOGITS;
  if (walk.compares && walk.is_only_compared && walk.has_product_after)
    walk.use.role = REGION_ONE_HOT;
  return walk.use;
}
