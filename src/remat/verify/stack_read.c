/* Slices of stacks. A loop stacks values if each iteration writes one slice of an element of its
 * state:
 *
 *     s(t + 1) = dynamic-update-slice(s(t), u(x(t), t, y), a * t + b, 0 …)
 *
 * If no two iterations write the same place, and no start is clamped, then the slice at e of the
 * stack after the loop is u(x(t'), t', y) where a * t' + b = e, if t' is an iteration of the loop.
 */
#include "remat/verify/recurrence.h"

enum { MAX_NESTED_READS = 16 };

typedef struct Read {
  Terms *terms;
  Iterated stack;
  ValueNumber update;        /* in formal variables */
  const ValueNumber *starts; /* of the writes, by dimension; in formal variables */
  Linear time;               /* t' */
  bool is_failed;
} Read;

/* The form of a value of the system, in the variables around the loop. */
static bool form_of(const Read *read, ValueNumber value, Linear *form) {
  const Numbering *numbering = read->terms->numbering;
  ValueNumber time = number_time(read->terms->numbering, 0, 0);
  Linear formal;
  if (!linear_of_node(numbering, value, &formal)) return false;
  *form = linear_constant(formal.constant);
  for (uint32_t i = 0; i < formal.num_terms; i++) {
    ValueNumber symbol = formal.terms[i].symbol;
    const Node *node = numbered_node(numbering, symbol);
    Linear part = linear_symbol(symbol);
    if (node->kind == NODE_OUTER) {
      if (!linear_of_node(numbering, read->stack.outer[node->detail], &part)) return false;
    } else if (symbol != time) {
      return false;
    }
    if (!linear_add(form, &part, formal.terms[i].factor)) return false;
  }
  return true;
}

/* Whether a form is between two others: low <= form <= high for all values of the symbols. */
static bool is_between(const Numbering *numbering, const Linear *form, const Linear *low,
                       const Linear *high) {
  Linear above = *form, below = *high;
  if (!linear_add(&above, low, -1) || !linear_add(&below, form, -1)) return false;
  ValueRange a = linear_range(numbering, &above), b = linear_range(numbering, &below);
  return range_is_known(a) && range_is_known(b) && a.low >= 0 && b.low >= 0;
}

/* The only dimension in which the slice is smaller than the whole; the first one if there is none.
 * False if there are several. */
static bool find_dimension(const Shape *whole, const Shape *slice, uint32_t *dimension) {
  if (!shape_is_array(whole) || !shape_is_array(slice) || whole->rank != slice->rank) return false;
  if (whole->has_dynamic || slice->has_dynamic || whole->type != slice->type) return false;
  uint32_t found = 0;
  *dimension = 0;
  for (uint32_t i = 0; i < whole->rank; i++) {
    if (whole->dims[i] == slice->dims[i]) continue;
    *dimension = i;
    found++;
  }
  return found <= 1 && whole->rank > 0;
}

/* Sets the iteration that wrote the slice at `start`, if that is certain. */
static bool find_iteration(Read *read, ValueNumber start, int64_t extent, int64_t size,
                           uint32_t dimension) {
  const Numbering *numbering = read->terms->numbering;
  ValueNumber time = number_time(read->terms->numbering, 0, 0);
  Linear write, at, formal_time = linear_symbol(time), one = linear_constant(1);
  if (!form_of(read, read->starts[dimension], &write)) return false;
  if (!linear_of_value(numbering, start, &at)) return false;
  int64_t step = linear_factor(&write, time);
  bool is_only = read->stack.count.num_terms == 0 && read->stack.count.constant == 1;
  if (step == INT64_MIN || ((step < 0 ? -step : step) < size && !is_only)) return false;
  /* Where the first and the last iteration write: in range, and so are all in between. */
  Linear offset = write, first, last_time = read->stack.from, last;
  if (!linear_add(&offset, &formal_time, -step)) return false;
  first = last = offset;
  if (!linear_add(&last_time, &read->stack.count, 1) || !linear_add(&last_time, &one, -1) ||
      !linear_add(&first, &read->stack.from, step) || !linear_add(&last, &last_time, step)) {
    return false;
  }
  Linear low = linear_constant(0), high = linear_constant(extent - size);
  if (!is_between(numbering, &first, &low, &high) || !is_between(numbering, &last, &low, &high) ||
      !is_between(numbering, &at, &low, &high)) {
    return false;
  }
  if (is_only && step == 0) {
    read->time = read->stack.from;
    return linear_equal(&at, &offset);
  }
  read->time = at;
  return linear_add(&read->time, &offset, -1) && linear_divide(&read->time, step) &&
         is_between(numbering, &read->time, &read->stack.from, &last_time);
}

static ValueNumber replace_formal(void *context, ValueNumber value) {
  Read *read = context;
  Terms *terms = read->terms;
  Node node = *numbered_node(terms->numbering, value);
  if (!(node.flags & NODE_HAS_FORMAL)) return value;
  if (node.kind == NODE_OUTER) return read->stack.outer[node.detail];
  if (node.kind == NODE_TIME) return number_count(terms->numbering, &read->time);
  if (node.kind != NODE_STATE) return NO_ID;
  Linear count = read->time;
  ValueNumber state = NO_ID;
  if (linear_add(&count, &read->stack.from, -1)) {
    state = iterate_element(terms, &read->stack, node.detail, &count);
  }
  read->is_failed |= state == NO_ID;
  return state;
}

/* The slice as an element of the state that its iteration hands on, perhaps under another shape;
 * NO_ID if it is none. */
static ValueNumber state_written(Read *read) {
  enum { MAX_VIEWS = 8 };
  Terms *terms = read->terms;
  ValueNumber views[MAX_VIEWS], value = read->update;
  uint32_t num_views = 0;
  while (numbered_node(terms->numbering, value)->kind == NODE_BITCAST && num_views < MAX_VIEWS) {
    views[num_views++] = value;
    value = node_args(terms->numbering, value)[0];
  }
  uint32_t element = 1;
  while (element < read->stack.num_state &&
         system_step(terms, read->stack.system, element) != value)
    element++;
  Linear count = read->time, one = linear_constant(1);
  if (element == read->stack.num_state || !linear_add(&count, &read->stack.from, -1) ||
      !linear_add(&count, &one, 1))
    return NO_ID;
  value = iterate_element(terms, &read->stack, element, &count);
  while (value != NO_ID && num_views > 0) {
    Node view = *numbered_node(terms->numbering, views[--num_views]);
    value = fold_reshape(terms, true, view.shape, view.detail, 0, value);
  }
  return value;
}

/* What the iteration read->time computes for a value of the system. */
static ValueNumber computed_then(Read *read, ValueNumber formal) {
  Terms *terms = read->terms;
  terms->nesting++;
  Substitution substitution = {.terms = terms, .replace = replace_formal, .context = read};
  ValueNumber result = substitute(&substitution, formal);
  terms->nesting--;
  return read->is_failed ? NO_ID : result;
}

ValueNumber written_as_step(Terms *terms, ValueNumber value) {
  Read read = {.terms = terms};
  Linear one = linear_constant(1);
  ArenaMark mark = arena_mark(terms->scratch);
  ValueNumber result = NO_ID;
  if (iterated_of(terms, value, &read.stack)) {
    ValueRange range = linear_range(terms->numbering, &read.stack.count);
    read.time = read.stack.from;
    bool has_run = range_is_known(range) && range.low >= 1 &&
                   linear_add(&read.time, &read.stack.count, 1) && linear_add(&read.time, &one, -1);
    if (has_run) result = computed_then(&read, system_step(terms, read.stack.system, 0));
  }
  arena_reset(terms->scratch, mark);
  return result != NO_ID ? result : value;
}

ShapeId shape_written(Terms *terms, ValueNumber stack) {
  Read read = {.terms = terms};
  if (!iterated_of(terms, stack, &read.stack)) return NO_ID;
  ValueNumber step = system_step(terms, read.stack.system, 0);
  if (term_opcode(terms, step) != OPCODE_DYNAMIC_UPDATE_SLICE) return NO_ID;
  return numbered_node(terms->numbering, node_args(terms->numbering, step)[1])->shape;
}

ValueNumber slice_of_stack(Terms *terms, ShapeId shape, ValueNumber stack,
                           const ValueNumber *starts) {
  Numbering *numbering = terms->numbering;
  if (numbered_node(numbering, stack)->kind != NODE_ITERATED) return NO_ID;
  if (terms->nesting >= MAX_NESTED_READS || terms->steps_left == 0) return NO_ID;
  ArenaMark mark = arena_mark(terms->scratch);
  Read read = {.terms = terms};
  ValueNumber result = NO_ID;
  iterated_of(terms, stack, &read.stack);
  ValueNumber step = system_step(terms, read.stack.system, 0);
  bool keeps_shape = shape_compatible(&numbering->shapes, numbered_node(numbering, stack)->shape,
                                      numbered_node(numbering, step)->shape);
  if (keeps_shape && term_opcode(terms, step) == OPCODE_DYNAMIC_UPDATE_SLICE) {
    uint32_t num_args = numbered_node(numbering, step)->num_args;
    ValueNumber *args = arena_array(terms->scratch, ValueNumber, num_args);
    memcpy(args, node_args(numbering, step), num_args * sizeof *args);
    read.update = args[1];
    read.starts = args + 2;
    const Node *written = numbered_node(numbering, args[0]);
    const Shape *whole = shape_get(&numbering->shapes, numbered_node(numbering, step)->shape);
    const Shape *part = shape_get(&numbering->shapes, numbered_node(numbering, args[1])->shape);
    const Shape *wanted = shape_get(&numbering->shapes, shape);
    uint32_t dimension;
    bool is_stack = written->kind == NODE_STATE && written->detail == 0 &&
                    find_dimension(whole, part, &dimension) &&
                    wanted->compatible == part->compatible && num_args == 2 + whole->rank;
    if (is_stack && find_iteration(&read, starts[dimension], whole->dims[dimension],
                                   part->dims[dimension], dimension)) {
      if (terms->gives_state) result = state_written(&read);
      if (result == NO_ID) result = computed_then(&read, read.update);
    }
  }
  arena_reset(terms->scratch, mark);
  return result;
}
