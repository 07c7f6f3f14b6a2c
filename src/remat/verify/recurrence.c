#include "remat/verify/recurrence.h"

enum { MAX_NESTING = 24 };

/* ---- from steps to systems ---- */

/* A system that is being made: of the body of a loop, or of a part of another system. */
typedef struct Closing {
  Terms *terms;
  uint32_t depth;   /* of the variables that become formal; 0 = they are formal ones of a system */
  ValueNumber time; /* of that depth */
  uint32_t *index_of; /* by element of the old state: its new index; NO_ID = not needed so far */
  IdVec state;        /* by new index: the element of the old state */
  VEC(ValueNumber) outer; /* by new index: the value from outside */
  IdTable outer_table;
  Linear shift;
  bool is_failed;
} Closing;

static bool is_own(const Closing *closing, const Node *node) {
  if (closing->depth) return node->depth == closing->depth;
  return (node->flags & NODE_HAS_FORMAL) != 0;
}

static uint32_t state_index(Closing *closing, uint32_t element) {
  if (closing->index_of[element] == NO_ID) {
    closing->index_of[element] = closing->state.len;
    *vec_push(closing->terms->scratch, &closing->state) = element;
  }
  return closing->index_of[element];
}

static ShapeId without_layout(const Terms *terms, ShapeId shape) {
  return shape_get(&terms->numbering->shapes, shape)->compatible;
}

static ValueNumber formal_outer(Closing *closing, ValueNumber value) {
  Terms *terms = closing->terms;
  ShapeId shape = without_layout(terms, numbered_node(terms->numbering, value)->shape);
  uint64_t hash = hash_mix(HASH_SEED, value);
  uint32_t index;
  for (IdProbe probe = id_table_probe(&closing->outer_table, hash);
       id_probe_next(&probe, &index);) {
    if (closing->outer.data[index] == value) {
      return number_outer(terms->numbering, shape, index);
    }
  }
  index = closing->outer.len;
  id_table_add(&closing->outer_table, terms->scratch, hash, index);
  *vec_push(terms->scratch, &closing->outer) = value;
  return number_outer(terms->numbering, shape, index);
}

/* The form in formal variables, with the time shifted. */
static ValueNumber close_linear(Closing *closing, ShapeId shape, const Linear *form) {
  Numbering *numbering = closing->terms->numbering;
  int64_t factor = linear_factor(form, closing->time);
  Linear time = linear_symbol(closing->time), rest = *form, own = time;
  bool is_exact = linear_add(&rest, &time, -factor) && linear_add(&rest, &closing->shift, -factor);
  Linear closed = linear_constant(rest.constant);
  for (uint32_t i = 0; i < rest.num_terms && is_exact; i++) {
    Linear symbol = linear_symbol(formal_outer(closing, rest.terms[i].symbol));
    is_exact = linear_add(&closed, &symbol, rest.terms[i].factor);
  }
  own = linear_symbol(number_time(numbering, 0, 0));
  is_exact = is_exact && linear_add(&closed, &own, factor);
  closing->is_failed |= !is_exact;
  return number_linear(numbering, shape, &closed);
}

static ValueNumber close_node(void *context, ValueNumber value) {
  Closing *closing = context;
  Numbering *numbering = closing->terms->numbering;
  Node node = *numbered_node(numbering, value);
  if (node.kind == NODE_OUTER) return formal_outer(closing, value);
  if (!is_own(closing, &node)) {
    bool is_rigid = node.depth == 0 && !(node.flags & NODE_HAS_PARAMETER);
    return is_rigid ? value : formal_outer(closing, value);
  }
  Linear form;
  switch (node.kind) {
    case NODE_STATE:
      return number_state(numbering, without_layout(closing->terms, node.shape),
                          state_index(closing, node.detail), 0);
    case NODE_TIME:
    case NODE_LINEAR:
      linear_of_node(numbering, value, &form);
      return close_linear(closing, node.shape, &form);
    default: return NO_ID;
  }
}

static int64_t floor_divide(int64_t value, int64_t divisor) {
  if (divisor == -1) return value == INT64_MIN ? 0 : -value;
  int64_t quotient = value / divisor;
  return quotient - (value % divisor != 0 && (value < 0) != (divisor < 0));
}

/* The shift that removes from a form of the time all that a shift can remove. */
static Linear shift_of(const Closing *closing, const Linear *form) {
  int64_t factor = linear_factor(form, closing->time);
  Linear shift = linear_constant(floor_divide(form->constant, factor));
  for (uint32_t i = 0; i < form->num_terms; i++) {
    LinearTerm term = form->terms[i];
    if (term.symbol == closing->time) continue;
    Linear symbol = linear_symbol(term.symbol);
    linear_add(&shift, &symbol, floor_divide(term.factor, factor));
  }
  return shift;
}

/* Sets the shift by the first form of the time, in the order of a walk from `element`. */
static void find_shift(Closing *closing, const ValueNumber *next, uint32_t num_elements,
                       uint32_t element) {
  Terms *terms = closing->terms;
  const Numbering *numbering = terms->numbering;
  bool *is_met = arena_zarray(terms->scratch, bool, num_elements);
  IdVec elements = {0}, stack = {0};
  IdTable seen = {0};
  is_met[element] = true;
  *vec_push(terms->scratch, &elements) = element;
  for (uint32_t i = 0; i < elements.len; i++) {
    *vec_push(terms->scratch, &stack) = next[elements.data[i]];
    while (stack.len) {
      ValueNumber value = stack.data[--stack.len];
      const Node *node = numbered_node(numbering, value);
      if (!is_own(closing, node) || !id_set_add(&seen, terms->scratch, value)) continue;
      Linear form;
      if (node->kind == NODE_STATE && !is_met[node->detail]) {
        is_met[node->detail] = true;
        *vec_push(terms->scratch, &elements) = node->detail;
      }
      bool is_form = (node->kind == NODE_LINEAR || node->kind == NODE_TIME) &&
                     linear_of_node(numbering, value, &form);
      if (is_form && linear_factor(&form, closing->time)) {
        closing->shift = shift_of(closing, &form);
        return;
      }
      if (node->kind == NODE_LINEAR) continue;
      for (uint32_t k = node_num_values(node); k-- > 0;) {
        *vec_push(terms->scratch, &stack) = node_args(numbering, value)[node_value_arg(node, k)];
      }
    }
  }
}

/* The system for an element, of the steps of the whole state; NO_ID beyond the limits. Its detail
 * is twice the number of outer values, plus one if its steps depend on the time. */
static ValueNumber system_make(Closing *closing, const ValueNumber *next, uint32_t num_elements,
                               uint32_t element) {
  Terms *terms = closing->terms;
  closing->index_of = arena_array(terms->scratch, uint32_t, num_elements);
  for (uint32_t i = 0; i < num_elements; i++)
    closing->index_of[i] = NO_ID;
  find_shift(closing, next, num_elements, element);
  Substitution substitution = {.terms = terms, .replace = close_node, .context = closing};
  state_index(closing, element);
  VEC(ValueNumber) steps = {0};
  uint32_t flags = 0;
  for (uint32_t i = 0; i < closing->state.len; i++) {
    ValueNumber step = substitute(&substitution, next[closing->state.data[i]]);
    flags |= numbered_node(terms->numbering, step)->flags;
    *vec_push(terms->scratch, &steps) = step;
  }
  if (closing->is_failed) return NO_ID;
  uint32_t detail = closing->outer.len * 2 + ((flags & NODE_HAS_TIME) != 0);
  return number_of_kind(terms->numbering, NODE_SYSTEM, NO_ID, detail, steps.data, steps.len);
}

static bool uses_time(const Terms *terms, ValueNumber system) {
  return numbered_node(terms->numbering, system)->detail & 1;
}

ValueNumber system_step(const Terms *terms, ValueNumber system, uint32_t element) {
  return node_args(terms->numbering, system)[element];
}

/* ---- parts of systems ---- */

static uint32_t *copy_ids(Arena *out, const uint32_t *ids, uint32_t count) {
  uint32_t *copy = arena_array(out, uint32_t, count);
  if (count) memcpy(copy, ids, count * sizeof *copy);
  return copy;
}

static SystemPart *make_part(Terms *terms, ValueNumber system, uint32_t element) {
  ArenaMark mark = arena_mark(terms->scratch);
  uint32_t num_elements = numbered_node(terms->numbering, system)->num_args;
  const ValueNumber *next =
      copy_ids(terms->scratch, node_args(terms->numbering, system), num_elements);
  Closing closing = {.terms = terms, .time = number_time(terms->numbering, 0, 0)};
  SystemPart *part = arena_zalloc(terms->arena, sizeof *part);
  part->system = system;
  part->element = element;
  part->made = system_make(&closing, next, num_elements, element);
  part->num_state = closing.state.len;
  part->state = copy_ids(terms->arena, closing.state.data, closing.state.len);
  part->num_outer = closing.outer.len;
  part->outer = arena_array(terms->arena, uint32_t, closing.outer.len);
  for (uint32_t i = 0; i < closing.outer.len; i++)
    part->outer[i] = numbered_node(terms->numbering, closing.outer.data[i])->detail;
  part->shift = closing.shift;
  arena_reset(terms->scratch, mark);
  return part;
}

static const SystemPart *system_part(Terms *terms, ValueNumber system, uint32_t element) {
  uint64_t hash = hash_mix(hash_mix(HASH_SEED, system), element);
  uint32_t index;
  for (IdProbe probe = id_table_probe(&terms->part_table, hash); id_probe_next(&probe, &index);) {
    const SystemPart *part = terms->parts.data[index];
    if (part->system == system && part->element == element) return part;
  }
  SystemPart *part = make_part(terms, system, element);
  id_table_add(&terms->part_table, terms->arena, hash, terms->parts.len);
  *vec_push(terms->arena, &terms->parts) = part;
  return part;
}

/* ---- iterations ---- */

Linear count_of(const Numbering *numbering, ValueNumber value) {
  Linear form;
  return linear_of_node(numbering, value, &form) ? form : linear_symbol(value);
}

bool iterated_of(Terms *terms, ValueNumber value, Iterated *iterated) {
  const Numbering *numbering = terms->numbering;
  const Node *node = numbered_node(numbering, value);
  if (node->kind != NODE_ITERATED) return false;
  const ValueNumber *args = copy_ids(terms->scratch, node_args(numbering, value), node->num_args);
  const Node *system = numbered_node(numbering, args[0]);
  *iterated = (Iterated){.system = args[0],
                         .from = count_of(numbering, args[1]),
                         .count = count_of(numbering, args[2]),
                         .num_state = system->num_args,
                         .num_outer = system->detail / 2,
                         .state = args + 3,
                         .outer = args + 3 + system->num_args};
  return true;
}

ValueNumber iterate_element(Terms *terms, const Iterated *iterated, uint32_t element,
                            const Linear *count) {
  const SystemPart *part = system_part(terms, iterated->system, element);
  if (part->made == NO_ID) return NO_ID;
  Iterated other = {.system = part->made,
                    .from = iterated->from,
                    .count = *count,
                    .num_state = part->num_state,
                    .num_outer = part->num_outer};
  bool is_exact = true;
  Linear constant = linear_constant(part->shift.constant);
  is_exact &= linear_add(&other.from, &constant, 1);
  for (uint32_t i = 0; i < part->shift.num_terms; i++) {
    const Node *formal = numbered_node(terms->numbering, part->shift.terms[i].symbol);
    ValueNumber value = iterated->outer[formal->detail];
    Linear symbol = count_of(terms->numbering, value);
    is_exact = is_exact && linear_add(&other.from, &symbol, part->shift.terms[i].factor);
  }
  if (!is_exact) return NO_ID;
  ValueNumber *state = arena_array(terms->scratch, ValueNumber, part->num_state);
  ValueNumber *outer = arena_array(terms->scratch, ValueNumber, part->num_outer);
  for (uint32_t i = 0; i < part->num_state; i++)
    state[i] = iterated->state[part->state[i]];
  for (uint32_t i = 0; i < part->num_outer; i++)
    outer[i] = iterated->outer[part->outer[i]];
  other.state = state;
  other.outer = outer;
  return iterate(terms, &other);
}

static bool same_values(const ValueNumber *a, const ValueNumber *b, uint32_t count) {
  return count == 0 || memcmp(a, b, count * sizeof *a) == 0;
}

/* g(g(x, f, m), f + m, n) = g(x, f, m + n). */
static bool join_earlier(Terms *terms, Iterated *iterated) {
  Iterated earlier;
  if (!iterated_of(terms, iterated->state[0], &earlier)) return false;
  if (earlier.system != iterated->system || earlier.num_outer != iterated->num_outer) return false;
  if (!same_values(earlier.outer, iterated->outer, earlier.num_outer)) return false;
  Linear end = earlier.from, count = earlier.count;
  if (!linear_add(&end, &earlier.count, 1) || !linear_add(&count, &iterated->count, 1)) {
    return false;
  }
  if (uses_time(terms, iterated->system) && !linear_equal(&end, &iterated->from)) return false;
  for (uint32_t i = 1; i < iterated->num_state; i++) {
    if (iterate_element(terms, &earlier, i, &earlier.count) != iterated->state[i]) return false;
  }
  iterated->from = earlier.from;
  iterated->count = count;
  iterated->state = earlier.state;
  return true;
}

/* Whether the steps of the system are the iterations of another one, with the same state and with
 * outer values that stay the same. */
static bool is_nest(Terms *terms, ValueNumber system, const Iterated *inner) {
  const Numbering *numbering = terms->numbering;
  if (inner->num_state != numbered_node(numbering, system)->num_args) return false;
  for (uint32_t i = 0; i < inner->num_state; i++) {
    const Node *node = numbered_node(numbering, inner->state[i]);
    if (node->kind != NODE_STATE || node->depth || node->detail != i) return false;
    if (!(node->flags & NODE_HAS_FORMAL)) return false;
  }
  for (uint32_t i = 0; i < inner->num_outer; i++) {
    const Node *node = numbered_node(numbering, inner->outer[i]);
    if (node->kind != NODE_OUTER && node->flags & NODE_HAS_FORMAL) return false;
  }
  if (inner->count.num_terms || inner->count.constant < 1) return false;
  for (uint32_t i = 1; i < inner->num_state; i++) {
    if (iterate_element(terms, inner, i, &inner->count) != system_step(terms, system, i)) {
      return false;
    }
  }
  return true;
}

/* h(x, s) = g(x, c + k * s, k) gives h(x, f, n) = g(x, c + k * f, k * n). */
static bool unfold_nest(Terms *terms, Iterated *iterated) {
  Numbering *numbering = terms->numbering;
  Iterated inner;
  if (!iterated_of(terms, system_step(terms, iterated->system, 0), &inner)) return false;
  if (!is_nest(terms, iterated->system, &inner)) return false;
  int64_t trips = inner.count.constant;
  ValueNumber time = number_time(numbering, 0, 0);
  int64_t factor = linear_factor(&inner.from, time);
  if (uses_time(terms, inner.system) ? factor != trips : factor != 0) return false;
  Linear from = linear_constant(inner.from.constant), count = linear_constant(0);
  for (uint32_t i = 0; i < inner.from.num_terms; i++) {
    LinearTerm term = inner.from.terms[i];
    if (term.symbol == time) continue;
    const Node *node = numbered_node(numbering, term.symbol);
    if (node->kind != NODE_OUTER) return false;
    Linear symbol = count_of(numbering, iterated->outer[node->detail]);
    if (!linear_add(&from, &symbol, term.factor)) return false;
  }
  if (!linear_add(&from, &iterated->from, factor) || !linear_add(&count, &iterated->count, trips)) {
    return false;
  }
  ValueNumber *outer = arena_array(terms->scratch, ValueNumber, inner.num_outer);
  for (uint32_t i = 0; i < inner.num_outer; i++) {
    const Node *node = numbered_node(numbering, inner.outer[i]);
    outer[i] = node->kind == NODE_OUTER ? iterated->outer[node->detail] : inner.outer[i];
  }
  *iterated = (Iterated){.system = inner.system,
                         .from = from,
                         .count = count,
                         .num_state = iterated->num_state,
                         .num_outer = inner.num_outer,
                         .state = iterated->state,
                         .outer = outer};
  return true;
}

static ValueNumber number_iterated(Terms *terms, const Iterated *iterated) {
  Numbering *numbering = terms->numbering;
  uint32_t count = 3 + iterated->num_state + iterated->num_outer;
  ValueNumber *args = arena_array(terms->scratch, ValueNumber, count);
  args[0] = iterated->system;
  args[1] = number_count(numbering, &iterated->from);
  args[2] = number_count(numbering, &iterated->count);
  memcpy(args + 3, iterated->state, iterated->num_state * sizeof *args);
  if (iterated->num_outer) {
    memcpy(args + 3 + iterated->num_state, iterated->outer, iterated->num_outer * sizeof *args);
  }
  ShapeId shape = without_layout(terms, numbered_node(numbering, iterated->state[0])->shape);
  return number_of_kind(numbering, NODE_ITERATED, shape, 0, args, count);
}

ValueNumber iterate(Terms *terms, const Iterated *given) {
  ArenaMark mark = arena_mark(terms->scratch);
  Iterated iterated = *given;
  ValueNumber result = NO_ID;
  terms->nesting++;
  while (result == NO_ID) {
    const Node *first = numbered_node(terms->numbering, system_step(terms, iterated.system, 0));
    bool is_constant = first->kind == NODE_STATE && first->detail == 0;
    if (!uses_time(terms, iterated.system)) iterated.from = linear_constant(0);
    if (is_constant || (iterated.count.num_terms == 0 && iterated.count.constant == 0)) {
      result = iterated.state[0];
      break;
    }
    bool is_simplified = terms->nesting < MAX_NESTING && terms->steps_left &&
                         (unfold_nest(terms, &iterated) || join_earlier(terms, &iterated));
    if (!is_simplified) result = number_iterated(terms, &iterated);
  }
  terms->nesting--;
  arena_reset(terms->scratch, mark);
  return result;
}

ValueNumber iterate_again(Terms *terms, const ValueNumber *args) {
  const Numbering *numbering = terms->numbering;
  const Node *system = numbered_node(numbering, args[0]);
  Iterated iterated = {.system = args[0],
                       .from = count_of(numbering, args[1]),
                       .count = count_of(numbering, args[2]),
                       .num_state = system->num_args,
                       .num_outer = system->detail / 2,
                       .state = args + 3,
                       .outer = args + 3 + system->num_args};
  return iterate(terms, &iterated);
}

ValueNumber loop_element(Terms *terms, const LoopSteps *steps, uint32_t element,
                         const Linear *trips) {
  ArenaMark mark = arena_mark(terms->scratch);
  Closing closing = {.terms = terms, .depth = steps->depth, .time = steps->time};
  ValueNumber result = NO_ID;
  ValueNumber system = system_make(&closing, steps->next, steps->num_elements, element);
  if (system != NO_ID) {
    ValueNumber *state = arena_array(terms->scratch, ValueNumber, closing.state.len);
    for (uint32_t i = 0; i < closing.state.len; i++)
      state[i] = steps->first[closing.state.data[i]];
    Iterated iterated = {.system = system,
                         .from = closing.shift,
                         .count = *trips,
                         .num_state = closing.state.len,
                         .num_outer = closing.outer.len,
                         .state = state,
                         .outer = closing.outer.data};
    result = iterate(terms, &iterated);
  }
  arena_reset(terms->scratch, mark);
  return result;
}
