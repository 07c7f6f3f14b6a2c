/* Simplifies operations on numbered values: scalars of integers by their linear forms, predicates
 * that are known, and slices. Everything else is numbered as it is. */
#include "ir/chars.h"
#include "remat/verify/terms.h"

Terms terms_make(Numbering *numbering, uint64_t max_steps, Arena *out, Arena *scratch) {
  return (Terms){.numbering = numbering, .arena = out, .scratch = scratch, .steps_left = max_steps};
}

/* ---- opcodes ---- */

/* The operations that are simplified. */
static const uint16_t known_opcodes[] = {
    OPCODE_ADD,       OPCODE_SUBTRACT,      OPCODE_MULTIPLY,
    OPCODE_NEGATE,    OPCODE_CONVERT,       OPCODE_COMPARE,
    OPCODE_SELECT,    OPCODE_CLAMP,         OPCODE_MINIMUM,
    OPCODE_MAXIMUM,   OPCODE_BROADCAST,     OPCODE_AND,
    OPCODE_OR,        OPCODE_NOT,           OPCODE_DIVIDE,
    OPCODE_REMAINDER, OPCODE_SLICE,         OPCODE_RESHAPE,
    OPCODE_CONSTANT,  OPCODE_DYNAMIC_SLICE, OPCODE_DYNAMIC_UPDATE_SLICE,
    OPCODE_WHILE,     OPCODE_CONCATENATE,   OPCODE_TRANSPOSE,
};

static Opcode find_opcode(Str text) {
  uint32_t len = 0;
  while (len < text.len && text.data[len] != '(')
    len++;
  if (len == text.len) return NUM_OPCODES;
  for (size_t i = 0; i < sizeof known_opcodes / sizeof *known_opcodes; i++) {
    if (str_is((Str){text.data, len}, opcode_text((Opcode)known_opcodes[i]))) {
      return (Opcode)known_opcodes[i];
    }
  }
  return NUM_OPCODES;
}

static Opcode opcode_of_text(Terms *terms, uint32_t text) {
  while (terms->opcodes.len <= text) {
    Str next = terms->numbering->texts.data[terms->opcodes.len];
    *vec_push(terms->arena, &terms->opcodes) = (uint16_t)find_opcode(next);
  }
  return (Opcode)terms->opcodes.data[text];
}

Opcode term_opcode(Terms *terms, ValueNumber value) {
  const Node *node = numbered_node(terms->numbering, value);
  return node->kind == NODE_OPERATION ? opcode_of_text(terms, node->detail) : NUM_OPCODES;
}

static Str text_of(const Terms *terms, uint32_t text) {
  return terms->numbering->texts.data[text];
}

/* What follows `name`, such as ", direction=", in the attributes of an operation's text; empty if
 * it has none. Other attributes, such as a backend_config, may come first. */
static Str find_attribute(Str text, const char *name) {
  uint32_t len = (uint32_t)strlen(name), depth = 0;
  bool is_quoted = false;
  for (uint32_t i = 0; i < text.len; i++) {
    char c = text.data[i];
    if (is_quoted) {
      is_quoted = c != '"';
      i += c == '\\';
      continue;
    }
    is_quoted = c == '"';
    bool is_here = depth == 0 && text.len - i >= len && memcmp(text.data + i, name, len) == 0;
    if (is_here) return (Str){text.data + i + len, text.len - i - len};
    if (c == '{') depth++;
    if (c == '}' && depth) depth--;
  }
  return (Str){0};
}

/* ---- predicates ---- */

bool term_is_known_pred(const Terms *terms, ValueNumber value, bool *known) {
  const Node *node = numbered_node(terms->numbering, value);
  if (node->kind != NODE_OPERATION || node->num_args) return false;
  const Shape *shape = shape_get(&terms->numbering->shapes, node->shape);
  if (!shape_is_scalar(shape) || shape->type != TYPE_PRED) return false;
  Str text = text_of(terms, node->detail);
  *known = str_is(text, "constant(true");
  return *known || str_is(text, "constant(false");
}

static ValueNumber number_pred(Terms *terms, ShapeId shape, bool value) {
  Str text = value ? STR("constant(true") : STR("constant(false");
  return number_operation(terms->numbering, shape, number_text(terms->numbering, text), NULL, 0);
}

static bool is_scalar_pred(const Terms *terms, ShapeId id) {
  const Shape *shape = shape_get(&terms->numbering->shapes, id);
  return shape_is_scalar(shape) && shape->type == TYPE_PRED;
}

static ValueNumber fold_logic(Terms *terms, Opcode opcode, ShapeId shape, const ValueNumber *args) {
  bool a, b;
  if (!is_scalar_pred(terms, shape)) return NO_ID;
  bool knows_a = term_is_known_pred(terms, args[0], &a);
  if (opcode == OPCODE_NOT) return knows_a ? number_pred(terms, shape, !a) : NO_ID;
  bool knows_b = term_is_known_pred(terms, args[1], &b), neutral = opcode == OPCODE_AND;
  if (knows_a) return a == neutral ? args[1] : args[0];
  if (knows_b) return b == neutral ? args[0] : args[1];
  return NO_ID;
}

int compare_direction(Str text) {
  static const char *const directions[] = {
      [DIRECTION_EQ] = "EQ", [DIRECTION_NE] = "NE", [DIRECTION_GE] = "GE",
      [DIRECTION_GT] = "GT", [DIRECTION_LE] = "LE", [DIRECTION_LT] = "LT",
  };
  Str direction = find_attribute(text, ", direction=");
  if (direction.len < 2 || find_opcode(text) != OPCODE_COMPARE) return -1;
  for (int i = 0; i < (int)(sizeof directions / sizeof *directions); i++) {
    if (memcmp(direction.data, directions[i], 2) == 0) return i;
  }
  return -1;
}

/* Whether a difference with 0 always has this direction, or never. */
static bool is_decided(int direction, ValueRange range, bool *result) {
  bool below = direction == DIRECTION_LT || direction == DIRECTION_LE || direction == DIRECTION_NE;
  bool above = direction == DIRECTION_GT || direction == DIRECTION_GE || direction == DIRECTION_NE;
  bool equal = direction == DIRECTION_EQ || direction == DIRECTION_LE || direction == DIRECTION_GE;
  bool has[] = {range.low < 0, range.low <= 0 && range.high >= 0, range.high > 0};
  bool gives[] = {below, equal, above}, can_be_true = false, can_be_false = false;
  for (int k = 0; k < 3; k++) {
    can_be_true |= has[k] && gives[k];
    can_be_false |= has[k] && !gives[k];
  }
  *result = can_be_true;
  return direction >= 0 && can_be_true != can_be_false;
}

static ValueNumber fold_compare(Terms *terms, ShapeId shape, uint32_t text,
                                const ValueNumber *args) {
  Linear a, b;
  bool result;
  if (!is_scalar_pred(terms, shape) || !linear_of_value(terms->numbering, args[0], &a) ||
      !linear_of_value(terms->numbering, args[1], &b) || !linear_add(&a, &b, -1)) {
    return NO_ID;
  }
  ValueRange range = linear_range(terms->numbering, &a);
  if (!range_is_known(range)) return NO_ID;
  if (!is_decided(compare_direction(text_of(terms, text)), range, &result)) return NO_ID;
  return number_pred(terms, shape, result);
}

/* ---- integers ---- */

/* Whether a <= b for all values of the symbols. */
static bool is_at_most(const Terms *terms, const Linear *a, const Linear *b) {
  Linear difference = *b;
  if (!linear_add(&difference, a, -1)) return false;
  ValueRange range = linear_range(terms->numbering, &difference);
  return range_is_known(range) && range.low >= 0;
}

/* Of a form that is at least 0, the quotient and the remainder of a division by a constant: the
 * terms that are multiples of it, and the others, if these are always smaller than it. */
static bool divide_form(const Terms *terms, const Linear *form, int64_t divisor, Linear *quotient,
                        Linear *remainder) {
  Linear zero = linear_constant(0), last = linear_constant(divisor - 1);
  if (divisor < 1 || form->constant < 0 || !is_at_most(terms, &zero, form)) return false;
  *quotient = linear_constant(form->constant / divisor);
  *remainder = linear_constant(form->constant % divisor);
  for (uint32_t i = 0; i < form->num_terms; i++) {
    Linear symbol = linear_symbol(form->terms[i].symbol);
    int64_t factor = form->terms[i].factor;
    bool is_multiple = factor % divisor == 0;
    linear_add(is_multiple ? quotient : remainder, &symbol,
               is_multiple ? factor / divisor : factor);
  }
  return is_at_most(terms, &zero, remainder) && is_at_most(terms, remainder, &last);
}

static bool fold_binary(const Terms *terms, Opcode opcode, const Linear *a, const Linear *b,
                        Linear *result) {
  Linear other;
  *result = *a;
  switch (opcode) {
    case OPCODE_ADD: return linear_add(result, b, 1);
    case OPCODE_SUBTRACT: return linear_add(result, b, -1);
    case OPCODE_MULTIPLY: {
      if (a->num_terms && b->num_terms) return false;
      const Linear *form = a->num_terms ? a : b, *factor = a->num_terms ? b : a;
      *result = linear_constant(0);
      return linear_add(result, form, factor->constant);
    }
    case OPCODE_MINIMUM:
      if (is_at_most(terms, a, b)) return true;
      *result = *b;
      return is_at_most(terms, b, a);
    case OPCODE_MAXIMUM:
      if (is_at_most(terms, b, a)) return true;
      *result = *b;
      return is_at_most(terms, a, b);
    case OPCODE_DIVIDE:
      return b->num_terms == 0 && divide_form(terms, a, b->constant, result, &other);
    case OPCODE_REMAINDER:
      return b->num_terms == 0 && divide_form(terms, a, b->constant, &other, result);
    default: return false;
  }
}

static bool fold_clamp(const Terms *terms, const Linear *low, const Linear *form,
                       const Linear *high, Linear *result) {
  if (!is_at_most(terms, low, high)) return false;
  *result = *form;
  if (is_at_most(terms, low, form) && is_at_most(terms, form, high)) return true;
  *result = *low;
  if (is_at_most(terms, form, low)) return true;
  *result = *high;
  return is_at_most(terms, high, form);
}

static bool is_integer_scalar(const Terms *terms, ShapeId id) {
  const Shape *shape = shape_get(&terms->numbering->shapes, id);
  if (!shape_is_array(shape) || !shape_is_effective_scalar(shape)) return false;
  uint8_t class = type_info((ElementType)shape->type)->class;
  return class == TYPE_CLASS_SINT || class == TYPE_CLASS_UINT;
}

static ValueNumber fold_integer(Terms *terms, Opcode opcode, ShapeId shape, const ValueNumber *args,
                                uint32_t count) {
  Linear forms[3], result;
  if (count == 0 || count > 3 || !is_integer_scalar(terms, shape)) return NO_ID;
  for (uint32_t i = 0; i < count; i++) {
    if (!linear_of_value(terms->numbering, args[i], &forms[i])) return NO_ID;
  }
  bool is_known = false;
  switch (opcode) {
    case OPCODE_CONVERT:
    case OPCODE_BROADCAST:
      result = forms[0];
      is_known = true;
      break;
    case OPCODE_NEGATE:
      result = linear_constant(0);
      is_known = linear_add(&result, &forms[0], -1);
      break;
    case OPCODE_CLAMP:
      is_known = fold_clamp(terms, &forms[0], &forms[1], &forms[2], &result);
      break;
    default: is_known = count == 2 && fold_binary(terms, opcode, &forms[0], &forms[1], &result);
  }
  if (!is_known || !linear_fits(terms->numbering, shape, &result)) return NO_ID;
  return number_linear(terms->numbering, shape, &result);
}

/* ---- slices ---- */

/* Writes starts in one way: as s64 where they are known, and 0 where there is only one place. */
static void normalize_starts(Terms *terms, const Shape *whole, const Shape *part,
                             ValueNumber *starts) {
  Linear zero = linear_constant(0), form;
  for (uint32_t i = 0; i < whole->rank; i++) {
    if (whole->dims[i] == part->dims[i]) {
      starts[i] = number_count(terms->numbering, &zero);
    } else if (linear_of_value(terms->numbering, starts[i], &form)) {
      starts[i] = number_count(terms->numbering, &form);
    }
  }
}

static const Shape *shape_of(const Terms *terms, ValueNumber value) {
  return shape_get(&terms->numbering->shapes, numbered_node(terms->numbering, value)->shape);
}

/* Whether `inner` is a part of `slice`, a slice of an array that it has all of along the dimensions
 * in which `slice` is smaller than the array. */
static bool is_part_of_slice(const Shape *whole, const Shape *slice, const Shape *inner) {
  if (!shape_is_array(slice) || slice->rank != whole->rank || slice->rank != inner->rank ||
      slice->type != inner->type || slice->has_dynamic)
    return false;
  for (uint32_t i = 0; i < whole->rank; i++) {
    bool is_along = slice->dims[i] != whole->dims[i];
    if (inner->dims[i] > slice->dims[i] || (is_along && inner->dims[i] != slice->dims[i]))
      return false;
  }
  return true;
}

static ValueNumber fold_dynamic(Terms *terms, Opcode opcode, ShapeId shape, uint32_t text,
                                const ValueNumber *args, uint32_t count);

/* A part of a slice that is known. Where the slice is smaller than the array, its starts are said
 * already, and the part has all of it. */
static ValueNumber part_of(Terms *terms, ShapeId shape, uint32_t text, const ValueNumber *args,
                           uint32_t count, ValueNumber slice) {
  ArenaMark mark = arena_mark(terms->scratch);
  ValueNumber *within = arena_array(terms->scratch, ValueNumber, count);
  memcpy(within, args, count * sizeof *within);
  within[0] = slice;
  ValueNumber result = fold_dynamic(terms, OPCODE_DYNAMIC_SLICE, shape, text, within, count);
  arena_reset(terms->scratch, mark);
  return result;
}

/* The update, or a part of it, if the slice is what a dynamic-update-slice has written at the same
 * place; else NO_ID. Both clamp their starts alike. */
static ValueNumber slice_just_written(Terms *terms, ShapeId shape, uint32_t text,
                                      const ValueNumber *args, uint32_t count) {
  if (term_opcode(terms, args[0]) != OPCODE_DYNAMIC_UPDATE_SLICE) return NO_ID;
  const Node *node = numbered_node(terms->numbering, args[0]);
  const ValueNumber *written = node_args(terms->numbering, args[0]);
  if (node->num_args != count + 1) return NO_ID;
  const Shape *whole = shape_of(terms, args[0]), *slice = shape_of(terms, written[1]);
  const Shape *inner = shape_get(&terms->numbering->shapes, shape);
  if (!is_part_of_slice(whole, slice, inner)) return NO_ID;
  for (uint32_t i = 0; i < whole->rank; i++) {
    if (slice->dims[i] != whole->dims[i] && written[2 + i] != args[1 + i]) return NO_ID;
  }
  return part_of(terms, shape, text, args, count, written[1]);
}

/* A part of what an iteration of a loop has stacked. */
static ValueNumber part_of_stack(Terms *terms, ShapeId shape, uint32_t text,
                                 const ValueNumber *args, uint32_t count) {
  ShapeId written = shape_written(terms, args[0]);
  if (written == NO_ID) return NO_ID;
  const ShapeTable *shapes = &terms->numbering->shapes;
  if (!is_part_of_slice(shape_of(terms, args[0]), shape_get(shapes, written),
                        shape_get(shapes, shape)))
    return NO_ID;
  ValueNumber slice = slice_of_stack(terms, written, args[0], args + 1);
  return slice == NO_ID ? NO_ID : part_of(terms, shape, text, args, count, slice);
}

/* A part of an array, and the same bytes as a part of a view of the array. */
typedef struct ViewPart {
  uint32_t array_dim, view_dim; /* along which the part is smaller than the whole */
  ShapeId array_part, view_part;
} ViewPart;

/* The only dimension in which two shapes of the same rank differ; false if there is none. */
static bool find_cut_dim(const Shape *whole, const Shape *part, uint32_t *dim) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < whole->rank; i++) {
    if (whole->dims[i] == part->dims[i]) continue;
    *dim = i;
    found++;
  }
  return found == 1;
}

/* Whether `part` is cut out of the view `view` of an array along a dimension whose slices have the
 * bytes of slices of the array. */
static bool find_view_part(Numbering *numbering, ShapeId array, ShapeId view, ShapeId part,
                           ViewPart *found, Arena *scratch) {
  const Shape *of = shape_get(&numbering->shapes, array);
  const Shape *to = shape_get(&numbering->shapes, view);
  const Shape *cut = shape_get(&numbering->shapes, part);
  bool is_logical = to->compatible == view;
  if (!shape_is_array(cut) || cut->rank != to->rank || cut->type != to->type || cut->has_dynamic ||
      !find_cut_dim(to, cut, &found->view_dim) ||
      !shape_dim_in_view(to, found->view_dim, of, &found->array_dim) ||
      !(is_logical || shape_same_layout(cut, to)))
    return false;
  found->array_part = shape_with_dim(&numbering->shapes, array, found->array_dim,
                                     cut->dims[found->view_dim], scratch);
  found->view_part = is_logical ? shape_get(&numbering->shapes, part)->compatible : part;
  return true;
}

/* A slice, or an update, of a view of an array, along a dimension of both: the view of a slice, or
 * of an update, of that array. NO_ID if that is not certain. */
static ValueNumber fold_view(Terms *terms, Opcode opcode, ShapeId shape, uint32_t text,
                             const ValueNumber *args) {
  Numbering *numbering = terms->numbering;
  Node view = *numbered_node(numbering, args[0]);
  if (view.kind != NODE_BITCAST || view.shape == NO_ID) return NO_ID;
  ValueNumber array = node_args(numbering, args[0])[0];
  bool is_slice = opcode == OPCODE_DYNAMIC_SLICE;
  uint32_t first = is_slice ? 1 : 2;
  ViewPart part;
  ArenaMark mark = arena_mark(terms->scratch);
  ShapeId cut = is_slice ? shape : numbered_node(numbering, args[1])->shape;
  ValueNumber result = NO_ID;
  if (find_view_part(numbering, view.detail, view.shape, cut, &part, terms->scratch)) {
    uint32_t rank = shape_get(&numbering->shapes, view.detail)->rank;
    ValueNumber *moved = arena_array(terms->scratch, ValueNumber, (size_t)first + rank);
    Linear zero = linear_constant(0);
    moved[0] = array;
    if (!is_slice) moved[1] = number_bitcast(numbering, part.array_part, part.view_part, args[1]);
    for (uint32_t i = 0; i < rank; i++) {
      bool is_along = i == part.array_dim;
      moved[first + i] = is_along ? args[first + part.view_dim] : number_count(numbering, &zero);
    }
    ShapeId from = is_slice ? part.array_part : view.detail;
    ShapeId to = is_slice ? part.view_part : view.shape;
    result = fold_dynamic(terms, opcode, from, text, moved, first + rank);
    result = number_bitcast(numbering, to, from, result);
  }
  arena_reset(terms->scratch, mark);
  return result;
}

/* A slice of a transposed array is the transposed slice of the array. NO_ID if it is none. */
static ValueNumber fold_transposed(Terms *terms, ShapeId shape, uint32_t text,
                                   const ValueNumber *args, uint32_t count) {
  Numbering *numbering = terms->numbering;
  if (term_opcode(terms, args[0]) != OPCODE_TRANSPOSE) return NO_ID;
  Node made = *numbered_node(numbering, args[0]);
  ValueNumber array = node_args(numbering, args[0])[0];
  Str dims = find_attribute(text_of(terms, made.detail), ", dimensions={");
  uint32_t rank = count - 1, dim, pos = 0;
  const Shape *part = shape_get(&numbering->shapes, shape);
  if (!find_cut_dim(shape_of(terms, args[0]), part, &dim)) return NO_ID;
  ArenaMark mark = arena_mark(terms->scratch);
  ValueNumber *moved = arena_array(terms->scratch, ValueNumber, count), result = NO_ID;
  uint32_t from = NO_ID;
  moved[0] = array;
  for (uint32_t i = 0; i < rank && pos < dims.len; i++, pos++) {
    uint32_t read = 0;
    while (pos < dims.len && char_is_digit(dims.data[pos]) && read < rank)
      read = 10 * read + (uint32_t)(dims.data[pos++] - '0');
    if (read >= rank) break;
    moved[1 + read] = args[1 + i];
    if (i == dim) from = read;
  }
  if (from != NO_ID) {
    ShapeId cut = shape_with_dim(&numbering->shapes, numbered_node(numbering, array)->shape, from,
                                 part->dims[dim], terms->scratch);
    ValueNumber slice = fold_dynamic(terms, OPCODE_DYNAMIC_SLICE, cut, text, moved, count);
    ShapeId whole =
        shape_with_dim(&numbering->shapes, made.shape, dim, part->dims[dim], terms->scratch);
    result = number_operation(numbering, whole, made.detail, &slice, 1);
  }
  arena_reset(terms->scratch, mark);
  return result;
}

static ValueNumber fold_dynamic(Terms *terms, Opcode opcode, ShapeId shape, uint32_t text,
                                const ValueNumber *args, uint32_t count) {
  bool is_slice = opcode == OPCODE_DYNAMIC_SLICE;
  uint32_t first = is_slice ? 1 : 2;
  if (count < first) return NO_ID;
  const Shape *whole = shape_of(terms, args[0]);
  const Shape *part =
      is_slice ? shape_get(&terms->numbering->shapes, shape) : shape_of(terms, args[1]);
  if (!shape_is_array(whole) || !shape_is_array(part)) return NO_ID;
  if (whole->rank != part->rank || count != first + whole->rank) return NO_ID;
  if (whole->has_dynamic || part->has_dynamic) return NO_ID;
  if (memcmp(whole->dims, part->dims, whole->rank * sizeof *whole->dims) == 0)
    return is_slice ? args[0] : args[1]; /* starts are clamped to 0 */
  ValueNumber viewed = fold_view(terms, opcode, shape, text, args);
  if (viewed == NO_ID && is_slice) viewed = fold_transposed(terms, shape, text, args, count);
  if (viewed != NO_ID) return viewed;
  ArenaMark mark = arena_mark(terms->scratch);
  ValueNumber *written = arena_array(terms->scratch, ValueNumber, count);
  memcpy(written, args, count * sizeof *written);
  normalize_starts(terms, whole, part, written + first);
  ValueNumber result = NO_ID;
  if (is_slice) result = slice_just_written(terms, shape, text, written, count);
  if (is_slice && result == NO_ID) result = part_of_stack(terms, shape, text, written, count);
  if (result == NO_ID && terms->unrolls)
    result = fold_pieces(terms, opcode, shape, text, written, count, NULL);
  if (result == NO_ID) result = number_operation(terms->numbering, shape, text, written, count);
  arena_reset(terms->scratch, mark);
  return result;
}

/* Reads the starts of `slice={[5:6],[0:16]}`. False if it has strides. */
static bool read_starts(Str text, int64_t *starts, uint32_t rank) {
  text = find_attribute(text, ", slice={");
  uint32_t pos = 0;
  if (text.len == 0) return false;
  for (uint32_t i = 0; i < rank; i++) {
    while (pos < text.len && text.data[pos] != '[')
      pos++;
    starts[i] = 0;
    for (pos++; pos < text.len && char_is_digit(text.data[pos]); pos++) {
      if (!mul_bytes(starts[i], 10, &starts[i]) ||
          !add_bytes(starts[i], text.data[pos] - '0', &starts[i])) {
        return false;
      }
    }
    if (pos >= text.len || text.data[pos++] != ':') return false;
    while (pos < text.len && char_is_digit(text.data[pos]))
      pos++;
    if (pos >= text.len || text.data[pos] != ']') return false;
  }
  return true;
}

static ValueNumber fold_slice(Terms *terms, ShapeId shape, uint32_t text, ValueNumber operand) {
  bool is_iterated = numbered_node(terms->numbering, operand)->kind == NODE_ITERATED;
  if (!is_iterated && !terms->unrolls) return NO_ID;
  uint32_t rank = shape_of(terms, operand)->rank;
  ArenaMark mark = arena_mark(terms->scratch);
  int64_t *numbers = arena_array(terms->scratch, int64_t, rank);
  ValueNumber *starts = arena_array(terms->scratch, ValueNumber, rank), result = NO_ID;
  if (read_starts(text_of(terms, text), numbers, rank)) {
    for (uint32_t i = 0; i < rank; i++) {
      Linear form = linear_constant(numbers[i]);
      starts[i] = number_count(terms->numbering, &form);
    }
    if (is_iterated) result = slice_of_stack(terms, shape, operand, starts);
    if (result == NO_ID && terms->unrolls)
      result = fold_pieces(terms, OPCODE_SLICE, shape, text, &operand, 1, numbers);
  }
  arena_reset(terms->scratch, mark);
  return result;
}

/* ---- reshapes ---- */

/* Whether all elements lie in one row of tiles, of which the last one is not full, such as those of
 * `f32[64]{0:T(128)}` and `f32[1,64,1]{1,2,0:T(1,128)}`: what pads the row comes behind them. A
 * single element comes first in tiles of any kind. Rows of full tiles are compared by their bytes,
 * as other shapes are, which may be matrices. */
static bool is_padded_row(const Shape *shape) {
  const LayoutExtras *extras = shape->extras;
  bool has_tile = extras->num_tile_words && extras->num_tile_words == 1 + extras->tile_words[0];
  if (extras->tail_padding != 1 || extras->element_bits || extras->metadata_prefix ||
      extras->num_split_words)
    return false;
  for (uint32_t i = 1; i < shape->rank; i++) {
    if (shape->dims[shape_minor_dim(shape, i)] != 1) return false;
  }
  int64_t count = shape->rank ? shape->dims[shape_minor_dim(shape, 0)] : 1;
  if (count == 1) return true;
  for (uint32_t i = 1; i + 1 < extras->num_tile_words; i++) {
    if (extras->tile_words[i] != 1) return false;
  }
  int64_t in_tile = has_tile ? extras->tile_words[extras->num_tile_words - 1] : 0;
  return in_tile > 0 && count % in_tile != 0;
}

bool elements_are_in_order(const Shape *shape) {
  if (!shape_is_array(shape) || shape->has_dynamic) return false;
  if (shape->extras) return is_padded_row(shape);
  if (!shape->minor_to_major) return true;
  int64_t last = INT64_MAX;
  for (uint32_t i = 0; i < shape->rank; i++) {
    int64_t dimension = shape->minor_to_major[i];
    if (shape->dims[dimension] == 1) continue;
    if (dimension > last) return false;
    last = dimension;
  }
  return true;
}

ValueNumber fold_reshape(Terms *terms, bool is_bitcast, ShapeId shape, ShapeId from, uint32_t text,
                         ValueNumber operand) {
  Numbering *numbering = terms->numbering;
  const Shape *to = shape_get(&numbering->shapes, shape);
  const Shape *of = shape_get(&numbering->shapes, from);
  Linear form;
  bool is_static = shape_is_array(to) && shape_is_array(of) && !to->has_dynamic &&
                   !of->has_dynamic && to->type == of->type && to->num_elements == of->num_elements;
  if (is_static && is_integer_scalar(terms, shape) && linear_of_value(numbering, operand, &form)) {
    return number_linear(numbering, shape, &form);
  }
  if (is_static && (!is_bitcast || (elements_are_in_order(to) && elements_are_in_order(of)))) {
    ValueNumber same = number_bitcast(numbering, to->compatible, of->compatible, operand);
    if (!terms->unrolls) return same;
    ValueNumber pieces = fold_pieces(terms, OPCODE_RESHAPE, shape, text, &same, 1, NULL);
    return pieces != NO_ID ? pieces : same;
  }
  if (is_bitcast) return number_bitcast(numbering, shape, from, operand);
  return number_operation(numbering, shape, text, &operand, 1);
}

/* ---- all operations ---- */

static ValueNumber fold(Terms *terms, ShapeId shape, uint32_t text, const ValueNumber *args,
                        uint32_t count) {
  bool known;
  Opcode opcode = opcode_of_text(terms, text);
  switch (opcode) {
    case NUM_OPCODES:
    case OPCODE_CONSTANT:
    case OPCODE_WHILE:
    case OPCODE_TRANSPOSE:
    case OPCODE_RESHAPE: return NO_ID;
    case OPCODE_COMPARE: return fold_compare(terms, shape, text, args);
    case OPCODE_AND:
    case OPCODE_OR:
    case OPCODE_NOT: return fold_logic(terms, opcode, shape, args);
    case OPCODE_SELECT:
      return term_is_known_pred(terms, args[0], &known) ? args[known ? 1 : 2]
                                                        : fold_edge(terms, shape, text, args);
    case OPCODE_DYNAMIC_SLICE:
    case OPCODE_DYNAMIC_UPDATE_SLICE: return fold_dynamic(terms, opcode, shape, text, args, count);
    case OPCODE_SLICE: return fold_slice(terms, shape, text, args[0]);
    case OPCODE_CONCATENATE:
      return terms->unrolls ? fold_pieces(terms, opcode, shape, text, args, count, NULL) : NO_ID;
    default: return fold_integer(terms, opcode, shape, args, count);
  }
}

ValueNumber fold_operation(Terms *terms, ShapeId shape, uint32_t text, const ValueNumber *args,
                           uint32_t count) {
  ValueNumber value = fold(terms, shape, text, args, count);
  return value != NO_ID ? value : number_operation(terms->numbering, shape, text, args, count);
}
