#include "remat/scan/slots.h"

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

/* The shape of the array that takes the place of a stack. */
static ShapeId shape_of_slots(Maker *maker, const Stack *stack) {
  Module *module = maker->module;
  const Shape *whole = shape_get(&module->shapes, stack->shape);
  ArraySpec spec = shape_spec(whole);
  int64_t *dims = arena_array(maker->arena, int64_t, whole->rank);
  for (uint32_t i = 0; i < whole->rank; i++)
    dims[i] = i == stack->dim && whole->dims[i] > NUM_SLOTS ? NUM_SLOTS : whole->dims[i];
  spec.dims = dims;
  return shape_array(&module->shapes, &spec);
}

/* ---- rewrite ---- */

InstId slots_carry(Maker *maker, const Loop *loop, const Stack *stack, uint32_t *element) {
  ShapeId shape = shape_of_slots(maker, stack);
  InstId init = maker_zeros(maker, loop->parent, shape, maker->position[loop->init]);
  *element = inst_shape(maker->module, loop->id)->rank;
  InstId array = carry_add(maker->rewrite, loop, init);
  maker_insert(maker, array, maker_beginning(maker, loop));
  return array;
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
  InstId array = find_array(maker, loop, read, position);
  if (array == NO_ID) array = make_array(maker, loop, read, value, position);
  rewrite_set_shape(maker->rewrite, param, inst_get(module, array)->shape);
  comp_get(module, comp)->flags |= COMP_NEW_SIGNATURE;
  rewrite_set_operand(maker->rewrite, read->inst, read->operand, array);
  inst_get(module, read->inst)->flags |= INST_NEW_OPERANDS;
}

InstId slots_narrow_write(Maker *maker, const SlotArray *made, uint32_t element, InstId at,
                          ShapeId shape) {
  Module *module = maker->module;
  const Stack *stack = &maker->stacks->list.data[made->stack];
  CompId comp = inst_callees(module, made->array)[0];
  InstId root = comp_get(module, comp)->root;
  ShapeId slots = shape_of_slots(maker, stack);
  rewrite_set_shape(maker->rewrite, inst_operand(module, root, 0), slots);
  rewrite_set_shape(maker->rewrite, root, slots);
  rewrite_set_shape(maker->rewrite, made->array, slots);
  inst_get(module, made->array)->flags |= INST_NEW_OPERANDS;
  comp_get(module, comp)->flags |= COMP_NEW_SIGNATURE;
  rewrite_set_operand(maker->rewrite, made->loop->body_root, element, made->array);
  *vec_push(maker->arena, &maker->slots) = *made;
  return maker_read_slice(maker, made->loop->body, made->array, stack->slice, stack->dim, at, shape,
                          made->position);
}
