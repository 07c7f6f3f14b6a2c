#include "remat/verify/loop.h"

#include <assert.h>

enum { MAX_DEPTH = 64, MAX_ROUNDS = 4, MAX_SUMS = 4, MAX_NESTED_GUESSES = 4 };

/* Loops of more iterations are not executed one by one. */
enum { MAX_UNROLLED_TRIPS = 64 };

/* ---- guesses ---- */

static bool is_element_of_parameter(const Numbering *numbering, ValueNumber value,
                                    uint32_t element) {
  const Node *node = numbered_node(numbering, value);
  if (node->kind != NODE_ELEMENT || node->detail != element) return false;
  return numbered_node(numbering, node_args(numbering, value)[0])->kind == NODE_PARAMETER;
}

/* The smallest t >= 0 with start + t * step >= end; -1 if there is none. */
static int64_t first_at_least(int64_t start, int64_t step, int64_t end) {
  int64_t distance;
  if (start >= end) return 0;
  if (step <= 0 || __builtin_sub_overflow(end, start, &distance)) return -1;
  return distance / step + (distance % step != 0);
}

/* The smallest t >= 0 for which start + t * step and 0 do not compare in this direction; -1 if
 * there is none. */
static int64_t first_false(int direction, int64_t start, int64_t step) {
  if (start == INT64_MIN || step == INT64_MIN) return -1;
  switch (direction) {
    case DIRECTION_LT: return first_at_least(start, step, 0);
    case DIRECTION_LE: return first_at_least(start, step, 1);
    case DIRECTION_GT: return first_at_least(-start, -step, 0);
    case DIRECTION_GE: return first_at_least(-start, -step, 1);
    case DIRECTION_NE: return step && start % step == 0 ? -(start / step) : start ? -1 : 0;
    case DIRECTION_EQ: return start ? 0 : 1;
    default: return -1;
  }
}

static bool guess_step(Terms *terms, ValueNumber next, uint32_t element, int nesting,
                       int64_t *step);

/* A value of which something is noted that could not be shown where it was numbered. The guess is
 * as good without, because the loop is evaluated afterwards with what is guessed of it. */
static ValueNumber without_note(const Terms *terms, ValueNumber value) {
  const Numbering *numbering = terms->numbering;
  const Node *node = numbered_node(numbering, value);
  if (node->kind != NODE_OPERATION || node->num_args == 0) return value;
  Str text = numbering->texts.data[node->detail];
  bool is_noted = str_begins_with(text, NOTED_BEGIN);
  return is_noted ? node_args(numbering, value)[0] : value;
}

/* An element of the state that a loop begins with, of a loop that is an operation. */
static ValueNumber first_of_loop(Terms *terms, ValueNumber loop, uint32_t element) {
  Numbering *numbering = terms->numbering;
  const Shape *state = shape_get(&numbering->shapes, numbered_node(numbering, loop)->shape);
  return number_element(numbering, state->elements[element], node_args(numbering, loop)[0],
                        element);
}

/* What a loop that is an operation adds to an element in each iteration. */
static bool guess_inner_step(Terms *terms, ValueNumber loop, uint32_t element, int nesting,
                             int64_t *step) {
  const Numbering *numbering = terms->numbering;
  const Shape *state = shape_get(&numbering->shapes, numbered_node(numbering, loop)->shape);
  if (!shape_is_tuple(state) || element >= state->rank) return false;
  ValueNumber body = node_args(numbering, loop)[1]; /* ORDER body, condition */
  ValueNumber root = node_args(numbering, body)[0];
  const Node *next = numbered_node(numbering, root);
  if (next->kind != NODE_TUPLE || element >= next->num_args) return false;
  return guess_step(terms, node_args(numbering, root)[element], element, nesting + 1, step);
}

/* The number of iterations of a loop that is an operation; -1 if it is not seen. */
static int64_t guess_inner_trips(Terms *terms, ValueNumber loop, int nesting) {
  const Numbering *numbering = terms->numbering;
  ValueNumber condition = node_args(numbering, node_args(numbering, loop)[2])[0];
  if (term_opcode(terms, condition) != OPCODE_COMPARE) return -1;
  ValueNumber counter = node_args(numbering, condition)[0];
  ValueNumber bound = node_args(numbering, condition)[1];
  int direction =
      compare_direction(numbering->texts.data[numbered_node(numbering, condition)->detail]);
  uint32_t element = numbered_node(numbering, counter)->detail;
  Linear first, end;
  int64_t step;
  if (!is_element_of_parameter(numbering, counter, element) ||
      !linear_of_value(numbering, bound, &end) ||
      !guess_inner_step(terms, loop, element, nesting, &step) ||
      !linear_of_value(numbering, first_of_loop(terms, loop, element), &first) ||
      !linear_add(&first, &end, -1) || first.num_terms) {
    return -1;
  }
  return first_false(direction, first.constant, step);
}

/* Adds what a loop adds to an element of its state; `next` is that element after the loop. Sets
 * `next` to the element before. */
static bool guess_loop(Terms *terms, ValueNumber *next, int nesting, int64_t *step) {
  const Numbering *numbering = terms->numbering;
  if (numbered_node(numbering, *next)->kind != NODE_ELEMENT || nesting >= MAX_NESTED_GUESSES) {
    return false;
  }
  uint32_t element = numbered_node(numbering, *next)->detail;
  ValueNumber loop = without_note(terms, node_args(numbering, *next)[0]);
  bool is_loop =
      term_opcode(terms, loop) == OPCODE_WHILE && numbered_node(numbering, loop)->num_args == 3;
  int64_t part;
  if (!is_loop || !guess_inner_step(terms, loop, element, nesting, &part)) return false;
  if (part) {
    int64_t trips = guess_inner_trips(terms, loop, nesting);
    if (trips < 0 || !mul_bytes(part, trips, &part) || !add_bytes(*step, part, step)) return false;
  }
  *next = first_of_loop(terms, loop, element);
  return true;
}

/* The difference between the next value of an element and this one, if it is a sum with constants.
 * Loops in the body may add to it, too. */
static bool guess_step(Terms *terms, ValueNumber next, uint32_t element, int nesting,
                       int64_t *step) {
  const Numbering *numbering = terms->numbering;
  *step = 0;
  for (int i = 0; i <= MAX_SUMS; i++) {
    if (is_element_of_parameter(numbering, next, element)) return true;
    if (guess_loop(terms, &next, nesting, step)) continue;
    Opcode opcode = term_opcode(terms, next);
    if (opcode != OPCODE_ADD && opcode != OPCODE_SUBTRACT) return false;
    const ValueNumber *args = node_args(numbering, next);
    Linear added;
    uint32_t other = 0;
    if (!linear_of_value(numbering, args[1], &added)) {
      if (opcode == OPCODE_SUBTRACT || !linear_of_value(numbering, args[0], &added)) return false;
      other = 1;
    }
    int64_t part;
    if (added.num_terms || !mul_bytes(added.constant, opcode == OPCODE_ADD ? 1 : -1, &part) ||
        !add_bytes(*step, part, step)) {
      return false;
    }
    next = args[other];
  }
  return false;
}

static void guess_roles(LoopRun *run, ValueNumber function) {
  Terms *terms = run->terms;
  const Numbering *numbering = terms->numbering;

  assert(numbered_node(numbering, function)->kind == NODE_FUNCTION && "a body is a function");
  ValueNumber root = node_args(numbering, function)[0];
  const Node *next_state = numbered_node(numbering, root);
  bool is_tuple = next_state->kind == NODE_TUPLE && next_state->num_args == run->num_elements;
  for (uint32_t i = 0; i < run->num_elements; i++) {
    LoopElement *element = &run->elements[i];
    *element = (LoopElement){.role = ROLE_VARIABLE};
    if (!is_tuple) continue;
    ValueNumber next = node_args(numbering, root)[i];
    if (!guess_step(terms, next, i, 0, &element->step)) continue;
    if (element->step == 0) {
      element->role = ROLE_INVARIANT;
    } else if (linear_of_value(numbering, run->first[i], &element->start)) {
      element->role = ROLE_COUNTER;
    }
  }
}

static bool has_dynamic_part(const ShapeTable *table, ShapeId shape) {
  uint32_t count = shape_get(table, shape)->num_parts;
  for (uint32_t i = 0; i < count; i++) {
    if (shape_get(table, shape_part(table, shape, i))->has_dynamic) return true;
  }
  return false;
}

LoopRun *loop_begin(Terms *terms, ShapeId shape, ValueNumber first, ValueNumber function,
                    uint32_t depth, Arena *out) {
  const Shape *state = shape_get(&terms->numbering->shapes, shape);
  LoopRun *run = arena_zalloc(out, sizeof *run);
  run->terms = terms;
  run->arena = out;
  run->shape = shape;
  run->depth = depth;
  run->stage = LOOP_OPAQUE;
  if (!shape_is_tuple(state) || state->rank == 0 || depth > MAX_DEPTH || !terms->steps_left ||
      function == NO_ID || has_dynamic_part(&terms->numbering->shapes, shape)) {
    return run;
  }
  run->num_elements = state->rank;
  run->first = arena_array(out, ValueNumber, state->rank);
  run->elements = arena_array(out, LoopElement, state->rank);
  for (uint32_t i = 0; i < state->rank; i++)
    run->first[i] = number_element(terms->numbering, state->elements[i], first, i);
  guess_roles(run, function);
  run->stage = LOOP_CONDITION;
  return run;
}

/* ---- arguments ---- */

static ShapeId element_shape(const LoopRun *run, uint32_t element) {
  return shape_get(&run->terms->numbering->shapes, run->shape)->elements[element];
}

/* The value of a counter in iteration `time`. */
static bool counter_at(const LoopElement *element, const Linear *time, Linear *value) {
  *value = element->start;
  return linear_add(value, time, element->step);
}

static ValueNumber number_counter(LoopRun *run, uint32_t element, const Linear *time) {
  Linear value;
  if (!counter_at(&run->elements[element], time, &value)) return NO_ID;
  if (!linear_fits(run->terms->numbering, element_shape(run, element), &value)) return NO_ID;
  return number_linear(run->terms->numbering, element_shape(run, element), &value);
}

static ValueNumber variable(LoopRun *run, uint32_t element) {
  return number_state(run->terms->numbering, element_shape(run, element), element, run->depth);
}

static ValueNumber time_of(const LoopRun *run) {
  return number_time(run->terms->numbering, run->depth, run->trips);
}

/* What an element that has a role is at the beginning of an iteration that is executed; NO_ID for
 * an element that varies. */
static ValueNumber expected(LoopRun *run, uint32_t element, int64_t iteration) {
  Linear time = linear_constant(iteration);
  switch (run->elements[element].role) {
    case ROLE_INVARIANT: return run->first[element];
    case ROLE_COUNTER: return number_counter(run, element, &time);
    default: return NO_ID;
  }
}

ValueNumber loop_argument(LoopRun *run) {
  Numbering *numbering = run->terms->numbering;
  if (run->is_unrolled) return number_tuple(numbering, run->shape, run->next, run->num_elements);
  ValueNumber *values = arena_array(run->arena, ValueNumber, run->num_elements);
  for (uint32_t i = 0; i < run->num_elements; i++) {
    LoopRole role = run->elements[i].role;
    if (role == ROLE_COUNTER && run->stage == LOOP_CONDITION) role = ROLE_VARIABLE;
    switch (role) {
      case ROLE_INVARIANT: values[i] = run->first[i]; break;
      case ROLE_VARIABLE: values[i] = variable(run, i); break;
      case ROLE_COUNTER: {
        Linear time = linear_symbol(time_of(run));
        values[i] = number_counter(run, i, &time); /* take_condition() has tried it */
        break;
      }
    }
  }
  return number_tuple(numbering, run->shape, values, run->num_elements);
}

/* ---- the condition ---- */

typedef struct AtTime {
  LoopRun *run;
  Linear time;
} AtTime;

/* The loop's counters at a time. The other variables stay, and nothing is known of them. */
static ValueNumber replace_counter(void *context, ValueNumber value) {
  AtTime *at = context;
  const Node *node = numbered_node(at->run->terms->numbering, value);
  if (node->depth < at->run->depth) return value;
  if (node->kind != NODE_STATE) return NO_ID;
  if (at->run->elements[node->detail].role != ROLE_COUNTER) return value;
  ValueNumber counter = number_counter(at->run, node->detail, &at->time);
  return counter != NO_ID ? counter : value;
}

static bool is_at(LoopRun *run, ValueNumber condition, const Linear *time, bool expected) {
  ArenaMark mark = arena_mark(run->terms->scratch);
  AtTime at = {.run = run, .time = *time};
  Substitution substitution = {.terms = run->terms, .replace = replace_counter, .context = &at};
  bool known;
  bool is_known = term_is_known_pred(run->terms, substitute(&substitution, condition), &known);
  arena_reset(run->terms->scratch, mark);
  return is_known && known == expected;
}

/* A side of the condition's comparison as a form of the time, for a guess. */
static bool side_of(LoopRun *run, ValueNumber value, ValueNumber time, Linear *side) {
  Terms *terms = run->terms;
  const Numbering *numbering = terms->numbering;
  Linear sum = linear_constant(0), now = linear_symbol(time);
  for (int i = 0; i <= MAX_SUMS; i++) {
    const Node *node = numbered_node(numbering, value);
    bool is_counter = node->kind == NODE_STATE && node->depth == run->depth &&
                      run->elements[node->detail].role == ROLE_COUNTER;
    if (is_counter) {
      return counter_at(&run->elements[node->detail], &now, side) && linear_add(side, &sum, 1);
    }
    if (linear_of_value(numbering, value, side)) return linear_add(side, &sum, 1);
    Opcode opcode = term_opcode(terms, value);
    const ValueNumber *args = node_args(numbering, value);
    Linear added;
    if (opcode == OPCODE_CONVERT) {
      value = args[0];
    } else if (opcode == OPCODE_ADD && linear_of_value(numbering, args[1], &added)) {
      if (!linear_add(&sum, &added, 1)) return false;
      value = args[0];
    } else if (opcode == OPCODE_SUBTRACT && linear_of_value(numbering, args[1], &added)) {
      if (!linear_add(&sum, &added, -1)) return false;
      value = args[0];
    } else {
      return false;
    }
  }
  return false;
}

/* The number of iterations for which the condition may be true. What is found is proven later. */
static int64_t guess_trips(LoopRun *run, ValueNumber condition) {
  Terms *terms = run->terms;
  const Numbering *numbering = terms->numbering;
  if (term_opcode(terms, condition) != OPCODE_COMPARE) return -1;
  ValueNumber time = number_time(terms->numbering, run->depth, 0);
  Linear difference, right;
  if (!side_of(run, node_args(numbering, condition)[0], time, &difference) ||
      !side_of(run, node_args(numbering, condition)[1], time, &right) ||
      !linear_add(&difference, &right, -1)) {
    return -1;
  }
  int64_t start = difference.constant, step = linear_factor(&difference, time);
  if (difference.num_terms != (step != 0)) return -1;
  Str text = numbering->texts.data[numbered_node(numbering, condition)->detail];
  return first_false(compare_direction(text), start, step);
}

static void begin_unrolled(LoopRun *run) {
  ValueNumber *first = arena_array(run->arena, ValueNumber, run->num_elements);
  for (uint32_t i = 0; i < run->num_elements; i++) {
    first[i] = expected(run, i, 0);
    if (first[i] == NO_ID) first[i] = run->first[i];
  }
  run->next = first;
  run->time = 0;
  run->is_unrolled = true;
  run->stage = LOOP_BODY;
}

static void take_condition(LoopRun *run, ValueNumber condition) {
  run->stage = LOOP_OPAQUE;
  run->trips = guess_trips(run, condition);
  if (run->trips < 0) return;
  Linear end = linear_constant(run->trips);
  if (!is_at(run, condition, &end, false)) return;
  if (run->trips == 0) {
    run->result = number_tuple(run->terms->numbering, run->shape, run->first, run->num_elements);
    run->stage = LOOP_DONE;
    return;
  }
  Linear time = linear_symbol(time_of(run));
  if (!is_at(run, condition, &time, true)) return;
  if (run->terms->unrolls && run->trips <= MAX_UNROLLED_TRIPS) {
    begin_unrolled(run);
    return;
  }
  for (uint32_t i = 0; i < run->num_elements; i++) {
    LoopElement *element = &run->elements[i];
    bool is_counter = element->role == ROLE_COUNTER;
    if (is_counter && number_counter(run, i, &time) == NO_ID) element->role = ROLE_VARIABLE;
  }
  run->stage = LOOP_BODY;
}

/* ---- the body ---- */

/* Corrects the role of an element that is another one than guessed. */
static bool has_role(LoopRun *run, uint32_t index, ValueNumber next) {
  LoopElement *element = &run->elements[index];
  Linear later = linear_symbol(time_of(run)), one = linear_constant(1);
  switch (element->role) {
    case ROLE_INVARIANT:
      if (next == run->first[index]) return true;
      element->role = ROLE_VARIABLE;
      return false;
    case ROLE_COUNTER:
      if (linear_add(&later, &one, 1) && next == number_counter(run, index, &later)) return true;
      element->role = ROLE_VARIABLE;
      return false;
    default:
      if (next != variable(run, index)) return true;
      element->role = ROLE_INVARIANT;
      return false;
  }
}

static bool number_results(LoopRun *run, const ValueNumber *next) {
  LoopSteps steps = {.depth = run->depth,
                     .num_elements = run->num_elements,
                     .time = time_of(run),
                     .first = run->first,
                     .next = next};
  Linear trips = linear_constant(run->trips);
  ValueNumber *results = arena_array(run->arena, ValueNumber, run->num_elements);
  for (uint32_t i = 0; i < run->num_elements; i++) {
    switch (run->elements[i].role) {
      case ROLE_INVARIANT: results[i] = run->first[i]; break;
      case ROLE_COUNTER: results[i] = number_counter(run, i, &trips); break;
      case ROLE_VARIABLE: results[i] = loop_element(run->terms, &steps, i, &trips); break;
    }
    if (results[i] == NO_ID) return false;
  }
  run->result = number_tuple(run->terms->numbering, run->shape, results, run->num_elements);
  return true;
}

/* Goes on to the next iteration. An element that is not what was guessed becomes a variable, and
 * all begins again. */
static void take_iteration(LoopRun *run, ValueNumber value) {
  Numbering *numbering = run->terms->numbering;
  ValueNumber *next = arena_array(run->arena, ValueNumber, run->num_elements);
  bool is_right = true;
  run->time++;
  for (uint32_t i = 0; i < run->num_elements; i++) {
    next[i] = number_element(numbering, element_shape(run, i), value, i);
    if (run->elements[i].role == ROLE_VARIABLE || next[i] == expected(run, i, run->time)) continue;
    run->elements[i].role = ROLE_VARIABLE;
    is_right = false;
  }
  run->next = next;
  if (!is_right) {
    run->is_unrolled = false;
    run->stage = ++run->num_rounds < MAX_ROUNDS ? LOOP_CONDITION : LOOP_OPAQUE;
  } else if (run->time == run->trips) {
    run->result = number_tuple(numbering, run->shape, next, run->num_elements);
    run->stage = LOOP_DONE;
  }
}

static void take_body(LoopRun *run, ValueNumber value) {
  Numbering *numbering = run->terms->numbering;
  ValueNumber *next = arena_array(run->arena, ValueNumber, run->num_elements);
  bool is_right = true;
  for (uint32_t i = 0; i < run->num_elements; i++) {
    next[i] = number_element(numbering, element_shape(run, i), value, i);
    is_right &= has_role(run, i, next[i]);
  }
  if (!is_right) {
    run->stage = ++run->num_rounds < MAX_ROUNDS ? LOOP_CONDITION : LOOP_OPAQUE;
    return;
  }
  run->next = next;
  run->stage = number_results(run, next) ? LOOP_DONE : LOOP_OPAQUE;
}

void loop_take(LoopRun *run, ValueNumber value) {
  if (run->stage == LOOP_CONDITION) {
    take_condition(run, value);
  } else if (run->is_unrolled) {
    take_iteration(run, value);
  } else {
    take_body(run, value);
  }
}

/* ---- values in the body ---- */

static ValueNumber replace_variable(void *context, ValueNumber value) {
  LoopRun *run = context;
  const Node *node = numbered_node(run->terms->numbering, value);
  if (node->depth < run->depth) return value;
  if (node->kind != NODE_STATE || node->depth != run->depth) return NO_ID;
  LoopSteps steps = {.depth = run->depth,
                     .num_elements = run->num_elements,
                     .time = time_of(run),
                     .first = run->first,
                     .next = run->next};
  Linear time = linear_symbol(time_of(run));
  ValueNumber now = loop_element(run->terms, &steps, node->detail, &time);
  return now != NO_ID ? now : value;
}

Substitution loop_values_at_time(LoopRun *run) {
  return (Substitution){.terms = run->terms, .replace = replace_variable, .context = run};
}
