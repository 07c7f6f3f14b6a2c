/* What the parts of the generator share: the module that is being written. */
#ifndef REMAT_HLO_TESTS_GENERATE_INTERNAL_H
#define REMAT_HLO_TESTS_GENERATE_INTERNAL_H

#include <stdbool.h>

#include "generate.h"
#include "ir/vec.h"

/* Array types, by their place in `array_types`; tuple types follow. */
enum {
  T_F32,
  T_S32,
  T_PRED,
  T_F32_16,
  T_F32_256,
  T_F32_16_16,
  T_F32_16_16_T,
  T_F32_4096,
  T_F32_16_256,
  T_F32_64_64,
  T_BF16_4096,
  T_PRED_4096,
  T_S32_4096,
  T_TOKEN,
  NUM_ARRAY_TYPES,
};
typedef uint32_t TypeId;

enum { MAX_OPERANDS = 8, MAX_ATTRS_CHARS = 600, MAX_DEPTH = 3 };

typedef struct Type {
  const char *text;
  bool is_tuple;
  uint32_t num_elements; /* of a tuple */
  TypeId elements[MAX_OPERANDS];
} Type;

typedef VEC(char) Chars;
typedef uint32_t ValueId;

typedef struct Value {
  TypeId type;
  const char *name;
  uint32_t line; /* offset of its line in the computation's text */
  bool has_line; /* false: an element written `x#1` */
  bool is_state; /* of an asynchronous operation: nothing else reads it */
} Value;

/* An asynchronous operation that is not done. */
typedef struct AsyncOp {
  ValueId state;
  TypeId result;
} AsyncOp;

typedef struct Body {
  const char *name;
  Chars chars;
  VEC(Value) values;
  VEC(TypeId) params;
  bool is_fused;
  bool has_token; /* tokens are chained through it */
  ValueId token;
  VEC(AsyncOp) under_way;
  uint32_t depth;
  uint32_t num_names;
  uint32_t budget; /* instructions still to be written in it and in what it calls */
} Body;

/* A computation that can be called again. */
typedef struct Callable {
  const char *name;
  uint32_t num_params;
  TypeId params[MAX_OPERANDS];
  TypeId result;
  bool has_effects;
} Callable;

typedef struct Generator {
  Arena *arena;
  uint64_t state;
  GenerateOptions options;
  Chars chars; /* the computations that are complete */
  VEC(Type) types;
  VEC(Callable) callables;
  VEC(Callable) loops; /* their bodies */
  const char *reducer;
  uint32_t num_names;
  uint32_t num_identities; /* told apart by them: what has side effects */
  bool has_percent, has_operand_shapes, has_signatures;
  bool has_local_names; /* instructions of different computations have the same names */
} Generator;

/* An instruction to be written. */
typedef struct Line {
  TypeId type;
  const char *opcode;
  uint32_t num_operands;
  ValueId operands[MAX_OPERANDS];
  const char *inner; /* instead of operands */
  const char *attrs; /* `, name=value`, NULL = none */
} Line;

/* ---- generate.c ---- */

bool has_feature(const Generator *gen, unsigned feature);
uint32_t below(Generator *gen, uint32_t bound);
bool chance(Generator *gen, uint32_t percent);
void add_text(Generator *gen, Chars *chars, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

const char *type_text(const Generator *gen, TypeId type);
TypeId tuple_type(Generator *gen, const TypeId *elements, uint32_t count);

ValueId write_line(Generator *gen, Body *body, const Line *line);

/* A computation of about `budget` instructions with these parameters; its name. A result type of
 * NO_ID means any; what came out is stored. */
const char *write_computation(Generator *gen, const TypeId *params, uint32_t num_params,
                              TypeId *result, uint32_t budget, uint32_t depth, bool is_fused);

/* ---- generate_ops.c ---- */

/* Writes a random operation, one instruction or more. */
void write_random_op(Generator *gen, Body *body);

/* Goes on with an asynchronous operation that is under way: an update, or its end. */
void write_async_step(Generator *gen, Body *body);

/* A value of this type: one of the computation's, or a new one. */
ValueId pick_value(Generator *gen, Body *body, TypeId type);
ValueId pick_any(Generator *gen, Body *body);

#endif
