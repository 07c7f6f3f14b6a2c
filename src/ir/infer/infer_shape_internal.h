/* What the files of shape inference share; ir/infer/infer_shape.h is the way in.
 *
 * A rule takes the Inference and either sets `result` and returns true, or says why it cannot by
 * infer_fail(), which returns false. Where XLA dies in a check or reads beyond an array, the rule
 * fails as well; so it does when sizes overflow, where XLA's arithmetic wraps around.
 *
 * An array here is XLA's IsArrayExcludingBuffer(). Some rules ask for dimensions only, and a buffer
 * b(f32[2]) has them too. */
#ifndef REMAT_HLO_IR_INFER_INFER_SHAPE_INTERNAL_H
#define REMAT_HLO_IR_INFER_INFER_SHAPE_INTERNAL_H

#include "ir/infer/infer_shape.h"

typedef struct Inference {
  Module *module;
  ShapeTable *shapes;
  const InferSpec *spec;
  Arena *scratch;
  ShapeId result;
  const char *why; /* in scratch */
} Inference;

bool infer_fail(Inference *inf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A shape as messages show it, without layout. */
const char *infer_shown(Inference *inf, ShapeId shape);

/* ---- operands, attributes and called computations ---- */

static inline ShapeId infer_operand_id(const Inference *inf, uint32_t i) {
  return inst_get(inf->module, inf->spec->operands[i])->shape;
}
static inline const Shape *infer_operand(const Inference *inf, uint32_t i) {
  return shape_get(inf->shapes, infer_operand_id(inf, i));
}

/* All operands' shapes, in scratch. */
ShapeId *infer_operand_ids(Inference *inf);

/* Fails unless operands `first` … `first + count - 1` are arrays. */
bool infer_expect_arrays(Inference *inf, uint32_t first, uint32_t count);

/* The same for arrays and buffers. */
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

/* Not an ElementType: what a tuple has in its place. */
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

/* Floating types count as one type: their precision may differ. */
static inline bool type_same_up_to_precision(unsigned a, unsigned b) {
  return a == b || (type_is_float(a) && type_is_float(b));
}

/* The type that keeps more of a value: complex before floating before integer, then by range,
 * precision, width and sign (primitive_util::HigherPrecisionType). */
bool infer_higher_type(Inference *inf, ElementType a, ElementType b, ElementType *higher);

/* The type of the parts of a complex one. */
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

/* Two sizes of which one may be `?`. */
static inline bool sizes_fit(int64_t a, int64_t b) {
  return a == b || a == UNBOUNDED_DIM || b == UNBOUNDED_DIM;
}

/* ShapeUtil::SameDimensions; both must have dims. */
bool shape_same_dims(const Shape *a, const Shape *b);

static inline bool dim_in_range(int64_t dim, uint32_t rank) {
  return dim >= 0 && dim < (int64_t)rank;
}
bool ints_contain(IntSlice ints, int64_t value);
bool ints_are_unique(IntSlice ints);
bool ints_are_rising(IntSlice ints);                     /* each larger than the one before */
bool ints_are_permutation(IntSlice ints, uint32_t rank); /* of 0 … rank - 1 */

/* Fails unless all of them are dimensions of something that has `rank`. */
bool infer_expect_in_range(Inference *inf, const char *what, IntSlice ints, uint32_t rank);

/* The dimensions of a result while they are put together, in scratch. */
typedef struct Dims {
  int64_t *sizes;
  int64_t *dynamic;
  uint32_t rank;
} Dims;

/* Room for `capacity` dimensions. */
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

/* Equal but for layouts, dynamic flags, `?`, and what `rule` allows (ShapeUtil::Compatible…). */
bool infer_compatible(Inference *inf, ShapeId a, ShapeId b, TypeRule rule);

/* Fails for negative sizes and when the bytes overflow. */
bool infer_check_dims(Inference *inf, ElementType type, const Dims *dims);

/* A new array in the default layout, its dims checked (ShapeUtil::MakeShape). */
bool infer_make_array(Inference *inf, ElementType type, const Dims *dims, ShapeId *shape);

/* A new tuple, all parts of it validated (ShapeUtil::MakeTupleShape). */
bool infer_make_tuple(Inference *inf, const ShapeId *elements, uint32_t count, ShapeId *shape);

/* A tuple of shapes as they are; false when it has too many parts. */
bool infer_join_tuple(Inference *inf, const ShapeId *elements, uint32_t count, ShapeId *shape);

/* ShapeUtil::ValidateShapeWithOptionalLayout: sizes that 64 bits can count, a layout that fits. */
bool infer_check_valid(Inference *inf, ShapeId shape);

/* A shape on its way to another that keeps most of it, the layout above all. */
typedef struct Draft {
  ArraySpec spec;
  int64_t *dims; /* writable, as are the next two */
  int64_t *dynamic;
  LayoutExtras extras;
} Draft;

void draft_begin(Inference *inf, Draft *draft, const Shape *like);

/* ShapeUtil::ChangeElementType: an E(n) in the layout stays with packed types only. */
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

/* One input of a reducer: its initial value and the type of what is reduced. */
typedef struct ReducerInput {
  ShapeId init;
  unsigned type;
} ReducerInput;

/* Fails unless `comp` maps accumulators and elements, all scalars, to accumulators. */
bool infer_check_reducer(Inference *inf, CompId comp, const ReducerInput *inputs, uint32_t count);

/* window.c */
bool infer_convolution(Inference *inf);
bool infer_reduce_window(Inference *inf);
bool infer_reduce_windows(Inference *inf); /* of several inputs, the reducer checked */
bool infer_select_and_scatter(Inference *inf);

/* dot.c */
bool infer_dot(Inference *inf, uint32_t rhs);
bool infer_ragged_dot(Inference *inf);

/* The size that dimension `dim` of operand `side` stands for, which sparsity_config may enlarge. */
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
