#include "remat/scan/maker.h"

#include <assert.h>
#include <stdlib.h>

#include "analysis/flow/guess_target.h"
#include "analysis/flow/rounding.h"
#include "analysis/loop/count.h"
#include "ir/written_shape.h"
#include "remat/rewrite/dce.h"
#include "remat/scan/carry.h"
#include "remat/scan/fuse_clones.h"
#include "remat/scan/join_clones.h"
#include "remat/scan/narrow.h"
#include "remat/scan/same_values.h"
#include "remat/scan/slots.h"

/* An instruction that allocates an array, which says that the backend has code for that; NO_ID if
 * there is none. */
static InstId find_allocation(const Module *module) {
  for (InstId id = 0; id < module->insts.len; id++) {
    if (!(inst_get(module, id)->flags & INST_DEAD) && inst_allocates(module, id)) return id;
  }
  return NO_ID;
}

Maker maker_begin(Rewrite *rewrite, Schedule *schedule, const Stacks *stacks, bool is_lean,
                  Arena *arena) {
  Module *module = rewrite->module;
  Maker maker = {.rewrite = rewrite,
                 .module = module,
                 .stacks = stacks,
                 .loops = stacks->loops,
                 .schedule = schedule,
                 .is_lean = is_lean,
                 .position = arena_zarray(arena, uint32_t, module->insts.len),
                 .num_old = module->insts.len,
                 .has_moved = arena_zarray(arena, bool, stacks->loops->len),
                 .is_fused = module_has_fusions(module),
                 .has_one_slot = slots_are_single(guess_target(module)),
                 .allocation = find_allocation(module),
                 .arena = arena};
  for (CompId comp = 0; comp < schedule->num_comps; comp++) {
    for (uint32_t i = 0; i < schedule->of[comp].len; i++)
      maker.position[schedule->of[comp].ids[i]] = i;
  }
  return maker;
}

/* ---- places ---- */

void maker_insert(Maker *maker, InstId inst, uint32_t position) {
  CompId comp = inst_get(maker->module, inst)->parent;
  const Schedule *schedule = maker->schedule;
  if (comp >= schedule->num_comps || schedule->of[comp].len == 0) return; /* a new computation */
  *vec_push(maker->arena, &maker->insertions) =
      (Insertion){comp, position, maker->insertions.len, inst};
}

void maker_insert_all(Maker *maker, const IdVec *insts, uint32_t position) {
  for (uint32_t i = 0; i < insts->len; i++)
    maker_insert(maker, insts->data[i], position);
}

/* Where a value that an iteration begins with can be read: before anything overwrites it. */
uint32_t maker_beginning(const Maker *maker, const Loop *loop) {
  return maker->position[loop->body_param] + 1;
}

static int by_place(const void *pa, const void *pb) {
  const Insertion *a = pa, *b = pb;
  if (a->comp != b->comp) return a->comp < b->comp ? -1 : 1;
  if (a->position != b->position) return a->position < b->position ? -1 : 1;
  return (a->number > b->number) - (a->number < b->number);
}

void maker_place_all(Maker *maker, Arena *out) {
  Schedule *schedule = maker->schedule;
  Insertion *list = maker->insertions.data;
  uint32_t count = maker->insertions.len;
  if (count) qsort(list, count, sizeof *list, by_place);
  for (uint32_t i = 0; i < count;) {
    CompId comp = list[i].comp;
    uint32_t end = i;
    while (end < count && list[end].comp == comp)
      end++;
    Sequence old = schedule->of[comp];
    Sequence new = {.ids = arena_array(out, InstId, (size_t)old.len + (end - i))};
    for (uint32_t p = 0; p <= old.len; p++) {
      for (; i < end && list[i].position == p; i++)
        new.ids[new.len++] = list[i].inst;
      if (p < old.len) new.ids[new.len++] = old.ids[p];
    }
    schedule->of[comp] = new;
    i = end;
  }
  maker->insertions.len = 0;
}

uint32_t *maker_positions_now(const Maker *maker, Arena *out) {
  const Schedule *schedule = maker->schedule;
  uint32_t *position = arena_zarray(out, uint32_t, maker->module->insts.len);
  for (CompId comp = 0; comp < schedule->num_comps; comp++) {
    for (uint32_t i = 0; i < schedule->of[comp].len; i++)
      position[schedule->of[comp].ids[i]] = i;
  }
  return position;
}

/* What the memory of a value began as: loops hand it on. Bounded by a number of steps. */
static uint64_t memory_of(const Maker *maker, InstId value) {
  enum { MAX_STEPS = 64 };
  const Module *module = maker->module;
  for (int i = 0; i < MAX_STEPS && inst_get(module, value)->opcode == OPCODE_GET_TUPLE_ELEMENT;
       i++) {
    InstId from = inst_operand(module, value, 0);
    uint32_t element = (uint32_t)inst_get(module, value)->index;
    uint32_t index = from < maker->num_old ? maker->loops->of[from] : NO_ID;
    const Loop *loop = index == NO_ID ? NULL : &maker->loops->list[index];
    if (!loop || element >= loop->num_elements || !loop->is_invariant[element]) break;
    value = loop_init(maker->loops, loop, element);
  }
  return rounding_memory_of(module, value);
}

bool maker_overwrites(const Maker *maker, const Loop *loop, InstId value) {
  uint64_t memory = memory_of(maker, value);
  for (uint32_t e = 0; e < loop->num_elements; e++) {
    if (!loop->is_invariant[e] && memory_of(maker, loop_init(maker->loops, loop, e)) == memory)
      return true;
  }
  return false;
}

InstId maker_element(Maker *maker, InstId tuple, uint32_t element, uint32_t position) {
  InstId id = rewrite_add_get_tuple_element(maker->rewrite, tuple, element);
  maker_insert(maker, id, position);
  return id;
}

/* ---- integers that follow from the iteration ---- */

/* Integers wrap in HLO, so that what overflows on the way does not matter. */
static int64_t wrapped_product(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a * (uint64_t)b);
}
static int64_t wrapped_difference(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* Whether a constant of this type can be written. */
static bool can_write(ElementType type, int64_t value) {
  const TypeInfo *info = type_info(type);
  unsigned bits = info->bits;
  switch (info->class) {
    case TYPE_CLASS_UINT: return value >= 0 && (bits >= 63 || value < INT64_C(1) << bits);
    case TYPE_CLASS_SINT: {
      int64_t end = INT64_C(1) << (bits < 64 ? bits - 1 : 0);
      return bits >= 64 || (value >= -end && value < end);
    }
    default: return false;
  }
}

static InstId with_constant(Kernel *kernel, Opcode opcode, InstId value, int64_t constant,
                            ElementType type) {
  InstId sides[] = {value, kernel_constant(kernel, type, constant)};
  ShapeId shape = rewrite_scalar(kernel->rewrite, type);
  return kernel_op(kernel, opcode, shape, sides, 2);
}

static InstId convert(Kernel *kernel, InstId value, ElementType type) {
  Module *module = kernel->rewrite->module;
  ElementType from = (ElementType)inst_shape(module, value)->type;
  if (inst_shape(module, value)->rank != 0)
    value = kernel_op(kernel, OPCODE_RESHAPE, rewrite_scalar(kernel->rewrite, from), &value, 1);
  if (from == type) return value;
  return kernel_op(kernel, OPCODE_CONVERT, rewrite_scalar(kernel->rewrite, type), &value, 1);
}

InstId maker_linear(Kernel *kernel, InstId value, int64_t factor, int64_t offset,
                    ElementType type) {
  Module *module = kernel->rewrite->module;
  ElementType from = (ElementType)inst_shape(module, value)->type;
  bool is_same = from == type && factor == 1 && offset == 0;
  /* An unsigned number that counts down has a negative factor. */
  bool is_direct = can_write(type, factor) && can_write(type, offset);
  ElementType inner = is_direct ? type : TYPE_S64;
  value = convert(kernel, value, inner);
  if (factor != 1) value = with_constant(kernel, OPCODE_MULTIPLY, value, factor, inner);
  if (offset != 0) value = with_constant(kernel, OPCODE_ADD, value, offset, inner);
  value = convert(kernel, value, type);
  if (!is_same) return value;
  return kernel_op(kernel, OPCODE_COPY, rewrite_scalar(kernel->rewrite, type), &value, 1);
}

/* The number of the iteration, as s64, from a counter that changes by `step`. */
static InstId iteration_of(Kernel *kernel, InstId counter, int64_t begin, int64_t step) {
  int64_t sign = step < 0 ? -1 : 1;
  InstId value = maker_linear(kernel, counter, sign,
                              wrapped_difference(0, wrapped_product(sign, begin)), TYPE_S64);
  return with_constant(kernel, OPCODE_DIVIDE, value, wrapped_product(sign, step), TYPE_S64);
}

InstId maker_scalar(Maker *maker, const Loop *loop, int64_t first, int64_t step, ElementType type) {
  for (uint32_t i = 0; i < maker->scalars.len; i++) {
    const KnownScalar *known = &maker->scalars.data[i];
    bool is_same = known->loop == loop && known->first == first && known->step == step;
    if (is_same && known->type == type) return known->inst;
  }
  uint32_t counter = count_counter_of(loop), position = maker_beginning(maker, loop);
  assert(counter != NO_ID && "values.h leaves out loops without a counter");
  int64_t begin = loop->counts[counter][0];
  int64_t direction = loop->trips > 1 ? loop->counts[counter][1] - begin : 1;
  InstId element = maker_element(maker, loop->body_param, counter, position);
  Kernel kernel = kernel_begin(maker->rewrite, loop->body, maker->is_fused, maker->arena);
  InstId value = kernel_operand(&kernel, element);
  if (direction == 1 || direction == -1) {
    int64_t factor = wrapped_product(step, direction);
    int64_t offset = wrapped_difference(first, wrapped_product(factor, begin));
    value = maker_linear(&kernel, value, factor, offset, type);
  } else {
    value = iteration_of(&kernel, value, begin, direction);
    value = maker_linear(&kernel, value, step, first, type);
  }
  value = kernel_end(&kernel, value);
  maker_insert_all(maker, &kernel.made, position);
  *vec_push(maker->arena, &maker->scalars) = (KnownScalar){loop, first, step, type, value};
  return value;
}

enum { ROW = 128 }; /* elements */

bool maker_stacks_rows(const Shape *shape) {
  const LayoutExtras *extras = shape->extras;
  return shape->rank == 1 && extras && extras->num_tile_words == 2 && extras->tile_words[0] == 1 &&
         extras->tile_words[1] % ROW == 0 && type_info((ElementType)shape->type)->bits == 32;
}

/* Whether the last tile of a vector is not full, so that its rows are other bytes. */
static bool has_partial_tile(const Shape *shape) {
  return maker_stacks_rows(shape) && shape->dims[0] % shape->extras->tile_words[1] != 0;
}

/* `f32[2048]{0:T(1024)}` is stacked as `f32[count,2048,1]{1,2,0:T(1,128)}`. */
static ShapeId stacked_rows(Module *module, const Shape *shape, int64_t count) {
  static const int64_t minor[] = {1, 2, 0}, tile[] = {2, 1, ROW};
  int64_t dims[] = {count, shape->dims[0], 1};
  LayoutExtras extras = *shape->extras;
  extras.num_tile_words = sizeof tile / sizeof *tile;
  extras.tile_words = tile;
  ArraySpec spec = shape_spec(shape);
  spec.rank = 3;
  spec.dims = dims;
  spec.minor_to_major = minor;
  spec.extras = &extras;
  return written_array(&module->shapes, &spec);
}

ShapeId maker_stacked_shape(Module *module, ShapeId slice, int64_t count, Arena *arena) {
  const Shape *shape = shape_get(&module->shapes, slice);
  if (maker_stacks_rows(shape)) return stacked_rows(module, shape, count);
  ArraySpec spec = shape_spec(shape);
  int64_t *dims = arena_array(arena, int64_t, (size_t)shape->rank + 1);
  int64_t *minor = arena_array(arena, int64_t, (size_t)shape->rank + 1);
  dims[0] = count;
  minor[shape->rank] = 0;
  for (uint32_t i = 0; i < shape->rank; i++) {
    dims[i + 1] = shape->dims[i];
    minor[i] =
        (shape->minor_to_major ? shape->minor_to_major[i] : (int64_t)shape->rank - 1 - i) + 1;
  }
  spec.rank = shape->rank + 1;
  spec.dims = dims;
  if (spec.minor_to_major) spec.minor_to_major = minor;
  return written_array(&module->shapes, &spec);
}

/* The same bytes under another shape. */
static InstId reshape(Kernel *kernel, InstId id, ShapeId shape) {
  if (inst_get(kernel->rewrite->module, id)->shape == shape) return id;
  return kernel_op(kernel, kernel->is_fused ? OPCODE_BITCAST : OPCODE_RESHAPE, shape, &id, 1);
}

/* The start of a slice: `index` in dimension `dim`, 0 in the others. */
static InstId *starts_of(Maker *maker, Kernel *kernel, uint32_t first, uint32_t rank, uint32_t dim,
                         InstId index) {
  InstId *operands = arena_array(maker->arena, InstId, (size_t)first + rank);
  InstId zero = rank > 1 ? kernel_constant(kernel, TYPE_S32, 0) : NO_ID;
  for (uint32_t i = 0; i < rank; i++)
    operands[first + i] = i == dim ? index : zero;
  return operands;
}

/* Whether an instruction outside of the loop computes its value from constants, and fast. */
bool maker_is_constant(const Maker *maker, InstId id) {
  const Module *module = maker->module;
  const Instruction *inst = inst_get(module, id);
  if (inst->flags & INST_ELIDED_LITERAL || inst_has_control(module, id)) return false;
  switch (inst->opcode) {
    case OPCODE_CONSTANT: return shape_is_effective_scalar(inst_shape(module, id));
    case OPCODE_BROADCAST:
    case OPCODE_IOTA: break;
    case OPCODE_FUSION: {
      int64_t kind = inst_attr_int(module, id, ATTR_FUSION_KIND, FUSION_CUSTOM);
      CompId comp = inst_callees(module, id)[0];
      if (kind != FUSION_LOOP || shape_is_tuple(inst_shape(module, id))) return false;
      for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
        Opcode opcode = (Opcode)inst_get(module, comp_inst(module, comp, i))->opcode;
        bool is_fast = opcode == OPCODE_BROADCAST || opcode == OPCODE_IOTA ||
                       opcode_has(opcode, OPF_FREE | OPF_ELEMENTWISE);
        if (!is_fast || opcode_has(opcode, OPF_TRANSCENDENTAL)) return false;
      }
      break;
    }
    default: return false;
  }
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    Origin origin = loop_origin(maker->loops, inst_operand(module, id, i));
    bool is_constant = origin.loop == NO_ID &&
                       inst_get(module, origin.inst)->opcode == OPCODE_CONSTANT &&
                       shape_is_effective_scalar(inst_shape(module, origin.inst));
    if (!is_constant || inst_get(module, origin.inst)->flags & INST_ELIDED_LITERAL) return false;
  }
  return true;
}

InstId maker_write_slice(Maker *maker, CompId comp, InstId stack, InstId update, InstId at,
                         uint32_t position) {
  Module *module = maker->module;
  ShapeId slice = maker_stacked_shape(module, inst_get(module, update)->shape, 1, maker->arena);
  return maker_write_slice_at(maker, comp, stack, update, slice, 0, at, position);
}

/* Ends a kernel with `array`, which is in it, where slice `at` along `dim` is `update`. */
static InstId end_with_slice(Maker *maker, Kernel *kernel, InstId array, InstId update,
                             ShapeId slice, uint32_t dim, InstId at, uint32_t position) {
  Module *module = maker->module;
  ShapeId shape = inst_get(module, array)->shape;
  uint32_t rank = shape_get(&module->shapes, shape)->rank;
  InstId part = reshape(kernel, kernel_operand(kernel, update), slice);
  InstId *operands = starts_of(maker, kernel, 2, rank, dim, kernel_operand(kernel, at));
  operands[0] = array;
  operands[1] = part;
  InstId result = kernel_op(kernel, OPCODE_DYNAMIC_UPDATE_SLICE, shape, operands, 2 + rank);
  result = kernel_end(kernel, result);
  maker_insert_all(maker, &kernel->made, position);
  return result;
}

InstId maker_write_slice_at(Maker *maker, CompId comp, InstId stack, InstId update, ShapeId slice,
                            uint32_t dim, InstId at, uint32_t position) {
  /* XLA:TPU finds no window for a fusion with a vector in both forms. */
  if (maker_stacks_rows(inst_shape(maker->module, update)))
    update = maker_as_shape(maker, update, slice, position);
  Kernel kernel = kernel_begin(maker->rewrite, comp, maker->is_fused, maker->arena);
  InstId array = kernel_operand(&kernel, stack);
  return end_with_slice(maker, &kernel, array, update, slice, dim, at, position);
}

/* An array of zeros in a kernel. */
static InstId zeros_in(Kernel *kernel, ShapeId shape) {
  ElementType type = (ElementType)shape_get(&kernel->rewrite->module->shapes, shape)->type;
  InstId zero = kernel_constant(kernel, type, 0);
  return kernel_op(kernel, OPCODE_BROADCAST, shape, &zero, 1);
}

/* A clone of an instruction that allocates an array, with another shape. */
static InstId allocate(Maker *maker, CompId comp, ShapeId shape) {
  Rewrite *rewrite = maker->rewrite;
  Str name = name_unique(&rewrite->inst_names, STR("custom-call.remat"));
  InstId array = module_clone_inst(maker->module, maker->allocation, name, comp, NULL);
  inst_get(maker->module, array)->flags |= INST_REMAT;
  rewrite_set_shape(rewrite, array, shape);
  return array;
}

InstId maker_new_array(Maker *maker, CompId comp, ShapeId shape, uint32_t position) {
  if (maker->allocation != NO_ID) {
    InstId array = allocate(maker, comp, shape);
    maker_insert(maker, array, position);
    return array;
  }
  Kernel kernel = kernel_begin(maker->rewrite, comp, maker->is_fused, maker->arena);
  InstId zeros = kernel_end(&kernel, zeros_in(&kernel, shape));
  maker_insert_all(maker, &kernel.made, position);
  return zeros;
}

InstId maker_new_slices(Maker *maker, CompId comp, ShapeId shape, InstId update, ShapeId slice,
                        uint32_t dim, InstId at, uint32_t position) {
  Kernel kernel = kernel_begin(maker->rewrite, comp, maker->is_fused, maker->arena);
  InstId zeros = zeros_in(&kernel, shape);
  return end_with_slice(maker, &kernel, zeros, update, slice, dim, at, position);
}

/* In a kernel, slice `at` of an array as `shape`. */
static InstId slice_of(Maker *maker, Kernel *kernel, InstId array, ShapeId slice, uint32_t dim,
                       InstId at, ShapeId shape) {
  uint32_t rank = shape_get(&maker->module->shapes, slice)->rank;
  InstId *operands = starts_of(maker, kernel, 1, rank, dim, at);
  operands[0] = array;
  return reshape(kernel, kernel_op(kernel, OPCODE_DYNAMIC_SLICE, slice, operands, 1 + rank), shape);
}

InstId maker_read_slice(Maker *maker, CompId comp, InstId stack, ShapeId slice, uint32_t dim,
                        InstId at, ShapeId shape, uint32_t position) {
  Kernel kernel = kernel_begin(maker->rewrite, comp, maker->is_fused, maker->arena);
  InstId array = kernel_operand(&kernel, stack), number = kernel_operand(&kernel, at);
  bool is_row = maker_stacks_rows(shape_get(&maker->module->shapes, shape));
  InstId part = slice_of(maker, &kernel, array, slice, dim, number, is_row ? slice : shape);
  InstId result = kernel_end(&kernel, part);
  maker_insert_all(maker, &kernel.made, position);
  return maker_as_shape(maker, result, shape, position);
}

/* In a kernel, whether a scalar is a number, for each element of a shape. */
static InstId is_number(Kernel *kernel, InstId value, int64_t number, ShapeId shape) {
  Module *module = kernel->rewrite->module;
  InstId sides[] = {value, kernel_constant(kernel, TYPE_S32, number)};
  InstId equal =
      kernel_op(kernel, OPCODE_COMPARE, rewrite_scalar(kernel->rewrite, TYPE_PRED), sides, 2);
  inst_get(module, equal)->index = DIRECTION_EQ;
  ArraySpec spec = shape_spec(shape_get(&module->shapes, shape));
  if (spec.rank == 0) return equal;
  spec.type = TYPE_PRED;
  ShapeId mask = written_array(&module->shapes, &spec);
  return kernel_op(kernel, OPCODE_BROADCAST, mask, &equal, 1);
}

/* The start of a slice of an array in dimension `dim`, within it also where `number` is `edge`. XLA
 * clamps starts, but the offset that XLA:GPU notes of one in a loop (dynamic_slice_config) is that
 * of the number itself, and a copy begins there. */
static InstId start_within(Kernel *kernel, InstId array, uint32_t dim, InstId number,
                           int64_t edge) {
  int64_t last = inst_shape(kernel->rewrite->module, array)->dims[dim] - 1;
  if (edge < 0) return with_constant(kernel, OPCODE_MAXIMUM, number, 0, TYPE_S32);
  if (edge > last) return with_constant(kernel, OPCODE_MINIMUM, number, last, TYPE_S32);
  return number;
}

InstId maker_read_slice_or(Maker *maker, CompId comp, InstId stack, ShapeId slice, uint32_t dim,
                           InstId at, int64_t edge, InstId beyond, ShapeId shape,
                           uint32_t position) {
  Kernel kernel = kernel_begin(maker->rewrite, comp, maker->is_fused, maker->arena);
  InstId array = kernel_operand(&kernel, stack), number = kernel_operand(&kernel, at);
  InstId other = beyond == NO_ID ? NO_ID : kernel_operand(&kernel, beyond);
  InstId start = start_within(&kernel, array, dim, number, edge);
  InstId result = slice_of(maker, &kernel, array, slice, dim, start, shape);
  if (other != NO_ID) {
    InstId sides[] = {is_number(&kernel, number, edge, shape), other, result};
    result = kernel_op(&kernel, OPCODE_SELECT, shape, sides, 3);
  }
  result = kernel_end(&kernel, result);
  maker_insert_all(maker, &kernel.made, position);
  return result;
}

/* ---- reads ---- */

InstId maker_clone_constant(Maker *maker, InstId id, ShapeId shape, CompId comp,
                            uint32_t position) {
  const Module *module = maker->module;
  uint32_t num_operands = inst_get(module, id)->num_operands;
  InstId *operands = arena_array(maker->arena, InstId, num_operands);
  for (uint32_t i = 0; i < num_operands; i++) {
    InstId constant = loop_origin(maker->loops, inst_operand(module, id, i)).inst;
    operands[i] = rewrite_clone_into(maker->rewrite, constant, comp, NULL, NULL, maker->arena);
    maker_insert(maker, operands[i], position);
  }
  InstId clone =
      rewrite_clone_into(maker->rewrite, id, comp, operands, maker->schedule, maker->arena);
  maker_insert(maker, clone, position);
  if (inst_get(module, clone)->shape == shape) return clone;
  InstId copy = rewrite_add_helper(
      maker->rewrite, comp,
      (InstSpec){.opcode = OPCODE_COPY, .shape = shape, .operands = &clone, .num_operands = 1});
  maker_insert(maker, copy, position);
  return copy;
}

/* The position of the first instruction of the body that reads an element of the state. */
static uint32_t first_use(const Maker *maker, const Loop *loop, uint32_t e) {
  const Module *module = maker->module;
  uint32_t first = UINT32_MAX;
  for (uint32_t i = 0; i < inst_get(module, loop->body_param)->users.len; i++) {
    InstId gte = inst_users(module, loop->body_param)[i];
    if (inst_get(module, gte)->index != e) continue;
    for (uint32_t u = 0; u < inst_get(module, gte)->users.len; u++) {
      InstId user = inst_users(module, gte)[u];
      if (user != loop->body_root && user < maker->num_old && maker->position[user] < first)
        first = maker->position[user];
    }
  }
  return first;
}

/* Smaller arrays are not worth a kernel. */
enum { LEAST_MOVED_BYTES = 4096 };

void maker_move_constants(Maker *maker, uint32_t index) {
  const Module *module = maker->module;
  const Loop *loop = &maker->loops->list[index];
  if (maker->has_moved[index]) return;
  maker->has_moved[index] = true;
  for (uint32_t e = 0; e < loop->num_elements; e++) {
    if (!loop->is_invariant[e]) continue;
    Origin origin = loop_origin(maker->loops, loop_init(maker->loops, loop, e));
    if (origin.loop != NO_ID || inst_shape(module, origin.inst)->bytes < LEAST_MOVED_BYTES ||
        !maker_is_constant(maker, origin.inst))
      continue;
    InstId clone = NO_ID;
    uint32_t num_elements = inst_get(module, loop->body_param)->users.len;
    for (uint32_t i = 0; i < num_elements; i++) {
      InstId gte = inst_users(module, loop->body_param)[i];
      if (inst_get(module, gte)->index != e || gte >= maker->num_old) continue;
      for (uint32_t u = inst_get(module, gte)->users.len; u-- > 0;) {
        InstId user = inst_users(module, gte)[u];
        if (user == loop->body_root || user >= maker->num_old) continue;
        if (clone == NO_ID)
          clone = maker_clone_constant(maker, origin.inst, inst_get(module, gte)->shape, loop->body,
                                       first_use(maker, loop, e));
        for (uint32_t k = 0; k < inst_get(module, user)->num_operands; k++) {
          if (inst_operand(module, user, k) == gte)
            rewrite_set_operand(maker->rewrite, user, k, clone);
        }
      }
    }
  }
}

InstId maker_as_shape(Maker *maker, InstId id, ShapeId shape, uint32_t position) {
  if (inst_get(maker->module, id)->shape == shape) return id;
  bool may_differ = has_partial_tile(inst_shape(maker->module, id)) ||
                    has_partial_tile(shape_get(&maker->module->shapes, shape));
  InstSpec spec = {.opcode = maker->is_fused && !may_differ ? OPCODE_BITCAST : OPCODE_RESHAPE,
                   .shape = shape,
                   .operands = &id,
                   .num_operands = 1};
  InstId cast = rewrite_add_helper(maker->rewrite, inst_get(maker->module, id)->parent, spec);
  maker_insert(maker, cast, position);
  return cast;
}

/* The dimension along which the operand of an instruction that reads slices of a stack has them. */
static uint32_t dim_of_operand(const Maker *maker, const StackRead *read) {
  const Stack *stack = &maker->stacks->list.data[read->stack];
  InstId operand = inst_operand(maker->module, read->inst, read->operand);
  return stack_dim_of(maker->module, stack->shape, stack->dim, operand);
}

/* Whether an instruction does nothing but read the slice, all of it, perhaps under another shape.
 */
static bool is_pure_read(const Maker *maker, const StackRead *read) {
  const Module *module = maker->module;
  if (inst_get(module, read->inst)->opcode == OPCODE_DYNAMIC_SLICE)
    return !stack_cut_is_part(module, read->inst, dim_of_operand(maker, read));
  CompId comp = inst_callees(module, read->inst)[0];
  InstId id = inst_without_bitcasts(module, comp_get(module, comp)->root);
  if (inst_get(module, id)->opcode != OPCODE_DYNAMIC_SLICE ||
      inst_without_bitcasts(module, inst_operand(module, id, 0)) !=
          id_list(module, comp_get(module, comp)->params)[read->operand])
    return false;
  const Stack *stack = &maker->stacks->list.data[read->stack];
  StackView cut = slots_cut_of(module, stack, read, maker->arena);
  return !stack_cut_is_part(module, cut.inst, cut.dim);
}

/* The position of the first user of an instruction. */
static uint32_t first_user(const Maker *maker, InstId id) {
  const Module *module = maker->module;
  uint32_t first = UINT32_MAX;
  for (uint32_t i = 0; i < inst_get(module, id)->users.len; i++) {
    InstId user = inst_users(module, id)[i];
    if (user >= maker->num_old) return maker->position[id]; /* it has no position of its own */
    if (maker->position[user] < first) first = maker->position[user];
  }
  return first == UINT32_MAX ? maker->position[id] : first;
}

uint32_t maker_read_position(const Maker *maker, const StackRead *read) {
  bool may_wait =
      is_pure_read(maker, read) && !inst_is_root(maker->module, read->inst) &&
      (!inst_has_control(maker->module, read->inst) || control_restates_order(maker->module));
  return may_wait ? first_user(maker, read->inst) : maker->position[read->inst];
}

/* Which slice of the stack an iteration reads. */
InstId maker_slice_number(Maker *maker, const StackRead *read) {
  const Loop *loop = &maker->loops->list[read->loop];
  const int64_t *slices = maker->stacks->list.data[read->stack].writes.data[read->write].slices;
  int64_t first = slices[read->iterations[0]];
  int64_t step = loop->trips > 1 ? slices[read->iterations[1]] - first : 0;
  return maker_scalar(maker, loop, first, step, TYPE_S32);
}

/* Whether the read is a part of a fusion whose sums may round otherwise without it. */
static bool must_keep_slice(const Maker *maker, const StackRead *read) {
  const Module *module = maker->module;
  if (maker->rewrite->any_rounding || is_pure_read(maker, read)) return false;
  return !rounding_is_settled(module, read->inst, maker->arena);
}

/* Gives an instruction the slice instead of the stack. */
void maker_replace_read(Maker *maker, const StackRead *read, InstId value, uint32_t position,
                        bool is_same_loop) {
  Module *module = maker->module;
  bool is_fused = inst_get(module, read->inst)->opcode != OPCODE_DYNAMIC_SLICE;
  if (!is_fused && !is_pure_read(maker, read)) {
    narrow_part(maker, read->inst, dim_of_operand(maker, read), value, position);
    return;
  }
  if (!is_fused) {
    InstId result = maker_as_shape(maker, value, inst_get(module, read->inst)->shape, position);
    rewrite_replace_all_uses(maker->rewrite, read->inst, result, maker->arena);
    return;
  }
  if (must_keep_slice(maker, read)) {
    slots_narrow_read(maker, read, value, position, is_same_loop);
    return;
  }
  CompId comp = inst_callees(module, read->inst)[0];
  InstId param = id_list(module, comp_get(module, comp)->params)[read->operand];
  narrow_to_slice(maker, read, value, position);
  if (inst_without_bitcasts(module, comp_get(module, comp)->root) ==
      param) { /* nothing is left to do in the fusion */
    InstId result = maker_as_shape(maker, value, inst_get(module, read->inst)->shape, position);
    rewrite_replace_all_uses(maker->rewrite, read->inst, result, maker->arena);
  }
}

/* Whether an instruction fills memory of its own with one number. */
static bool is_new_array(const Module *module, InstId id) {
  if (inst_get(module, id)->opcode == OPCODE_FUSION)
    id = comp_get(module, inst_callees(module, id)[0])->root;
  return inst_get(module, id)->opcode == OPCODE_BROADCAST;
}

/* Stacks of one shape begin as copies of one array. The last of them that is left can have the
 * array itself. */
static void drop_last_copies(Rewrite *rewrite, const Loops *loops, Arena *scratch) {
  Module *module = rewrite->module;
  for (uint32_t l = 0; l < loops->len; l++) {
    InstId init = loops->list[l].init;
    if (inst_get(module, init)->flags & INST_DEAD) continue;
    for (uint32_t i = 0; i < inst_get(module, init)->num_operands; i++) {
      InstId copy = inst_operand(module, init, i);
      if (inst_get(module, copy)->opcode != OPCODE_COPY || inst_has_control(module, copy)) continue;
      InstId array = inst_operand(module, copy, 0);
      bool is_last = inst_get(module, array)->users.len == 1 && !inst_is_root(module, array) &&
                     inst_get(module, copy)->users.len == 1 &&
                     inst_count_operand(module, init, copy) == 1;
      if (!is_last || inst_get(module, array)->shape != inst_get(module, copy)->shape) continue;
      if (!is_new_array(module, array)) continue;
      rewrite_replace_all_uses(rewrite, copy, array, scratch);
    }
  }
}

void maker_finish(Maker *maker, Arena *out, Arena *scratch) {
  Module *module = maker->module;
  Rewrite *rewrite = maker->rewrite;
  Arena *arena = maker->arena;
  for (uint32_t i = 0; i < maker->cut_open.len; i++) {
    InstId fusion = maker->cut_open.data[i];
    if (inst_get(module, fusion)->flags & INST_DEAD) continue; /* it did nothing any more */
    CompId comp = inst_callees(module, fusion)[0];
    dce_trim_fusion(rewrite, fusion, comp_get(module, comp)->root, arena);
  }
  slots_finish_reads(maker);
  maker_place_all(maker, out);
  CallGraph graph = call_graph_build(module, arena, scratch);
  Loops loops = loops_find(module, &graph, arena, scratch);
  same_values_merge(rewrite, &loops, maker->schedule, maker->is_lean, scratch);
  loops = loops_find(module, &graph, arena, scratch);
  carry_drop_unread(rewrite, &loops, scratch);
  scan_fuse_clones(maker, scratch);
  scan_join_clones(maker, out, scratch);
  dce_run(rewrite, scratch);
  loops = loops_find(module, &graph, arena, scratch);
  drop_last_copies(rewrite, &loops, scratch);
  dce_run(rewrite, scratch);
  dce_update_schedule(module, maker->schedule, out);
}
