#include "emit/proto/print.h"

/* PrimitiveType in xla/xla_data.proto */
enum { TYPE_OF_TUPLE = 13, TYPE_OF_OPAQUE = 14, TYPE_OF_TOKEN = 17, MAX_DEPTH = 16 };

static const char *const type_words[] = {
    [1] = "pred",        [2] = "s8",
    [3] = "s16",         [4] = "s32",
    [5] = "s64",         [6] = "u8",
    [7] = "u16",         [8] = "u32",
    [9] = "u64",         [10] = "f16",
    [11] = "f32",        [12] = "f64",
    [14] = "opaque",     [15] = "c64",
    [16] = "bf16",       [17] = "token",
    [18] = "c128",       [19] = "f8e5m2",
    [20] = "f8e4m3fn",   [21] = "s4",
    [22] = "u4",         [23] = "f8e4m3b11fnuz",
    [24] = "f8e5m2fnuz", [25] = "f8e4m3fnuz",
    [26] = "s2",         [27] = "u2",
    [28] = "f8e4m3",     [29] = "f8e3m4",
    [30] = "s1",         [31] = "u1",
    [32] = "f4e2m1fn",   [33] = "f8e8m0fnu",
    [35] = "f6e3m2fn",   [36] = "f6e2m3fn",
};

const char *print_type_word(int32_t type) {
  bool is_one = type > 0 && (size_t)type < sizeof type_words / sizeof *type_words;
  return is_one && type_words[type] ? type_words[type] : "";
}

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
  const char *word = print_type_word(shape->element_type);
  bool has_dims = shape->element_type != TYPE_OF_OPAQUE && shape->element_type != TYPE_OF_TOKEN;
  if (!*word) print_refuse(printer, "the type %d is not known", (int)shape->element_type);
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

static void put_shape(Printer *printer, Two *two, Bytes data, int depth, int32_t *type);

static void put_tuple(Printer *printer, Two *two, const RematHloText__Shape *shape, int depth) {
  int32_t type;
  if (shape->n_dimensions || shape->layout) print_refuse(printer, "a tuple has sizes or a layout");
  put(two, "(");
  for (size_t i = 0; i < shape->n_tuple_shapes; i++) {
    if (i && i % 5 == 0) {
      put(two, ", /*index=");
      put_int(two, (int64_t)i);
      put(two, "*/");
    } else if (i) {
      put(two, ", ");
    }
    put_shape(printer, two, shape->tuple_shapes[i], depth + 1, &type);
  }
  put(two, ")");
}

/* Tuples are read from bytes of their own, so that the depth is bounded here. */
static void put_shape(Printer *printer, Two *two, Bytes data, int depth, int32_t *type) {
  *type = 0;
  if (depth > MAX_DEPTH) {
    print_refuse(printer, "a tuple is nested too deeply");
    return;
  }
  const RematHloText__Shape *shape =
      print_read(printer, &remat_hlo_text__shape__descriptor, data, printer->scratch);
  if (!shape || printer->refusal) return;
  *type = shape->element_type;
  if (shape->element_type == TYPE_OF_TUPLE)
    put_tuple(printer, two, shape, depth);
  else
    put_array(printer, two, shape);
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
  put_shape(printer, &two, data, 0, &made.type);
  arena_reset(printer->scratch, mark);
  made.full = text_str(&two.full);
  made.plain = text_str(&two.plain);
  index = shapes->list.len;
  *vec_push(printer->arena, &shapes->list) = made;
  id_table_add(&shapes->table, printer->arena, hash, index);
  return index;
}
