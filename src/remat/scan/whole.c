#include "remat/scan/whole.h"

#include "analysis/loop/stack_view.h"
#include "remat/scan/carry.h"
#include "remat/scan/narrow.h"
#include "remat/scan/slots.h"

/* ---- results ---- */

/* The stack of a loop that an instruction of its body is, under whatever shape; NO_ID if it is
 * none.
 */
static uint32_t stack_of(const Stacks *stacks, uint32_t index, InstId id) {
  const Module *module = stacks->loops->module;
  id = inst_without_bitcasts(module, id);
  const Instruction *inst = inst_get(module, id);
  bool is_element = inst->opcode == OPCODE_GET_TUPLE_ELEMENT &&
                    inst_operand(module, id, 0) == stacks->loops->list[index].body_param;
  if (!is_element) return NO_ID;
  for (uint32_t i = stacks->first_of[index]; i < stacks->first_of[index + 1]; i++) {
    if (stacks->list.data[i].element == inst->index) return i;
  }
  return NO_ID;
}

/* The parameter whose slice is written, if the write is all that reads it; NO_ID otherwise. */
static InstId written_param(const Module *module, InstId write) {
  InstId array = inst_operand(module, write, 0);
  if (inst_count_operand(module, write, array) != 1) return NO_ID;
  for (;; array = inst_operand(module, array, 0)) {
    if (inst_get(module, array)->users.len != 1) return NO_ID;
    if (inst_get(module, array)->opcode != OPCODE_BITCAST) break;
  }
  return inst_get(module, array)->opcode == OPCODE_PARAMETER ? array : NO_ID;
}

static WholeResult result_of(const Stacks *stacks, uint32_t loop, InstId fusion, InstId inst) {
  const Module *module = stacks->loops->module;
  WholeResult result = {inst, NO_ID, NO_ID, NO_ID};
  InstId write = inst_without_bitcasts(module, inst);
  if (inst_get(module, write)->opcode != OPCODE_DYNAMIC_UPDATE_SLICE) return result;
  InstId param = written_param(module, write);
  if (param == NO_ID) return result;
  result.operand = (uint32_t)inst_get(module, param)->index;
  result.stack = stack_of(stacks, loop, inst_operand(module, fusion, result.operand));
  if (result.stack != NO_ID) result.write = write;
  return result;
}

bool whole_results(const Stacks *stacks, uint32_t loop, InstId fusion, WholeResults *results,
                   Arena *out) {
  const Module *module = stacks->loops->module;
  InstId root = comp_get(module, inst_callees(module, fusion)[0])->root;
  bool is_tuple = inst_get(module, root)->opcode == OPCODE_TUPLE;
  uint32_t count = is_tuple ? inst_get(module, root)->num_operands : 1;
  for (uint32_t i = 0; i < count; i++) {
    InstId inst = is_tuple ? inst_operand(module, root, i) : root;
    *vec_push(out, results) = result_of(stacks, loop, fusion, inst);
  }
  for (uint32_t o = 0; o < inst_get(module, fusion)->num_operands; o++) {
    uint32_t stack = stack_of(stacks, loop, inst_operand(module, fusion, o));
    if (stack == NO_ID) continue;
    uint32_t num_writes = 0;
    for (uint32_t i = 0; i < results->len; i++)
      num_writes += results->data[i].write != NO_ID && results->data[i].operand == o;
    if (num_writes != 1 || stacks->list.data[stack].writes.len != 1) return false;
  }
  return true;
}

uint32_t whole_result_of(const Module *module, const WholeResults *results, InstId inner) {
  inner = inst_without_bitcasts(module, inner);
  for (uint32_t i = 0; i < results->len; i++) {
    const WholeResult *result = &results->data[i];
    InstId value = result->write == NO_ID ? result->inst : inst_operand(module, result->write, 1);
    if (inst_without_bitcasts(module, value) == inner) return i;
  }
  return NO_ID;
}

bool *whole_narrowed(const Module *module, InstId fusion, const WholeResults *results, Arena *out) {
  bool *is_narrowed = arena_zarray(out, bool, inst_get(module, fusion)->num_operands);
  for (uint32_t i = 0; i < results->len; i++) {
    if (results->data[i].write != NO_ID) is_narrowed[results->data[i].operand] = true;
  }
  return is_narrowed;
}

uint32_t whole_write_dim(const Stacks *stacks, const WholeResult *result) {
  const Module *module = stacks->loops->module;
  const Stack *stack = &stacks->list.data[result->stack];
  ShapeId seen = inst_get(module, result->write)->shape;
  uint32_t dim = stack->dim;
  if (seen != stack->shape)
    (void)shape_dim_in_view(shape_get(&module->shapes, stack->shape), stack->dim,
                            shape_get(&module->shapes, seen), &dim);
  return dim;
}

/* ---- clones ---- */

static const WholeClone *find_clone(const Maker *maker, const Loop *reader,
                                    const int64_t *iterations, InstId fusion) {
  size_t bytes = (size_t)reader->trips * sizeof *iterations;
  for (uint32_t i = 0; i < maker->wholes.len; i++) {
    const WholeClone *known = &maker->wholes.data[i];
    if (known->loop == reader && known->fusion == fusion &&
        memcmp(known->iterations, iterations, bytes) == 0)
      return known;
  }
  return NULL;
}

bool whole_is_cloned(const Maker *maker, const Loop *reader, const int64_t *iterations,
                     InstId fusion) {
  return find_clone(maker, reader, iterations, fusion) != NULL;
}

/* Gives the clone, and the tuple that it returns, the shape of its results. */
static void update_shape(Maker *maker, InstId clone) {
  Module *module = maker->module;
  CompId comp = inst_callees(module, clone)[0];
  InstId root = comp_get(module, comp)->root;
  if (inst_get(module, root)->opcode == OPCODE_TUPLE) {
    uint32_t count = inst_get(module, root)->num_operands;
    ShapeId *elements = arena_array(maker->arena, ShapeId, count);
    for (uint32_t i = 0; i < count; i++)
      elements[i] = inst_get(module, inst_operand(module, root, i))->shape;
    rewrite_set_shape(maker->rewrite, root, shape_tuple(&module->shapes, elements, count));
  }
  rewrite_set_shape(maker->rewrite, clone, inst_get(module, root)->shape);
  inst_get(module, clone)->flags |= INST_NEW_OPERANDS;
  comp_get(module, comp)->flags |= COMP_NEW_SIGNATURE;
}

/* Takes a result of the clone. A stack's is handed on to the next iteration. */
static InstId take_result(Maker *maker, const WholeClone *whole, InstId clone, uint32_t index,
                          const WholeResult *result, uint32_t element, uint32_t position) {
  Module *module = maker->module;
  InstId root = comp_get(module, inst_callees(module, clone)[0])->root;
  InstId taken = clone;
  if (inst_get(module, root)->opcode == OPCODE_TUPLE)
    taken = maker_element(maker, clone, index, position);
  if (result->write == NO_ID) return taken;
  const Stack *stack = &maker->stacks->list.data[result->stack];
  taken = maker_as_shape(maker, taken, slots_shape(maker, stack), position);
  if (element != NO_ID) rewrite_set_operand(maker->rewrite, whole->loop->body_root, element, taken);
  *vec_push(maker->arena, &maker->slots) =
      (SlotArray){whole->loop, whole->iterations, result->stack, position, taken};
  return taken;
}

/* The number of the slice of a result's stack that an iteration of the reading loop is about. */
static InstId slice_number(Maker *maker, const Loop *reader, const int64_t *iterations,
                           const WholeResult *result) {
  const int64_t *slices = maker->stacks->list.data[result->stack].writes.data[0].slices;
  int64_t first = slices[iterations[0]];
  int64_t step = reader->trips > 1 ? slices[iterations[1]] - first : 0;
  return maker_scalar(maker, reader, first, step, TYPE_S32);
}

/* What else the clone takes slices of where it writes them. */
static void narrow_others_of(Maker *maker, const WholeClone *whole, const WholeResults *results,
                             InstId clone, const SlicePlace *places, uint32_t position) {
  for (uint32_t i = 0; i < results->len; i++) {
    const WholeResult *result = &results->data[i];
    if (result->write == NO_ID) continue;
    NarrowedFusion narrowed = {.loop = whole->loop,
                               .inst = clone,
                               .place = places[i],
                               .is_carried = !maker->is_lean,
                               .at = slice_number(maker, whole->loop, whole->iterations, result),
                               .position = position};
    slots_narrow_others(maker, &narrowed);
  }
}

static void make_clone(Maker *maker, WholeClone *whole, const WholeResults *results,
                       InstId *operands, uint32_t position) {
  Module *module = maker->module;
  uint32_t *elements = arena_array(maker->arena, uint32_t, results->len);
  CompId comp = inst_callees(module, whole->fusion)[0];
  for (uint32_t i = 0; i < results->len; i++) {
    const WholeResult *result = &results->data[i];
    if (result->write == NO_ID) continue;
    const Stack *stack = &maker->stacks->list.data[result->stack];
    InstId array = slots_begin(maker, whole->loop, stack, position, &elements[i]);
    InstId param = id_list(module, comp_get(module, comp)->params)[result->operand];
    ShapeId shape = slots_view_shape(maker, stack, inst_get(module, param)->shape);
    operands[result->operand] = maker_as_shape(maker, array, shape, position);
  }
  InstId clone = rewrite_clone_into(maker->rewrite, whole->fusion, whole->loop->body, operands,
                                    maker->schedule, maker->arena);
  InstId root = comp_get(module, inst_callees(module, clone)[0])->root;
  bool is_tuple = inst_get(module, root)->opcode == OPCODE_TUPLE;
  SlicePlace *places = arena_array(maker->arena, SlicePlace, results->len);
  for (uint32_t i = 0; i < results->len; i++) {
    const WholeResult *result = &results->data[i];
    if (result->write == NO_ID) continue;
    InstId write = inst_without_bitcasts(module, is_tuple ? inst_operand(module, root, i) : root);
    places[i] = slots_place_of(module, write, whole_write_dim(maker->stacks, result));
    slots_narrow_views(maker, &maker->stacks->list.data[result->stack],
                       is_tuple ? inst_operand(module, root, i) : root);
  }
  update_shape(maker, clone);
  narrow_others_of(maker, whole, results, clone, places, position);
  maker_insert(maker, clone, position);
  whole->results = arena_array(maker->arena, InstId, results->len);
  for (uint32_t i = 0; i < results->len; i++) {
    whole->results[i] =
        take_result(maker, whole, clone, i, &results->data[i], elements[i], position);
  }
}

InstId whole_value(Maker *maker, uint32_t writer, const Loop *reader, const int64_t *iterations,
                   InstId fusion, InstId inner, ShapeId shape, InstId *operands,
                   uint32_t position) {
  const Module *module = maker->module;
  WholeResults results = {0};
  (void)whole_results(maker->stacks, writer, fusion, &results, maker->arena);
  const WholeClone *known = find_clone(maker, reader, iterations, fusion);
  if (!known) {
    WholeClone whole = {.loop = reader, .iterations = iterations, .fusion = fusion};
    make_clone(maker, &whole, &results, operands, position);
    WholeClone *added = vec_push(maker->arena, &maker->wholes);
    *added = whole;
    known = added;
  }
  uint32_t index = whole_result_of(module, &results, inner);
  const WholeResult *result = &results.data[index];
  if (result->write == NO_ID) return maker_as_shape(maker, known->results[index], shape, position);
  const Stack *stack = &maker->stacks->list.data[result->stack];
  if (maker->has_one_slot) /* the array has one slice */
    return maker_as_shape(maker, known->results[index], shape, position);
  InstId at = slice_number(maker, reader, iterations, result);
  return maker_read_slice(maker, reader->body, known->results[index],
                          narrow_slice_shape(maker, stack), stack->dim, at, shape, position);
}

/* ---- the writing loop ---- */

/* Makes what the body sees of the stack as small as the array, from `last` back to `first`. */
static void shrink_views(Maker *maker, const Stack *stack, InstId last, InstId first) {
  Module *module = maker->module;
  for (InstId id = last; id != first;) {
    rewrite_set_shape(maker->rewrite, id,
                      slots_view_shape(maker, stack, inst_get(module, id)->shape));
    InstId copied = copied_operand(module, id);
    if (inst_get(module, id)->opcode == OPCODE_GET_TUPLE_ELEMENT) break;
    id = copied != NO_ID ? copied : inst_operand(module, id, 0);
  }
}

/* The get-tuple-element in front of bitcasts and copies. */
static InstId element_before(const Module *module, InstId id) {
  for (;;) {
    InstId copied = copied_operand(module, id);
    if (copied == NO_ID && inst_get(module, id)->opcode != OPCODE_BITCAST) return id;
    id = copied != NO_ID ? copied : inst_operand(module, id, 0);
  }
}

void whole_shrink_stack(Maker *maker, const Stack *stack, const bool *is_unread) {
  Module *module = maker->module;
  const Loop *loop = &maker->loops->list[stack->loop];
  InstId fusion = stack->writes.data[0].inst;
  if (stack->writes.len != 1 || inst_get(module, fusion)->opcode != OPCODE_FUSION ||
      !fusion_bundles_results(module, fusion))
    return;
  WholeResults results = {0};
  if (!whole_results(maker->stacks, stack->loop, fusion, &results, maker->arena)) return;
  uint32_t index = (uint32_t)(stack - maker->stacks->list.data), found = NO_ID;
  for (uint32_t i = 0; i < results.len; i++) {
    if (results.data[i].write != NO_ID && results.data[i].stack == index) found = i;
  }
  bool *is_narrowed = arena_zarray(maker->arena, bool, inst_get(module, fusion)->num_operands);
  for (uint32_t i = 0; i < results.len; i++) {
    if (results.data[i].write != NO_ID && is_unread[results.data[i].stack])
      is_narrowed[results.data[i].operand] = true;
  }
  InstId next = loop_next(maker->loops, loop, stack->element);
  InstId taken = element_before(module, next);
  if (found == NO_ID || inst_get(module, taken)->opcode != OPCODE_GET_TUPLE_ELEMENT ||
      inst_operand(module, taken, 0) != fusion)
    return;
  const WholeResult *result = &results.data[found];
  SlicePlace place = slots_place_of(module, result->write, whole_write_dim(maker->stacks, result));
  if (!maker->has_one_slot &&
      !slots_fit_only(module, inst_callees(module, fusion)[0], place, is_narrowed))
    return;
  InstId operand = inst_operand(module, fusion, results.data[found].operand);
  InstId element = element_before(module, operand);
  shrink_views(maker, stack, operand, element);
  InstId zeros =
      maker_new_array(maker, loop->parent, slots_shape(maker, stack), maker->position[loop->init]);
  carry_set_element(maker->rewrite, loop, stack->element, zeros);
  InstId root = comp_get(module, inst_callees(module, fusion)[0])->root;
  slots_narrow_views(maker, stack, inst_operand(module, root, found));
  update_shape(maker, fusion);
  shrink_views(maker, stack, next, NO_ID);
}
