/* The values of constants. The message has them in the order of the memory, the text in that of the
 * dimensions. */
#include "emit/proto/primitive_type.h"
#include "emit/proto/print.h"

/* Values that XLA's bytes fields have are little-endian. */
typedef RematHloText__Literal Literal;

typedef struct Values {
  const Literal *literal;
  ElementType type;
  size_t count;
} Values;

/* Returns the number of values of this type, or SIZE_MAX if there is no such type here. */
static size_t num_values(const Literal *literal, ElementType type) {
  switch (type) {
    case TYPE_PRED: return literal->n_preds;
    case TYPE_S8: return literal->s8s.len;
    case TYPE_S16: return literal->s16s.len / 2;
    case TYPE_S32: return literal->n_s32s;
    case TYPE_S64: return literal->n_s64s;
    case TYPE_U8: return literal->u8s.len;
    case TYPE_U16: return literal->u16s.len / 2;
    case TYPE_U32: return literal->n_u32s;
    case TYPE_U64: return literal->n_u64s;
    case TYPE_F16: return literal->f16s.len / 2;
    case TYPE_F32: return literal->n_f32s;
    case TYPE_F64: return literal->n_f64s;
    case TYPE_C64: return literal->n_c64s / 2;
    case TYPE_BF16: return literal->bf16s.len / 2;
    case TYPE_C128: return literal->n_c128s / 2;
    default: return SIZE_MAX;
  }
}

static uint16_t word_at(Bytes bytes, size_t at) {
  return (uint16_t)(bytes.data[2 * at] | bytes.data[2 * at + 1] << 8);
}

static void put_unsigned(TextBuffer *text, uint64_t value) {
  if (value > INT64_MAX) {
    text_put_int(text, (int64_t)(value / 10));
    text_put_char(text, (char)('0' + value % 10));
  } else {
    text_put_int(text, (int64_t)value);
  }
}

static void put_complex(TextBuffer *text, const Values *values, size_t at) {
  text_put_char(text, '(');
  for (size_t i = 0; i < 2; i++) {
    if (i) text_put(text, ", ");
    if (values->type == TYPE_C64)
      print_float(text, values->literal->c64s[2 * at + i]);
    else
      print_double(text, values->literal->c128s[2 * at + i]);
  }
  text_put_char(text, ')');
}

static void put_value(TextBuffer *text, const Values *values, size_t at, bool is_scalar) {
  const Literal *literal = values->literal;
  switch (values->type) {
    case TYPE_PRED:
      if (is_scalar)
        text_put(text, literal->preds[at] ? "true" : "false");
      else
        text_put_char(text, literal->preds[at] ? '1' : '0');
      break;
    case TYPE_S8: text_put_int(text, (int8_t)literal->s8s.data[at]); break;
    case TYPE_S16: text_put_int(text, (int16_t)word_at(literal->s16s, at)); break;
    case TYPE_S32: text_put_int(text, literal->s32s[at]); break;
    case TYPE_S64: text_put_int(text, literal->s64s[at]); break;
    case TYPE_U8: text_put_int(text, literal->u8s.data[at]); break;
    case TYPE_U16: text_put_int(text, word_at(literal->u16s, at)); break;
    case TYPE_U32: text_put_int(text, literal->u32s[at]); break;
    case TYPE_U64: put_unsigned(text, literal->u64s[at]); break;
    case TYPE_F16: print_f16(text, word_at(literal->f16s, at)); break;
    case TYPE_F32: print_float(text, literal->f32s[at]); break;
    case TYPE_F64: print_double(text, literal->f64s[at]); break;
    case TYPE_BF16: print_bf16(text, word_at(literal->bf16s, at)); break;
    default: put_complex(text, values, at); break;
  }
}

/* Where the walk through an array is. */
typedef struct Walk {
  const RematHloText__Shape *shape;
  size_t *strides; /* by dimension */
  size_t *indices;
  size_t at; /* place in the memory */
} Walk;

/* Sets the strides. Returns the number of elements, or SIZE_MAX if the layout is none. */
static size_t set_strides(Walk *walk, Arena *scratch) {
  const RematHloText__Shape *shape = walk->shape;
  const RematHloText__Layout *layout = shape->layout;
  size_t rank = shape->n_dimensions, size = 1;
  walk->indices = arena_zarray(scratch, size_t, rank);
  walk->strides = arena_zarray(scratch, size_t, rank);
  if (rank && (!layout || layout->n_minor_to_major != rank)) return SIZE_MAX;
  for (size_t i = 0; i < rank; i++) {
    int64_t dim = layout->minor_to_major[i];
    if (dim < 0 || (size_t)dim >= rank || walk->strides[dim]) return SIZE_MAX;
    int64_t extent = shape->dimensions[dim];
    if (extent < 0 || extent > UINT32_MAX) return SIZE_MAX;
    walk->strides[dim] = size ? size : 1;
    if (__builtin_mul_overflow(size, (size_t)extent, &size)) return SIZE_MAX;
  }
  return size;
}

/* Braces as DenseArrayPrintHelper in xla/literal.cc writes them in one line. */
static void open_brace(TextBuffer *text, const Walk *walk, size_t dim) {
  size_t rank = walk->shape->n_dimensions;
  int64_t extent = walk->shape->dimensions[dim];
  text_put_char(text, '{');
  if (rank == 1) return;
  if (dim + 1 == rank) {
    if (extent > 1) text_put_char(text, ' ');
    return;
  }
  if (rank > 3 && dim > 0) {
    print_key_int(text, " /*i", (int64_t)dim - 1);
    print_key_int(text, "=", (int64_t)walk->indices[dim - 1]);
    text_put(text, "*/");
    if (extent == 0) return;
  }
  text_put_char(text, ' ');
}

static void close_brace(TextBuffer *text, const Walk *walk, size_t dim) {
  size_t rank = walk->shape->n_dimensions;
  bool is_innermost = dim + 1 == rank;
  if (rank > 1 && (!is_innermost || walk->shape->dimensions[dim] > 1)) text_put_char(text, ' ');
  text_put_char(text, '}');
}

static void put_row(TextBuffer *text, const Values *values, const Walk *walk) {
  size_t dim = walk->shape->n_dimensions - 1;
  size_t at = walk->at;
  for (int64_t i = 0; i < walk->shape->dimensions[dim]; i++) {
    if (i) text_put(text, ", ");
    put_value(text, values, at, false);
    at += walk->strides[dim];
  }
}

/* An odometer over all dimensions but the last. */
static void put_array(TextBuffer *text, const Values *values, Walk *walk) {
  const int64_t *extents = walk->shape->dimensions;
  size_t last = walk->shape->n_dimensions - 1, dim = 0;
  for (;;) {
    for (; dim < last; dim++) { /* inwards */
      open_brace(text, walk, dim);
      walk->indices[dim] = 0;
      if (extents[dim] == 0) break;
    }
    if (dim == last) {
      open_brace(text, walk, dim);
      put_row(text, values, walk);
    }
    for (;; dim--) { /* outwards */
      close_brace(text, walk, dim);
      if (dim == 0) return;
      walk->at += walk->strides[dim - 1];
      if (++walk->indices[dim - 1] < (size_t)extents[dim - 1]) break;
      walk->at -= walk->strides[dim - 1] * (size_t)extents[dim - 1];
    }
    text_put(text, ", ");
  }
}

/* All but the innermost braces of an array are printed whether it has elements or not, so there may
 * be more of them than there is memory. The shape was found to have dimensions below 2^32. */
static bool has_too_many_braces(Printer *printer, const RematHloText__Shape *shape) {
  uint64_t num_rows = 1, rank = shape->n_dimensions;
  for (size_t i = 0; i + 1 < rank && num_rows <= UINT32_MAX; i++) {
    if (shape->dimensions[i] == 0) break;
    num_rows *= (uint64_t)shape->dimensions[i];
  }
  return rank > UINT8_MAX || num_rows > UINT32_MAX || print_is_too_long(printer, num_rows * rank);
}

void print_literal(Printer *printer, TextBuffer *text, Bytes data) {
  const Literal *literal =
      print_read(printer, &remat_hlo_text__literal__descriptor, data, printer->scratch);
  if (!literal) return;
  const RematHloText__Shape *shape =
      print_read(printer, &remat_hlo_text__shape__descriptor, literal->shape, printer->scratch);
  if (!shape) return;
  Values values = {.literal = literal, .type = primitive_type_read(shape->element_type)};
  Walk walk = {.shape = shape};
  values.count = num_values(literal, values.type);
  for (size_t i = 0; i < shape->n_is_dynamic_dimension; i++) {
    if (shape->is_dynamic_dimension[i]) print_refuse(printer, "a literal has a dynamic size");
  }
  if (shape->n_tuple_shapes || values.count == SIZE_MAX) {
    print_refuse(printer, "a literal of type %d", (int)shape->element_type);
  } else if (set_strides(&walk, printer->scratch) != values.count ||
             has_too_many_braces(printer, shape)) {
    print_refuse(printer, "a literal has values that its shape does not have");
  } else if (shape->n_dimensions == 0) {
    put_value(text, &values, 0, true);
  } else {
    put_array(text, &values, &walk);
  }
}
