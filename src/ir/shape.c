/* Interning works on the words of a shape: a flat array of integers that describes it completely.
 * Two shapes are equal exactly if their words are equal. */
#include "ir/shape.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "ir/bytes.h"
#include "ir/text_buffer.h"

static const TypeInfo type_infos[NUM_TYPES] = {
#define TYPE(id, text, bits, class) [TYPE_##id] = {text, bits, class},
#include "ir/types.def"
};

const TypeInfo *type_info(ElementType type) {
  return &type_infos[type];
}

enum { POINTER_BYTES = 8 };

/* The words are stored directly before the Shape that they describe. */
typedef struct ShapeNode {
  uint32_t num_words;
  const int64_t *words;
  Shape shape;
} ShapeNode;

static const ShapeNode *node_of(const Shape *shape) {
  return (const ShapeNode *)(const void *)((const char *)shape - offsetof(ShapeNode, shape));
}

void shape_table_init(ShapeTable *table, Arena *arena) {
  *table = (ShapeTable){.arena = arena};
}

ShapeTable shape_table_copy(const ShapeTable *table, Arena *arena) {
  ShapeTable copy = {.arena = arena, .table = id_table_copy(&table->table, arena)};
  const Shape **all = vec_extend(arena, &copy.shapes, table->shapes.len);
  if (table->shapes.len) memcpy(all, table->shapes.data, table->shapes.len * sizeof *all);
  return copy;
}

static uint64_t hash_words(const int64_t *words, uint32_t num_words) {
  uint64_t hash = HASH_SEED;
  for (uint32_t i = 0; i < num_words; i++)
    hash = hash_mix(hash, (uint64_t)words[i]);
  return hash;
}

static ShapeId find(const ShapeTable *table, uint64_t hash, const int64_t *words,
                    uint32_t num_words) {
  uint32_t id;
  for (IdProbe probe = id_table_probe(&table->table, hash); id_probe_next(&probe, &id);) {
    const ShapeNode *node = node_of(table->shapes.data[id]);
    if (node->num_words == num_words &&
        memcmp(node->words, words, num_words * sizeof *words) == 0) {
      return id;
    }
  }
  return NO_ID;
}

static ShapeId add(ShapeTable *table, uint64_t hash, ShapeNode *node) {
  ShapeId id = table->shapes.len;
  *vec_push(table->arena, &table->shapes) = &node->shape;
  id_table_add(&table->table, table->arena, hash, id);
  return id;
}

int64_t shape_bytes_of_elements(const Shape *shape, int64_t count) {
  int64_t bits = shape->extras ? shape->extras->element_bits : 0, bytes;
  if (bits > 0) {
    bool fits = mul_bytes(count, bits, &bytes) && add_bytes(bytes, 7, &bytes);
    return fits ? bytes / 8 : -1;
  }
  return mul_bytes(count, (type_infos[shape->type].bits + 7) / 8, &bytes) ? bytes : -1;
}

/* The product of the dimensions, where a dynamic one counts with its bound, times the bytes of an
 * element. */
static void measure_array(Shape *shape) {
  shape->num_elements = 1;
  shape->bytes = -1;
  for (uint32_t i = 0; i < shape->rank; i++) {
    /* An empty dimension makes the array empty, however large the others are. */
    if (shape->dims[i] == 0) {
      shape->num_elements = 0;
      break;
    }
  }
  for (uint32_t i = 0; i < shape->rank && shape->num_elements > 0; i++) {
    if (shape->dims[i] == UNBOUNDED_DIM ||
        !mul_bytes(shape->num_elements, shape->dims[i], &shape->num_elements)) {
      shape->num_elements = -1;
    }
  }
  if (shape->type == TYPE_TOKEN) {
    shape->bytes = 0;
  } else if (shape->type == TYPE_OPAQUE) {
    shape->bytes = POINTER_BYTES;
  } else if (shape->num_elements >= 0) {
    shape->bytes = shape_bytes_of_elements(shape, shape->num_elements);
  }
}

/* Adds to the sum over all parts. `sum` and `bytes` are totals as in Shape.total_bytes. */
static int64_t add_total(int64_t sum, int64_t bytes) {
  if (sum < 0 || bytes < 0) return -1;
  return add_bytes(sum, bytes, &sum) ? sum : INT64_MAX;
}

static bool is_default_order(const int64_t *minor_to_major, uint32_t rank) {
  for (uint32_t i = 0; i < rank; i++) {
    if (minor_to_major[i] != (int64_t)rank - 1 - (int64_t)i) return false;
  }
  return true;
}

static bool has_extras(const LayoutExtras *extras) {
  return extras && (extras->tail_padding != 1 || extras->element_bits || extras->memory_space ||
                    extras->metadata_prefix || extras->index_type || extras->pointer_type ||
                    extras->num_tile_words || extras->num_split_words);
}

enum { WORD_DYNAMIC = 1 << 16, WORD_ORDER = 1 << 17, WORD_EXTRAS = 1 << 18 };

/* Returns the spec without fields that say nothing: dynamic flags if no dimension is dynamic, the
 * default order, and extras that are all zero. */
static ArraySpec plain_spec(const ArraySpec *spec) {
  ArraySpec plain = *spec;
  bool has_dynamic = false;
  for (uint32_t i = 0; spec->dynamic && i < spec->rank; i++)
    has_dynamic |= spec->dynamic[i] != 0;
  if (!has_dynamic) plain.dynamic = NULL;
  if (spec->minor_to_major && is_default_order(spec->minor_to_major, spec->rank)) {
    plain.minor_to_major = NULL;
  }
  if (!has_extras(spec->extras)) plain.extras = NULL;
  return plain;
}

/* ORDER array words: the header, dims, dynamic, minor_to_major, extras, tiles, splits. */
enum { NUM_HEADER_WORDS = 2, NUM_EXTRAS_WORDS = 8 };

static size_t max_array_words(const ArraySpec *spec) {
  const LayoutExtras *extras = spec->extras;
  size_t num_words = NUM_HEADER_WORDS + (size_t)spec->rank * 3;
  if (!extras) return num_words;
  return num_words + NUM_EXTRAS_WORDS + (size_t)extras->num_tile_words + extras->num_split_words;
}

/* Writes the words that describe a plain spec and returns their number; ORDER array words. */
static uint32_t put_array_words(const ArraySpec *spec, int64_t *words) {
  const LayoutExtras *extras = spec->extras;
  uint32_t n = 0;
  words[n++] = (spec->is_buffer ? SHAPE_BUFFER : SHAPE_ARRAY) | (int64_t)spec->type << 8 |
               (spec->dynamic ? WORD_DYNAMIC : 0) | (spec->minor_to_major ? WORD_ORDER : 0) |
               (extras ? WORD_EXTRAS : 0);
  words[n++] = spec->rank;
  for (uint32_t i = 0; i < spec->rank; i++)
    words[n++] = spec->dims[i];
  for (uint32_t i = 0; spec->dynamic && i < spec->rank; i++)
    words[n++] = spec->dynamic[i] != 0;
  for (uint32_t i = 0; spec->minor_to_major && i < spec->rank; i++)
    words[n++] = spec->minor_to_major[i];
  if (!extras) return n;
  words[n++] = extras->tail_padding;
  words[n++] = extras->element_bits;
  words[n++] = extras->memory_space;
  words[n++] = extras->metadata_prefix;
  words[n++] = extras->index_type;
  words[n++] = extras->pointer_type;
  words[n++] = extras->num_tile_words;
  words[n++] = extras->num_split_words;
  for (uint32_t i = 0; i < extras->num_tile_words; i++)
    words[n++] = extras->tile_words[i];
  for (uint32_t i = 0; i < extras->num_split_words; i++)
    words[n++] = extras->split_words[i];
  return n;
}

/* Makes a node whose shape points into the node's own copy of the words; ORDER array words. */
static ShapeNode *make_array(Arena *arena, const ArraySpec *spec, const int64_t *words,
                             uint32_t num_words) {
  ShapeNode *node = arena_zalloc(arena, sizeof *node);
  int64_t *next = arena_array(arena, int64_t, num_words);
  memcpy(next, words, num_words * sizeof *next);
  node->words = next;
  node->num_words = num_words;
  Shape *shape = &node->shape;
  shape->kind = spec->is_buffer ? SHAPE_BUFFER : SHAPE_ARRAY;
  shape->type = (uint8_t)spec->type;
  shape->rank = spec->rank;
  shape->num_parts = 1;
  shape->dims = next += NUM_HEADER_WORDS;
  next += spec->rank;
  shape->has_dynamic = spec->dynamic != NULL;
  if (spec->dynamic) {
    shape->dynamic = next;
    next += spec->rank;
  }
  if (spec->minor_to_major) {
    shape->minor_to_major = next;
    next += spec->rank;
  }
  if (spec->extras) {
    LayoutExtras *copy = arena_alloc(arena, sizeof *copy);
    *copy = *spec->extras;
    copy->tile_words = next + NUM_EXTRAS_WORDS;
    copy->split_words = copy->tile_words + copy->num_tile_words;
    shape->extras = copy;
  }
  return node;
}

ShapeId shape_array(ShapeTable *table, const ArraySpec *wanted) {
  ArraySpec spec = plain_spec(wanted);
  int64_t small[64];
  ArenaMark mark = arena_mark(table->arena);
  size_t max_words = max_array_words(&spec);
  int64_t *words = max_words <= 64 ? small : arena_array(table->arena, int64_t, max_words);
  uint32_t num_words = put_array_words(&spec, words);
  uint64_t hash = hash_words(words, num_words);
  ShapeId known = find(table, hash, words, num_words);
  if (known != NO_ID) {
    if (words != small) arena_reset(table->arena, mark);
    return known;
  }
  ShapeNode *node = make_array(table->arena, &spec, words, num_words);
  Shape *shape = &node->shape;
  for (uint32_t i = 0; i < spec.rank; i++)
    shape->has_unbounded |= shape->dims[i] == UNBOUNDED_DIM;
  measure_array(shape);
  shape->total_bytes = shape->bytes;
  shape->device_bytes = shape_bytes_on_device(shape);
  ShapeId id = add(table, hash, node);
  bool is_bare = !spec.dynamic && !spec.minor_to_major && !spec.extras;
  ArraySpec bare = {
      .type = spec.type, .is_buffer = spec.is_buffer, .rank = spec.rank, .dims = shape->dims};
  shape->compatible = is_bare ? id : shape_array(table, &bare);
  return id;
}

ShapeId shape_scalar(ShapeTable *table, ElementType type) {
  return shape_array(table, &(ArraySpec){.type = type});
}

ShapeId shape_tuple(ShapeTable *table, const ShapeId *elements, uint32_t count) {
  uint64_t num_parts = 1;
  for (uint32_t i = 0; i < count; i++) {
    num_parts += shape_get(table, elements[i])->num_parts;
    if (num_parts > MAX_SHAPE_PARTS) return NO_ID;
  }
  ArenaMark mark = arena_mark(table->arena);
  uint32_t n = count + 2;
  int64_t *words = arena_array(table->arena, int64_t, n);
  words[0] = SHAPE_TUPLE;
  words[1] = count;
  for (uint32_t i = 0; i < count; i++)
    words[i + 2] = elements[i];
  uint64_t hash = hash_words(words, n);
  ShapeId known = find(table, hash, words, n);
  if (known != NO_ID) {
    arena_reset(table->arena, mark);
    return known;
  }

  ShapeNode *node = arena_zalloc(table->arena, sizeof *node);
  node->words = words;
  node->num_words = n;
  Shape *shape = &node->shape;
  shape->kind = SHAPE_TUPLE;
  shape->rank = count;
  shape->num_parts = (uint32_t)num_parts;
  shape->num_elements = -1;
  shape->depth = 1;
  shape->bytes = shape->total_bytes = shape->device_bytes = (int64_t)count * POINTER_BYTES;
  ShapeId *kept = arena_array(table->arena, ShapeId, count);
  ShapeId *compatible = arena_array(table->arena, ShapeId, count);
  uint32_t *offsets = arena_array(table->arena, uint32_t, count);
  uint32_t part = 1;
  bool differs = false;
  for (uint32_t i = 0; i < count; i++) {
    const Shape *element = shape_get(table, elements[i]);
    kept[i] = elements[i];
    offsets[i] = part;
    part += element->num_parts;
    shape->has_unbounded |= element->has_unbounded;
    shape->total_bytes = add_total(shape->total_bytes, element->total_bytes);
    shape->device_bytes = add_total(shape->device_bytes, element->device_bytes);
    if (element->depth >= shape->depth) shape->depth = element->depth + 1;
    compatible[i] = element->compatible;
    differs |= element->compatible != elements[i];
  }
  shape->elements = kept;
  shape->element_offsets = offsets;
  ShapeId id = add(table, hash, node);
  shape->compatible = differs ? shape_tuple(table, compatible, count) : id;
  return id;
}

ArraySpec shape_spec(const Shape *shape) {
  return (ArraySpec){.type = (ElementType)shape->type,
                     .is_buffer = shape->kind == SHAPE_BUFFER,
                     .rank = shape->rank,
                     .dims = shape->dims,
                     .dynamic = shape->dynamic,
                     .minor_to_major = shape->minor_to_major,
                     .extras = shape->extras};
}

ShapeId shape_with_dim(ShapeTable *table, ShapeId array, uint32_t dim, int64_t size,
                       Arena *scratch) {
  ArraySpec spec = shape_spec(shape_get(table, array));
  int64_t *dims = arena_array(scratch, int64_t, spec.rank);
  memcpy(dims, spec.dims, spec.rank * sizeof *dims);
  dims[dim] = size;
  spec.dims = dims;
  return shape_array(table, &spec);
}

bool shape_is_effective_scalar(const Shape *shape) {
  return shape_is_array(shape) && shape->num_elements == 1;
}

/* Compares the parts of two shapes pairwise. This is only needed if a dimension is `?`, which
 * matches any size. */
static bool compatible_unbounded(const ShapeTable *table, ShapeId a_id, ShapeId b_id) {
  uint32_t num_parts = shape_get(table, a_id)->num_parts;
  if (num_parts != shape_get(table, b_id)->num_parts) return false;
  for (uint32_t part = 0; part < num_parts; part++) {
    const Shape *a = shape_get(table, shape_part(table, a_id, part));
    const Shape *b = shape_get(table, shape_part(table, b_id, part));
    if (a->kind != b->kind || a->rank != b->rank) return false;
    if (a->kind == SHAPE_TUPLE) continue;
    if (a->type != b->type) return false;
    for (uint32_t i = 0; i < a->rank; i++) {
      if (a->dims[i] != b->dims[i] && a->dims[i] != UNBOUNDED_DIM && b->dims[i] != UNBOUNDED_DIM) {
        return false;
      }
    }
  }
  return true;
}

bool shape_compatible(const ShapeTable *table, ShapeId a, ShapeId b) {
  const Shape *shape_a = shape_get(table, a), *shape_b = shape_get(table, b);
  if (shape_a->compatible == shape_b->compatible) return true;
  if (!shape_a->has_unbounded && !shape_b->has_unbounded) return false;
  return compatible_unbounded(table, a, b);
}

uint32_t shape_element_of_part(const Shape *tuple, uint32_t part) {
  assert(tuple->kind == SHAPE_TUPLE && part > 0 && part < tuple->num_parts);
  uint32_t low = 0, high = tuple->rank; /* offsets[low] <= part < offsets[high] */
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (tuple->element_offsets[middle] <= part) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

ShapeId shape_part(const ShapeTable *table, ShapeId id, uint32_t part) {
  while (part > 0) {
    const Shape *shape = shape_get(table, id);
    uint32_t element = shape_element_of_part(shape, part);
    part -= shape->element_offsets[element];
    id = shape->elements[element];
  }
  return id;
}

void shape_list_parts(const ShapeTable *table, ShapeId id, ShapeId *parts) {
  /* The list of each element is filled in at its offset. A tuple is expanded when the loop reaches
   * it. That is after it was stored, because its offset is larger than its parent's. */
  uint32_t num_parts = shape_get(table, id)->num_parts;
  parts[0] = id;
  for (uint32_t part = 0; part < num_parts; part++) {
    const Shape *shape = shape_get(table, parts[part]);
    for (uint32_t i = 0; shape->kind == SHAPE_TUPLE && i < shape->rank; i++) {
      parts[part + shape->element_offsets[i]] = shape->elements[i];
    }
  }
}

uint32_t shape_index_part(const ShapeTable *table, ShapeId id, const int64_t *index,
                          uint32_t length) {
  uint32_t part = 0;
  for (uint32_t i = 0; i < length; i++) {
    const Shape *shape = shape_get(table, id);
    if (shape->kind != SHAPE_TUPLE || index[i] < 0 || index[i] >= shape->rank) return NO_ID;
    part += shape->element_offsets[index[i]];
    id = shape->elements[index[i]];
  }
  return part;
}

int64_t shape_memory_space(const Shape *shape) {
  return shape->extras ? shape->extras->memory_space : 0;
}

ShapeId shape_in_memory_space(ShapeTable *table, ShapeId array, int64_t space) {
  static const LayoutExtras none = {.tail_padding = 1};
  ArraySpec spec = shape_spec(shape_get(table, array));
  LayoutExtras extras = spec.extras ? *spec.extras : none;
  extras.memory_space = space;
  spec.extras = &extras;
  return shape_array(table, &spec);
}

static bool same_words(const int64_t *a, uint32_t num_a, const int64_t *b, uint32_t num_b) {
  return num_a == num_b && (num_a == 0 || memcmp(a, b, num_a * sizeof *a) == 0);
}

bool shape_same_layout(const Shape *a, const Shape *b) {
  static const LayoutExtras none = {.tail_padding = 1};
  if (a->kind != b->kind || a->rank != b->rank || a->kind == SHAPE_TUPLE) return false;
  if (!a->minor_to_major != !b->minor_to_major) return false;
  if (a->minor_to_major && !same_words(a->minor_to_major, a->rank, b->minor_to_major, b->rank)) {
    return false;
  }
  const LayoutExtras *x = a->extras ? a->extras : &none, *y = b->extras ? b->extras : &none;
  return x->tail_padding == y->tail_padding && x->element_bits == y->element_bits &&
         x->memory_space == y->memory_space && x->metadata_prefix == y->metadata_prefix &&
         x->index_type == y->index_type && x->pointer_type == y->pointer_type &&
         same_words(x->tile_words, x->num_tile_words, y->tile_words, y->num_tile_words) &&
         same_words(x->split_words, x->num_split_words, y->split_words, y->num_split_words);
}

bool shape_outer_dim(const Shape *shape, uint32_t *dim) {
  const LayoutExtras *extras = shape->extras;
  int64_t tile_rank = extras && extras->num_tile_words ? extras->tile_words[0] : 0;
  if (!shape_is_array(shape) || shape->has_dynamic || shape->has_unbounded) return false;
  if (extras && (extras->element_bits || extras->num_split_words || extras->tail_padding != 1 ||
                 extras->metadata_prefix || extras->index_type || extras->pointer_type))
    return false;
  for (int64_t i = 0; i < tile_rank; i++) {
    if (extras->tile_words[1 + i] <= 0) return false; /* a tile of combined dimensions */
  }
  for (int64_t i = (int64_t)shape->rank - 1; i >= tile_rank; i--) {
    int64_t position = shape_minor_dim(shape, i);
    *dim = (uint32_t)position;
    if (shape->dims[position] != 1) return true;
  }
  return false;
}

/* The number of elements of dimensions that are more major than `dim`; -1 if the layout is more
 * than an order of dimensions. */
static int64_t elements_around(const Shape *shape, uint32_t dim) {
  int64_t count = 1;
  if (!shape_is_array(shape) || shape->has_dynamic || shape->has_unbounded || shape->extras)
    return -1;
  for (int64_t i = (int64_t)shape->rank - 1; i >= 0; i--) {
    int64_t position = shape_minor_dim(shape, i);
    if (position == dim) return count;
    if (!mul_bytes(count, shape->dims[position], &count)) return -1;
  }
  return -1;
}

bool shape_dim_in_view(const Shape *array, uint32_t dim, const Shape *view, uint32_t *view_dim) {
  uint32_t outer;
  if (!shape_is_array(array) || !shape_is_array(view) || array->type != view->type) return false;
  if (shape_outer_dim(array, &outer) && outer == dim && shape_outer_dim(view, view_dim) &&
      array->dims[dim] == view->dims[*view_dim])
    return true;
  int64_t around = elements_around(array, dim);
  if (around < 0 || array->dims[dim] < 2) return false;
  for (uint32_t i = 0; i < view->rank; i++) {
    *view_dim = i;
    if (view->dims[i] == array->dims[dim] && elements_around(view, i) == around) return true;
  }
  return false;
}

static void put_option(TextBuffer *buffer, const char *open, int64_t value) {
  text_put(buffer, open);
  text_put_int(buffer, value);
  text_put(buffer, ")");
}

/* The order and the defaults are those of Layout::Print. */
static void put_layout(TextBuffer *buffer, const Shape *shape) {
  const LayoutExtras *extras = shape->extras;
  if (shape->rank == 0 && !extras) return;
  text_put(buffer, "{");
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (i) text_put(buffer, ",");
    text_put_int(buffer, shape_minor_dim(shape, i));
  }
  if (extras) {
    text_put(buffer, ":");
    if (extras->num_tile_words) text_put(buffer, "T");
    for (uint32_t i = 0; i < extras->num_tile_words;) {
      int64_t rank = extras->tile_words[i++];
      text_put(buffer, "(");
      for (int64_t k = 0; k < rank; k++, i++) {
        if (k) text_put(buffer, ",");
        switch (extras->tile_words[i]) {
          case COMBINED_TILE_DIM: text_put(buffer, "*"); break;
          case DYNAMIC_TILE_DIM: text_put(buffer, "d"); break;
          default: text_put_int(buffer, extras->tile_words[i]); break;
        }
      }
      text_put(buffer, ")");
    }
    if (extras->tail_padding != 1) put_option(buffer, "L(", extras->tail_padding);
    if (extras->index_type) {
      text_put(buffer, "#(");
      text_put(buffer, type_infos[extras->index_type - 1].text);
      text_put(buffer, ")");
    }
    if (extras->pointer_type) {
      text_put(buffer, "*(");
      text_put(buffer, type_infos[extras->pointer_type - 1].text);
      text_put(buffer, ")");
    }
    if (extras->element_bits) put_option(buffer, "E(", extras->element_bits);
    if (extras->memory_space) put_option(buffer, "S(", extras->memory_space);
    if (extras->num_split_words) text_put(buffer, "SC");
    for (uint32_t i = 0; i < extras->num_split_words;) {
      text_put(buffer, "(");
      text_put_int(buffer, extras->split_words[i++]);
      int64_t count = extras->split_words[i++];
      for (int64_t k = 0; k < count; k++, i++) {
        text_put(buffer, k ? "," : ":");
        text_put_int(buffer, extras->split_words[i]);
      }
      text_put(buffer, ")");
    }
    if (extras->metadata_prefix) put_option(buffer, "M(", extras->metadata_prefix);
  }
  text_put(buffer, "}");
}

static void put_array(TextBuffer *buffer, const Shape *shape, bool with_layout) {
  if (shape->kind == SHAPE_BUFFER) text_put(buffer, "b(");
  text_put(buffer, type_infos[shape->type].text);
  text_put(buffer, "[");
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (i) text_put(buffer, ",");
    if (shape->dims[i] == UNBOUNDED_DIM) {
      text_put(buffer, "?");
      continue;
    }
    if (shape->dynamic && shape->dynamic[i]) text_put(buffer, "<=");
    text_put_int(buffer, shape->dims[i]);
  }
  text_put(buffer, "]");
  if (with_layout) put_layout(buffer, shape);
  if (shape->kind == SHAPE_BUFFER) text_put(buffer, ")");
}

/* Visits the parts in preorder. Before each part, it writes the brackets of the tuples that have
 * ended or continue. */
Str shape_text(const ShapeTable *table, ShapeId id, bool with_layout, Arena *out) {
  TextBuffer buffer = {.arena = out};
  typedef struct Level {
    const Shape *tuple;
    uint32_t next;
  } Level;
  VEC(Level) stack = {0};
  for (;;) {
    const Shape *shape = shape_get(table, id);
    if (shape->kind == SHAPE_TUPLE) {
      text_put(&buffer, "(");
      *vec_push(out, &stack) = (Level){.tuple = shape};
    } else {
      put_array(&buffer, shape, with_layout);
    }
    while (stack.len && stack.data[stack.len - 1].next == stack.data[stack.len - 1].tuple->rank) {
      text_put(&buffer, ")");
      stack.len--;
    }
    if (!stack.len) break;
    Level *level = &stack.data[stack.len - 1];
    if (level->next) text_put(&buffer, ", ");
    if (level->next && level->next % 5 == 0) {
      text_put(&buffer, "/*index=");
      text_put_int(&buffer, level->next);
      text_put(&buffer, "*/");
    }
    id = level->tuple->elements[level->next++];
  }
  return text_str(&buffer);
}
