/* Slices of stacks that are read an iteration apart. What a loop hands on is what its next
 * iteration begins with, so that the slice of the iteration before is the state of this one. Before
 * the first iteration there is none, and another value is selected:
 *
 *     select(t == e, edge(t), slice(t)),   where e is the first or the last t.
 *
 * If slice(t) = z(t) for all other t, then the selection is that of z(t), and if edge(e) = z(e), it
 * is z(t). Here z is an element of the state after a number of iterations that depends on t:
 * slice(t) is computed for a t that does not reach e, in which case no start is clamped any more.
 */
#include "remat/verify/recurrence.h"

typedef struct Selection {
  Terms *terms;
  ValueNumber time; /* t */
  int64_t trips, edge;
  ValueNumber at_edge, slice;
} Selection;

/* ---- substitution of the time ---- */

typedef struct TimeChange {
  const Numbering *numbering;
  ValueNumber from, to;
} TimeChange;

static ValueNumber replace_time(void *context, ValueNumber value) {
  const TimeChange *change = context;
  if (value == change->from) return change->to;
  const Node *from = numbered_node(change->numbering, change->from);
  return numbered_node(change->numbering, value)->depth < from->depth ? value : NO_ID;
}

/* The value where the time `from` is a form. */
static ValueNumber with_time(Terms *terms, ValueNumber value, ValueNumber from, const Linear *to) {
  TimeChange change = {terms->numbering, from, number_count(terms->numbering, to)};
  Substitution substitution = {.terms = terms, .replace = replace_time, .context = &change};
  return substitute(&substitution, value);
}

/* ---- what is selected ---- */

/* Sets `time` and `edge` if the comparison tells one number of an iteration from all others. */
static bool find_edge(Selection *selection, ValueNumber comparison) {
  const Numbering *numbering = selection->terms->numbering;
  const ValueNumber *sides = node_args(numbering, comparison);
  Linear form, other;
  if (!linear_of_value(numbering, sides[0], &form) ||
      !linear_of_value(numbering, sides[1], &other) || !linear_add(&form, &other, -1) ||
      form.num_terms != 1)
    return false;
  LinearTerm term = form.terms[0];
  const Node *time = numbered_node(numbering, term.symbol);
  if (time->kind != NODE_TIME || time->depth == 0 || term.factor == INT64_MIN ||
      form.constant == INT64_MIN || form.constant % term.factor)
    return false;
  selection->time = term.symbol;
  selection->trips = time_trips(numbering, term.symbol);
  selection->edge = -(form.constant / term.factor);
  return selection->edge == 0 || selection->edge == selection->trips - 1;
}

/* The scalar that is broadcast, if it is one. */
static ValueNumber scalar_of(Terms *terms, ValueNumber value) {
  return term_opcode(terms, value) == OPCODE_BROADCAST ? node_args(terms->numbering, value)[0]
                                                       : value;
}

static bool is_slice_of_stack(Terms *terms, ValueNumber value) {
  const Numbering *numbering = terms->numbering;
  while (numbered_node(numbering, value)->kind == NODE_BITCAST)
    value = node_args(numbering, value)[0];
  return term_opcode(terms, value) == OPCODE_DYNAMIC_SLICE;
}

static bool find_selection(Selection *selection, const ValueNumber *args) {
  Terms *terms = selection->terms;
  ValueNumber comparison = scalar_of(terms, args[0]);
  if (term_opcode(terms, comparison) != OPCODE_COMPARE) return false;
  int direction = compare_direction(
      terms->numbering->texts.data[numbered_node(terms->numbering, comparison)->detail]);
  if (direction != DIRECTION_EQ && direction != DIRECTION_NE) return false;
  bool is_equal = direction == DIRECTION_EQ;
  selection->at_edge = args[is_equal ? 1 : 2];
  selection->slice = args[is_equal ? 2 : 1];
  return is_slice_of_stack(terms, selection->slice) && find_edge(selection, comparison);
}

/* ---- the value ---- */

/* The slice for all other iterations: as an element of the state, if it is one. */
static ValueNumber slice_elsewhere(const Selection *selection) {
  Terms *terms = selection->terms;
  Numbering *numbering = terms->numbering;
  uint32_t depth = numbered_node(numbering, selection->time)->depth;
  /* The same time without its first or its last value. */
  ValueNumber rest = number_time(numbering, depth, selection->trips - 1);
  Linear form = linear_symbol(rest), back = linear_symbol(selection->time);
  form.constant = selection->edge == 0;
  back.constant = -form.constant;
  terms->gives_state = true;
  ValueNumber value = with_time(terms, selection->slice, selection->time, &form);
  terms->gives_state = false;
  if (is_slice_of_stack(terms, value)) return NO_ID;
  return with_time(terms, value, rest, &back);
}

/* The selection of z(t) instead of slice(t). */
static ValueNumber select_value(const Selection *selection, ShapeId shape, uint32_t text,
                                const ValueNumber *args, ValueNumber value) {
  ValueNumber parts[3];
  for (uint32_t i = 0; i < 3; i++)
    parts[i] = i && args[i] == selection->slice ? value : args[i];
  return number_operation(selection->terms->numbering, shape, text, parts, 3);
}

ValueNumber fold_edge(Terms *terms, ShapeId shape, uint32_t text, const ValueNumber *args) {
  Selection selection = {.terms = terms};
  if (terms->gives_state || terms->steps_left == 0 || !find_selection(&selection, args) ||
      selection.trips < 2)
    return NO_ID;
  ArenaMark mark = arena_mark(terms->scratch);
  Linear edge = linear_constant(selection.edge);
  ValueNumber value = slice_elsewhere(&selection);
  if (value != NO_ID) {
    bool is_same = with_time(terms, value, selection.time, &edge) ==
                   with_time(terms, selection.at_edge, selection.time, &edge);
    value = is_same ? written_as_step(terms, value)
                    : select_value(&selection, shape, text, args, value);
  }
  arena_reset(terms->scratch, mark);
  return value;
}
