/* Numbers of expressions: two have the same number if and only if they are the same operation, with
 * the same attributes and shape, on the same numbers (hash-consing). */
#ifndef REMAT_HLO_REMAT_REWRITE_TERMS_H
#define REMAT_HLO_REMAT_REWRITE_TERMS_H

#include "ir/module.h"

typedef struct ExprTerm {
  uint32_t opcode; /* Opcode, or EXPR_LEAF and what follows it */
  ShapeId shape;
  uint32_t text; /* of the attributes or the literal; or the InstId of a leaf */
  uint32_t args, num_args;
} ExprTerm;

/* Kinds of terms beside opcodes; users of the table may have more from EXPR_OTHER on. */
enum { EXPR_LEAF = NUM_OPCODES, EXPR_OTHER };

typedef struct ExprTerms {
  const Module *module;
  VEC(ExprTerm) list;
  IdVec args;
  IdTable table;
  VEC(Str) texts;
  IdTable text_table;
  Arena *arena;
} ExprTerms;

/* The number of a text; it is copied if it is new. */
uint32_t expr_text(ExprTerms *terms, Str text);

/* The number of a term with `term.num_args` arguments, which it need not have yet. */
uint32_t expr_term(ExprTerms *terms, ExprTerm term, const uint32_t *args);

/* An instruction about which nothing is known but that it is itself. */
uint32_t expr_leaf(ExprTerms *terms, InstId id);

/* A bitcast of a bitcast is one, and one to the same shape is none. */
uint32_t expr_bitcast(ExprTerms *terms, ShapeId shape, uint32_t arg);

/* The number of the text of an instruction's attributes and its literal. */
uint32_t expr_details(ExprTerms *terms, InstId id);

/* The number of an instruction of an expression, whose operands have numbers by InstId. NO_ID: an
 * operand has none, or the instruction is not compared. */
uint32_t expr_inner(ExprTerms *terms, const uint32_t *number, InstId id);

static inline const uint32_t *expr_args(const ExprTerms *terms, uint32_t number) {
  return terms->args.data + terms->list.data[number].args;
}

#endif
