#include "analysis/loop/stack.h"

#include "analysis/loop/count.h"
#include "analysis/loop/stack_view.h"

typedef struct Finder {
  const Loops *loops;
  const Module *module;
  Stacks *stacks;
  uint32_t **stack_of; /* by loop and element: index of the stack, NO_ID = none */
  CountLists lists;
  Arena *out, *scratch;
} Finder;

/* ---- slices ---- */

/* The dimension along which a slice is one of an array, of which it takes everything in the others;
 * NO_ID if there is none. */
static uint32_t dim_of_slice(const Shape *array, const Shape *slice) {
  uint32_t num_cut = 0, dim = 0;
  if (!shape_is_array(array) || array->rank == 0 || array->rank != slice->rank) return NO_ID;
  for (uint32_t i = 0; i < array->rank; i++) {
    if (slice->dims[i] == array->dims[i]) continue;
    if (slice->dims[i] != 1) return NO_ID;
    num_cut++;
    dim = i;
  }
  bool is_only_one = num_cut == 0 && array->dims[0] == 1; /* a loop of one iteration */
  return num_cut == 1 || is_only_one ? dim : NO_ID;
}

/* Which slice along a dimension a dynamic-slice or dynamic-update-slice takes, or takes a part of,
 * in each iteration. XLA clamps the index so that the slice is within the array, so the index of a
 * dimension that is taken whole does not matter. NULL if the index is unknown. */
static const int64_t *slices_along(Finder *finder, const Shape *array, InstId id,
                                   uint32_t first_index, uint32_t dim) {
  if (inst_get(finder->module, id)->num_operands != first_index + array->rank) return NULL;
  const int64_t *index =
      count_list(&finder->lists, inst_operand(finder->module, id, first_index + dim));
  if (!index) return NULL;
  int64_t trips = finder->lists.loop->trips;
  int64_t *slices = arena_array(finder->out, int64_t, (size_t)trips);
  for (int64_t t = 0; t < trips; t++) {
    int64_t last = array->dims[dim] - 1;
    slices[t] = index[t] < 0 ? 0 : index[t] > last ? last : index[t];
  }
  return slices;
}

/* ---- writes ---- */

/* A place in a body, which may be within a fusion. */
typedef struct Place {
  InstId inst;  /* in the body */
  InstId inner; /* in the fusion's computation; `inst` itself outside of fusions */
} Place;

/* Goes back to where the bytes of a value come from: through copies and bitcasts, into a fusion to
 * the root, or the element of the root, that is taken, and out of it through a parameter. False at
 * an instruction that computes the value. */
static bool step_back(const Module *module, Place *place) {
  bool is_fused = place->inner != place->inst;
  const Instruction *inner = inst_get(module, place->inner);
  InstId from = inner->opcode == OPCODE_BITCAST ? inst_operand(module, place->inner, 0)
                                                : copied_operand(module, place->inner);
  if (from != NO_ID) {
    *place = (Place){is_fused ? place->inst : from, from};
    return true;
  }
  if (is_fused) {
    if (inner->opcode != OPCODE_PARAMETER) return false;
    InstId operand = inst_operand(module, place->inst, (uint32_t)inner->index);
    *place = (Place){operand, operand};
    return true;
  }
  bool is_element = inner->opcode == OPCODE_GET_TUPLE_ELEMENT &&
                    inst_get(module, inst_operand(module, place->inst, 0))->opcode == OPCODE_FUSION;
  InstId fusion = is_element ? inst_operand(module, place->inst, 0) : place->inst;
  if (inst_get(module, fusion)->opcode != OPCODE_FUSION) return false;
  InstId root = comp_get(module, inst_callees(module, fusion)[0])->root;
  if (is_element && inst_get(module, root)->opcode != OPCODE_TUPLE) return false;
  *place = (Place){fusion, is_element ? inst_operand(module, root,
                                                     (uint32_t)inst_get(module, place->inst)->index)
                                      : root};
  return true;
}

static bool is_element_of_state(const Module *module, const Loop *loop, InstId id,
                                uint32_t element) {
  const Instruction *inst = inst_get(module, id);
  return inst->opcode == OPCODE_GET_TUPLE_ELEMENT && inst->index == element &&
         inst_operand(module, id, 0) == loop->body_param;
}

/* The bitcasts and copies between an element of the state and what writes it. */
typedef struct Path {
  bool has_bitcast;
  bool has_layout; /* a copy changes the layout */
} Path;

/* Adds a dynamic-update-slice of the stack, which is before what was added so far. */
static bool add_write(Finder *finder, const Path *path, Place place, Stack *stack) {
  const Module *module = finder->module;
  const Shape *whole = shape_get(&module->shapes, stack->shape);
  const Shape *array = inst_shape(module, inst_operand(module, place.inner, 0));
  InstId update = inst_operand(module, place.inner, 1);
  const Shape *slice = inst_shape(module, update);
  uint32_t dim = dim_of_slice(array, slice);
  const int64_t *slices = dim != NO_ID ? slices_along(finder, array, place.inner, 2, dim) : NULL;
  if (!slices) return false;
  if (path->has_bitcast) {
    uint32_t written = dim;
    if (!shape_same_layout(array, slice) || !shape_dim_in_view(array, written, whole, &dim))
      return false;
  }
  if (stack->writes.len == 0) {
    stack->dim = dim;
    stack->slice = inst_get(module, update)->shape;
    stack->num_slices = whole->dims[dim];
    stack->is_view = path->has_bitcast;
  }
  if (dim != stack->dim || inst_get(module, update)->shape != stack->slice) return false;
  *vec_push(finder->out, &stack->writes) = (StackWrite){place.inst, update, slices};
  return true;
}

/* Follows the element's next value back to its old one, through a chain of
 * dynamic-update-slices. */
static bool collect_writes(Finder *finder, const Loop *loop, Stack *stack) {
  const Module *module = finder->module;
  InstId next = loop_next(finder->loops, loop, stack->element);
  Place place = {next, next};
  Path path = {0};
  while (!is_element_of_state(module, loop, place.inst, stack->element)) {
    Place before = place;
    if (step_back(module, &place)) {
      path.has_bitcast |= inst_get(module, before.inner)->opcode == OPCODE_BITCAST;
      bool is_copy = copied_operand(module, before.inner) != NO_ID;
      path.has_layout |= is_copy && !shape_same_layout(inst_shape(module, before.inner),
                                                       inst_shape(module, place.inner));
      continue;
    }
    /* Within a fusion, further writes may come before this one: such a fusion is left alone. */
    bool is_write = inst_get(module, place.inner)->opcode == OPCODE_DYNAMIC_UPDATE_SLICE &&
                    stack->writes.len <= 64;
    bool is_same = stack->writes.len && place.inner != place.inst &&
                   stack->writes.data[stack->writes.len - 1].inst == place.inst;
    if (!is_write || is_same || !add_write(finder, &path, place, stack)) return false;
    InstId array = inst_operand(module, place.inner, 0);
    place = (Place){place.inner == place.inst ? array : place.inst, array};
  }
  return stack->writes.len > 0 && !(path.has_bitcast && (path.has_layout || !stack->is_view));
}

/* Whether no slice is written twice; fills `written`. */
static bool is_written_once(Finder *finder, const Loop *loop, Stack *stack) {
  stack->written = arena_array(finder->out, int64_t, (size_t)stack->num_slices);
  memset(stack->written, 0xff, (size_t)stack->num_slices * sizeof *stack->written);
  for (uint32_t w = 0; w < stack->writes.len; w++) {
    for (int64_t t = 0; t < loop->trips; t++) {
      int64_t *written = &stack->written[stack->writes.data[w].slices[t]];
      if (*written >= 0) return false;
      *written = t * stack->writes.len + w;
    }
  }
  return true;
}

/* Whether a bitcast is all that reads the value. */
static bool has_one_bitcast(const Module *module, InstId id) {
  return inst_get(module, id)->users.len == 1 && !inst_is_root(module, id) &&
         inst_get(module, inst_users(module, id)[0])->opcode == OPCODE_BITCAST;
}

/* Whether the body reads the element only to write it. */
static bool is_only_written(Finder *finder, const Loop *loop, const Stack *stack) {
  const Module *module = finder->module;
  uint32_t num_readers = 0;
  for (uint32_t i = 0; i < inst_get(module, loop->body_param)->users.len; i++) {
    InstId user = inst_users(module, loop->body_param)[i];
    if (inst_get(module, user)->index != stack->element) continue;
    while (has_one_bitcast(module, user))
      user = inst_users(module, user)[0];
    num_readers += inst_get(module, user)->users.len;
    for (uint32_t k = 0; k < inst_get(module, user)->users.len; k++) {
      InstId reader = inst_users(module, user)[k];
      if (inst_count_operand(module, reader, user) != 1) return false;
    }
  }
  for (uint32_t i = 0; i < inst_get(module, loop->condition_param)->users.len; i++) {
    if (inst_get(module, inst_users(module, loop->condition_param)[i])->index == stack->element)
      return false;
  }
  /* Between the writes, too, nothing else may read it. */
  for (uint32_t w = 0; w + 1 < stack->writes.len; w++) {
    InstId id = stack->writes.data[w + 1].inst;
    if (inst_get(module, id)->users.len != 1) return false;
  }
  return num_readers == 1;
}

/* In a fused write, the parameter with the stack must have one use. */
static bool is_read_in_fusion(const Module *module, const StackWrite *write) {
  if (inst_get(module, write->inst)->opcode != OPCODE_FUSION) return false;
  CompId comp = inst_callees(module, write->inst)[0];
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId id = comp_inst(module, comp, i);
    if (inst_get(module, id)->opcode != OPCODE_DYNAMIC_UPDATE_SLICE) continue;
    if (inst_operand(module, id, 1) != write->update) continue;
    InstId array = inst_operand(module, id, 0);
    while (inst_get(module, array)->opcode == OPCODE_BITCAST &&
           inst_get(module, array)->users.len == 1)
      array = inst_operand(module, array, 0);
    while (has_one_bitcast(module, id))
      id = inst_users(module, id)[0];
    bool is_root_part = inst_get(module, id)->users.len <= 1;
    return inst_get(module, array)->users.len != 1 || !is_root_part;
  }
  return true;
}

static void find_writes(Finder *finder, uint32_t loop_index) {
  const Loop *loop = &finder->loops->list[loop_index];
  finder->stack_of[loop_index] = arena_array(finder->scratch, uint32_t, loop->num_elements);
  count_lists_enter(&finder->lists, loop, finder->out);
  for (uint32_t e = 0; e < loop->num_elements; e++) {
    finder->stack_of[loop_index][e] = NO_ID;
    Stack stack = {.loop = loop_index,
                   .element = e,
                   .shape = inst_shape(finder->module, loop->id)->elements[e]};
    if (loop->is_invariant[e] || loop->counts[e]) continue;
    if (!collect_writes(finder, loop, &stack) || !is_only_written(finder, loop, &stack)) continue;
    bool is_read = false;
    for (uint32_t w = 0; w < stack.writes.len; w++)
      is_read |= is_read_in_fusion(finder->module, &stack.writes.data[w]);
    if (is_read || !is_written_once(finder, loop, &stack)) continue;
    finder->stack_of[loop_index][e] = finder->stacks->list.len;
    *vec_push(finder->out, &finder->stacks->list) = stack;
  }
}

/* ---- reads ---- */

/* Whether a slice along a dimension has one index there; in others it may be a part of the array.
 */
static bool is_slice_along(const Shape *array, const Shape *slice, uint32_t dim) {
  return shape_is_array(array) && array->rank == slice->rank && dim < array->rank &&
         slice->dims[dim] == 1;
}

/* The slices that a dynamic-slice takes, or takes a part of. `element` is what the reading loop
 * takes from its state, `view` what is sliced. */
static const int64_t *read_slices(Finder *finder, const Stack *stack, InstId id, StackView view,
                                  InstId element) {
  const Module *module = finder->module;
  if (inst_get(module, id)->opcode != OPCODE_DYNAMIC_SLICE) return NULL;
  InstId array = inst_operand(module, id, 0);
  if (inst_count_operand(module, id, array) != 1) return NULL;
  const Shape *shape = inst_shape(module, array);
  const Shape *slice = inst_shape(module, id);
  if (!is_slice_along(shape, slice, view.dim)) return NULL;
  const int64_t *slices = slices_along(finder, shape, id, 1, view.dim);
  if (!slices) return NULL;
  const Shape *written = shape_get(&module->shapes, stack->slice);
  const Shape *whole = shape_get(&module->shapes, stack->shape);
  if (!view.is_view && !stack->is_view) return shape_same_layout(slice, written) ? slices : NULL;
  /* The slice has the bytes that were written, or some of them. */
  bool has_bytes = (stack->is_view || shape_same_layout(written, whole)) &&
                   inst_get(module, element)->shape == stack->shape;
  return has_bytes && shape_same_layout(slice, shape) ? slices : NULL;
}

/* Whether the reads of two instructions are of the same slices. */
static bool same_slices(const int64_t *a, const int64_t *b, int64_t trips) {
  return memcmp(a, b, (size_t)trips * sizeof *a) == 0;
}

/* Replaces slices by iterations of the writing loop. False if some are not written, or not all by
 * the same write. */
static bool to_iterations(Finder *finder, const Stack *stack, const Loop *loop,
                          const int64_t *slices, StackRead *read) {
  int64_t *iterations = arena_array(finder->out, int64_t, (size_t)loop->trips);
  for (int64_t t = 0; t < loop->trips; t++) {
    int64_t written = stack->written[slices[t]];
    if (written < 0) return false;
    uint32_t write = (uint32_t)(written % stack->writes.len);
    if (t > 0 && write != read->write) return false;
    read->write = write;
    iterations[t] = written / stack->writes.len;
  }
  read->iterations = iterations;
  return true;
}

/* The slices that a fusion reads of a stack that is its operand. */
static const int64_t *slices_in_fusion(Finder *finder, const Stack *stack, InstId fusion,
                                       uint32_t operand, StackView outer, InstId element) {
  const Module *module = finder->module;
  StackViews views = {0};
  const int64_t *slices = NULL;
  if (!stack_views_find(module, finder->loops->graph, fusion, operand, outer.dim, &views,
                        finder->scratch))
    return NULL;
  for (uint32_t i = 0; i < views.len; i++) {
    StackView view = views.data[i];
    if (!view.is_cut) continue;
    view.is_view |= outer.is_view;
    const int64_t *more = read_slices(finder, stack, view.inst, view, element);
    if (!more || (slices && !same_slices(slices, more, finder->lists.loop->trips))) return NULL;
    slices = more;
  }
  return slices;
}

/* One operand of an instruction in the body of `loop` that is the stack: `view` is the element of
 * the state, or a bitcast of it. */
static bool add_read(Finder *finder, uint32_t stack_index, uint32_t loop_index, InstId user,
                     StackView view, InstId element) {
  const Module *module = finder->module;
  Stack *stack = &finder->stacks->list.data[stack_index];
  uint32_t operand = stack_only_operand(module, user, view.inst);
  bool is_fusion = inst_get(module, user)->opcode == OPCODE_FUSION;
  if (operand == NO_ID || (!is_fusion && operand != 0)) return false;
  const int64_t *slices = is_fusion ? slices_in_fusion(finder, stack, user, operand, view, element)
                                    : read_slices(finder, stack, user, view, element);
  StackRead read = {.stack = stack_index, .loop = loop_index, .inst = user, .operand = operand};
  if (!slices || !to_iterations(finder, stack, finder->lists.loop, slices, &read)) return false;
  *vec_push(finder->out, &stack->reads) = finder->stacks->reads.len;
  *vec_push(finder->out, &finder->stacks->reads) = read;
  return true;
}

/* The reads of what the body of a loop takes from its state, and of bitcasts of it. */
static void add_reads(Finder *finder, uint32_t stack_index, uint32_t loop_index, InstId element) {
  const Module *module = finder->module;
  Stack *stack = &finder->stacks->list.data[stack_index];
  const Loop *loop = &finder->loops->list[loop_index];
  StackViews views = {0};
  *vec_push(finder->scratch, &views) = (StackView){.inst = element, .dim = stack->dim};
  for (uint32_t next = 0; next < views.len; next++) {
    StackView view = views.data[next];
    for (uint32_t k = 0; k < inst_get(module, view.inst)->users.len; k++) {
      InstId user = inst_users(module, view.inst)[k];
      if (user == loop->body_root && view.inst == element) continue;
      StackView seen = {.inst = user, .is_view = true};
      bool is_bitcast = inst_get(module, user)->opcode == OPCODE_BITCAST &&
                        shape_dim_in_view(inst_shape(module, view.inst), view.dim,
                                          inst_shape(module, user), &seen.dim);
      if (is_bitcast) {
        *vec_push(finder->scratch, &views) = seen;
      } else if (!add_read(finder, stack_index, loop_index, user, view, element)) {
        stack->is_read_whole = true;
      }
    }
  }
}

/* The reads of a stack that the body of a loop takes from its state. */
static void find_reads_in(Finder *finder, uint32_t stack_index, uint32_t loop_index,
                          uint32_t element) {
  const Module *module = finder->module;
  const Loop *loop = &finder->loops->list[loop_index];
  Stack *stack = &finder->stacks->list.data[stack_index];
  for (uint32_t i = 0; i < inst_get(module, loop->condition_param)->users.len; i++) {
    if (inst_get(module, inst_users(module, loop->condition_param)[i])->index == element)
      stack->is_read_whole = true;
  }
  for (uint32_t i = 0; i < inst_get(module, loop->body_param)->users.len; i++) {
    InstId gte = inst_users(module, loop->body_param)[i];
    if (inst_get(module, gte)->index != element) continue;
    add_reads(finder, stack_index, loop_index, gte);
  }
}

/* Follows the results of the writing loop to their readers. */
static void find_reads(Finder *finder, uint32_t loop_index) {
  const Loops *loops = finder->loops;
  const Loop *loop = &loops->list[loop_index];
  for (uint32_t e = 0; e < loop->num_elements; e++) {
    if (!loop->is_invariant[e]) continue;
    Origin origin = loop_origin(loops, loop_init(loops, loop, e));
    if (origin.loop == NO_ID) continue;
    uint32_t stack_index = finder->stack_of[origin.loop][origin.element];
    if (stack_index == NO_ID) continue;
    count_lists_enter(&finder->lists, loop, finder->out);
    find_reads_in(finder, stack_index, loop_index, e);
  }
}

/* Marks stacks that an instruction outside of loops reads. A value may only be forwarded to the
 * initial state of loops that hand it on. */
static void find_whole_reads(Finder *finder, uint32_t loop_index) {
  const Loops *loops = finder->loops;
  const Module *module = finder->module;
  const Loop *loop = &loops->list[loop_index];
  ArenaMark mark = arena_mark(finder->scratch);
  for (uint32_t i = 0; i < inst_get(module, loop->id)->users.len; i++) {
    InstId gte = inst_users(module, loop->id)[i];
    Origin origin = loop_origin(loops, gte);
    if (origin.loop == NO_ID) continue;
    uint32_t stack_index = finder->stack_of[origin.loop][origin.element];
    if (stack_index == NO_ID) continue;
    Stack *stack = &finder->stacks->list.data[stack_index];
    IdVec work = {0};
    *vec_push(finder->scratch, &work) = gte;
    while (work.len && !stack->is_read_whole) {
      InstId id = work.data[--work.len];
      if (inst_is_root(module, id)) stack->is_read_whole = true;
      for (uint32_t k = 0; k < inst_get(module, id)->users.len; k++) {
        InstId user = inst_users(module, id)[k];
        if (copied_operand(module, user) == id) {
          *vec_push(finder->scratch, &work) = user;
          continue;
        }
        const Instruction *inst = inst_get(module, user);
        bool begins_loop = inst->opcode == OPCODE_TUPLE && inst->users.len == 1 &&
                           !inst_is_root(module, user) &&
                           loops->of[inst_users(module, user)[0]] != NO_ID;
        const Loop *next =
            begins_loop ? &loops->list[loops->of[inst_users(module, user)[0]]] : NULL;
        for (uint32_t o = 0; next && o < inst->num_operands; o++) {
          if (inst_operand(module, user, o) == id && !next->is_invariant[o]) next = NULL;
        }
        stack->is_read_whole |= !next;
      }
    }
  }
  arena_reset(finder->scratch, mark);
}

Stacks stacks_find(const Loops *loops, Arena *out, Arena *scratch) {
  Stacks stacks = {.loops = loops, .first_of = arena_array(out, uint32_t, (size_t)loops->len + 1)};
  Arena *arena = arena_new(arena_options(scratch));
  Finder finder = {.loops = loops,
                   .module = loops->module,
                   .stacks = &stacks,
                   .stack_of = arena_array(arena, uint32_t *, loops->len),
                   .out = out,
                   .scratch = arena};
  if (loops->len) finder.lists = count_lists_begin(loops, arena);
  for (uint32_t i = 0; i < loops->len; i++) {
    stacks.first_of[i] = stacks.list.len;
    find_writes(&finder, i);
  }
  stacks.first_of[loops->len] = stacks.list.len;
  for (uint32_t i = 0; i < loops->len; i++) {
    find_reads(&finder, i);
    find_whole_reads(&finder, i);
  }
  arena_free(arena);
  return stacks;
}

bool stacks_is_state(const Stacks *stacks, uint32_t loop, uint32_t element) {
  const Loop *writer = &stacks->loops->list[loop];
  if (writer->is_invariant[element] || writer->counts[element]) return false;
  for (uint32_t i = stacks->first_of[loop]; i < stacks->first_of[loop + 1]; i++) {
    if (stacks->list.data[i].element == element) return false;
  }
  return true;
}
