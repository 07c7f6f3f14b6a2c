/* The repetitions of a function or of a scope in the forward part of a computation: which of its
 * instructions belong to the first layer, which to the second, and so on.
 *
 * A scope has a number in its name, h_0, h_1: repetitions differ in it, and all of them together
 * are the pattern with a star in place of the number. A function that is called in a loop of the
 * program has the same call stack in each call. Its repetitions are told apart by an instruction
 * that each has once, where each begins: XLA's orders go through the forward part layer by layer.
 */
#ifndef REMAT_HLO_ADVICE_LAYERS_H
#define REMAT_HLO_ADVICE_LAYERS_H

#include "ir/schedule.h"
#include "ir/source_place.h"

/* In some repetition that nothing in the forward part tells: weights in another form that only the
 * backward part reads. */
#define OF_SOME_LAYER (NO_ID - 1)

/* A function, the step of a loop in one, or a scope, and where it is. */
typedef struct Layers {
  Str function;                  /* raw text; empty for a scope */
  int32_t first_line, last_line; /* of the step; 0 = the function has no loop, as far as is known */
  bool is_step;      /* of a loop in the function; else the lines may be one, or the function is
                        called so often: nothing tells */
  SourcePlace place; /* where the function is called, or where the step is, raw; without a file if
                        it is not known */
  Str scope;         /* the pattern of the scope; empty = unknown */
  uint32_t call;     /* a number for the function; unused for a scope */
  uint32_t num_instances;
  uint32_t size;         /* what it is worth to try it first */
  uint32_t *instance_of; /* by position: its number from 0; NO_ID = outside; OF_SOME_LAYER */
  bool *is_end; /* by position: a fusion that is outside, and has the end of the last call in it */
} Layers;

typedef struct LayersList {
  VEC(Layers) list;
} LayersList;

/* The forward part of a computation in its order. */
typedef struct ForwardPart {
  const Module *module;
  Sequence sequence;
  SchedPos begin; /* what is before it belongs to no repetition */
  SchedPos end;   /* its last position; NO_ID = there is no forward part */
  SchedPos turn;  /* the last position behind it of what reads nothing but it: the backward part
                     waits for nothing there, so nothing is computed again for it */
} ForwardPart;

/* Where names of operations say what is a transpose, the position that separates best what is from
 * what is not; else what the flow of data says (remat/algorithms/forward_end.h). A module of JAX
 * without transposes has no backward part, and so no forward part either. */
ForwardPart forward_part_of(const Module *module, Sequence sequence, Arena *scratch);

/* The turn where these layers are under a checkpoint: it ends before a fusion that has a part of
 * their derivative in it, which waits for the gradient then. */
SchedPos layers_turn(const ForwardPart *forward, const Layers *layers);

/* All functions and scopes of the forward part, those with more instructions first. */
LayersList layers_find(const ForwardPart *forward, Arena *out, Arena *scratch);

#endif
