#include "analysis/range/value_range.h"

#include "ir/chars.h"

ValueRange range_join(ValueRange a, ValueRange b) {
  if (!range_is_known(a) || !range_is_known(b)) return UNKNOWN_RANGE;
  return (ValueRange){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

ValueRange range_of_type(ElementType type) {
  const TypeInfo *info = type_info(type);
  unsigned bits = info->bits;
  switch (info->class) {
    case TYPE_CLASS_PRED: return (ValueRange){0, 1};
    case TYPE_CLASS_UINT:
      return bits < 64 ? (ValueRange){0, (INT64_C(1) << bits) - 1} : UNKNOWN_RANGE;
    case TYPE_CLASS_SINT: {
      int64_t high = bits < 64 ? (INT64_C(1) << (bits - 1)) - 1 : INT64_MAX;
      return (ValueRange){-high - 1, high};
    }
    default: return UNKNOWN_RANGE;
  }
}

/* A range of integers that a type represents exactly, without gaps. */
static ValueRange exact_integers(ElementType type) {
  switch (type) {
    case TYPE_U64: return (ValueRange){0, INT64_MAX};
    case TYPE_BF16: return (ValueRange){-(1 << 8), 1 << 8};
    case TYPE_F16: return (ValueRange){-(1 << 11), 1 << 11};
    case TYPE_F32: return (ValueRange){-(1 << 24), 1 << 24};
    case TYPE_F64: return (ValueRange){-(INT64_C(1) << 53), INT64_C(1) << 53};
    default: return range_of_type(type);
  }
}

ValueRange range_fit(ElementType type, ValueRange range) {
  ValueRange exact = exact_integers(type);
  bool fits = range_is_known(exact) && range_contains(exact, range);
  return fits ? range : range_of_type(type);
}

/* ---- arithmetic: unknown when int64_t overflows ---- */

static ValueRange range_add(ValueRange a, ValueRange b) {
  ValueRange sum;
  bool fits = add_bytes(a.low, b.low, &sum.low) && add_bytes(a.high, b.high, &sum.high);
  return fits ? sum : UNKNOWN_RANGE;
}

static ValueRange range_negate(ValueRange a) {
  return a.low == INT64_MIN ? UNKNOWN_RANGE : (ValueRange){-a.high, -a.low};
}

static ValueRange range_subtract(ValueRange a, ValueRange b) {
  ValueRange negated = range_negate(b);
  return range_is_known(negated) ? range_add(a, negated) : UNKNOWN_RANGE;
}

static ValueRange range_multiply(ValueRange a, ValueRange b) {
  const int64_t factors[4][2] = {
      {a.low, b.low}, {a.low, b.high}, {a.high, b.low}, {a.high, b.high}};
  ValueRange product = {INT64_MAX, INT64_MIN};
  for (int i = 0; i < 4; i++) {
    int64_t value;
    if (!mul_bytes(factors[i][0], factors[i][1], &value)) return UNKNOWN_RANGE;
    if (value < product.low) product.low = value;
    if (value > product.high) product.high = value;
  }
  return product;
}

static ValueRange range_minimum(ValueRange a, ValueRange b) {
  return (ValueRange){a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
}

static ValueRange range_maximum(ValueRange a, ValueRange b) {
  return (ValueRange){a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

static ValueRange range_abs(ValueRange a) {
  ValueRange negated = range_negate(a);
  if (a.low >= 0 || !range_is_known(negated)) return a.low >= 0 ? a : UNKNOWN_RANGE;
  if (a.high <= 0) return negated;
  return (ValueRange){0, a.high > negated.high ? a.high : negated.high};
}

static bool has_zero(ValueRange a) {
  return a.low <= 0 && a.high >= 0;
}

/* Division towards zero, by a positive number. */
static ValueRange range_divide(ValueRange a, ValueRange b) {
  if (b.low < 1) return UNKNOWN_RANGE;
  return (ValueRange){a.low / (a.low < 0 ? b.low : b.high), a.high / (a.high < 0 ? b.high : b.low)};
}

/* Remainder of a division by a positive number; it has the sign of the dividend. */
static ValueRange range_remainder(ValueRange a, ValueRange b) {
  if (b.low < 1) return UNKNOWN_RANGE;
  int64_t most = b.high - 1;
  ValueRange rest = {a.low < -most ? -most : a.low, a.high > most ? most : a.high};
  if (a.low >= 0) rest.low = 0;
  if (a.high <= 0) rest.high = 0;
  return rest;
}

/* The number that has a 1 in every bit that some number up to `high` has. */
static int64_t all_bits(int64_t high) {
  int64_t bits = 0;
  while (bits < high)
    bits = bits << 1 | 1;
  return bits;
}

/* `and` only clears bits, so the result is at most the operand that is not negative. */
static ValueRange range_and(ValueRange a, ValueRange b) {
  if (a.low < 0 && b.low < 0) return UNKNOWN_RANGE;
  if (a.low < 0) return (ValueRange){0, b.high};
  if (b.low < 0) return (ValueRange){0, a.high};
  return (ValueRange){0, a.high < b.high ? a.high : b.high};
}

static ValueRange range_or(ValueRange a, ValueRange b) {
  if (a.low < 0 || b.low < 0) return UNKNOWN_RANGE;
  return (ValueRange){0, all_bits(a.high > b.high ? a.high : b.high)};
}

static ValueRange range_shift_right(ValueRange a, ValueRange b, unsigned bits) {
  if (a.low < 0 || b.low < 0 || b.low >= bits) return UNKNOWN_RANGE;
  return (ValueRange){0, a.high >> b.low};
}

/* ---- operations ---- */

/* Backends differ in which bound is applied last, which matters if the lower one is greater. */
static ValueRange of_clamp(const ValueRange *operands) {
  return range_join(range_minimum(range_maximum(operands[1], operands[0]), operands[2]),
                    range_maximum(range_minimum(operands[1], operands[2]), operands[0]));
}

static ValueRange of_sign(ValueRange a) {
  return (ValueRange){a.low < 0 ? -1 : a.low > 0, a.high > 0 ? 1 : a.high < 0 ? -1 : 0};
}

/* Integer operations, whose operands are all known. */
static ValueRange of_integers(Opcode opcode, unsigned bits, const ValueRange *operands) {
  ValueRange a = operands[0], b = operands[1];
  switch (opcode) {
    case OPCODE_ADD: return range_add(a, b);
    case OPCODE_SUBTRACT: return range_subtract(a, b);
    case OPCODE_MULTIPLY: return range_multiply(a, b);
    case OPCODE_DIVIDE: return range_divide(a, b);
    case OPCODE_REMAINDER: return range_remainder(a, b);
    case OPCODE_NEGATE: return range_negate(a);
    case OPCODE_AND: return range_and(a, b);
    case OPCODE_OR:
    case OPCODE_XOR: return range_or(a, b);
    case OPCODE_SHIFT_RIGHT_ARITHMETIC: /* fills with the highest bit, for unsigned types, too */
      if (bits < 64 && a.high >> (bits - 1)) return UNKNOWN_RANGE;
      return range_shift_right(a, b, bits);
    case OPCODE_SHIFT_RIGHT_LOGICAL: return range_shift_right(a, b, bits);
    default: return UNKNOWN_RANGE;
  }
}

/* Floating-point operations, whose operands are all known. The result is unknown if it could be a
 * negative zero, or if some devices compute the operation with an error. */
static ValueRange of_floats(Opcode opcode, const ValueRange *operands) {
  ValueRange a = operands[0], b = operands[1];
  switch (opcode) {
    case OPCODE_ADD: return range_add(a, b);
    case OPCODE_SUBTRACT: return range_subtract(a, b);
    case OPCODE_MULTIPLY:
      if ((a.low < 0 && has_zero(b)) || (b.low < 0 && has_zero(a))) return UNKNOWN_RANGE;
      return range_multiply(a, b);
    case OPCODE_NEGATE: return has_zero(a) ? UNKNOWN_RANGE : range_negate(a);
    case OPCODE_CEIL:
    case OPCODE_FLOOR:
    case OPCODE_ROUND_NEAREST_AFZ:
    case OPCODE_ROUND_NEAREST_EVEN: return a;
    default: return UNKNOWN_RANGE;
  }
}

static ValueRange of_arithmetic(const Module *module, InstId id, const ValueRange *operands) {
  const Instruction *inst = inst_get(module, id);
  const TypeInfo *info = type_info((ElementType)inst_shape(module, id)->type);
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    if (!range_is_known(operands[i])) return UNKNOWN_RANGE;
  }
  switch (inst->opcode) {
    case OPCODE_MINIMUM: return range_minimum(operands[0], operands[1]);
    case OPCODE_MAXIMUM: return range_maximum(operands[0], operands[1]);
    case OPCODE_CLAMP: return of_clamp(operands);
    case OPCODE_ABS: return range_abs(operands[0]);
    case OPCODE_SIGN: return of_sign(operands[0]);
    default: break;
  }
  ValueRange two[2] = {operands[0], operands[inst->num_operands > 1]};
  switch (info->class) {
    case TYPE_CLASS_SINT:
    case TYPE_CLASS_UINT: return of_integers((Opcode)inst->opcode, info->bits, two);
    case TYPE_CLASS_FLOAT: return of_floats((Opcode)inst->opcode, two);
    default: return UNKNOWN_RANGE;
  }
}

/* iota has 0, 1, … along one dimension. */
static ValueRange of_iota(const Module *module, InstId id) {
  const Shape *shape = inst_shape(module, id);
  int64_t dimension = inst_attr_int(module, id, ATTR_IOTA_DIMENSION, 0);
  if (dimension < 0 || dimension >= (int64_t)shape->rank) return UNKNOWN_RANGE;
  int64_t size = shape->dims[dimension];
  return size < 0 ? UNKNOWN_RANGE : (ValueRange){0, size > 0 ? size - 1 : 0};
}

/* The join of `count` operands, beginning with `first`. */
static ValueRange join_of(const Module *module, InstId id, const ValueRange *operands,
                          uint32_t first, uint32_t count) {
  uint8_t type = inst_shape(module, id)->type;
  if (count == 0 || inst_get(module, id)->num_operands < first + count) return UNKNOWN_RANGE;
  ValueRange range = operands[first];
  for (uint32_t i = first; i < first + count; i++) {
    const Shape *shape = inst_shape(module, inst_operand(module, id, i));
    if (!shape_is_array(shape) || shape->type != type) return UNKNOWN_RANGE;
    range = range_join(range, operands[i]);
  }
  return range;
}

/* A bitcast has the same elements, unless it splits or merges them. */
static ValueRange of_bitcast(const Module *module, InstId id, const ValueRange *operands) {
  const Shape *from = inst_shape(module, inst_operand(module, id, 0));
  bool is_same = from->num_elements == inst_shape(module, id)->num_elements;
  return is_same ? join_of(module, id, operands, 0, 1) : UNKNOWN_RANGE;
}

/* ---- a constant's literal ---- */

/* The text of a longer literal is not read. */
enum { MAX_LITERAL_CHARS = 1 << 16 };

typedef struct Reader {
  const char *at, *end;
  bool is_float;
} Reader;

/* Skips blanks, braces, commas and comments. False if a comment does not end. */
static bool skip_to_number(Reader *reader) {
  for (; reader->at < reader->end; reader->at++) {
    if (*reader->at == '/') {
      if (reader->end - reader->at < 4 || reader->at[1] != '*') return false;
      reader->at += 2;
      while (reader->end - reader->at > 1 && !(reader->at[0] == '*' && reader->at[1] == '/'))
        reader->at++;
      if (reader->end - reader->at < 2) return false;
      reader->at++;
    } else if (!strchr(" \t\r\n{},", *reader->at)) {
      break;
    }
  }
  return true;
}

static bool at_word(Reader *reader, const char *word) {
  size_t len = strlen(word);
  if ((size_t)(reader->end - reader->at) < len || memcmp(reader->at, word, len) != 0) return false;
  reader->at += len;
  return true;
}

/* `12`, `-3`, `4.00`, `true`; not `1e3`, `0.5`, `inf`, `-0.0`. */
static bool read_integer(Reader *reader, int64_t *value) {
  bool is_true = at_word(reader, "true");
  *value = is_true;
  if (is_true || at_word(reader, "false")) return true;
  bool is_negative = at_word(reader, "-");
  const char *digits = reader->at;
  for (; reader->at < reader->end && char_is_digit(*reader->at); reader->at++) {
    int64_t digit = *reader->at - '0';
    if (!mul_bytes(*value, 10, value)) return false;
    if (!add_bytes(*value, is_negative ? -digit : digit, value)) return false;
  }
  bool is_number = reader->at > digits;
  if (is_number && reader->at < reader->end && *reader->at == '.') {
    for (reader->at++; reader->at < reader->end && *reader->at == '0'; reader->at++)
      continue;
  }
  bool ends = reader->at == reader->end || strchr(" \t\r\n},/", *reader->at);
  return is_number && ends && !(reader->is_float && is_negative && *value == 0);
}

/* The range of a constant that is an array. Unknown when some number in its text is not an integer
 * or is a negative zero, when some elements are not in the text, or when the text is too long.
 * O(length). */
static ValueRange literal_range(const Module *module, InstId id) {
  const Shape *shape = inst_shape(module, id);
  InstId origin = inst_get(module, id)->origin;
  bool is_elided = inst_get(module, id)->flags & INST_ELIDED_LITERAL;
  if (is_elided || origin >= module->source->insts.len) return UNKNOWN_RANGE;
  const InstSource *source = &module->source->insts.data[origin];
  if (source->close - source->paren > MAX_LITERAL_CHARS) return UNKNOWN_RANGE;
  const char *text = module->source->text;
  Reader reader = {text + source->paren + 1, text + source->close,
                   type_info((ElementType)shape->type)->class == TYPE_CLASS_FLOAT};
  ValueRange range = {INT64_MAX, INT64_MIN};
  int64_t count = 0;
  for (;; count++) {
    if (!skip_to_number(&reader)) return UNKNOWN_RANGE;
    int64_t value;
    if (reader.at == reader.end) break;
    if (!read_integer(&reader, &value)) return UNKNOWN_RANGE;
    if (shape->type == TYPE_PRED) value = value != 0;
    if (value < range.low) range.low = value;
    if (value > range.high) range.high = value;
  }
  /* If there are fewer numbers than elements, XLA leaves the other elements unset. */
  return count > 0 && count == shape->num_elements ? range : UNKNOWN_RANGE;
}

/* ---- instructions ---- */

static ValueRange of_operation(const Module *module, InstId id, const ValueRange *operands) {
  uint32_t num_operands = inst_get(module, id)->num_operands;
  switch (inst_get(module, id)->opcode) {
    case OPCODE_CONSTANT: return literal_range(module, id);
    case OPCODE_IOTA: return of_iota(module, id);
    case OPCODE_CONVERT:
    case OPCODE_COPY: return operands[0]; /* XLA:TPU's copies may convert */
    case OPCODE_COUNT_LEADING_ZEROS:
    case OPCODE_POPCNT:
      return (ValueRange){0, type_info((ElementType)inst_shape(module, id)->type)->bits};
    case OPCODE_BITCAST: return of_bitcast(module, id, operands);
    case OPCODE_ADD_DEPENDENCY:
    case OPCODE_BITCAST_CONVERT:
    case OPCODE_BROADCAST:
    case OPCODE_DYNAMIC_SLICE:
    case OPCODE_GATHER:
    case OPCODE_OPT_BARRIER:
    case OPCODE_RESHAPE:
    case OPCODE_REVERSE:
    case OPCODE_SLICE:
    case OPCODE_SORT:
    case OPCODE_TRANSPOSE: return join_of(module, id, operands, 0, 1);
    case OPCODE_DYNAMIC_UPDATE_SLICE:
    case OPCODE_PAD: return join_of(module, id, operands, 0, 2);
    case OPCODE_CONCATENATE: return join_of(module, id, operands, 0, num_operands);
    case OPCODE_SELECT: return join_of(module, id, operands, 1, 2);
    default:
      if (!(opcode_info((Opcode)inst_get(module, id)->opcode)->flags & OPF_ELEMENTWISE) ||
          num_operands == 0) {
        return UNKNOWN_RANGE;
      }
      return of_arithmetic(module, id, operands);
  }
}

ValueRange range_of_operation(const Module *module, InstId id, const ValueRange *operands) {
  const Shape *shape = inst_shape(module, id);
  if (!shape_is_array(shape)) return UNKNOWN_RANGE;
  ValueRange range = shape->has_dynamic ? UNKNOWN_RANGE : of_operation(module, id, operands);
  return range_fit((ElementType)shape->type, range);
}
