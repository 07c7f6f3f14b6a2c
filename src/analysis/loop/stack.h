/* Stacks: arrays in a loop's state of which the iterations write the slices, each of them once, as
 * the forward loop of a differentiated scan does for its backward loop, and the places where other
 * loops read them slice by slice.
 *
 * Example, in the body of a loop of 8 iterations with the counter i:
 *   s = f32[8,4] dynamic-update-slice(state#3, f32[1,4] x, i, 0)    and s is the next state#3
 * and in the body of a later loop whose state#5 is the first one's result#3, with the counter j:
 *   x' = f32[1,4] dynamic-slice(state#5, 7 - j, 0)
 * Then x' in iteration j is what x was in iteration 7 - j of the first loop. */
#ifndef REMAT_HLO_ANALYSIS_LOOP_STACK_H
#define REMAT_HLO_ANALYSIS_LOOP_STACK_H

#include "analysis/loop/loop.h"

/* A dynamic-update-slice that writes one slice of a stack in each iteration. */
typedef struct StackWrite {
  InstId inst;           /* the dynamic-update-slice, or the fusion that contains it, in the body */
  InstId update;         /* its operand: the slice that is written; in the fused computation */
  const int64_t *slices; /* by iteration: which slice */
} StackWrite;

typedef struct Stack {
  uint32_t loop; /* the loop that writes it */
  uint32_t element;
  ShapeId shape;      /* of the array */
  ShapeId slice;      /* of one slice as it is written, with the dimension of the slices, 1 */
  bool is_view;       /* what writes it sees the array under another shape; see stack_view.h */
  uint32_t dim;       /* the dimension of `shape` along which the slices are */
  int64_t num_slices; /* the array's size in this dimension */
  VEC(StackWrite) writes;
  /* by slice: iteration * number of writes + number of the write; -1 = never written */
  int64_t *written;
  bool is_read_whole;  /* something reads it otherwise than slice by slice in loops */
  VEC(uint32_t) reads; /* indices in Stacks.reads */
} Stack;

/* The reads of one operand of one instruction in a loop's body. */
typedef struct StackRead {
  uint32_t stack, loop;
  /* a dynamic-slice, or a fusion with some in its computation (stack_view.h); each takes a slice,
   * or a part of one, as where an iteration writes what several steps compute (unroll=2) */
  InstId inst;
  uint32_t operand; /* of `inst`: the get-tuple-element that takes the stack from the state */
  const int64_t *iterations; /* by iteration of the reading loop: of the writing loop's */
  uint32_t write;            /* the number of the write whose slices it reads, in all iterations */
} StackRead;

typedef struct Stacks {
  const Loops *loops;
  VEC(Stack) list;
  VEC(StackRead) reads;
  uint32_t *first_of; /* by loop, one entry more: range in `list` of the stacks that it writes */
} Stacks;

/* Finds all stacks of all loops. `loops` must live as long as the result. O(instructions +
 * iterations * slices' indices). */
Stacks stacks_find(const Loops *loops, Arena *out, Arena *scratch);

/* Whether an iteration of a loop needs this element of the one before: the loop changes it, and it
 * is neither a counter nor a stack. O(the loop's stacks). */
bool stacks_is_state(const Stacks *stacks, uint32_t loop, uint32_t element);

#endif
