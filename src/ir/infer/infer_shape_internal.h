/* The types and functions that the files of shape inference share. Callers outside of it use
 * ir/infer/infer_shape.h.
 *
 * A rule is a function that infers the shape for some opcodes. It takes the Inference and either
 * sets `result` and returns true, or returns the value of infer_fail(), which stores a message and
 * is false:
 *
 *   bool infer_topk(Inference *inf) {
 *     if (…) return infer_fail(inf, "…");
 *     return infer_make_array(inf, type, &dims, &inf->result);
 *   }
 *
 * Where XLA fails a check or reads beyond an array, the rule fails. It also fails when sizes
 * overflow, where XLA's arithmetic wraps around.
 *
 * In these files an array is what XLA's IsArrayExcludingBuffer() accepts. Some rules only require
 * dimensions; a buffer b(f32[2]) has dimensions too. */
#ifndef REMAT_HLO_IR_INFER_INFER_SHAPE_INTERNAL_H
#define REMAT_HLO_IR_INFER_INFER_SHAPE_INTERNAL_H

#include "ir/infer/infer_shape.h"

typedef struct Inference {
  Module *module;
  ShapeTable *shapes;
  const InferSpec *spec;
  Arena *scratch;
  ShapeId result;
  const char *why; /* the message, in scratch */
} Inference;

bool infer_fail(Inference *inf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns a shape in the form for messages, without layout. */
const char *infer_shown(Inference *inf, ShapeId shape);

/* ---- operands, attributes and called computations ---- */

static inline ShapeId infer_operand_id(const Inference *inf, uint32_t i) {
  return inst_get(inf->module, inf->spec->operands[i])->shape;
}
static inline const Shape *infer_operand(const Inference *inf, uint32_t i) {
  return shape_get(inf->shapes, infer_operand_id(inf, i));
}

/* Returns the shapes of all operands, in scratch. */
ShapeId *infer_operand_ids(Inference *inf);

/* Fails unless operands `first` … `first + count - 1` are arrays. */
bool infer_expect_arrays(Inference *inf, uint32_t first, uint32_t count);

/* Fails unless operands `first` … `first + count - 1` are arrays or buffers. */
bool infer_expect_dims(Inference *inf, uint32_t first, uint32_t count);

const Attr *infer_attr(const Inference *inf, AttrId id);
IntSlice infer_ints(const Inference *inf, AttrId id);
int64_t infer_int(const Inference *inf, AttrId id, int64_t fallback);

static inline uint32_t infer_num_params(const Inference *inf, CompId comp) {
  return comp_get(inf->module, comp)->params.len;
}
static inline ShapeId infer_param(const Inference *inf, CompId comp, uint32_t i) {
  return inst_get(inf->module, id_list(inf->module, comp_get(inf->module, comp)->params)[i])->shape;
}
static inline ShapeId infer_comp_result(const Inference *inf, CompId comp) {
  return inst_get(inf->module, comp_get(inf->module, comp)->root)->shape;
}

/* ---- element types ---- */

/* The type of a tuple, which has no ElementType. */
enum { TYPE_OF_TUPLE = NUM_TYPES };

static inline unsigned infer_type(const Shape *shape) {
  return shape_is_tuple(shape) ? TYPE_OF_TUPLE : shape->type;
}
const char *infer_type_text(unsigned type);

static inline bool type_has_class(unsigned type, TypeClass class) {
  return type < NUM_TYPES && type_info((ElementType)type)->class == class;
}
static inline bool type_is_float(unsigned type) {
  return type_has_class(type, TYPE_CLASS_FLOAT);
}
static inline bool type_is_complex(unsigned type) {
  return type_has_class(type, TYPE_CLASS_COMPLEX);
}
static inline bool type_is_integer(unsigned type) {
  return type_has_class(type, TYPE_CLASS_SINT) || type_has_class(type, TYPE_CLASS_UINT);
}

/* Returns true if the types are equal or both floating: these may differ in precision. */
static inline bool type_same_up_to_precision(unsigned a, unsigned b) {
  return a == b || (type_is_float(a) && type_is_float(b));
}

/* Finds the type that preserves more of a value: complex is preferred to floating and floating to
 * integer; then range, precision, width and sign decide (primitive_util::HigherPrecisionType). */
bool infer_higher_type(Inference *inf, ElementType a, ElementType b, ElementType *higher);

/* Returns the type of the real and imaginary parts of a complex type. */
static inline ElementType type_of_component(unsigned type) {
  return type == TYPE_C64 ? TYPE_F32 : TYPE_F64;
}

/* ---- dimensions ---- */

static inline bool shape_has_dims(const Shape *shape) {
  return shape_is_array(shape) || shape->kind == SHAPE_BUFFER;
}
static inline bool shape_has_no_dims(const Shape *shape) {
  return shape_has_dims(shape) && shape->rank == 0; /* ShapeUtil::IsScalar */
}
static inline bool dim_is_dynamic(const Shape *shape, uint32_t dim) {
  return shape->dynamic && shape->dynamic[dim];
}

/* Returns true if two sizes are equal or one of them is `?`. */
static inline bool sizes_fit(int64_t a, int64_t b) {
  return a == b || a == UNBOUNDED_DIM || b == UNBOUNDED_DIM;
}

/* ShapeUtil::SameDimensions. Both shapes must have dimensions. */
bool shape_same_dims(const Shape *a, const Shape *b);

static inline bool dim_in_range(int64_t dim, uint32_t rank) {
  return dim >= 0 && dim < (int64_t)rank;
}
bool ints_contain(IntSlice ints, int64_t value);
bool ints_are_unique(IntSlice ints);
bool ints_are_rising(IntSlice ints); /* each value is larger than the one before */
bool ints_are_permutation(IntSlice ints, uint32_t rank); /* a permutation of 0 … rank - 1 */

/* Fails unless all values are dimensions of a shape of this rank. */
bool infer_expect_in_range(Inference *inf, const char *what, IntSlice ints, uint32_t rank);

/* The dimensions of a result while a rule collects them, in scratch. */
typedef struct Dims {
  int64_t *sizes;
  int64_t *dynamic;
  uint32_t rank;
} Dims;

/* Returns an empty Dims with room for `capacity` dimensions. */
Dims dims_new(Inference *inf, size_t capacity);
static inline void dims_push(Dims *dims, int64_t size, bool is_dynamic) {
  dims->sizes[dims->rank] = size;
  dims->dynamic[dims->rank++] = is_dynamic;
}
static inline void dims_push_from(Dims *dims, const Shape *shape, uint32_t dim) {
  dims_push(dims, shape->dims[dim], dim_is_dynamic(shape, dim));
}

/* ---- making and comparing shapes ---- */

typedef enum TypeRule { TYPES_EQUAL, TYPES_UP_TO_PRECISION, TYPES_ANY } TypeRule;

/* Returns true if the shapes are equal apart from layouts, dynamic flags, `?`, and the differences
 * that `rule` allows (ShapeUtil::Compatible…). */
bool infer_compatible(Inference *inf, ShapeId a, ShapeId b, TypeRule rule);

/* Fails if a size is negative or the number of bytes overflows. */
bool infer_check_dims(Inference *inf, ElementType type, const Dims *dims);

/* Makes an array with the default layout after checking its dimensions (ShapeUtil::MakeShape). */
bool infer_make_array(Inference *inf, ElementType type, const Dims *dims, ShapeId *shape);

/* Makes a tuple after checking all its parts (ShapeUtil::MakeTupleShape). */
bool infer_make_tuple(Inference *inf, const ShapeId *elements, uint32_t count, ShapeId *shape);

/* Makes a tuple without checking its parts. Returns false if it has too many parts. */
bool infer_join_tuple(Inference *inf, const ShapeId *elements, uint32_t count, ShapeId *shape);

/* Checks a shape as ShapeUtil::ValidateShapeWithOptionalLayout does: 64 bits must be able to hold
 * its sizes, and its layout must fit. */
bool infer_check_valid(Inference *inf, ShapeId shape);

/* An array shape that is made by changing a few properties of another one. It keeps the rest, above
 * all the layout. */
typedef struct Draft {
  ArraySpec spec;
  int64_t *dims; /* writable, as are `dynamic` and `extras` */
  int64_t *dynamic;
  LayoutExtras extras;
} Draft;

void draft_begin(Inference *inf, Draft *draft, const Shape *like);

/* ShapeUtil::ChangeElementType: the E(n) of a layout is kept only for packed types. */
void draft_set_type(Draft *draft, ElementType type);
ShapeId draft_finish(Inference *inf, Draft *draft);

/* ---- rules, named after the opcodes that they serve ---- */

/* elementwise.c */
bool infer_unary(Inference *inf);
bool infer_binary(Inference *inf);
bool infer_clamp(Inference *inf);
bool infer_select(Inference *inf);

/* move.c */
bool infer_broadcast(Inference *inf);
bool infer_concatenate(Inference *inf);
bool infer_get_dimension_size(Inference *inf);
bool infer_pad(Inference *inf);
bool infer_reverse(Inference *inf);
bool infer_set_dimension_size(Inference *inf);
bool infer_topk(Inference *inf);
bool infer_transpose(Inference *inf);

/* call.c */
bool infer_call(Inference *inf);
bool infer_conditional(Inference *inf);
bool infer_map(Inference *inf);
bool infer_reduce(Inference *inf);
bool infer_scan(Inference *inf);
bool infer_while(Inference *inf);

/* One input of a reducer: the shape of its initial value and the element type of the reduced
 * array. */
typedef struct ReducerInput {
  ShapeId init;
  unsigned type;
} ReducerInput;

/* Fails unless `comp` maps accumulators and elements, all of them scalars, to accumulators. */
bool infer_check_reducer(Inference *inf, CompId comp, const ReducerInput *inputs, uint32_t count);

/* window.c */
bool infer_convolution(Inference *inf);
bool infer_reduce_window(Inference *inf);
bool infer_reduce_windows(Inference *inf); /* for several inputs, after the reducer was checked */
bool infer_select_and_scatter(Inference *inf);

/* dot.c */
bool infer_dot(Inference *inf, uint32_t rhs);
bool infer_ragged_dot(Inference *inf);

/* Finds the size of dimension `dim` of operand `side` without sparsity; sparsity_config may make it
 * larger than the size in the shape. */
bool infer_logical_size(Inference *inf, uint32_t side, int64_t dim, int64_t *size);

/* index.c */
bool infer_gather(Inference *inf);
bool infer_scatter(Inference *inf);

/* linalg.c */
bool infer_batch_norm(Inference *inf);
bool infer_cholesky(Inference *inf);
bool infer_fft(Inference *inf);
bool infer_triangular_solve(Inference *inf);

#endif
