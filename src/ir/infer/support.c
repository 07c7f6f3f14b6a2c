/* The functions that all rules of shape inference share; see ir/infer/infer_shape_internal.h. */
#include "ir/infer/infer_shape_internal.h"

#include <stdarg.h>
#include <stdio.h>

#include "ir/bytes.h"

bool infer_fail(Inference *inf, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  size_t room = (size_t)(length < 0 ? 0 : length) + 1;
  char *text = arena_zalloc(inf->scratch, room);
  va_start(args, format);
  vsnprintf(text, room, format, args);
  va_end(args);
  inf->why = text;
  return false;
}

/* The text of a shape can be as long as the file, and the text of a tuple of tuples can be
 * longer. */
enum { MAX_SHOWN_PARTS = 64, MAX_SHOWN_RANK = 32 };

static bool is_long(const ShapeTable *shapes, const Shape *shape) {
  if (!shape_is_tuple(shape)) return shape->rank > MAX_SHOWN_RANK;
  if (shape->num_parts > MAX_SHOWN_PARTS) return true;
  for (uint32_t i = 0; i < shape->num_parts; i++) {
    const Shape *part = shape_get(shapes, shape_part(shapes, shape->compatible, i));
    if (!shape_is_tuple(part) && part->rank > MAX_SHOWN_RANK) return true;
  }
  return false;
}

const char *infer_shape_shown(const ShapeTable *shapes, ShapeId id, Arena *out) {
  const Shape *shape = shape_get(shapes, id);
  if (is_long(shapes, shape)) {
    return arena_printf(out, shape_is_tuple(shape) ? "a tuple of %u elements" : "of rank %u",
                        shape->rank);
  }
  Str text = shape_text(shapes, id, false, out);
  return arena_strndup(out, text.data, text.len);
}

const char *infer_shown(Inference *inf, ShapeId shape) {
  return infer_shape_shown(inf->shapes, shape, inf->scratch);
}

ShapeId *infer_operand_ids(Inference *inf) {
  ShapeId *ids = arena_array(inf->scratch, ShapeId, inf->spec->num_operands);
  for (uint32_t i = 0; i < inf->spec->num_operands; i++)
    ids[i] = infer_operand_id(inf, i);
  return ids;
}

static bool fail_operand(Inference *inf, uint32_t i) {
  return infer_fail(inf, "operand %u is %s, not an array", i,
                    infer_shown(inf, infer_operand_id(inf, i)));
}

bool infer_expect_arrays(Inference *inf, uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; i++) {
    if (!shape_is_array(infer_operand(inf, i))) return fail_operand(inf, i);
  }
  return true;
}

bool infer_expect_dims(Inference *inf, uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; i++) {
    if (!shape_has_dims(infer_operand(inf, i))) return fail_operand(inf, i);
  }
  return true;
}

const Attr *infer_attr(const Inference *inf, AttrId id) {
  for (uint32_t i = 0; i < inf->spec->num_attrs; i++) {
    if (inf->spec->attrs[i].id == id) return &inf->spec->attrs[i];
  }
  return NULL;
}

IntSlice infer_ints(const Inference *inf, AttrId id) {
  const Attr *attr = infer_attr(inf, id);
  if (!attr || !attr->num_ints) return (IntSlice){0};
  return (IntSlice){inf->module->source->ints.data + attr->ints, attr->num_ints};
}

int64_t infer_int(const Inference *inf, AttrId id, int64_t fallback) {
  IntSlice ints = infer_ints(inf, id);
  return ints.len ? ints.data[0] : fallback;
}

/* ---- element types ---- */

const char *infer_type_text(unsigned type) {
  return type < NUM_TYPES ? type_info((ElementType)type)->text : "tuple";
}

/* The properties of a floating type in std::numeric_limits. */
typedef struct FloatLimits {
  int16_t max_exponent;
  int16_t digits;
} FloatLimits;

static const FloatLimits float_limits[NUM_TYPES] = {
    [TYPE_F4E2M1FN] = {3, 2},    [TYPE_F6E2M3FN] = {3, 4},    [TYPE_F6E3M2FN] = {5, 3},
    [TYPE_F8E3M4] = {4, 5},      [TYPE_F8E4M3] = {8, 4},      [TYPE_F8E4M3B11FNUZ] = {5, 4},
    [TYPE_F8E4M3FN] = {9, 4},    [TYPE_F8E4M3FNUZ] = {8, 4},  [TYPE_F8E5M2] = {16, 3},
    [TYPE_F8E5M2FNUZ] = {16, 3}, [TYPE_F8E8M0FNU] = {128, 1}, [TYPE_BF16] = {128, 8},
    [TYPE_F16] = {16, 11},       [TYPE_F32] = {128, 24},      [TYPE_F64] = {1024, 53},
};

/* Returns a key that orders types by how much of a value they preserve. */
static int64_t type_rank(ElementType type) {
  bool is_complex = type_info(type)->class == TYPE_CLASS_COMPLEX;
  ElementType component = is_complex ? type_of_component(type) : type;
  FloatLimits limits = float_limits[component];
  int64_t rank = is_complex;
  rank = rank << 16 | limits.max_exponent;
  rank = rank << 16 | limits.digits;
  rank = rank << 16 | type_info(component)->bits;
  return rank << 1 | (type_info(component)->class == TYPE_CLASS_SINT);
}

bool infer_higher_type(Inference *inf, ElementType a, ElementType b, ElementType *higher) {
  int64_t rank_a = type_rank(a), rank_b = type_rank(b);
  if (rank_a == rank_b && a != b) {
    return infer_fail(inf, "neither of %s and %s is more precise than the other",
                      type_info(a)->text, type_info(b)->text);
  }
  *higher = rank_a > rank_b ? a : b;
  return true;
}

/* ---- dimensions ---- */

bool shape_same_dims(const Shape *a, const Shape *b) {
  if (a->rank != b->rank) return false;
  for (uint32_t i = 0; i < a->rank; i++) {
    if (!sizes_fit(a->dims[i], b->dims[i])) return false;
  }
  return true;
}

bool ints_contain(IntSlice ints, int64_t value) {
  for (uint32_t i = 0; i < ints.len; i++) {
    if (ints.data[i] == value) return true;
  }
  return false;
}

bool ints_are_unique(IntSlice ints) {
  for (uint32_t i = 0; i < ints.len; i++) {
    if (ints_contain((IntSlice){ints.data, i}, ints.data[i])) return false;
  }
  return true;
}

bool ints_are_rising(IntSlice ints) {
  for (uint32_t i = 1; i < ints.len; i++) {
    if (ints.data[i - 1] >= ints.data[i]) return false;
  }
  return true;
}

static bool all_in_range(IntSlice ints, uint32_t rank) {
  for (uint32_t i = 0; i < ints.len; i++) {
    if (!dim_in_range(ints.data[i], rank)) return false;
  }
  return true;
}

bool ints_are_permutation(IntSlice ints, uint32_t rank) {
  return ints.len == rank && all_in_range(ints, rank) && ints_are_unique(ints);
}

bool infer_expect_in_range(Inference *inf, const char *what, IntSlice ints, uint32_t rank) {
  return all_in_range(ints, rank) ||
         infer_fail(inf, "%s has an entry that is not below %u", what, rank);
}

Dims dims_new(Inference *inf, size_t capacity) {
  return (Dims){.sizes = arena_array(inf->scratch, int64_t, capacity),
                .dynamic = arena_array(inf->scratch, int64_t, capacity)};
}

/* ---- comparing ---- */

static bool types_match(unsigned a, unsigned b, TypeRule rule) {
  return rule == TYPES_ANY || a == b ||
         (rule == TYPES_UP_TO_PRECISION && type_same_up_to_precision(a, b));
}

static bool parts_match(const Shape *a, const Shape *b, TypeRule rule) {
  if (a->kind != b->kind) return false;
  if (shape_is_tuple(a)) return a->rank == b->rank;
  if (!shape_has_dims(a) || !shape_has_dims(b)) return a->type == b->type;
  return types_match(a->type, b->type, rule) && shape_same_dims(a, b);
}

bool infer_compatible(Inference *inf, ShapeId a, ShapeId b, TypeRule rule) {
  const Shape *shape_a = shape_get(inf->shapes, a), *shape_b = shape_get(inf->shapes, b);
  if (rule == TYPES_EQUAL) return shape_compatible(inf->shapes, a, b);
  if (shape_a->num_parts != shape_b->num_parts) return false;
  if (shape_a->num_parts == 1) return parts_match(shape_a, shape_b, rule);
  ArenaMark mark = arena_mark(inf->scratch);
  uint32_t num_parts = shape_a->num_parts;
  ShapeId *parts_a = arena_array(inf->scratch, ShapeId, num_parts);
  ShapeId *parts_b = arena_array(inf->scratch, ShapeId, num_parts);
  shape_list_parts(inf->shapes, a, parts_a);
  shape_list_parts(inf->shapes, b, parts_b);
  bool match = true;
  for (uint32_t i = 0; i < num_parts && match; i++) {
    match =
        parts_match(shape_get(inf->shapes, parts_a[i]), shape_get(inf->shapes, parts_b[i]), rule);
  }
  arena_reset(inf->scratch, mark);
  return match;
}

/* ---- making ---- */

/* Returns true if `start` times the dimensions fits in 64 bits. The factors are multiplied in XLA's
 * order, so a 0 after an overflow does not help. Unbounded dimensions are not counted. */
static bool extents_fit(int64_t start, const int64_t *dims, uint32_t rank, int64_t *product) {
  *product = start;
  for (uint32_t i = 0; i < rank; i++) {
    if (dims[i] != UNBOUNDED_DIM && !mul_bytes(*product, dims[i], product)) return false;
  }
  return true;
}

static int64_t bytes_of_type(ElementType type) {
  return (type_info(type)->bits + 7) / 8;
}

bool infer_check_dims(Inference *inf, ElementType type, const Dims *dims) {
  for (uint32_t i = 0; i < dims->rank; i++) {
    bool is_unbounded = dims->sizes[i] == UNBOUNDED_DIM && dims->dynamic[i];
    if (dims->sizes[i] < 0 && !is_unbounded) {
      return infer_fail(inf, "dimension %u of the result would have a negative size", i);
    }
  }
  int64_t product;
  return extents_fit(bytes_of_type(type), dims->sizes, dims->rank, &product) ||
         infer_fail(inf, "the size of the result overflows 64 bits");
}

bool infer_make_array(Inference *inf, ElementType type, const Dims *dims, ShapeId *shape) {
  if (!infer_check_dims(inf, type, dims)) return false;
  *shape = shape_array(
      inf->shapes,
      &(ArraySpec){
          .type = type, .rank = dims->rank, .dims = dims->sizes, .dynamic = dims->dynamic});
  return true;
}

static const char *check_order(const Shape *shape) {
  if (!shape->minor_to_major) return NULL;
  bool fits = ints_are_permutation((IntSlice){shape->minor_to_major, shape->rank}, shape->rank);
  return fits ? NULL : "the order of its layout is no permutation of its dimensions";
}

static const char *check_tiles(const LayoutExtras *extras) {
  for (uint32_t i = 0; i < extras->num_tile_words;) {
    int64_t rank = extras->tile_words[i++];
    if (rank == 0) return "its layout has an empty tile";
    for (int64_t k = 0; k < rank; k++, i++) {
      if (!tile_dim_is_valid(extras->tile_words[i])) {
        return "its layout has a tile dimension that is not positive";
      }
    }
  }
  return NULL;
}

/* Returns true if the split points of one physical dimension increase and lie inside of it. */
static bool split_points_rise(const Shape *shape, uint32_t physical, IntSlice points) {
  int64_t dim = shape_minor_dim(shape, (int64_t)shape->rank - 1 - physical);
  int64_t last = 0;
  for (uint32_t i = 0; i < points.len; i++) {
    if (points.data[i] <= last || points.data[i] >= shape->dims[dim]) return false;
    last = points.data[i];
  }
  return true;
}

static const char *check_splits(const Shape *shape) {
  static const char *const fault = "the split points of its layout do not fit";
  const int64_t *words = shape->extras->split_words;
  for (uint32_t i = 0; i < shape->extras->num_split_words; i += 2 + (uint32_t)words[i + 1]) {
    if (!dim_in_range(words[i], shape->rank)) return fault;
    for (uint32_t k = 0; k < i; k += 2 + (uint32_t)words[k + 1]) {
      if (words[k] == words[i]) return fault;
    }
    IntSlice points = {words + i + 2, (uint32_t)words[i + 1]};
    if (!split_points_rise(shape, (uint32_t)words[i], points)) return fault;
  }
  return NULL;
}

static const char *check_layout(const Shape *shape) {
  const LayoutExtras *extras = shape->extras;
  const char *fault = check_order(shape);
  if (fault || !extras) return fault;
  if (extras->tail_padding <= 0) return "the tail padding of its layout is not positive";
  if (extras->index_type || extras->pointer_type) return "its layout is that of a sparse array";
  if (extras->element_bits < 0) return "the element size in its layout is negative";
  fault = check_tiles(extras);
  return fault ? fault : check_splits(shape);
}

/* Returns the message for an invalid array, or for an invalid tuple itself. */
static const char *fault_of(const Shape *shape) {
  if (!shape_has_dims(shape)) return NULL;
  int64_t elements, bytes;
  if (!extents_fit(1, shape->dims, shape->rank, &elements) ||
      !mul_bytes(elements, bytes_of_type((ElementType)shape->type), &bytes)) {
    return "its size overflows 64 bits";
  }
  return check_layout(shape);
}

/* Checks every shape once. The elements of a tuple have smaller ids than the tuple, and many tuples
 * share them. */
static bool is_valid(ShapeTable *shapes, ShapeId id) {
  while (shapes->are_valid.len <= id) {
    const Shape *shape = shape_get(shapes, shapes->are_valid.len);
    bool valid = !fault_of(shape);
    for (uint32_t i = 0; shape_is_tuple(shape) && i < shape->rank; i++)
      valid &= shapes->are_valid.data[shape->elements[i]];
    *vec_push(shapes->arena, &shapes->are_valid) = valid;
  }
  return shapes->are_valid.data[id];
}

bool infer_check_valid(Inference *inf, ShapeId id) {
  while (!is_valid(inf->shapes, id)) {
    const Shape *shape = shape_get(inf->shapes, id);
    const char *fault = fault_of(shape);
    if (fault) return infer_fail(inf, "%s is not valid: %s", infer_shown(inf, id), fault);
    uint32_t i = 0;
    while (is_valid(inf->shapes, shape->elements[i]))
      i++;
    id = shape->elements[i];
  }
  return true;
}

bool infer_join_tuple(Inference *inf, const ShapeId *elements, uint32_t count, ShapeId *shape) {
  *shape = shape_tuple(inf->shapes, elements, count);
  if (*shape == NO_ID) {
    return infer_fail(inf, "the tuple would have more than %d parts", MAX_SHAPE_PARTS);
  }
  return shape_get(inf->shapes, *shape)->depth <= MAX_SHAPE_DEPTH ||
         infer_fail(inf, "the tuple would be more than %d deep", MAX_SHAPE_DEPTH);
}

bool infer_make_tuple(Inference *inf, const ShapeId *elements, uint32_t count, ShapeId *shape) {
  for (uint32_t i = 0; i < count; i++) {
    if (!infer_check_valid(inf, elements[i])) return false;
  }
  return infer_join_tuple(inf, elements, count, shape);
}

void draft_begin(Inference *inf, Draft *draft, const Shape *like) {
  draft->spec = shape_spec(like);
  draft->extras = like->extras ? *like->extras : (LayoutExtras){.tail_padding = 1};
  draft->dims = arena_array(inf->scratch, int64_t, like->rank);
  draft->dynamic = arena_zarray(inf->scratch, int64_t, like->rank);
  if (like->rank) memcpy(draft->dims, like->dims, like->rank * sizeof *draft->dims);
  if (like->dynamic) memcpy(draft->dynamic, like->dynamic, like->rank * sizeof *draft->dynamic);
  draft->spec.dims = draft->dims;
  draft->spec.dynamic = draft->dynamic;
  draft->spec.extras = &draft->extras;
}

void draft_set_type(Draft *draft, ElementType type) {
  draft->spec.type = type;
  /* XLA stores 6 bits in a byte. */
  bool is_packed = type != TYPE_PRED && type_info(type)->bits <= 4;
  if (!is_packed) draft->extras.element_bits = 0;
}

ShapeId draft_finish(Inference *inf, Draft *draft) {
  return shape_array(inf->shapes, &draft->spec);
}
