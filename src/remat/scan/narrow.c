#include "remat/scan/narrow.h"

#include "analysis/loop/stack_view.h"

ShapeId narrow_shape(Module *module, ShapeId array, uint32_t dim, int64_t count, Arena *scratch) {
  const Shape *whole = shape_get(&module->shapes, array);
  int64_t size = whole->dims[dim] > count ? count : whole->dims[dim];
  return shape_with_dim(&module->shapes, array, dim, size, scratch);
}

ShapeId narrow_slice_shape(Maker *maker, const Stack *stack) {
  return stack->is_view ? narrow_shape(maker->module, stack->shape, stack->dim, 1, maker->arena)
                        : stack->slice;
}

/* The operand that is the stack: an element of the state, or a bitcast of it. */
static StackView operand_view(const Maker *maker, const StackRead *read, const Stack *stack) {
  const Module *module = maker->module;
  InstId id = inst_operand(module, read->inst, read->operand);
  return (StackView){.inst = id,
                     .dim = stack_dim_of(module, stack->shape, stack->dim, id),
                     .is_view = inst_get(module, id)->opcode == OPCODE_BITCAST};
}

/* The shape of a view of the stack with so many slices. */
static ShapeId small_shape(Maker *maker, const Stack *stack, StackView view, int64_t count) {
  ShapeId shape = inst_get(maker->module, view.inst)->shape;
  if (!view.is_view && count == 1) return narrow_slice_shape(maker, stack);
  if (!view.is_view) shape = stack->shape;
  return narrow_shape(maker->module, shape, view.is_view ? view.dim : stack->dim, count,
                      maker->arena);
}

/* Gives the fusion the value instead of the stack, and everything that it makes of that the shape
 * of so many slices. */
static StackViews narrow(Maker *maker, const StackRead *read, InstId value, int64_t count,
                         uint32_t position) {
  Module *module = maker->module;
  const Stack *stack = &maker->stacks->list.data[read->stack];
  StackView operand = operand_view(maker, read, stack);
  StackViews views = {0};
  (void)stack_views_find(module, NULL, read->inst, read->operand, operand.dim, &views,
                         maker->arena);
  for (uint32_t i = 0; i < views.len; i++) {
    StackView *view = &views.data[i];
    view->is_view |= operand.is_view;
    if (view->is_cut) continue;
    rewrite_set_shape(maker->rewrite, view->inst, small_shape(maker, stack, *view, count));
    if (inst_get(module, view->inst)->opcode == OPCODE_PARAMETER)
      comp_get(module, inst_get(module, view->inst)->parent)->flags |= COMP_NEW_SIGNATURE;
  }
  InstId given =
      maker_as_shape(maker, value, inst_get(module, views.data[0].inst)->shape, position);
  rewrite_set_operand(maker->rewrite, read->inst, read->operand, given);
  inst_get(module, read->inst)->flags |= INST_NEW_OPERANDS;
  return views;
}

/* The fusion within a fusion that calls the computation. */
static InstId caller_in(const Module *module, const StackViews *views, CompId comp) {
  for (uint32_t i = 0; i < views->len; i++) {
    for (uint32_t k = 0; k < inst_get(module, views->data[i].inst)->users.len; k++) {
      InstId user = inst_users(module, views->data[i].inst)[k];
      if (inst_get(module, user)->opcode == OPCODE_FUSION && inst_callees(module, user)[0] == comp)
        return user;
    }
  }
  return NO_ID;
}

/* Puts the instructions of a fused computation that has new ones into an order for its text. */
static void order_anew(Maker *maker, CompId comp) {
  module_sweep_comp(maker->module, comp);
  rewrite_order_expression(maker->rewrite, comp, maker->arena);
  if (comp < maker->schedule->num_comps) maker->schedule->of[comp].len = 0;
}

/* Removes a fusion within a fusion that does nothing any more but change the shape. */
static void bypass_inner(Maker *maker, InstId fusion, InstId param) {
  Module *module = maker->module;
  CompId comp = inst_callees(module, fusion)[0];
  if (inst_without_bitcasts(module, comp_get(module, comp)->root) != param) return;
  InstId operand = inst_operand(module, fusion, (uint32_t)inst_get(module, param)->index);
  ShapeId shape = inst_get(module, fusion)->shape;
  InstId result = inst_get(module, operand)->shape == shape
                      ? operand
                      : rewrite_add_bitcast(maker->rewrite, operand, shape);
  rewrite_replace_all_uses(maker->rewrite, fusion, result, maker->arena);
}

/* Removes a dynamic-slice of an array that is the slice. */
static void remove_cut(Maker *maker, const StackViews *views, InstId cut) {
  Module *module = maker->module;
  InstId array = inst_operand(module, cut, 0);
  CompId comp = inst_get(module, cut)->parent;
  ShapeId shape = inst_get(module, cut)->shape;
  InstId result = inst_get(module, array)->shape == shape
                      ? array
                      : rewrite_add_bitcast(maker->rewrite, array, shape);
  rewrite_replace_all_uses(maker->rewrite, cut, result, maker->arena);
  module_remove_inst(module, cut);
  order_anew(maker, comp);
  InstId inner = caller_in(module, views, comp);
  if (inner == NO_ID) return;
  bypass_inner(maker, inner, inst_without_bitcasts(module, array));
  order_anew(maker, inst_get(module, inner)->parent);
  *vec_push(maker->arena, &maker->cut_open) = inner;
}

void narrow_to_slice(Maker *maker, const StackRead *read, InstId value, uint32_t position) {
  StackViews views = narrow(maker, read, value, 1, position);
  for (uint32_t i = 0; i < views.len; i++) {
    StackView view = views.data[i];
    if (!view.is_cut) continue;
    if (stack_cut_is_part(maker->module, view.inst, view.dim))
      inst_get(maker->module, view.inst)->flags |= INST_NEW_OPERANDS; /* of the slice */
    else
      remove_cut(maker, &views, view.inst);
  }
  *vec_push(maker->arena, &maker->cut_open) = read->inst;
}

void narrow_part(Maker *maker, InstId part, uint32_t dim, InstId value, uint32_t position) {
  Module *module = maker->module;
  ShapeId array = inst_get(module, inst_operand(module, part, 0))->shape;
  ShapeId shape = narrow_shape(module, array, dim, 1, maker->arena);
  rewrite_set_operand(maker->rewrite, part, 0, maker_as_shape(maker, value, shape, position));
  inst_get(module, part)->flags |= INST_NEW_OPERANDS;
}

void narrow_to_slots(Maker *maker, const StackRead *read, InstId array, int64_t count,
                     uint32_t position) {
  (void)narrow(maker, read, array, count, position);
}

void narrow_operand(Maker *maker, InstId fusion, uint32_t operand, uint32_t dim, InstId array,
                    int64_t count) {
  Module *module = maker->module;
  StackViews views = {0};
  (void)stack_views_find(module, NULL, fusion, operand, dim, &views, maker->arena);
  for (uint32_t i = 0; i < views.len; i++) {
    InstId id = views.data[i].inst;
    if (views.data[i].is_cut) continue;
    ShapeId shape =
        narrow_shape(module, inst_get(module, id)->shape, views.data[i].dim, count, maker->arena);
    rewrite_set_shape(maker->rewrite, id, shape);
    comp_get(module, inst_get(module, id)->parent)->flags |= COMP_NEW_SIGNATURE;
  }
  rewrite_set_operand(maker->rewrite, fusion, operand, array);
  inst_get(module, fusion)->flags |= INST_NEW_OPERANDS;
}
