#include "remat/scan/recompute.h"

#include <stdlib.h>

#include "remat/rewrite/dce.h"
#include "remat/scan/carry.h"
#include "remat/scan/maker.h"
#include "remat/scan/narrow.h"
#include "remat/scan/whole.h"

/* A loop whose values are recomputed. */
typedef struct Border {
  Maker *maker;
  const ScanValues *values;
  const ScanChoice *choice;
  const Loop *writer;
  /* by value that is stored: the element of the writing loop's state with its stack; NO_ID = none
   */
  uint32_t *element_of;
} Border;

/* The iterations of a reading loop, as one or more of its instructions see them. */
typedef struct Reader {
  const Loop *loop;
  uint32_t loop_index;
  const int64_t *iterations;
  InstId *made; /* by value: the instruction in the reading loop's body; NO_ID = not yet */
} Reader;

/* ---- elements of the state ---- */

/* Whether an element of the reading loop has the layout, too, of one of the writing loop. */
static bool has_shape_of(const Border *border, const Loop *reader, uint32_t element, uint32_t of) {
  const Module *module = border->maker->module;
  const Loops *loops = border->maker->loops;
  return inst_get(module, loop_init(loops, reader, element))->shape ==
         inst_get(module, loop_init(loops, border->writer, of))->shape;
}

/* A copy of a value that others may read after it was overwritten. Of memory that nothing has
 * written yet there is nothing to copy: it is allocated once more. */
static InstId own_copy(Border *border, InstId id, uint32_t position) {
  Maker *maker = border->maker;
  const Instruction *inst = inst_get(maker->module, id);
  InstSpec spec = {.opcode = OPCODE_COPY, .shape = inst->shape, .operands = &id, .num_operands = 1};
  InstId copy = inst_allocates(maker->module, id)
                    ? rewrite_clone_into(maker->rewrite, id, inst->parent, NULL, maker->schedule,
                                         maker->arena)
                    : rewrite_add_helper(maker->rewrite, inst->parent, spec);
  maker_insert(maker, copy, position);
  return copy;
}

/* Takes a value from outside of the reading loop into it, and returns it in the body. */
static InstId taken_in(Border *border, const Reader *reader, InstId outside) {
  InstId inside = carry_add(border->maker->rewrite, reader->loop, outside);
  maker_insert(border->maker, inside, maker_beginning(border->maker, reader->loop));
  return inside;
}

/* Takes an element of the writing loop's result into the reading loop, and returns it in the body.
 * The reading loop may have it already. */
static InstId carried(Border *border, const Reader *reader, uint32_t element, bool is_stack) {
  const Loops *loops = border->maker->loops;
  const Loop *writer = border->writer, *loop = reader->loop;
  Origin wanted = is_stack ? (Origin){writer->id, loops->of[writer->id], element}
                           : loop_origin(loops, loop_init(loops, writer, element));
  uint32_t known = loop_find_invariant(loops, loop, wanted);
  if (known != NO_ID && has_shape_of(border, loop, known, element))
    return maker_element(border->maker, loop->body_param, known,
                         maker_beginning(border->maker, loop));
  uint32_t position = border->maker->position[loop->init];
  InstId outside = maker_element(border->maker, writer->id, element, position);
  if (!is_stack && maker_overwrites(border->maker, loop, loop_init(loops, writer, element)))
    outside = own_copy(border, outside, position);
  return taken_in(border, reader, outside);
}

/* list[iterations[t]] for all iterations t of the reader, where both are linear. */
static InstId listed_scalar(Border *border, const Reader *reader, const int64_t *list,
                            ElementType type) {
  int64_t first = list[reader->iterations[0]];
  int64_t step = reader->loop->trips > 1 ? list[reader->iterations[1]] - first : 0;
  return maker_scalar(border->maker, reader->loop, first, step, type);
}

/* ---- stacks ---- */

/* Gives the writing loop a new stack for a value. */
static void add_stack(Border *border, uint32_t index) {
  const ScanValue *value = &border->values->list.data[index];
  const Loop *loop = border->writer;
  Module *module = border->maker->module;
  ShapeId shape = maker_stacked_shape(module, value->shape, loop->trips, border->maker->arena);
  InstId init =
      maker_new_array(border->maker, loop->parent, shape, border->maker->position[loop->init]);
  uint32_t element = inst_shape(module, loop->id)->rank;
  InstId before = carry_add(border->maker->rewrite, loop, init);
  maker_insert(border->maker, before, maker_beginning(border->maker, loop));
  InstId at = maker_scalar(border->maker, loop, 0, 1, TYPE_S32);
  uint32_t position = maker_beginning(border->maker, loop);
  InstId holder = value->holder;
  if (value->kind == SCAN_COMPUTED) {
    position = border->maker->position[holder] + 1;
  } else {
    holder = maker_element(border->maker, loop->body_param, value->element, position);
  }
  InstId after = maker_write_slice(border->maker, loop->body, before, holder, at, position);
  rewrite_set_operand(border->maker->rewrite, loop->body_root, element, after);
  border->element_of[index] = element;
}

/* The stack of a value, as the reading loop sees it. */
typedef struct StoredValue {
  InstId stack;
  ShapeId slice;
  uint32_t dim;
  const int64_t *slices; /* by iteration of the writing loop: which slice; NULL = of its number */
} StoredValue;

static StoredValue stored_value(Border *border, const Reader *reader, uint32_t index) {
  Maker *maker = border->maker;
  const ScanValue *value = &border->values->list.data[index];
  StoredValue stored = {.stack = carried(border, reader, border->element_of[index], true)};
  if (value->stack == NO_ID) {
    stored.slice = maker_stacked_shape(maker->module, value->shape, 1, maker->arena);
    return stored;
  }
  const Stack *stack = &maker->stacks->list.data[value->stack];
  stored.slice = narrow_slice_shape(maker, stack);
  stored.dim = stack->dim;
  stored.slices = stack->writes.data[0].slices;
  return stored;
}

static int64_t slice_number(const StoredValue *stored, int64_t iteration) {
  return stored->slices ? stored->slices[iteration] : iteration;
}

/* Reads the slice of a stack. */
static InstId read_stack(Border *border, const Reader *reader, uint32_t index, uint32_t position) {
  StoredValue stored = stored_value(border, reader, index);
  int64_t first = slice_number(&stored, reader->iterations[0]), step = 0;
  if (reader->loop->trips > 1) step = slice_number(&stored, reader->iterations[1]) - first;
  InstId at = maker_scalar(border->maker, reader->loop, first, step, TYPE_S32);
  return maker_read_slice(border->maker, reader->loop->body, stored.stack, stored.slice, stored.dim,
                          at, border->values->list.data[index].shape, position);
}

/* ---- neighbours ---- */

/* What the writing loop's state begins with, for a reading loop. The writing loop computes in its
 * memory. */
static InstId first_state(Border *border, const Reader *reader, InstId init, uint32_t position) {
  Maker *maker = border->maker;
  ShapeId shape = inst_get(maker->module, init)->shape;
  Origin origin = loop_origin(maker->loops, init);
  if (origin.loop == NO_ID && maker_is_constant(maker, origin.inst))
    return maker_clone_constant(maker, origin.inst, shape, reader->loop->body, position);
  return taken_in(border, reader, own_copy(border, init, maker->position[border->writer->init]));
}

/* What it ends with; others may compute in its memory. */
static InstId last_state(Border *border, const Reader *reader, uint32_t element) {
  uint32_t position = border->maker->position[border->writer->id] + 1;
  InstId last = maker_element(border->maker, border->writer->id, element, position);
  return taken_in(border, reader, own_copy(border, last, position));
}

/* Reads the slice that the iteration before or after wrote of another value. Where there is none
 * and the state begins with memory that nothing has written yet, nobody reads it before the second
 * iteration, and so what is read there does not matter. */
static InstId read_neighbour(Border *border, const Reader *reader, uint32_t index,
                             uint32_t position) {
  Maker *maker = border->maker;
  const ScanValue *value = &border->values->list.data[index];
  uint32_t other = value->neighbour;
  int64_t trips = border->writer->trips, edge = value->shift < 0 ? 0 : trips - 1;
  StoredValue stored = stored_value(border, reader, other);
  int64_t first = slice_number(&stored, 0), step = 0;
  if (trips > 1) step = slice_number(&stored, 1) - first;
  int64_t begin = reader->iterations[0], change = 0; /* linear, and so are the slices */
  if (reader->loop->trips > 1) change = reader->iterations[1] - begin;
  InstId at = maker_scalar(maker, reader->loop, first + (begin + value->shift) * step,
                           change * step, TYPE_S32);
  CompId body = reader->loop->body;
  edge = first + (edge + value->shift) * step;
  InstId beyond = NO_ID, init = loop_init(maker->loops, border->writer, value->element);
  if (value->shift > 0)
    beyond = last_state(border, reader, border->values->list.data[other].element);
  else if (!inst_allocates(maker->module, init))
    beyond = first_state(border, reader, init, position);
  return maker_read_slice_or(maker, body, stored.stack, stored.slice, stored.dim, at, edge, beyond,
                             value->shape, position);
}

/* ---- values in the reading loop ---- */

/* An element that the writing loop hands on. What is computed from constants, such as a mask, is
 * computed again instead of being carried, which would keep it in memory. */
static InstId read_invariant(Border *border, const Reader *reader, const ScanValue *value,
                             uint32_t position) {
  InstId init = loop_init(border->maker->loops, border->writer, value->element);
  Origin origin = loop_origin(border->maker->loops, init);
  if (origin.loop != NO_ID || !maker_is_constant(border->maker, origin.inst))
    return carried(border, reader, value->element, false);
  ShapeId shape = inst_get(border->maker->module, init)->shape;
  return maker_clone_constant(border->maker, origin.inst, shape, reader->loop->body, position);
}

static InstId clone_value(Border *border, const Reader *reader, const ScanValue *value,
                          uint32_t position) {
  InstId unneeded = reader->loop->body_param;
  InstId *operands = arena_array(border->maker->arena, InstId, value->operands.len);
  bool is_there = value->stays_whole &&
                  whole_is_cloned(border->maker, reader->loop, reader->iterations, value->inst);
  for (uint32_t i = 0; i < value->operands.len && !is_there; i++) {
    uint32_t operand = value->operands.data[i];
    operands[i] = operand == NO_ID ? unneeded : reader->made[operand];
    if (operand != NO_ID && value->is_overwritten && value->is_overwritten[i])
      operands[i] = own_copy(border, operands[i], position);
  }
  if (value->stays_whole)
    return whole_value(border->maker, border->values->loop, reader->loop, reader->iterations,
                       value->inst, value->inner, value->shape, operands, position);
  InstId clone = rewrite_clone_into(border->maker->rewrite, value->inst, reader->loop->body,
                                    operands, border->maker->schedule, border->maker->arena);
  maker_insert(border->maker, clone, position);
  if (value->inner != NO_ID) {
    InstId root = border->maker->rewrite->image.data[value->inner];
    dce_trim_fusion(border->maker->rewrite, clone, root, border->maker->arena);
  }
  return clone;
}

static InstId make_value(Border *border, const Reader *reader, uint32_t index, uint32_t position) {
  const ScanValue *value = &border->values->list.data[index];
  if (border->choice->fate[index] == SCAN_STORED)
    return read_stack(border, reader, index, position);
  if (border->choice->fate[index] == SCAN_SHIFTED)
    return read_neighbour(border, reader, index, position);
  switch (value->kind) {
    case SCAN_INVARIANT: return read_invariant(border, reader, value, position);
    case SCAN_COUNT: {
      ElementType type = (ElementType)shape_get(&border->maker->module->shapes, value->shape)->type;
      InstId scalar = listed_scalar(border, reader, border->writer->counts[value->element], type);
      return maker_as_shape(border->maker, scalar, value->shape, position); /* of one element */
    }
    default: return clone_value(border, reader, value, position);
  }
}

/* Makes a value, and before it all that it is computed from. */
static InstId make_all(Border *border, const Reader *reader, uint32_t index, uint32_t position) {
  typedef struct Step {
    uint32_t value, next;
  } Step;
  VEC(Step) steps = {0};
  *vec_push(border->maker->arena, &steps) = (Step){index, 0};
  while (steps.len) {
    Step *step = &steps.data[steps.len - 1];
    const ScanValue *value = &border->values->list.data[step->value];
    bool is_read = border->choice->fate[step->value] != SCAN_RECOMPUTED;
    if (reader->made[step->value] != NO_ID) {
      steps.len--;
    } else if (!is_read && step->next < value->operands.len) {
      uint32_t operand = value->operands.data[step->next++];
      if (operand != NO_ID && reader->made[operand] == NO_ID)
        *vec_push(border->maker->arena, &steps) = (Step){operand, 0};
    } else {
      reader->made[step->value] = make_value(border, reader, step->value, position);
      steps.len--;
    }
  }
  return reader->made[index];
}

/* ---- a border ---- */

typedef VEC(Reader) Readers;

/* The reader for the iterations that a read sees. */
static Reader *reader_of(Border *border, Readers *readers, const StackRead *read) {
  const Loop *loop = &border->maker->loops->list[read->loop];
  size_t bytes = (size_t)loop->trips * sizeof *read->iterations;
  for (uint32_t i = 0; i < readers->len; i++) {
    Reader *reader = &readers->data[i];
    if (reader->loop_index == read->loop &&
        memcmp(reader->iterations, read->iterations, bytes) == 0)
      return reader;
  }
  uint32_t num_values = border->values->list.len;
  Reader reader = {.loop = loop,
                   .loop_index = read->loop,
                   .iterations = read->iterations,
                   .made = arena_array(border->maker->arena, InstId, num_values)};
  memset(reader.made, 0xff, num_values * sizeof *reader.made);
  Reader *added = vec_push(border->maker->arena, readers);
  *added = reader;
  return added;
}

typedef struct PlacedRead {
  uint32_t read, position;
} PlacedRead;

static int by_position(const void *pa, const void *pb) {
  const PlacedRead *a = pa, *b = pb;
  if (a->position != b->position) return a->position < b->position ? -1 : 1;
  return (a->read > b->read) - (a->read < b->read);
}

static void rewrite_border(Border *border) {
  const ScanValues *values = border->values;
  const Stacks *stacks = border->maker->stacks;
  uint32_t first = stacks->first_of[values->loop], end = stacks->first_of[values->loop + 1];
  border->element_of = arena_array(border->maker->arena, uint32_t, values->list.len);
  for (uint32_t i = 0; i < values->list.len; i++) {
    const ScanValue *value = &values->list.data[i];
    border->element_of[i] = value->stack == NO_ID ? NO_ID : stacks->list.data[value->stack].element;
    if (border->choice->fate[i] == SCAN_STORED && value->stack == NO_ID) add_stack(border, i);
  }
  VEC(PlacedRead) reads = {0};
  for (uint32_t i = first; i < end; i++) {
    uint32_t index = values->of_stack[i - first];
    if (index == NO_ID || stacks->list.data[i].is_read_whole) continue;
    bool stays = border->choice->fate[index] == SCAN_STORED && values->list.data[index].stack == i;
    for (uint32_t k = 0; !stays && k < stacks->list.data[i].reads.len; k++) {
      uint32_t read = stacks->list.data[i].reads.data[k];
      *vec_push(border->maker->arena, &reads) =
          (PlacedRead){read, maker_read_position(border->maker, &stacks->reads.data[read])};
    }
  }
  if (reads.len) qsort(reads.data, reads.len, sizeof *reads.data, by_position);
  Readers readers = {0};
  for (uint32_t i = 0; i < reads.len; i++) {
    const StackRead *read = &stacks->reads.data[reads.data[i].read];
    Reader *reader = reader_of(border, &readers, read);
    uint32_t index = values->of_stack[read->stack - first];
    InstId value = make_all(border, reader, index, reads.data[i].position);
    maker_replace_read(border->maker, read, value, reads.data[i].position, true);
  }
  bool *is_unread = arena_zarray(border->maker->arena, bool, stacks->list.len);
  for (uint32_t i = first; i < end; i++) {
    uint32_t index = values->of_stack[i - first];
    bool stays =
        index == NO_ID || stacks->list.data[i].is_read_whole ||
        (border->choice->fate[index] == SCAN_STORED && values->list.data[index].stack == i);
    is_unread[i] = !stays;
  }
  for (uint32_t i = first; i < end; i++) {
    if (is_unread[i]) whole_shrink_stack(border->maker, &stacks->list.data[i], is_unread);
  }
  maker_move_constants(border->maker, values->loop);
  for (uint32_t i = 0; i < readers.len; i++)
    maker_move_constants(border->maker, readers.data[i].loop_index);
}

/* By loop: it is one of a border, or within one that is copied from, or it is not known whether. */
static bool *find_busy(const Maker *maker, const ScanBorder *borders, uint32_t num_borders) {
  const Loops *loops = maker->loops;
  const Stacks *stacks = maker->stacks;
  bool *is_busy = arena_zarray(maker->arena, bool, loops->len);
  for (uint32_t b = 0; b < num_borders; b++) {
    uint32_t writer = borders[b].values->loop;
    is_busy[writer] = true;
    for (uint32_t i = stacks->first_of[writer]; i < stacks->first_of[writer + 1]; i++) {
      for (uint32_t k = 0; k < stacks->list.data[i].reads.len; k++)
        is_busy[stacks->reads.data[stacks->list.data[i].reads.data[k]].loop] = true;
    }
  }
  for (uint32_t i = loops->len; i-- > 0;) { /* from callers to callees */
    CompId parent = loops->list[i].parent;
    bool is_known = parent == maker->module->entry;
    for (uint32_t k = i + 1; k < loops->len && !is_known; k++) {
      if (loops->list[k].body != parent) continue;
      is_known = true;
      is_busy[i] |= is_busy[k];
    }
    is_busy[i] |= !is_known;
  }
  return is_busy;
}

/* Other loops, too, may be left with stacks that nobody reads: an inner one, when what it stacked
 * is not stacked by the loop around it any more, since an earlier round. */
static void shrink_unread(Maker *maker, const ScanBorder *borders, uint32_t num_borders) {
  const Stacks *stacks = maker->stacks;
  const bool *is_busy = find_busy(maker, borders, num_borders);
  bool *is_unread = arena_zarray(maker->arena, bool, stacks->list.len);
  for (uint32_t i = 0; i < stacks->list.len; i++) {
    const Stack *stack = &stacks->list.data[i];
    is_unread[i] = !is_busy[stack->loop] && stack->reads.len == 0 && !stack->is_read_whole;
  }
  for (uint32_t i = 0; i < stacks->list.len; i++) {
    if (is_unread[i]) whole_shrink_stack(maker, &stacks->list.data[i], is_unread);
  }
}

void scan_recompute(Rewrite *rewrite, Schedule *schedule, const ScanBorder *borders,
                    uint32_t num_borders, bool is_lean, Arena *out, Arena *scratch) {
  if (num_borders == 0) return;
  Arena *arena = arena_new(arena_options(scratch));
  Maker maker = maker_begin(rewrite, schedule, borders[0].values->stacks, is_lean, arena);
  for (uint32_t i = 0; i < num_borders; i++) {
    Border border = {.maker = &maker,
                     .values = borders[i].values,
                     .choice = borders[i].choice,
                     .writer = &maker.loops->list[borders[i].values->loop]};
    rewrite_border(&border);
  }
  shrink_unread(&maker, borders, num_borders);
  maker_finish(&maker, out, scratch);
  arena_free(arena);
}
