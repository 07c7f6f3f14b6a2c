#include "remat/scan/segment.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/loop/count.h"
#include "remat/rewrite/dce.h"
#include "remat/scan/carry.h"
#include "remat/scan/maker.h"
#include "remat/scan/narrow.h"

/* ---- conditions ---- */

static bool reads_alike(const StackRead *a, const StackRead *b, const Loops *loops) {
  size_t bytes = (size_t)loops->list[a->loop].trips * sizeof *a->iterations;
  return a->loop == b->loop && memcmp(a->iterations, b->iterations, bytes) == 0;
}

/* The one loop that reads a stack, always in the same order; NULL if there are others, if the stack
 * is needed as a whole, or if a fusion goes on to write or read it as it is: in a segment, the
 * numbers of its slices are others. */
static const StackRead *only_read(const ScanValues *values, uint32_t number) {
  const Stacks *stacks = values->stacks;
  const Stack *stack = &stacks->list.data[number];
  bool is_left = values->of_stack[number - stacks->first_of[values->loop]] == NO_ID;
  if (is_left || values->is_fixed[number - stacks->first_of[values->loop]]) return NULL;
  if (stack->is_read_whole || stack->reads.len == 0) return NULL;
  const StackRead *read = &stacks->reads.data[stack->reads.data[0]];
  for (uint32_t k = 1; k < stack->reads.len; k++) {
    if (!reads_alike(read, &stacks->reads.data[stack->reads.data[k]], stacks->loops)) return NULL;
  }
  return read->loop == values->loop ? NULL : read;
}

/* Stacks that other loops read, too, such as the results of a layer that the next layer reads, are
 * left as they are. */
ScanCut scan_cut_find(const ScanValues *values) {
  const Stacks *stacks = values->stacks;
  uint32_t first = stacks->first_of[values->loop], end = stacks->first_of[values->loop + 1];
  ScanCut best = {0};
  for (uint32_t i = first; i < end; i++) {
    if (scan_is_cut(values, &best, i)) continue; /* it is counted already */
    ScanCut cut = {.read = only_read(values, i)};
    for (uint32_t k = first; cut.read && k < end; k++) {
      if (scan_is_cut(values, &cut, k))
        cut.bytes += values->list.data[values->of_stack[k - first]].bytes;
    }
    if (cut.read && (!best.read || cut.bytes > best.bytes)) best = cut;
  }
  return best;
}

bool scan_is_cut(const ScanValues *values, const ScanCut *cut, uint32_t stack) {
  const StackRead *only = cut->read ? only_read(values, stack) : NULL;
  return only && reads_alike(cut->read, only, values->stacks->loops);
}

/* Whether each segment can store what of the state the next iteration needs. */
static bool can_stack_state(const Stacks *stacks, uint32_t loop_index) {
  const Loop *loop = &stacks->loops->list[loop_index];
  const Module *module = stacks->loops->module;
  for (uint32_t e = 0; e < loop->num_elements; e++) {
    const Shape *shape = shape_get(&module->shapes, inst_shape(module, loop->id)->elements[e]);
    if (stacks_is_state(stacks, loop_index, e) && !scan_may_stack(shape)) return false;
  }
  return true;
}

/* Whether the state, apart from stacks, consists of arrays, which can be stored. */
static bool has_storable_state(const Stacks *stacks, uint32_t loop_index) {
  const Loop *loop = &stacks->loops->list[loop_index];
  const Module *module = stacks->loops->module;
  for (uint32_t e = 0; e < loop->num_elements; e++) {
    ShapeId shape = inst_shape(module, loop->id)->elements[e];
    const Shape *array = shape_get(&module->shapes, shape);
    if (!loop->is_invariant[e] && (!shape_is_array(array) || array->has_dynamic)) return false;
  }
  return true;
}

bool scan_can_segment(const ScanValues *values) {
  const Stacks *stacks = values->stacks;
  const Loops *loops = stacks->loops;
  const Loop *writer = &loops->list[values->loop];
  const StackRead *read = scan_cut_find(values).read;
  int64_t first, step;
  if (!read || writer->trips < 4) return false;
  const Loop *reader = &loops->list[read->loop];
  if (reader->trips != writer->trips || reader->parent != writer->parent) return false;
  if (!count_is_linear(read->iterations, reader->trips, &first, &step)) return false;
  bool is_forward = step == 1 && first == 0, is_backward = step == -1 && first == writer->trips - 1;
  if (!is_forward && !is_backward) return false;
  if (!values->may_run_again) return false;
  /* XLA's copies of the state keep apart what the loop changes; a loop without them is not cut. */
  return inst_get(loops->module, writer->init)->users.len == 1 &&
         inst_get(loops->module, reader->init)->users.len == 1 &&
         has_storable_state(stacks, values->loop) && can_stack_state(stacks, values->loop) &&
         has_storable_state(stacks, read->loop) && !inst_has_control(loops->module, writer->id) &&
         !inst_has_control(loops->module, reader->id);
}

/* By which factor a length is off. */
static double distance(double length, double wanted) {
  return length > wanted ? length / wanted : wanted / length;
}

int64_t scan_segment_length(const ScanValues *values, double wanted) {
  int64_t trips = values->stacks->loops->list[values->loop].trips, best = 0;
  double best_distance = INFINITY;
  for (int64_t factor = 1; factor <= trips / factor; factor++) { /* divisors come in pairs */
    if (trips % factor != 0) continue;
    int64_t pair[] = {factor, trips / factor};
    for (int i = 0; i < 2; i++) {
      if (pair[i] < 2 || pair[i] > trips / 2) continue;
      double off = distance((double)pair[i], wanted);
      if (off > best_distance || (off >= best_distance && pair[i] > best)) continue;
      best = pair[i];
      best_distance = off;
    }
  }
  return best;
}

/* ---- loops ---- */

/* A loop that is being made: its computations, and the parts of its state. */
typedef struct NewLoop {
  InstId id, init;
  CompId body, condition;
  InstId param, root; /* of the body */
  uint32_t counter;   /* the element that counts 0, 1, … */
  IdVec count;        /* what computes its next number, to be inserted at the end of the body */
  int64_t trips;
} NewLoop;

typedef struct Segmenter {
  Maker *maker;
  Rewrite *rewrite;
  Module *module;
  const ScanValues *values;
  const Loop *writer, *reader;
  ScanCut cut;
  bool is_reversed;
  int64_t length, num_segments;
  InstId *image; /* by InstId of the writer's body and its fusions: the copy */
} Segmenter;

static CompId new_comp(Segmenter *segmenter, const char *name, CompId like) {
  Module *module = segmenter->module;
  Str wanted = str_make(name, strlen(name));
  CompId comp =
      module_add_comp(module, name_unique(&segmenter->rewrite->comp_names, wanted), NO_ID);
  comp_get(module, comp)->thread = comp_get(module, like)->thread;
  return comp;
}

static InstId add(Segmenter *segmenter, CompId comp, Opcode opcode, ShapeId shape,
                  const InstId *operands, uint32_t count) {
  InstSpec spec = {.opcode = opcode, .shape = shape, .operands = operands, .num_operands = count};
  return rewrite_add_helper(segmenter->rewrite, comp, spec);
}

static InstId add_param(Segmenter *segmenter, CompId comp, ShapeId shape) {
  InstId param = add(segmenter, comp, OPCODE_PARAMETER, shape, NULL, 0);
  comp_push_param(segmenter->module, comp, param);
  return param;
}

static InstId add_tuple(Segmenter *segmenter, CompId comp, const IdVec *elements) {
  Module *module = segmenter->module;
  ShapeId *shapes = arena_array(segmenter->maker->arena, ShapeId, elements->len);
  for (uint32_t i = 0; i < elements->len; i++)
    shapes[i] = inst_get(module, elements->data[i])->shape;
  ShapeId shape = shape_tuple(&module->shapes, shapes, elements->len);
  return add(segmenter, comp, OPCODE_TUPLE, shape, elements->data, elements->len);
}

static InstId element(Segmenter *segmenter, InstId tuple, uint32_t index) {
  return rewrite_add_get_tuple_element(segmenter->rewrite, tuple, index);
}

/* A scalar s32, factor * value + offset, in a computation whose instructions are in the order in
 * which they are added. */
static InstId linear(Segmenter *segmenter, CompId comp, InstId value, int64_t factor,
                     int64_t offset, ElementType type) {
  Kernel kernel =
      kernel_begin(segmenter->rewrite, comp, segmenter->maker->is_fused, segmenter->maker->arena);
  return kernel_end(&kernel,
                    maker_linear(&kernel, kernel_operand(&kernel, value), factor, offset, type));
}

static InstId zero(Segmenter *segmenter, CompId comp) {
  ShapeId shape = rewrite_scalar(segmenter->rewrite, TYPE_S32);
  InstId constant = rewrite_add_helper(segmenter->rewrite, comp,
                                       (InstSpec){.opcode = OPCODE_CONSTANT, .shape = shape});
  /* A loop's counter needs memory of its own. */
  return add(segmenter, comp, OPCODE_COPY, shape, &constant, 1);
}

/* The condition that the counter is below the number of iterations. */
static CompId add_condition(Segmenter *segmenter, ShapeId state, const NewLoop *loop, CompId like) {
  Module *module = segmenter->module;
  CompId comp = new_comp(segmenter, "segment_condition", like);
  InstId counter = element(segmenter, add_param(segmenter, comp, state), loop->counter);
  Kernel kernel =
      kernel_begin(segmenter->rewrite, comp, segmenter->maker->is_fused, segmenter->maker->arena);
  InstId sides[] = {kernel_operand(&kernel, counter),
                    kernel_constant(&kernel, TYPE_S32, loop->trips)};
  InstId less =
      kernel_op(&kernel, OPCODE_COMPARE, rewrite_scalar(segmenter->rewrite, TYPE_PRED), sides, 2);
  inst_get(module, less)->index = DIRECTION_LT;
  comp_get(module, comp)->root = kernel_end(&kernel, less);
  return comp;
}

/* Adds the loop in the computation of its initial state. */
static void add_while(Segmenter *segmenter, NewLoop *loop) {
  Module *module = segmenter->module;
  ShapeId state = inst_get(module, loop->init)->shape;
  loop->condition = add_condition(segmenter, state, loop, loop->body);
  InstSpec spec = {.opcode = OPCODE_WHILE,
                   .shape = state,
                   .operands = &loop->init,
                   .num_operands = 1,
                   .callees = (const CompId[]){loop->body, loop->condition},
                   .num_callees = 2,
                   .index = loop->trips};
  loop->id = rewrite_add_helper(segmenter->rewrite, inst_get(module, loop->init)->parent, spec);
}

/* Adds the counter to a body that has a place in the schedule. Returns it as it is at the beginning
 * of an iteration. The next number takes its memory, so that it comes after everything else. */
static InstId add_counter(Segmenter *segmenter, NewLoop *loop, uint32_t position) {
  Maker *maker = segmenter->maker;
  ShapeId shape = rewrite_scalar(segmenter->rewrite, TYPE_S32);
  InstId counter = rewrite_add_element(segmenter->rewrite, loop->param, loop->counter, shape);
  maker_insert(maker, counter, position);
  Kernel kernel = kernel_begin(segmenter->rewrite, loop->body, maker->is_fused, maker->arena);
  InstId next =
      kernel_end(&kernel, maker_linear(&kernel, kernel_operand(&kernel, counter), 1, 1, TYPE_S32));
  loop->count = kernel.made;
  module_append_operand(segmenter->module, loop->root, next);
  return counter;
}

/* Sets the shape of param and root once all elements are known, and ends the body. */
static void close_body(Segmenter *segmenter, NewLoop *loop) {
  Module *module = segmenter->module;
  maker_insert_all(segmenter->maker, &loop->count, segmenter->maker->position[loop->root]);
  ShapeId state = inst_get(module, loop->init)->shape;
  rewrite_set_shape(segmenter->rewrite, loop->param, state);
  rewrite_set_shape(segmenter->rewrite, loop->root, state);
  comp_get(module, inst_get(module, loop->param)->parent)->flags |= COMP_NEW_SIGNATURE;
}

/* ---- the forward loop ---- */

/* Makes everything that read a loop read another one instead. */
static void replace_loop(Segmenter *segmenter, InstId old, InstId new) {
  Module *module = segmenter->module;
  while (inst_get(module, old)->users.len)
    rewrite_set_operand(segmenter->rewrite, inst_users(module, old)[0], 0, new);
  for (uint32_t i = 0; i < inst_get(module, new)->users.len; i++)
    inst_get(module, inst_users(module, new)[i])->flags |= INST_CHANGED | INST_NEW_OPERANDS;
  CompId comp = inst_get(module, old)->parent;
  module_remove_inst(module, old);
  module_sweep_comp(module, comp);
}

static void insert_new(Segmenter *segmenter, InstId first, CompId comp, uint32_t position) {
  for (InstId id = first; id < segmenter->module->insts.len; id++) {
    if (inst_get(segmenter->module, id)->parent == comp)
      maker_insert(segmenter->maker, id, position);
  }
}

/* Returns the loop over segments; `stacks` gets, by element, the element that stacks it. */
static NewLoop segment_writer(Segmenter *segmenter, uint32_t *stacks) {
  Module *module = segmenter->module;
  Maker *maker = segmenter->maker;
  const Loop *writer = segmenter->writer;
  uint32_t count = writer->num_elements, position = maker->position[writer->id];
  NewLoop outer = {.counter = count, .trips = segmenter->num_segments};
  IdVec init = {0};
  InstId first_new = module->insts.len;
  for (uint32_t e = 0; e < count; e++)
    *vec_push(maker->arena, &init) = inst_operand(module, writer->init, e);
  *vec_push(maker->arena, &init) = zero(segmenter, writer->parent);
  insert_new(segmenter, first_new, writer->parent, position);
  for (uint32_t e = 0; e < count; e++) {
    stacks[e] = NO_ID;
    if (!stacks_is_state(segmenter->values->stacks, segmenter->values->loop, e)) continue;
    ShapeId slice = inst_shape(module, writer->id)->elements[e];
    ShapeId shape = maker_stacked_shape(module, slice, outer.trips, maker->arena);
    stacks[e] = init.len;
    *vec_push(maker->arena, &init) = maker_new_array(maker, writer->parent, shape, position);
  }
  outer.init = add_tuple(segmenter, writer->parent, &init);
  maker_insert(maker, outer.init, position);

  /* the loop over the iterations of a segment */
  outer.body = new_comp(segmenter, "segment_body", writer->body);
  outer.param = add_param(segmenter, outer.body, inst_get(module, outer.init)->shape);
  InstId segment = element(segmenter, outer.param, outer.counter);
  InstId at = linear(segmenter, outer.body, segment, 1, 0, TYPE_S32);
  IdVec inner_init = {0}, next = {0};
  for (uint32_t e = 0; e < count; e++)
    *vec_push(maker->arena, &inner_init) = element(segmenter, outer.param, e);
  IdVec stacked = {0};
  for (uint32_t e = 0; e < count; e++) {
    if (stacks[e] == NO_ID) continue;
    InstId stack = element(segmenter, outer.param, stacks[e]);
    *vec_push(maker->arena, &stacked) =
        maker_write_slice(maker, outer.body, stack, inner_init.data[e], at, UINT32_MAX);
  }
  InstId after = linear(segmenter, outer.body, at, 1, 1, TYPE_S32);
  *vec_push(maker->arena, &inner_init) = zero(segmenter, outer.body);
  NewLoop inner = {.body = writer->body,
                   .param = writer->body_param,
                   .root = writer->body_root,
                   .counter = count,
                   .trips = segmenter->length};
  inner.init = add_tuple(segmenter, outer.body, &inner_init);
  (void)add_counter(segmenter, &inner, maker_beginning(maker, writer));
  close_body(segmenter, &inner);
  add_while(segmenter, &inner);
  for (uint32_t e = 0; e < count; e++)
    *vec_push(maker->arena, &next) = element(segmenter, inner.id, e);
  *vec_push(maker->arena, &next) = after;
  for (uint32_t i = 0; i < stacked.len; i++)
    *vec_push(maker->arena, &next) = stacked.data[i];
  outer.root = add_tuple(segmenter, outer.body, &next);
  comp_get(module, outer.body)->root = outer.root;
  add_while(segmenter, &outer);
  maker_insert(maker, outer.id, position);
  replace_loop(segmenter, writer->id, outer.id);
  return outer;
}

/* ---- the backward loop ---- */

/* A copy of the writing loop's body that stacks the slices of a segment. */
static void copy_writer_body(Segmenter *segmenter, NewLoop *again, Arena *out, Arena *scratch) {
  Module *module = segmenter->module;
  uint32_t num_old = module->insts.len;
  again->body = rewrite_clone_sequence(segmenter->rewrite, segmenter->writer->body,
                                       segmenter->maker->schedule, scratch);
  segmenter->image = arena_array(out, InstId, num_old);
  memcpy(segmenter->image, segmenter->rewrite->image.data, num_old * sizeof(InstId));
  for (InstId id = num_old; id < module->insts.len; id++)
    rewrite_mark_clone(segmenter->rewrite, id);
  again->param = segmenter->image[segmenter->writer->body_param];
  again->root = segmenter->image[segmenter->writer->body_root];
}

/* The value that a stack's write stores, in the copy of the body, and its place there. */
static InstId written_value(Segmenter *segmenter, const StackWrite *write, uint32_t *position) {
  Module *module = segmenter->module;
  Maker *maker = segmenter->maker;
  InstId inst = segmenter->image[write->inst];
  *position = maker->position[inst];
  if (inst_get(module, inst)->opcode == OPCODE_DYNAMIC_UPDATE_SLICE)
    return inst_operand(module, inst, 1);
  /* a fusion: the same one without the write */
  CompId comp = inst_get(module, inst)->parent;
  uint32_t count = inst_get(module, inst)->num_operands;
  InstId *operands = arena_array(maker->arena, InstId, count);
  memcpy(operands, inst_operands(module, inst), count * sizeof *operands);
  InstId clone =
      rewrite_clone_into(segmenter->rewrite, inst, comp, operands, maker->schedule, maker->arena);
  InstId update = segmenter->image[write->update];
  InstId root = segmenter->rewrite->image.data[update];
  dce_trim_fusion(segmenter->rewrite, clone, root, maker->arena);
  maker_insert(maker, clone, *position);
  return clone;
}

/* The bytes of a slice without the dimension of the slices. */
static ShapeId local_shape(Segmenter *segmenter, const Stack *stack) {
  return maker_stacked_shape(segmenter->module, narrow_slice_shape(segmenter->maker, stack),
                             segmenter->length, segmenter->maker->arena);
}

/* The element of the reading loop's state, and so of the loop over its segments, that is the
 * initial value of an element of the writing loop; NO_ID if there is none. */
static uint32_t find_initial(const Segmenter *segmenter, uint32_t e) {
  const Loops *loops = segmenter->values->stacks->loops;
  if (!segmenter->writer->is_invariant[e]) return NO_ID;
  return loop_find_invariant(loops, segmenter->reader,
                             loop_origin(loops, loop_init(loops, segmenter->writer, e)));
}

/* The initial value of an element of the writing loop, for the loop over the segments: a scalar as
 * a copy, because between the loops something may compute on in its memory, and what the reading
 * loop computes on in. */
static InstId keep_initial(Segmenter *segmenter, uint32_t e) {
  const Loop *writer = segmenter->writer;
  Module *module = segmenter->module;
  InstId value = inst_operand(module, writer->init, e);
  const Shape *shape = inst_shape(module, value);
  bool is_scalar = shape_is_array(shape) && shape_is_effective_scalar(shape);
  if (!is_scalar && !maker_overwrites(segmenter->maker, segmenter->reader, value)) return value;
  InstId copy =
      add(segmenter, writer->parent, OPCODE_COPY, inst_get(module, value)->shape, &value, 1);
  maker_insert(segmenter->maker, copy, segmenter->maker->position[writer->id]);
  return copy;
}

/* Makes a counter of the writing loop invariant in the copy of its body: what the segment begins
 * with, to which the number of the iteration in the segment is added. */
static void derive_counter(Segmenter *segmenter, const NewLoop *again, uint32_t e, InstId at) {
  Module *module = segmenter->module;
  Maker *maker = segmenter->maker;
  ShapeId shape = inst_shape(module, segmenter->writer->id)->elements[e];
  ElementType type = (ElementType)shape_get(&module->shapes, shape)->type;
  int64_t step = segmenter->writer->counts[e][1] - segmenter->writer->counts[e][0];
  uint32_t position = maker->position[again->param] + 1;
  IdSpan users = inst_copy_users(module, again->param, maker->arena);
  InstId base = rewrite_add_element(segmenter->rewrite, again->param, e, shape);
  maker_insert(maker, base, position);
  Kernel kernel = kernel_begin(segmenter->rewrite, again->body, maker->is_fused, maker->arena);
  InstId offset = maker_linear(&kernel, kernel_operand(&kernel, at), step, 0, type);
  InstId start = kernel_operand(&kernel, base);
  ShapeId scalar = rewrite_scalar(segmenter->rewrite, type);
  if (shape != scalar) start = kernel_op(&kernel, OPCODE_RESHAPE, scalar, &start, 1);
  InstId sides[] = {start, offset};
  InstId value = kernel_op(&kernel, OPCODE_ADD, scalar, sides, 2);
  if (shape != scalar) value = kernel_op(&kernel, OPCODE_RESHAPE, shape, &value, 1);
  value = kernel_end(&kernel, value);
  maker_insert_all(maker, &kernel.made, position);
  for (uint32_t i = 0; i < users.len; i++) {
    if (inst_get(module, users.ids[i])->index == e)
      rewrite_replace_all_uses(segmenter->rewrite, users.ids[i], value, maker->arena);
  }
  rewrite_set_operand(segmenter->rewrite, again->root, e, base);
}

static void segment_reader(Segmenter *segmenter, const NewLoop *forward,
                           const uint32_t *state_stacks, NewLoop *again) {
  Module *module = segmenter->module;
  Maker *maker = segmenter->maker;
  const Loop *writer = segmenter->writer, *reader = segmenter->reader;
  const Stacks *stacks = segmenter->values->stacks;
  uint32_t count = reader->num_elements, position = maker->position[reader->id];
  uint32_t first = stacks->first_of[segmenter->values->loop];
  uint32_t end = stacks->first_of[segmenter->values->loop + 1];
  int64_t length = segmenter->length;

  /* the loop over segments: its state has all that the two inner loops begin with */
  NewLoop outer = {.counter = count, .trips = segmenter->num_segments};
  IdVec init = {0};
  InstId *initial = arena_array(maker->arena, InstId, writer->num_elements);
  for (uint32_t e = 0; e < writer->num_elements; e++) {
    bool is_missing =
        !writer->counts[e] && state_stacks[e] == NO_ID && find_initial(segmenter, e) == NO_ID;
    initial[e] = is_missing ? keep_initial(segmenter, e) : NO_ID;
  }
  InstId first_new = module->insts.len;
  for (uint32_t e = 0; e < count; e++)
    *vec_push(maker->arena, &init) = inst_operand(module, reader->init, e);
  *vec_push(maker->arena, &init) = zero(segmenter, reader->parent);
  uint32_t *place = arena_array(maker->arena, uint32_t, writer->num_elements);
  for (uint32_t e = 0; e < writer->num_elements; e++) {
    if (state_stacks[e] != NO_ID) {
      place[e] = init.len;
      *vec_push(maker->arena, &init) = element(segmenter, forward->id, state_stacks[e]);
    } else if (initial[e] != NO_ID) {
      place[e] = init.len;
      *vec_push(maker->arena, &init) = initial[e];
    } else {
      place[e] = find_initial(segmenter, e);
    }
  }
  outer.init = add_tuple(segmenter, reader->parent, &init);
  insert_new(segmenter, first_new, reader->parent, position);

  outer.body = new_comp(segmenter, "segment_body", reader->body);
  outer.param = add_param(segmenter, outer.body, inst_get(module, outer.init)->shape);
  InstId counter =
      linear(segmenter, outer.body, element(segmenter, outer.param, outer.counter), 1, 0, TYPE_S32);
  int64_t last = segmenter->num_segments - 1;
  InstId segment =
      segmenter->is_reversed ? linear(segmenter, outer.body, counter, -1, last, TYPE_S32) : counter;

  /* the segment's forward iterations, again */
  IdVec again_init = {0};
  for (uint32_t e = 0; e < writer->num_elements; e++) {
    ShapeId shape = inst_shape(module, writer->id)->elements[e];
    ElementType type = (ElementType)shape_get(&module->shapes, shape)->type;
    InstId value;
    if (writer->counts[e]) {
      int64_t begin = writer->counts[e][0], step = writer->counts[e][1] - begin;
      value = linear(segmenter, outer.body, segment, step * length, begin, type);
      if (inst_shape(module, value)->rank != shape_get(&module->shapes, shape)->rank) {
        value = add(segmenter, outer.body, OPCODE_RESHAPE, shape, &value, 1);
      }
    } else if (state_stacks[e] != NO_ID) {
      InstId stack = element(segmenter, outer.param, place[e]);
      ShapeId slice = maker_stacked_shape(module, shape, 1, maker->arena);
      value = maker_read_slice(maker, outer.body, stack, slice, 0, segment, shape, UINT32_MAX);
    } else {
      value = element(segmenter, outer.param, place[e]);
    }
    *vec_push(maker->arena, &again_init) = value;
  }
  again->counter = again_init.len;
  again->trips = length;
  *vec_push(maker->arena, &again_init) = zero(segmenter, outer.body);
  InstId at = add_counter(segmenter, again, maker->position[again->param] + 1);
  for (uint32_t e = 0; e < writer->num_elements; e++) {
    if (writer->counts[e]) derive_counter(segmenter, again, e, at);
  }
  uint32_t *local = arena_array(maker->arena, uint32_t, end - first);
  for (uint32_t i = first; i < end; i++) {
    const Stack *stack = &stacks->list.data[i];
    local[i - first] = NO_ID;
    if (!scan_is_cut(segmenter->values, &segmenter->cut, i)) continue;
    local[i - first] = again_init.len;
    ShapeId shape = local_shape(segmenter, stack);
    *vec_push(maker->arena, &again_init) = maker_new_array(maker, outer.body, shape, UINT32_MAX);
  }
  again->init = add_tuple(segmenter, outer.body, &again_init);
  for (uint32_t i = first; i < end; i++) {
    if (local[i - first] == NO_ID) continue;
    uint32_t at_position;
    const Stack *stack = &stacks->list.data[i];
    InstId value = written_value(segmenter, &stack->writes.data[0], &at_position);
    value = maker_as_shape(maker, value, narrow_slice_shape(maker, stack), at_position + 1);
    InstId before = rewrite_add_element(segmenter->rewrite, again->param, local[i - first],
                                        local_shape(segmenter, stack));
    maker_insert(maker, before, maker->position[again->param] + 1);
    InstId after = maker_write_slice(maker, again->body, before, value, at, at_position + 1);
    module_append_operand(module, again->root, after);
  }
  close_body(segmenter, again);
  add_while(segmenter, again);

  /* the segment's backward iterations */
  IdVec inner_init = {0}, next = {0};
  NewLoop inner = {.body = reader->body,
                   .param = reader->body_param,
                   .root = reader->body_root,
                   .counter = count,
                   .trips = length};
  for (uint32_t e = 0; e < count; e++)
    *vec_push(maker->arena, &inner_init) = element(segmenter, outer.param, e);
  *vec_push(maker->arena, &inner_init) = zero(segmenter, outer.body);
  uint32_t begin = maker_beginning(maker, reader);
  InstId iteration = add_counter(segmenter, &inner, begin);
  Kernel kernel = kernel_begin(segmenter->rewrite, inner.body, maker->is_fused, maker->arena);
  InstId row =
      maker_linear(&kernel, kernel_operand(&kernel, iteration), segmenter->is_reversed ? -1 : 1,
                   segmenter->is_reversed ? length - 1 : 0, TYPE_S32);
  row = kernel_end(&kernel, row);
  maker_insert_all(maker, &kernel.made, begin);
  for (uint32_t i = first; i < end; i++) {
    if (local[i - first] == NO_ID) continue;
    const Stack *stack = &stacks->list.data[i];
    InstId taken = element(segmenter, again->id, local[i - first]);
    uint32_t index = inner_init.len;
    *vec_push(maker->arena, &inner_init) = taken;
    ShapeId shape = inst_get(module, taken)->shape;
    InstId inside = rewrite_add_element(segmenter->rewrite, inner.param, index, shape);
    maker_insert(maker, inside, begin);
    module_append_operand(module, inner.root, inside);
    ShapeId shape_of_slice = narrow_slice_shape(maker, stack);
    ShapeId slice = maker_stacked_shape(module, shape_of_slice, 1, maker->arena);
    for (uint32_t k = 0; k < stack->reads.len; k++) {
      const StackRead *read = &stacks->reads.data[stack->reads.data[k]];
      uint32_t at_read = maker_read_position(maker, read);
      InstId value =
          maker_read_slice(maker, inner.body, inside, slice, 0, row, shape_of_slice, at_read);
      maker_replace_read(maker, read, value, at_read, false);
    }
  }
  inner.init = add_tuple(segmenter, outer.body, &inner_init);
  close_body(segmenter, &inner);
  add_while(segmenter, &inner);
  for (uint32_t e = 0; e < count; e++)
    *vec_push(maker->arena, &next) = element(segmenter, inner.id, e);
  *vec_push(maker->arena, &next) = linear(segmenter, outer.body, counter, 1, 1, TYPE_S32);
  for (uint32_t e = count + 1; e < init.len; e++)
    *vec_push(maker->arena, &next) = element(segmenter, outer.param, e);
  outer.root = add_tuple(segmenter, outer.body, &next);
  comp_get(module, outer.body)->root = outer.root;
  add_while(segmenter, &outer);
  maker_insert(maker, outer.id, position);
  replace_loop(segmenter, reader->id, outer.id);
}

void scan_segment(Rewrite *rewrite, Schedule *schedule, const ScanValues *values, int64_t length,
                  bool is_lean, Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  const Loops *loops = values->stacks->loops;
  ScanCut cut = scan_cut_find(values);
  Segmenter segmenter = {.rewrite = rewrite,
                         .module = rewrite->module,
                         .values = values,
                         .writer = &loops->list[values->loop],
                         .reader = &loops->list[cut.read->loop],
                         .cut = cut,
                         .length = length};
  segmenter.num_segments = segmenter.writer->trips / length;
  segmenter.is_reversed = cut.read->iterations[0] != 0;
  Maker before = {.schedule = schedule};
  segmenter.maker = &before;
  NewLoop again = {0};
  copy_writer_body(&segmenter, &again, arena, scratch);
  dce_update_schedule(rewrite->module, schedule, out);
  Maker maker = maker_begin(rewrite, schedule, values->stacks, is_lean, arena);
  segmenter.maker = &maker;
  uint32_t *state_stacks = arena_array(arena, uint32_t, segmenter.writer->num_elements);
  NewLoop forward = segment_writer(&segmenter, state_stacks);
  segment_reader(&segmenter, &forward, state_stacks, &again);
  maker_finish(&maker, out, scratch);
  arena_free(arena);
}
