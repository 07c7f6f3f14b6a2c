/* Terms: numbered values, together with what is known of the operations that compute them. Scalars
 * of integers are computed as far as their ranges allow, and slices of what a loop has stacked are
 * replaced by what the loop computed in that iteration. Both modules use the same Terms. */
#ifndef REMAT_HLO_REMAT_VERIFY_TERMS_H
#define REMAT_HLO_REMAT_VERIFY_TERMS_H

#include "remat/verify/linear.h"

/* A system's part for one element of its state; see recurrence.h. */
typedef struct SystemPart {
  ValueNumber system, element; /* the key */
  ValueNumber made;
  uint32_t num_state, num_outer;
  uint32_t *state; /* by element of `made`: the element of `system` */
  uint32_t *outer; /* by outer value of `made`: that of `system` */
  Linear shift;    /* added to the time of `system`; its symbols are nodes of kind NODE_OUTER */
} SystemPart;

/* A range of the list of an array's elements; see pieces.c. */
typedef struct Piece {
  ValueNumber leaf;
  int64_t offset, count; /* in elements */
} Piece;

typedef struct PieceList {
  ValueNumber value; /* what consists of these pieces */
  Piece *pieces;
  uint32_t len;
} PieceList;

typedef struct Terms {
  Numbering *numbering;
  Arena *arena, *scratch;
  VEC(uint16_t) opcodes; /* by text, NUM_OPCODES for a text that is none; as far as looked up */
  VEC(SystemPart *) parts;
  IdTable part_table;
  VEC(ValueNumber) origins; /* by node: the one that it was made of by a substitution; or NO_ID */
  uint64_t steps_left;      /* when none are left, nothing is simplified any more */
  uint32_t nesting;         /* of simplifications that lead to others */
  /* Loops of few iterations are executed (loop.h), and arrays are taken apart (pieces.c). */
  bool unrolls;
  /* A slice of a stack is given as an element of the state after one more iteration, if it is one,
   * and not as what that iteration computes (edge.c). */
  bool gives_state;
  VEC(PieceList) piece_lists;
  IdTable piece_table; /* by value */
} Terms;

Terms terms_make(Numbering *numbering, uint64_t max_steps, Arena *out, Arena *scratch);

/* The opcode of a node; NUM_OPCODES for one that is no operation. */
Opcode term_opcode(Terms *terms, ValueNumber value);

/* Numbers an operation, and simplifies it where that is certain (fold.c). `args` must not lie in
 * the numbering. */
ValueNumber fold_operation(Terms *terms, ShapeId shape, uint32_t text, const ValueNumber *args,
                           uint32_t count);

/* Numbers a reshape or a bitcast. Where the elements keep their order, both are the same. */
ValueNumber fold_reshape(Terms *terms, bool is_bitcast, ShapeId shape, ShapeId from, uint32_t text,
                         ValueNumber operand);

/* Numbers an operation that cuts or joins arrays, or a reshape, by what its result consists of;
 * NO_ID if that is not known. `slice_starts` has the starts of an OPCODE_SLICE (pieces.c). */
ValueNumber fold_pieces(Terms *terms, Opcode opcode, ShapeId shape, uint32_t text,
                        const ValueNumber *args, uint32_t count, const int64_t *slice_starts);

/* Whether the elements of an array lie in memory in the order of their indices. */
bool elements_are_in_order(const Shape *shape);

/* If the value is a scalar of type pred that is known, true. */
bool term_is_known_pred(const Terms *terms, ValueNumber value, bool *known);

/* The direction in the text of a comparison, DIRECTION_EQ …; -1 if it has none. */
int compare_direction(Str text);

/* The shape of what each iteration of a loop writes into the array that the value is after the
 * loop; NO_ID if it is no such array. */
ShapeId shape_written(Terms *terms, ValueNumber stack);

/* The slice of what a loop has stacked, as the iteration computed it; NO_ID if it is no such slice.
 * `starts` has a start for each dimension (stack_read.c). */
ValueNumber slice_of_stack(Terms *terms, ShapeId shape, ValueNumber stack,
                           const ValueNumber *starts);

/* An element of a loop's state after at least one iteration, as what the last of them computes;
 * any other value as it is. */
ValueNumber written_as_step(Terms *terms, ValueNumber value);

/* A selection between a slice that was written an iteration apart and what takes its place where
 * there is none, as one value or as a selection of the state; NO_ID if it is no such selection
 * (edge.c). `args` must not lie in the
 * numbering. */
ValueNumber fold_edge(Terms *terms, ShapeId shape, uint32_t text, const ValueNumber *args);

/* ---- substitution (substitute.c) ---- */

/* Gives the replacement of a node, or NO_ID if its arguments are to be replaced instead. Is called
 * once for each node, in the order of a depth-first walk. */
typedef ValueNumber ReplaceFn(void *context, ValueNumber node);

typedef struct Substitution {
  Terms *terms;
  ReplaceFn *replace;
  void *context;
  IdTable table; /* of indices of `from` */
  VEC(ValueNumber) from, to;
} Substitution;

ValueNumber substitute(Substitution *substitution, ValueNumber root);

#endif
