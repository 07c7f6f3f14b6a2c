#include "remat/verify/linear.h"

#include <stdio.h>

#include "ir/chars.h"

bool linear_add(Linear *sum, const Linear *other, int64_t factor) {
  Linear result = {.constant = sum->constant};
  int64_t part;
  if (!mul_bytes(other->constant, factor, &part) ||
      !add_bytes(result.constant, part, &result.constant)) {
    return false;
  }
  uint32_t i = 0, k = 0;
  while (i < sum->num_terms || k < other->num_terms) {
    LinearTerm term;
    bool has_left = i < sum->num_terms, has_right = k < other->num_terms;
    if (has_left && (!has_right || sum->terms[i].symbol < other->terms[k].symbol)) {
      term = sum->terms[i++];
    } else {
      if (!mul_bytes(other->terms[k].factor, factor, &part)) return false;
      term = (LinearTerm){other->terms[k].symbol, part};
      if (has_left && sum->terms[i].symbol == term.symbol) {
        if (!add_bytes(sum->terms[i++].factor, part, &term.factor)) return false;
      }
      k++;
    }
    if (term.factor == 0) continue;
    if (result.num_terms == MAX_LINEAR_TERMS) return false;
    result.terms[result.num_terms++] = term;
  }
  *sum = result;
  return true;
}

int64_t linear_factor(const Linear *form, ValueNumber symbol) {
  for (uint32_t i = 0; i < form->num_terms; i++) {
    if (form->terms[i].symbol == symbol) return form->terms[i].factor;
  }
  return 0;
}

bool linear_equal(const Linear *a, const Linear *b) {
  if (a->constant != b->constant || a->num_terms != b->num_terms) return false;
  for (uint32_t i = 0; i < a->num_terms; i++) {
    if (a->terms[i].symbol != b->terms[i].symbol || a->terms[i].factor != b->terms[i].factor) {
      return false;
    }
  }
  return true;
}

static bool divides(int64_t divisor, int64_t value) {
  if (divisor == 0 || (divisor == -1 && value == INT64_MIN)) return false;
  return value % divisor == 0;
}

bool linear_divide(Linear *form, int64_t divisor) {
  if (!divides(divisor, form->constant)) return false;
  for (uint32_t i = 0; i < form->num_terms; i++) {
    if (!divides(divisor, form->terms[i].factor)) return false;
  }
  form->constant /= divisor;
  for (uint32_t i = 0; i < form->num_terms; i++)
    form->terms[i].factor /= divisor;
  return true;
}

ValueRange linear_range(const Numbering *numbering, const Linear *form) {
  ValueRange range = {form->constant, form->constant};
  for (uint32_t i = 0; i < form->num_terms; i++) {
    const Node *node = numbered_node(numbering, form->terms[i].symbol);
    if (node->kind != NODE_TIME || node->depth == 0) return UNKNOWN_RANGE;
    int64_t factor = form->terms[i].factor, end;
    if (!mul_bytes(factor, time_trips(numbering, form->terms[i].symbol) - 1, &end)) {
      return UNKNOWN_RANGE;
    }
    if (!add_bytes(range.low, end < 0 ? end : 0, &range.low) ||
        !add_bytes(range.high, end > 0 ? end : 0, &range.high)) {
      return UNKNOWN_RANGE;
    }
  }
  return range;
}

/* ---- values ---- */

/* Reads the text of a constant with one element: `constant(5`, `constant({{-5}}`. */
static bool read_constant(Str text, int64_t *value) {
  static const char opcode[] = "constant(";
  uint32_t pos = sizeof opcode - 1, end = text.len;
  if (text.len <= pos || memcmp(text.data, opcode, pos) != 0) return false;
  while (pos < end && text.data[pos] == '{')
    pos++;
  while (end > pos && text.data[end - 1] == '}')
    end--;
  bool is_negative = pos < end && text.data[pos] == '-';
  if (is_negative) pos++;
  if (pos == end) return false;
  for (*value = 0; pos < end; pos++) {
    if (!char_is_digit(text.data[pos]) || !mul_bytes(*value, 10, value)) return false;
    int digit = text.data[pos] - '0';
    if (!add_bytes(*value, is_negative ? -digit : digit, value)) return false;
  }
  return true;
}

static bool is_integer_scalar(const Numbering *numbering, ShapeId id) {
  const Shape *shape = shape_get(&numbering->shapes, id);
  if (!shape_is_array(shape) || !shape_is_effective_scalar(shape)) return false;
  uint8_t class = type_info((ElementType)shape->type)->class;
  return class == TYPE_CLASS_SINT || class == TYPE_CLASS_UINT;
}

static int64_t word(const uint32_t *args) {
  return (int64_t)((uint64_t)args[1] << 32 | args[0]);
}

bool linear_of_node(const Numbering *numbering, ValueNumber value, Linear *form) {
  const Node *node = numbered_node(numbering, value);
  if (node->kind == NODE_TIME) {
    *form = linear_symbol(value);
    return true;
  }
  if (node->kind == NODE_OPERATION && node->num_args == 0) {
    *form = linear_constant(0);
    return is_integer_scalar(numbering, node->shape) &&
           read_constant(numbering->texts.data[node->detail], &form->constant);
  }
  if (node->kind != NODE_LINEAR) return false;
  const uint32_t *args = node_args(numbering, value);
  *form = (Linear){.constant = word(args), .num_terms = node_num_values(node)};
  for (uint32_t i = 0; i < form->num_terms; i++) {
    const uint32_t *term = args + node_value_arg(node, i);
    form->terms[i] = (LinearTerm){term[0], word(term + 1)};
  }
  return true;
}

bool linear_fits(const Numbering *numbering, ShapeId shape, const Linear *form) {
  ValueRange type = range_of_type((ElementType)shape_get(&numbering->shapes, shape)->type);
  ValueRange range = linear_range(numbering, form);
  return range_is_known(type) && range_is_known(range) && range_contains(type, range);
}

bool linear_of_value(const Numbering *numbering, ValueNumber value, Linear *form) {
  ShapeId shape = numbered_node(numbering, value)->shape;
  return linear_of_node(numbering, value, form) && linear_fits(numbering, shape, form);
}

/* A constant as its instruction has it. */
static ValueNumber number_constant(Numbering *numbering, ShapeId id, int64_t value) {
  char text[128];
  uint32_t rank = shape_get(&numbering->shapes, id)->rank;
  if (rank > 32) rank = 32;
  int len = snprintf(text, sizeof text, "constant(%.*s%lld%.*s", (int)rank,
                     "{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{", (long long)value, (int)rank,
                     "}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}");
  return number_operation(numbering, id, number_text(numbering, (Str){text, (uint32_t)len}), NULL,
                          0);
}

/* ORDER node_num_values */
ValueNumber number_linear(Numbering *numbering, ShapeId shape, const Linear *form) {
  if (form->num_terms == 0 && linear_fits(numbering, shape, form)) {
    return number_constant(numbering, shape, form->constant);
  }
  bool is_symbol = form->num_terms == 1 && form->constant == 0 && form->terms[0].factor == 1;
  if (is_symbol && numbered_node(numbering, form->terms[0].symbol)->shape == shape) {
    return form->terms[0].symbol;
  }
  uint32_t args[2 + 3 * MAX_LINEAR_TERMS], count = 0;
  args[count++] = (uint32_t)form->constant;
  args[count++] = (uint32_t)((uint64_t)form->constant >> 32);
  for (uint32_t i = 0; i < form->num_terms; i++) {
    args[count++] = form->terms[i].symbol;
    args[count++] = (uint32_t)form->terms[i].factor;
    args[count++] = (uint32_t)((uint64_t)form->terms[i].factor >> 32);
  }
  return number_of_kind(numbering, NODE_LINEAR, shape, 0, args, count);
}

ValueNumber number_count(Numbering *numbering, const Linear *form) {
  return number_linear(numbering, numbering->integer, form);
}
