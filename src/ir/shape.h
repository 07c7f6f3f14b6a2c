/* Shapes. They are interned, so equal shapes have equal ids.
 *
 * The parts of a tuple are numbered in preorder: part 0 is the tuple itself; then come the parts of
 * element 0, then those of element 1, and so on. What XLA calls a shape index is a part number
 * here. For example, the shape (f32[], (s32[], pred[])) has five parts:
 *
 *   part 0  {}     (f32[], (s32[], pred[]))      part 3  {1,0}  s32[]
 *   part 1  {0}    f32[]                         part 4  {1,1}  pred[]
 *   part 2  {1}    (s32[], pred[]) */
#ifndef REMAT_HLO_IR_SHAPE_H
#define REMAT_HLO_IR_SHAPE_H

#include "ir/arena.h"
#include "ir/hash.h"
#include "ir/ids.h"
#include "ir/vec.h"

typedef enum ElementType {
#define TYPE(id, text, bits, class) TYPE_##id,
#include "ir/types.def"
  NUM_TYPES
} ElementType;

typedef enum TypeClass {
  TYPE_CLASS_PRED,
  TYPE_CLASS_SINT,
  TYPE_CLASS_UINT,
  TYPE_CLASS_FLOAT,
  TYPE_CLASS_COMPLEX,
  TYPE_CLASS_TOKEN,
  TYPE_CLASS_OPAQUE,
} TypeClass;

typedef struct TypeInfo {
  const char *text;
  uint8_t bits;
  uint8_t class;
} TypeInfo;

const TypeInfo *type_info(ElementType type);

typedef enum ShapeKind {
  SHAPE_ARRAY, /* an array, or a token or opaque value; the element type distinguishes them */
  SHAPE_TUPLE,
  SHAPE_BUFFER, /* b(array) */
} ShapeKind;

#define UNBOUNDED_DIM INT64_MIN /* written `?` */

/* The properties of a layout other than minor_to_major. All are zero (tail_padding 1) if the text
 * gives none of them. */
typedef struct LayoutExtras {
  int64_t tail_padding;     /* L(n), in elements; default 1 */
  int64_t element_bits;     /* E(n); 0 = the type's own width */
  int64_t memory_space;     /* S(n) */
  int64_t metadata_prefix;  /* M(n), in bytes */
  int64_t index_type;       /* #(type), stored as ElementType + 1; 0 = none */
  int64_t pointer_type;     /* *(type), stored as ElementType + 1; 0 = none */
  uint32_t num_tile_words;  /* for each tile: its rank, then its dimensions */
  uint32_t num_split_words; /* for each split config: dimension, count, indices */
  const int64_t *tile_words;
  const int64_t *split_words;
} LayoutExtras;

/* Special values of tile dimensions (xla/layout.h). */
#define COMBINED_TILE_DIM INT64_MIN      /* `*` */
#define DYNAMIC_TILE_DIM (INT64_MIN + 1) /* `d` */

static inline bool tile_dim_is_valid(int64_t dim) {
  return dim > 0 || dim == COMBINED_TILE_DIM || dim == DYNAMIC_TILE_DIM;
}

typedef struct Shape {
  uint8_t kind;           /* ShapeKind */
  uint8_t type;           /* ElementType of an array or buffer */
  bool has_unbounded;     /* some dimension of some part is UNBOUNDED_DIM */
  bool has_dynamic;       /* some dimension of this array is bounded dynamic (`<=`) or unbounded */
  uint32_t rank;          /* number of dimensions of an array, or of elements of a tuple */
  const int64_t *dims;    /* array */
  const int64_t *dynamic; /* 1 for each dynamic dimension; NULL if there is none */
  const int64_t *minor_to_major;   /* NULL = the default layout, rank-1 … 0 */
  const LayoutExtras *extras;      /* NULL = none */
  const ShapeId *elements;         /* tuple */
  const uint32_t *element_offsets; /* tuple: the part number at which each element begins */
  uint32_t num_parts;              /* number of parts, at most MAX_SHAPE_PARTS */
  int64_t num_elements; /* array: product of the dimensions (bounds); -1 if it overflows or is
                           unbounded */
  int64_t bytes;        /* ShapeUtil::ByteSizeOf(shape, 8): top level only; -1 if it overflows or is
                           unbounded */
  int64_t total_bytes;  /* sum over all parts; -1 if a part overflows, INT64_MAX if the sum does */
  int64_t device_bytes; /* total_bytes without the parts that their layouts place in host memory */
  uint32_t depth;       /* nesting depth of tuples; 0 = no tuple */
  ShapeId compatible;   /* the same shape without layouts and dynamic flags */
} Shape;

/* Inferred tuples of tuples can grow exponentially. Shapes with more parts than this are
 * rejected. */
enum { MAX_SHAPE_PARTS = 1 << 22 };

/* Deeper shapes are not inferred, because the parser would reject them if they were written. */
enum { MAX_SHAPE_DEPTH = 300 };

typedef struct ShapeTable {
  Arena *arena;
  VEC(const Shape *) shapes;
  VEC(bool) are_valid; /* by ShapeId, up to the shapes that infer_check_valid has checked */
  IdTable table;
} ShapeTable;

static inline const Shape *shape_get(const ShapeTable *table, ShapeId id) {
  return table->shapes.data[id];
}

typedef struct ArraySpec {
  ElementType type;
  bool is_buffer;
  uint32_t rank;
  const int64_t *dims;
  const int64_t *dynamic;        /* may be NULL */
  const int64_t *minor_to_major; /* may be NULL */
  const LayoutExtras *extras;    /* may be NULL */
} ArraySpec;

void shape_table_init(ShapeTable *table, Arena *arena);

/* Returns a table with the same ids that can grow independently. The shapes themselves are
 * shared. */
ShapeTable shape_table_copy(const ShapeTable *table, Arena *arena);

ShapeId shape_array(ShapeTable *table, const ArraySpec *spec);
ShapeId shape_scalar(ShapeTable *table, ElementType type);

/* Returns the bytes of `count` elements of an array, at the width that its layout gives. Returns -1
 * on overflow. */
int64_t shape_bytes_of_elements(const Shape *shape, int64_t count);

/* Returns NO_ID if the tuple would have more than MAX_SHAPE_PARTS parts. */
ShapeId shape_tuple(ShapeTable *table, const ShapeId *elements, uint32_t count);

/* Returns the spec of an array shape, from which a similar shape can be made. */
ArraySpec shape_spec(const Shape *shape);

/* The shape of an array with another size in one dimension. */
ShapeId shape_with_dim(ShapeTable *table, ShapeId array, uint32_t dim, int64_t size,
                       Arena *scratch);

static inline bool shape_is_tuple(const Shape *shape) {
  return shape->kind == SHAPE_TUPLE;
}
static inline bool shape_is_array(const Shape *shape) {
  return shape->kind == SHAPE_ARRAY && shape->type != TYPE_TOKEN && shape->type != TYPE_OPAQUE;
}
/* The dimension of an array that is `index`-th from the minor-most one in memory; `index` is below
 * the rank. */
static inline int64_t shape_minor_dim(const Shape *shape, int64_t index) {
  return shape->minor_to_major ? shape->minor_to_major[index] : (int64_t)shape->rank - 1 - index;
}
static inline bool shape_is_token(const Shape *shape) {
  return shape->kind == SHAPE_ARRAY && shape->type == TYPE_TOKEN;
}
static inline bool shape_is_scalar(const Shape *shape) {
  return shape_is_array(shape) && shape->rank == 0;
}

/* Returns true for an array of exactly one element (ShapeUtil::IsEffectiveScalar). */
bool shape_is_effective_scalar(const Shape *shape);

/* Returns true if the shapes are equal apart from layouts, dynamic flags and `?`
 * (ShapeUtil::Compatible). */
bool shape_compatible(const ShapeTable *table, ShapeId a, ShapeId b);

/* Returns the element of a tuple that contains part number `part`; 0 < `part` < num_parts. The time
 * is O(log n). */
uint32_t shape_element_of_part(const Shape *tuple, uint32_t part);

/* Returns the shape of part number `part`; `part` < num_parts. The time is O(depth · log
 * elements). */
ShapeId shape_part(const ShapeTable *table, ShapeId shape, uint32_t part);

/* Fills `parts` with the shape ids of all parts in preorder (num_parts ids), so that callers need
 * no recursion. */
void shape_list_parts(const ShapeTable *table, ShapeId shape, ShapeId *parts);

/* Returns the part number of a shape index {i0,i1,…}, or NO_ID if there is no such part. */
uint32_t shape_index_part(const ShapeTable *table, ShapeId shape, const int64_t *index,
                          uint32_t length);

/* Returns the memory space S(n) of an array's layout, or 0 for any other shape. */
int64_t shape_memory_space(const Shape *shape);

enum { HOST_MEMORY_SPACE = 5 }; /* Layout::kHostMemorySpace */

static inline bool shape_is_on_host(const Shape *shape) {
  return shape_memory_space(shape) == HOST_MEMORY_SPACE;
}

/* Returns the bytes of device memory that an array or a table of pointers needs. Only the top level
 * counts. */
static inline int64_t shape_bytes_on_device(const Shape *shape) {
  return shape_is_on_host(shape) ? 0 : shape->bytes;
}

/* Returns the shape of the same array in another memory space. */
ShapeId shape_in_memory_space(ShapeTable *table, ShapeId array, int64_t space);

/* Returns true if both are arrays with the same layout, including the memory space
 * (LayoutUtil::Equal). */
bool shape_same_layout(const Shape *a, const Shape *b);

/* The most major dimension that is larger than 1, if each slice along it is one piece of memory:
 * slice i of n has the bytes from i/n to (i + 1)/n of the array. False if there is no such
 * dimension, a tile covers it, or the layout has more than an order of dimensions and tiles. */
bool shape_outer_dim(const Shape *shape, uint32_t *dim);

/* The dimension of a view, an array with the same bytes as `array`, along which its slices have the
 * bytes of the slices of `array` along `dim`: the outermost one of both, or, where layouts are only
 * orders of dimensions, the one with as many elements around it. False if there is none, or if it
 * is not certain. */
bool shape_dim_in_view(const Shape *array, uint32_t dim, const Shape *view, uint32_t *view_dim);

/* Returns the text that XLA prints, e.g. `(f32[8,128]{1,0:T(8,128)}, s32[])`, with or without
 * layouts. */
Str shape_text(const ShapeTable *table, ShapeId shape, bool with_layout, Arena *out);

#endif
