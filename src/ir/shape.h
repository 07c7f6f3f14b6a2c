/* Shapes: interned, so that equal shapes have equal ids.
 *
 * A tuple's parts are numbered in preorder: part 0 is the tuple itself, then come the parts of
 * element 0, then those of element 1, … A "shape index" of XLA ({1,0}) is such a number here. */
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
  SHAPE_ARRAY, /* also token and opaque, told apart by their element type */
  SHAPE_TUPLE,
  SHAPE_BUFFER, /* b(array) */
} ShapeKind;

#define UNBOUNDED_DIM INT64_MIN /* written `?` */

/* What a layout says beyond minor_to_major; all zero (tail 1) when the text has none of it. */
typedef struct LayoutExtras {
  int64_t tail_padding;     /* L(n), elements; default 1 */
  int64_t element_bits;     /* E(n); 0 = the type's own width */
  int64_t memory_space;     /* S(n) */
  int64_t metadata_prefix;  /* M(n), bytes */
  int64_t index_type;       /* #(type), an ElementType + 1; 0 = none */
  int64_t pointer_type;     /* *(type), likewise */
  uint32_t num_tile_words;  /* per tile: its rank, then its dims */
  uint32_t num_split_words; /* per split config: dimension, count, indices */
  const int64_t *tile_words;
  const int64_t *split_words;
} LayoutExtras;

/* Special tile dimensions (xla/layout.h). */
#define COMBINED_TILE_DIM INT64_MIN      /* `*` */
#define DYNAMIC_TILE_DIM (INT64_MIN + 1) /* `d` */

static inline bool tile_dim_is_valid(int64_t dim) {
  return dim > 0 || dim == COMBINED_TILE_DIM || dim == DYNAMIC_TILE_DIM;
}

typedef struct Shape {
  uint8_t kind;                  /* ShapeKind */
  uint8_t type;                  /* ElementType of an array or buffer */
  bool has_unbounded;            /* some dim, of some part, is UNBOUNDED_DIM */
  bool has_dynamic;              /* some dim of this array is bounded dynamic (`<=`) or unbounded */
  uint32_t rank;                 /* dims of an array, elements of a tuple */
  const int64_t *dims;           /* array */
  const int64_t *dynamic;        /* 1 per dynamic dim, NULL if there is none */
  const int64_t *minor_to_major; /* NULL = the default, rank-1 … 0 */
  const LayoutExtras *extras;    /* NULL = none */
  const ShapeId *elements;       /* tuple */
  const uint32_t *element_offsets; /* tuple: the part number at which each element begins */
  uint32_t num_parts;              /* preorder size; MAX_SHAPE_PARTS at most */
  int64_t num_elements; /* array: product of dims (bounds); -1 when it overflows or is unbounded */
  int64_t bytes;        /* ShapeUtil::ByteSizeOf(shape, 8): top level only; -1 likewise */
  int64_t
      total_bytes; /* of all parts; -1 when one of them overflows, INT64_MAX when the sum does */
  int64_t device_bytes; /* the same without what layouts put in the host's memory */
  uint32_t depth;       /* of tuples, 0 = none */
  ShapeId compatible;   /* the same shape without layouts and dynamic flags */
} Shape;

/* Shapes grow exponentially when tuples of tuples are inferred; beyond this they are refused. */
enum { MAX_SHAPE_PARTS = 1 << 22 };

/* Deeper ones are not inferred: the parser would not read them where they are written. */
enum { MAX_SHAPE_DEPTH = 300 };

typedef struct ShapeTable {
  Arena *arena;
  VEC(const Shape *) shapes;
  VEC(bool) are_valid; /* by ShapeId, as far as infer_check_valid has looked */
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

/* A table with the same ids that can grow on its own; the shapes themselves are shared. */
ShapeTable shape_table_copy(const ShapeTable *table, Arena *arena);

ShapeId shape_array(ShapeTable *table, const ArraySpec *spec);
ShapeId shape_scalar(ShapeTable *table, ElementType type);

/* What so many elements of an array's type take, as wide as its layout says; -1 on overflow. */
int64_t shape_bytes_of_elements(const Shape *shape, int64_t count);

/* NO_ID when the tuple would have more than MAX_SHAPE_PARTS parts. */
ShapeId shape_tuple(ShapeTable *table, const ShapeId *elements, uint32_t count);

/* The spec of an array shape, for making one like it. */
ArraySpec shape_spec(const Shape *shape);

static inline bool shape_is_tuple(const Shape *shape) {
  return shape->kind == SHAPE_TUPLE;
}
static inline bool shape_is_array(const Shape *shape) {
  return shape->kind == SHAPE_ARRAY && shape->type != TYPE_TOKEN && shape->type != TYPE_OPAQUE;
}
static inline bool shape_is_token(const Shape *shape) {
  return shape->kind == SHAPE_ARRAY && shape->type == TYPE_TOKEN;
}
static inline bool shape_is_scalar(const Shape *shape) {
  return shape_is_array(shape) && shape->rank == 0;
}

/* An array of exactly one element (ShapeUtil::IsEffectiveScalar). */
bool shape_is_effective_scalar(const Shape *shape);

/* Equal up to layouts, dynamic flags and `?` (ShapeUtil::Compatible). */
bool shape_compatible(const ShapeTable *table, ShapeId a, ShapeId b);

/* The element of a tuple in which part number `part` lies; 0 < `part` < num_parts. O(log n). */
uint32_t shape_element_of_part(const Shape *tuple, uint32_t part);

/* The shape of part number `part`; `part` < num_parts. O(depth · log elements). */
ShapeId shape_part(const ShapeTable *table, ShapeId shape, uint32_t part);

/* Calls for every part in preorder would recurse; this fills `parts` (num_parts ids) instead. */
void shape_list_parts(const ShapeTable *table, ShapeId shape, ShapeId *parts);

/* The part number of a shape index {i0,i1,…}; NO_ID when there is no such part. */
uint32_t shape_index_part(const ShapeTable *table, ShapeId shape, const int64_t *index,
                          uint32_t length);

/* The memory space S(n) of an array's layout, 0 for anything else. */
int64_t shape_memory_space(const Shape *shape);

enum { HOST_MEMORY_SPACE = 5 }; /* Layout::kHostMemorySpace */

static inline bool shape_is_on_host(const Shape *shape) {
  return shape_memory_space(shape) == HOST_MEMORY_SPACE;
}

/* Top level only: what an array or a table of pointers takes of the device's memory. */
static inline int64_t shape_bytes_on_device(const Shape *shape) {
  return shape_is_on_host(shape) ? 0 : shape->bytes;
}

/* The same array in another memory space. */
ShapeId shape_in_memory_space(ShapeTable *table, ShapeId array, int64_t space);

/* True when both are arrays of the same layout (LayoutUtil::Equal), memory space included. */
bool shape_same_layout(const Shape *a, const Shape *b);

/* As XLA prints it, e.g. `(f32[8,128]{1,0:T(8,128)}, s32[])`; with layouts or without. */
Str shape_text(const ShapeTable *table, ShapeId shape, bool with_layout, Arena *out);

#endif
