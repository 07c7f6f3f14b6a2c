#include "remat/scan/slots.h"

#include "analysis/loop/stack_view.h"
#include "remat/rewrite/fuse.h"
#include "remat/scan/carry.h"
#include "remat/scan/narrow.h"

/* With at least three, the start of a slice is clamped to a number above 1. Fewer of them would let
 * LLVM write the clamp in another way. */
enum { NUM_SLOTS = 3 };

bool slots_are_single(const Target *target) {
  return target->excess != EXCESS_PRODUCTS;
}

static int64_t num_slots(const Maker *maker) {
  return maker->has_one_slot ? 1 : NUM_SLOTS;
}

/* ---- other arrays that are sliced at the same place ---- */

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

SlicePlace slots_place_of(const Module *module, InstId slice, uint32_t dim) {
  return (SlicePlace){inst_operand(module, slice, start_operand(module, slice, dim)),
                      last_start(module, slice, dim)};
}

/* The dimension in which the instruction takes a slice of the array at this place; NO_ID if it does
 * not. */
static uint32_t find_dim(const Module *module, InstId user, InstId array, SlicePlace place) {
  Opcode opcode = (Opcode)inst_get(module, user)->opcode;
  bool takes_slice = opcode_is_dynamic_slice(opcode) && inst_operand(module, user, 0) == array;
  for (uint32_t d = 0; takes_slice && d < inst_shape(module, array)->rank; d++) {
    bool is_there = inst_operand(module, user, start_operand(module, user, d)) == place.start;
    if (is_there && last_start(module, user, d) == place.last) return d;
  }
  return NO_ID;
}

/* How slices of a parameter are taken at a place. */
typedef struct SlicedParam {
  uint32_t dim; /* of the parameter; NO_ID = no slice is taken there */
  InstId slice; /* a dynamic-slice that takes one */
  bool is_only; /* nothing else is read of the parameter, and nothing is written */
} SlicedParam;

static SlicedParam find_sliced(const Module *module, InstId param, SlicePlace place) {
  enum { MAX_VIEWS = 16 };
  SlicedParam found = {NO_ID, NO_ID, !inst_is_root(module, param)};
  InstId views[MAX_VIEWS] = {param};
  uint32_t num_views = 1;
  for (uint32_t v = 0; v < num_views; v++) {
    for (uint32_t i = 0; i < inst_get(module, views[v])->users.len; i++) {
      InstId user = inst_users(module, views[v])[i];
      if (inst_get(module, user)->opcode == OPCODE_BITCAST && num_views < MAX_VIEWS) {
        views[num_views++] = user;
        continue;
      }
      uint32_t own = find_dim(module, user, views[v], place), dim = own;
      bool is_known =
          own != NO_ID && (v == 0 || shape_dim_in_view(inst_shape(module, views[v]), own,
                                                       inst_shape(module, param), &dim));
      bool is_read = inst_get(module, user)->opcode == OPCODE_DYNAMIC_SLICE;
      found.is_only &= is_known && is_read && inst_count_operand(module, user, views[v]) == 1;
      if (own == NO_ID) continue;
      found.dim = dim;
      if (is_read) found.slice = user;
    }
  }
  return found;
}

bool slots_fit_all(const Module *module, CompId comp, SlicePlace place, const bool *is_narrowed) {
  IdList params = comp_get(module, comp)->params;
  if (place.last < NUM_SLOTS) return true;
  for (uint32_t i = 0; i < params.len; i++) {
    SlicedParam found = find_sliced(module, id_list(module, params)[i], place);
    if (found.dim != NO_ID && !(is_narrowed && is_narrowed[i]) && !found.is_only) return false;
  }
  return true;
}

bool slots_fit_only(const Module *module, CompId comp, SlicePlace place, const bool *is_narrowed) {
  IdList params = comp_get(module, comp)->params;
  for (uint32_t i = 0; i < params.len; i++) {
    SlicedParam found = find_sliced(module, id_list(module, params)[i], place);
    if (found.dim != NO_ID && !is_narrowed[i]) return false;
  }
  return true;
}

/* ---- shapes ---- */

ShapeId slots_shape(Maker *maker, const Stack *stack) {
  return narrow_shape(maker->module, stack->shape, stack->dim, num_slots(maker), maker->arena);
}

ShapeId slots_view_shape(Maker *maker, const Stack *stack, ShapeId view) {
  const ShapeTable *shapes = &maker->module->shapes;
  uint32_t dim = stack->dim;
  if (view != stack->shape)
    (void)shape_dim_in_view(shape_get(shapes, stack->shape), stack->dim, shape_get(shapes, view),
                            &dim);
  return narrow_shape(maker->module, view, dim, num_slots(maker), maker->arena);
}

/* ---- rewrite ---- */

static InstId carry(Maker *maker, const Loop *loop, ShapeId shape, uint32_t *element) {
  InstId init = maker_new_array(maker, loop->parent, shape, maker->position[loop->init]);
  *element = inst_shape(maker->module, loop->id)->rank;
  InstId array = carry_add(maker->rewrite, loop, init);
  maker_insert(maker, array, maker_beginning(maker, loop));
  return array;
}

InstId slots_begin(Maker *maker, const Loop *loop, const Stack *stack, uint32_t position,
                   uint32_t *element) {
  ShapeId shape = slots_shape(maker, stack);
  *element = NO_ID;
  return maker->is_lean ? maker_new_array(maker, loop->body, shape, position)
                        : carry(maker, loop, shape, element);
}

/* An array of slots of this shape with a slice in it. */
static InstId with_slice(Maker *maker, const Loop *loop, ShapeId shape, InstId value, ShapeId slice,
                         uint32_t dim, InstId at, uint32_t position, bool is_carried) {
  if (num_slots(maker) == 1) return maker_as_shape(maker, value, shape, position);
  if (!is_carried)
    return maker_new_slices(maker, loop->body, shape, value, slice, dim, at, position);
  uint32_t element;
  InstId array = carry(maker, loop, shape, &element);
  array = maker_write_slice_at(maker, loop->body, array, value, slice, dim, at, position);
  rewrite_set_operand(maker->rewrite, loop->body_root, element, array);
  return array;
}

void slots_narrow_others(Maker *maker, const NarrowedFusion *narrowed) {
  Module *module = maker->module;
  InstId fusion = narrowed->inst;
  const Loop *loop = narrowed->loop;
  CompId comp = inst_callees(module, fusion)[0];
  uint32_t num_operands = inst_get(module, fusion)->num_operands;
  if (narrowed->place.last < NUM_SLOTS || maker->has_one_slot) return;
  for (uint32_t i = 0; i < num_operands; i++) {
    InstId param = id_list(module, comp_get(module, comp)->params)[i];
    SlicedParam found = find_sliced(module, param, narrowed->place);
    if (found.dim == NO_ID || !found.is_only) continue;
    InstId value =
        fuse_part_alone(maker->rewrite, fusion, found.slice, maker->schedule, maker->arena);
    maker_insert(maker, value, narrowed->position);
    ShapeId whole = inst_get(module, param)->shape;
    ShapeId shape = narrow_shape(module, whole, found.dim, NUM_SLOTS, maker->arena);
    ShapeId slice = narrow_shape(module, whole, found.dim, 1, maker->arena);
    InstId array = with_slice(maker, loop, shape, value, slice, found.dim, narrowed->at,
                              narrowed->position, narrowed->is_carried);
    narrow_operand(maker, fusion, i, found.dim, array, NUM_SLOTS);
  }
}

void slots_finish_reads(Maker *maker) {
  for (uint32_t i = 0; i < maker->narrowed.len; i++)
    slots_narrow_others(maker, &maker->narrowed.data[i]);
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
                         uint32_t position, bool is_carried) {
  const Stack *stack = &maker->stacks->list.data[read->stack];
  InstId array =
      with_slice(maker, loop, slots_shape(maker, stack), value, narrow_slice_shape(maker, stack),
                 stack->dim, maker_slice_number(maker, read), position, is_carried);
  *vec_push(maker->arena, &maker->slots) =
      (SlotArray){loop, read->iterations, read->stack, position, array};
  return array;
}

StackView slots_cut_of(const Module *module, const Stack *stack, const StackRead *read,
                       Arena *scratch) {
  StackViews views = {0};
  InstId operand = inst_operand(module, read->inst, read->operand);
  (void)stack_views_find(module, NULL, read->inst, read->operand,
                         stack_dim_of(module, stack->shape, stack->dim, operand), &views, scratch);
  uint32_t i = 0;
  while (!views.data[i].is_cut)
    i++;
  return views.data[i];
}

void slots_narrow_read(Maker *maker, const StackRead *read, InstId value, uint32_t position,
                       bool is_same_loop) {
  const Module *module = maker->module;
  const Loop *loop = &maker->loops->list[read->loop];
  const Stack *stack = &maker->stacks->list.data[read->stack];
  StackView cut = slots_cut_of(module, stack, read, maker->arena);
  bool is_carried = is_same_loop && !maker->is_lean;
  *vec_push(maker->arena, &maker->narrowed) =
      (NarrowedFusion){.loop = loop,
                       .inst = read->inst,
                       .place = slots_place_of(module, cut.inst, cut.dim),
                       .is_carried = is_carried,
                       .at = maker_slice_number(maker, read),
                       .position = position};
  InstId array = find_array(maker, loop, read, position);
  if (array == NO_ID) array = make_array(maker, loop, read, value, position, is_carried);
  narrow_to_slots(maker, read, array, num_slots(maker), position);
}

void slots_narrow_views(Maker *maker, const Stack *stack, InstId last) {
  Module *module = maker->module;
  for (InstId id = last;; id = inst_operand(module, id, 0)) {
    Opcode opcode = (Opcode)inst_get(module, id)->opcode;
    rewrite_set_shape(maker->rewrite, id,
                      slots_view_shape(maker, stack, inst_get(module, id)->shape));
    if (opcode != OPCODE_BITCAST && opcode != OPCODE_DYNAMIC_UPDATE_SLICE) break;
  }
}
