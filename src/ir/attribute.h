/* The attributes of instructions: the list of them, and how a parsed value is stored.
 *
 * A value is stored twice: as its span of the text, which is printed again, and, where a pass may
 * need it, as integers in Module.ints. The meaning of the integers depends on the kind of the
 * value:
 *
 *   BOOL, INT, INT32         {value}
 *   INT_LIST, PRECISION_LIST {values…}      INT_PAIR_LIST  {source, target, …}
 *   SLICE                    {start, limit, stride} per dimension
 *   PADDING                  {low, high, interior} per dimension
 *   WINDOW                   {size, stride, low, high, lhs dilation, rhs dilation, reversal}
 *                            per dimension
 *   DIM_LABELS               {n, then batch, feature, spatial 0…n-1 of the input; input feature,
 *                            output feature, spatial 0…n-1 of the kernel; batch, feature, spatial
 *                            0…n-1 of the output}; -1 where the text has `?`
 *   ALIASING                 {output index length, output index…, operand, operand index length,
 *                            operand index…} per pair
 *   REPLICA_GROUPS           {number of groups, devices in each, or -1 if they differ}
 *   SPARSITY                 {given, non-zeros, block size, dimension} of the lhs, then of the rhs
 *   SHAPE, SHAPE_LIST        {shape ids…}
 *   METADATA                 {index into Module.metadata}
 *   an enumeration           {index of the word in its list}, see attribute_enum_words
 *   anything else            nothing
 *
 * For example, the value `{[0:8], [2:4:2]}` of `slice` is stored as {0, 8, 1, 2, 4, 2}. */
#ifndef REMAT_HLO_IR_ATTRIBUTE_H
#define REMAT_HLO_IR_ATTRIBUTE_H

#include "ir/ids.h"

typedef enum AttrId {
#define ATTR(id, text, kind) ATTR_##id,
#include "ir/attrs.def"
  NUM_ATTRS
} AttrId;

typedef enum AttrKind {
  ATTR_KIND_ALIASING,
  ATTR_KIND_BLOCK_SCALING,
  ATTR_KIND_BOOL,
  ATTR_KIND_BOOL_LIST,
  ATTR_KIND_COMPUTATION,
  ATTR_KIND_COMPUTATION_LIST,
  ATTR_KIND_DIM_LABELS,
  ATTR_KIND_DOMAIN,
  ATTR_KIND_FLOAT,
  ATTR_KIND_FRONTEND_ATTRIBUTES,
  ATTR_KIND_INSTRUCTION_LIST,
  ATTR_KIND_INT,
  ATTR_KIND_INT32,
  ATTR_KIND_INT_LIST,
  ATTR_KIND_INT_LIST_LIST,
  ATTR_KIND_INT_PAIR_LIST,
  ATTR_KIND_LITERAL,
  ATTR_KIND_METADATA,
  ATTR_KIND_ORIGIN,
  ATTR_KIND_PADDING,
  ATTR_KIND_PRECISION_LIST,
  ATTR_KIND_REPLICA_GROUPS,
  ATTR_KIND_RESULT_ACCURACY,
  ATTR_KIND_SHAPE,
  ATTR_KIND_SHAPE_LIST,
  ATTR_KIND_SHARDING,
  ATTR_KIND_SLICE,
  ATTR_KIND_SPARSITY,
  ATTR_KIND_STATISTICS,
  ATTR_KIND_STRING,
  ATTR_KIND_STRING_OR_DICT,
  ATTR_KIND_WINDOW,
  /* Enumerations, ORDER attribute_enum_words */
  ATTR_KIND_API_VERSION,
  ATTR_KIND_COLLECTIVE_MODE,
  ATTR_KIND_COMPARISON_DIRECTION,
  ATTR_KIND_COMPARISON_ORDER,
  ATTR_KIND_COMPARISON_TYPE,
  ATTR_KIND_CONVOLUTION_KIND,
  ATTR_KIND_CUSTOM_CALL_SCHEDULE,
  ATTR_KIND_DOT_ALGORITHM,
  ATTR_KIND_FFT_TYPE,
  ATTR_KIND_FUSION_KIND,
  ATTR_KIND_PADDING_TYPE,
  ATTR_KIND_PRECISION, /* the kind of the elements of a PRECISION_LIST */
  ATTR_KIND_RNG_ALGORITHM,
  ATTR_KIND_RNG_DISTRIBUTION,
  ATTR_KIND_TRANSPOSE,
} AttrKind;

enum { FUSION_LOOP, FUSION_INPUT, FUSION_OUTPUT, FUSION_CUSTOM }; /* ORDER kLoop, kInput, … */
enum { DIRECTION_EQ, DIRECTION_NE, DIRECTION_GE, DIRECTION_GT, DIRECTION_LE, DIRECTION_LT };
enum { API_VERSION_UNSPECIFIED = 4 };
enum { FFT_FORWARD, FFT_INVERSE, FFT_REAL, FFT_INVERSE_REAL };

typedef struct AttrInfo {
  const char *text;
  uint8_t kind;
} AttrInfo;

const AttrInfo *attribute_info(AttrId id);

/* Returns the words of an enumeration, with NULL after the last. `*ignores_case` is set to whether
 * XLA ignores case when it reads them. */
const char *const *attribute_enum_words(AttrKind kind, bool *ignores_case);

/* Returns true for attributes that do not change what an instruction computes. verify and clones
 * ignore them. */
bool attribute_is_annotation(AttrId id);

typedef struct Attr {
  uint16_t id;
  uint32_t num_callees; /* the number of computations that the value names; they are in
                           Instruction.callees, in order */
  Span text;            /* the value, without `name=` */
  uint32_t ints;
  uint32_t num_ints;
} Attr;

/* One pair of ATTR_KIND_ALIASING: an index into the shape of the result and one into the shape of
 * an operand. */
typedef struct AliasPair {
  const int64_t *output, *input;
  uint32_t output_len, input_len;
  int64_t operand; /* as in the text: there may be no operand of that number */
} AliasPair;

/* Reads the pair that begins at `ints`. Returns the number of integers that were read. */
uint32_t alias_pair_read(const int64_t *ints, AliasPair *pair);

#endif
