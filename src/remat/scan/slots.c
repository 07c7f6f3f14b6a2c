#include "remat/scan/slots.h"

#include "remat/rewrite/dce.h"
#include "remat/scan/carry.h"

/* With at least so many, the start of a slice is clamped to a number above 1. Fewer of them would
 * let LLVM write the clamp in another way. */
enum { NUM_SLOTS = 3 };

/* ---- form ---- */

bool slots_fit_write(const Module *module, CompId comp, InstId inner) {
  InstId root = comp_get(module, comp)->root;
  if (inst_get(module, root)->opcode != OPCODE_DYNAMIC_UPDATE_SLICE) return false;
  InstId array = inst_operand(module, root, 0), update = inst_operand(module, root, 1);
  return inst_get(module, array)->opcode == OPCODE_PARAMETER &&
         inst_get(module, array)->users.len == 1 && inst_count_operand(module, root, array) == 1 &&
         maker_without_bitcasts(module, update) == maker_without_bitcasts(module, inner);
}

/* The operand of a dynamic-slice or of a dynamic-update-slice that is its start in a dimension. */
static uint32_t start_operand(const Module *module, InstId id, uint32_t dim) {
  return (inst_get(module, id)->opcode == OPCODE_DYNAMIC_SLICE ? 1 : 2) + dim;
}

/* The number to which the start is clamped. */
static int64_t last_start(const Module *module, InstId id, uint32_t dim) {
  bool is_read = inst_get(module, id)->opcode == OPCODE_DYNAMIC_SLICE;
  const Shape *whole = inst_shape(module, inst_operand(module, id, 0));
  const Shape *part = inst_shape(module, is_read ? id : inst_operand(module, id, 1));
  return whole->dims[dim] - part->dims[dim];
}

static bool takes_slice(const Module *module, InstId user, InstId array) {
  Opcode opcode = (Opcode)inst_get(module, user)->opcode;
  return (opcode == OPCODE_DYNAMIC_SLICE || opcode == OPCODE_DYNAMIC_UPDATE_SLICE) &&
         inst_operand(module, user, 0) == array;
}

/* The dimension in which the instruction takes a slice of the array at this place; NO_ID if it does
 * not. */
static uint32_t find_dim(const Module *module, InstId user, InstId array, InstId start,
                         int64_t last) {
  if (!takes_slice(module, user, array)) return NO_ID;
  for (uint32_t d = 0; d < inst_shape(module, array)->rank; d++) {
    bool is_there = inst_operand(module, user, start_operand(module, user, d)) == start;
    if (is_there && last_start(module, user, d) == last) return d;
  }
  return NO_ID;
}

/* The dimension in which slices of a parameter are taken at this place; NO_ID if none are.
 * `is_only` says whether nothing else is read of it, and nothing is written. */
static uint32_t find_param_dim(const Module *module, InstId param, InstId start, int64_t last,
                               bool *is_only) {
  uint32_t dim = NO_ID;
  *is_only = !inst_is_root(module, param);
  for (uint32_t i = 0; i < inst_get(module, param)->users.len; i++) {
    InstId user = inst_users(module, param)[i];
    uint32_t own = find_dim(module, user, param, start, last);
    if (own != NO_ID) dim = own;
    *is_only &= own != NO_ID && inst_get(module, user)->opcode == OPCODE_DYNAMIC_SLICE &&
                inst_count_operand(module, user, param) == 1;
  }
  return dim;
}

bool slots_fit_all(const Module *module, CompId comp, InstId array, uint32_t dim) {
  InstId slice = inst_users(module, array)[0];
  InstId start = inst_operand(module, slice, start_operand(module, slice, dim));
  int64_t last = last_start(module, slice, dim);
  IdList params = comp_get(module, comp)->params;
  if (last < NUM_SLOTS) return true;
  for (uint32_t i = 0; i < params.len; i++) {
    InstId param = id_list(module, params)[i];
    bool is_only;
    uint32_t found = find_param_dim(module, param, start, last, &is_only);
    if (found != NO_ID && param != array && !is_only) return false;
  }
  return true;
}

/* The shape of the array that takes the place of one with slices along `dim`. */
static ShapeId shape_of_slots(Maker *maker, ShapeId array, uint32_t dim) {
  Module *module = maker->module;
  const Shape *whole = shape_get(&module->shapes, array);
  ArraySpec spec = shape_spec(whole);
  int64_t *dims = arena_array(maker->arena, int64_t, whole->rank);
  for (uint32_t i = 0; i < whole->rank; i++)
    dims[i] = i == dim && whole->dims[i] > NUM_SLOTS ? NUM_SLOTS : whole->dims[i];
  spec.dims = dims;
  return shape_array(&module->shapes, &spec);
}

/* ---- rewrite ---- */

static InstId carry(Maker *maker, const Loop *loop, ShapeId shape, uint32_t *element) {
  InstId init = maker_zeros(maker, loop->parent, shape, maker->position[loop->init]);
  *element = inst_shape(maker->module, loop->id)->rank;
  InstId array = carry_add(maker->rewrite, loop, init);
  maker_insert(maker, array, maker_beginning(maker, loop));
  return array;
}

InstId slots_carry(Maker *maker, const Loop *loop, const Stack *stack, uint32_t *element) {
  return carry(maker, loop, shape_of_slots(maker, stack->shape, stack->dim), element);
}

/* Gives a fusion an array instead of an operand. */
static void replace_array(Maker *maker, InstId fusion, uint32_t operand, InstId array) {
  Module *module = maker->module;
  CompId comp = inst_callees(module, fusion)[0];
  InstId param = id_list(module, comp_get(module, comp)->params)[operand];
  rewrite_set_shape(maker->rewrite, param, inst_get(module, array)->shape);
  comp_get(module, comp)->flags |= COMP_NEW_SIGNATURE;
  rewrite_set_operand(maker->rewrite, fusion, operand, array);
  inst_get(module, fusion)->flags |= INST_NEW_OPERANDS;
}

/* Lets what else the fusion takes slices of at the same place be arrays of slots, too: another
 * fusion takes the slice out before. */
static void narrow_others(Maker *maker, const NarrowedFusion *narrowed) {
  Module *module = maker->module;
  InstId fusion = narrowed->inst;
  const Loop *loop = narrowed->loop;
  CompId comp = inst_callees(module, fusion)[0];
  uint32_t num_operands = inst_get(module, fusion)->num_operands;
  if (narrowed->last < NUM_SLOTS) return;
  for (uint32_t i = 0; i < num_operands; i++) {
    InstId param = id_list(module, comp_get(module, comp)->params)[i];
    bool is_only;
    uint32_t dim = find_param_dim(module, param, narrowed->start, narrowed->last, &is_only);
    if (dim == NO_ID || !is_only) continue;
    InstId slice = inst_users(module, param)[0];
    InstId *operands = arena_array(maker->arena, InstId, num_operands);
    memcpy(operands, inst_operands(module, fusion), num_operands * sizeof *operands);
    InstId value = rewrite_clone_into(maker->rewrite, fusion, loop->body, operands, maker->schedule,
                                      maker->arena);
    dce_trim_fusion(maker->rewrite, value, maker->rewrite->image.data[slice], maker->arena);
    maker_insert(maker, value, narrowed->position);
    uint32_t element;
    InstId array =
        carry(maker, loop, shape_of_slots(maker, inst_get(module, param)->shape, dim), &element);
    array = maker_write_slice_at(maker, loop->body, array, value, inst_get(module, slice)->shape,
                                 dim, narrowed->at, narrowed->position);
    rewrite_set_operand(maker->rewrite, loop->body_root, element, array);
    replace_array(maker, fusion, i, array);
  }
}

void slots_finish_reads(Maker *maker) {
  for (uint32_t i = 0; i < maker->narrowed.len; i++)
    narrow_others(maker, &maker->narrowed.data[i]);
}

/* An array that holds the slice already; NO_ID if there is none. */
static InstId find_array(const Maker *maker, const Loop *loop, const StackRead *read,
                         uint32_t position) {
  size_t bytes = (size_t)loop->trips * sizeof *read->iterations;
  for (uint32_t i = 0; i < maker->slots.len; i++) {
    const SlotArray *known = &maker->slots.data[i];
    if (known->loop == loop && known->stack == read->stack && known->position <= position &&
        memcmp(known->iterations, read->iterations, bytes) == 0)
      return known->array;
  }
  return NO_ID;
}

static InstId make_array(Maker *maker, const Loop *loop, const StackRead *read, InstId value,
                         uint32_t position) {
  const Stack *stack = &maker->stacks->list.data[read->stack];
  uint32_t element;
  InstId array = slots_carry(maker, loop, stack, &element);
  array = maker_write_slice_at(maker, loop->body, array, value, stack->slice, stack->dim,
                               maker_slice_number(maker, read), position);
  rewrite_set_operand(maker->rewrite, loop->body_root, element, array);
  *vec_push(maker->arena, &maker->slots) =
      (SlotArray){loop, read->iterations, read->stack, position, array};
  return array;
}

void slots_narrow_read(Maker *maker, const StackRead *read, InstId value, uint32_t position) {
  Module *module = maker->module;
  const Loop *loop = &maker->loops->list[read->loop];
  CompId comp = inst_callees(module, read->inst)[0];
  InstId param = id_list(module, comp_get(module, comp)->params)[read->operand];
  uint32_t dim = maker->stacks->list.data[read->stack].dim;
  InstId slice = inst_users(module, param)[0];
  *vec_push(maker->arena, &maker->narrowed) =
      (NarrowedFusion){.loop = loop,
                       .inst = read->inst,
                       .start = inst_operand(module, slice, start_operand(module, slice, dim)),
                       .last = last_start(module, slice, dim),
                       .at = maker_slice_number(maker, read),
                       .position = position};
  InstId array = find_array(maker, loop, read, position);
  if (array == NO_ID) array = make_array(maker, loop, read, value, position);
  replace_array(maker, read->inst, read->operand, array);
}

InstId slots_narrow_write(Maker *maker, const SlotArray *made, uint32_t element, InstId at,
                          ShapeId shape) {
  Module *module = maker->module;
  const Stack *stack = &maker->stacks->list.data[made->stack];
  CompId comp = inst_callees(module, made->array)[0];
  InstId root = comp_get(module, comp)->root;
  ShapeId slots = shape_of_slots(maker, stack->shape, stack->dim);
  NarrowedFusion narrowed = {
      .loop = made->loop,
      .inst = made->array,
      .start = inst_operand(module, root, start_operand(module, root, stack->dim)),
      .last = last_start(module, root, stack->dim),
      .at = at,
      .position = made->position};
  rewrite_set_shape(maker->rewrite, inst_operand(module, root, 0), slots);
  rewrite_set_shape(maker->rewrite, root, slots);
  rewrite_set_shape(maker->rewrite, made->array, slots);
  inst_get(module, made->array)->flags |= INST_NEW_OPERANDS;
  comp_get(module, comp)->flags |= COMP_NEW_SIGNATURE;
  narrow_others(maker, &narrowed);
  maker_insert(maker, made->array, made->position);
  rewrite_set_operand(maker->rewrite, made->loop->body_root, element, made->array);
  *vec_push(maker->arena, &maker->slots) = *made;
  return maker_read_slice(maker, made->loop->body, made->array, stack->slice, stack->dim, at, shape,
                          made->position);
}
