#include "emit/proto/primitive_type.h"
#include "emit/proto/print.h"

enum { MAX_DEPTH = 16 };

/* A shape is read into both texts at once. */
typedef struct Two {
  TextBuffer full, plain;
} Two;

static void put(Two *two, const char *piece) {
  text_put(&two->full, piece);
  text_put(&two->plain, piece);
}

static void put_int(Two *two, int64_t value) {
  text_put_int(&two->full, value);
  text_put_int(&two->plain, value);
}

static void put_tiles(Printer *printer, TextBuffer *text, const RematHloText__Layout *layout) {
  text_put_char(text, 'T');
  for (size_t i = 0; i < layout->n_tiles; i++) {
    const RematHloText__Layout__Tile *tile = layout->tiles[i];
    print_known(printer, &tile->base);
    text_put_char(text, '(');
    for (size_t k = 0; k < tile->n_dimensions; k++) {
      if (k) text_put_char(text, ',');
      if (tile->dimensions[k] < 0) print_refuse(printer, "a tile has a dimension below 0");
      text_put_int(text, tile->dimensions[k]);
    }
    text_put_char(text, ')');
  }
}

/* Each dimension once. */
static bool is_permutation(const int64_t *values, size_t count, Arena *scratch) {
  bool *is_there = arena_zarray(scratch, bool, count);
  for (size_t i = 0; i < count; i++) {
    if (values[i] < 0 || (size_t)values[i] >= count || is_there[values[i]]) return false;
    is_there[values[i]] = true;
  }
  return true;
}

/* A layout of a scalar is not printed if it is empty. */
static void put_layout(Printer *printer, TextBuffer *text, const RematHloText__Shape *shape) {
  const RematHloText__Layout *layout = shape->layout;
  int64_t padding = layout->tail_padding_alignment_in_elements;
  print_known(printer, &layout->base);
  if (layout->n_minor_to_major != shape->n_dimensions ||
      !is_permutation(layout->minor_to_major, layout->n_minor_to_major, printer->scratch))
    print_refuse(printer, "a layout has other dimensions than its shape");
  bool has_more =
      layout->n_tiles || padding > 1 || layout->element_size_in_bits || layout->memory_space;
  if (!has_more && shape->n_dimensions == 0) return;
  text_put_char(text, '{');
  print_ints(text, layout->minor_to_major, layout->n_minor_to_major);
  if (has_more) text_put_char(text, ':');
  if (layout->n_tiles) put_tiles(printer, text, layout);
  if (padding < 0) print_refuse(printer, "a layout has a padding below 0");
  if (padding > 1) {
    print_key_int(text, "L(", padding);
    text_put_char(text, ')');
  }
  if (layout->element_size_in_bits) {
    print_key_int(text, "E(", layout->element_size_in_bits);
    text_put_char(text, ')');
  }
  if (layout->memory_space) {
    print_key_int(text, "S(", layout->memory_space);
    text_put_char(text, ')');
  }
  text_put_char(text, '}');
}

static bool is_dynamic(const RematHloText__Shape *shape, size_t dim) {
  return dim < shape->n_is_dynamic_dimension && shape->is_dynamic_dimension[dim];
}

static void put_array(Printer *printer, Two *two, const RematHloText__Shape *shape) {
  ElementType type = primitive_type_read(shape->element_type);
  if (type == NUM_TYPES) {
    print_refuse(printer, "the type %d is not known", (int)shape->element_type);
    return;
  }
  const char *word = type_info(type)->text;
  bool has_dims = type != TYPE_OPAQUE && type != TYPE_TOKEN;
  if (shape->n_tuple_shapes || (!has_dims && (shape->n_dimensions || shape->layout)))
    print_refuse(printer, "a shape of type %s has more than its type", word);
  put(two, word);
  put(two, "[");
  for (size_t i = 0; i < shape->n_dimensions; i++) {
    if (i) put(two, ",");
    if (shape->dimensions[i] < 0) print_refuse(printer, "a shape has a size below 0");
    if (is_dynamic(shape, i)) put(two, "<=");
    put_int(two, shape->dimensions[i]);
  }
  put(two, "]");
  if (shape->layout) put_layout(printer, &two->full, shape);
}

static ElementType put_shape(Printer *printer, Two *two, Bytes data, int depth);

static void put_tuple(Printer *printer, Two *two, const RematHloText__Shape *shape, int depth) {
  if (shape->n_dimensions || shape->layout) print_refuse(printer, "a tuple has sizes or a layout");
  put(two, "(");
  for (size_t i = 0; i < shape->n_tuple_shapes; i++) {
    print_separator(&two->full, i);
    print_separator(&two->plain, i);
    put_shape(printer, two, shape->tuple_shapes[i], depth + 1);
  }
  put(two, ")");
}

/* Returns its type. Tuples are read from bytes of their own, so that the depth is bounded here. */
static ElementType put_shape(Printer *printer, Two *two, Bytes data, int depth) {
  if (depth > MAX_DEPTH) {
    print_refuse(printer, "a tuple is nested too deeply");
    return NUM_TYPES;
  }
  const RematHloText__Shape *shape =
      print_read(printer, &remat_hlo_text__shape__descriptor, data, printer->scratch);
  if (!shape || printer->refusal) return NUM_TYPES;
  if (shape->element_type == PRIMITIVE_TYPE_TUPLE)
    put_tuple(printer, two, shape, depth);
  else
    put_array(printer, two, shape);
  return primitive_type_read(shape->element_type);
}

uint32_t print_find_shape(Printer *printer, Bytes data) {
  uint64_t hash = hash_bytes(HASH_SEED, (const char *)data.data, data.len);
  ShapeTexts *shapes = &printer->shapes;
  uint32_t index;
  for (IdProbe p = id_table_probe(&shapes->table, hash); id_probe_next(&p, &index);) {
    if (str_equal(bytes_str(shapes->list.data[index].bytes), bytes_str(data))) return index;
  }
  Two two = {.full = {.arena = printer->arena}, .plain = {.arena = printer->arena}};
  ShapeText made = {.bytes = print_keep(printer, data)};
  ArenaMark mark = arena_mark(printer->scratch);
  made.type = put_shape(printer, &two, data, 0);
  arena_reset(printer->scratch, mark);
  made.full = text_str(&two.full);
  made.plain = text_str(&two.plain);
  index = shapes->list.len;
  *vec_push(printer->arena, &shapes->list) = made;
  id_table_add(&shapes->table, printer->arena, hash, index);
  return index;
}
