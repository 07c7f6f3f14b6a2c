/* Recurrences: what a loop computes, independent of how its state is laid out.
 *
 * A loop whose trip count is known gives an element of its state the value x0(n) of a recurrence
 *
 *     x(0) given,   x(t + 1) = step(x(t), t, y),
 *
 * where x is the part of the state that element 0 needs, and y has the values from outside of the
 * loop. The step is a system: a closed term over formal variables, which are numbered in the order
 * of a depth-first walk from element 0. The time t is shifted, so that the first linear form of it
 * in that walk has no constant: a loop over the layers 3 … 5 has the system of a loop over all
 * layers, and begins at time 3. Two recurrences are equal if and only if their nodes are.
 *
 * iterate() knows these laws, in which g(x, f, n) is the state after n iterations from time f on:
 *
 *     g(x, f, 0) = x
 *     g(g(x, f, m), f + m, n) = g(x, f, m + n)
 *     h(x, s) = g(x, c + k * s, k) for each s   gives   h(x, f, n) = g(x, c + k * f, k * n) */
#ifndef REMAT_HLO_REMAT_VERIFY_RECURRENCE_H
#define REMAT_HLO_REMAT_VERIFY_RECURRENCE_H

#include "remat/verify/terms.h"

/* The parts of a node of kind NODE_ITERATED. The arrays are in the scratch arena. */
typedef struct Iterated {
  ValueNumber system;
  Linear from, count;
  uint32_t num_state, num_outer;
  const ValueNumber *state, *outer;
} Iterated;

/* False if the value is no such node. */
bool iterated_of(Terms *terms, ValueNumber value, Iterated *iterated);

/* The form of a number of iterations, which may be a symbol by itself. */
Linear count_of(const Numbering *numbering, ValueNumber value);

/* The step of an element, in formal variables. */
ValueNumber system_step(const Terms *terms, ValueNumber system, uint32_t element);

/* Element 0 of the state after `count` iterations; NO_ID beyond the limits of linear forms. */
ValueNumber iterate(Terms *terms, const Iterated *iterated);

/* The same for the arguments of a node of kind NODE_ITERATED. */
ValueNumber iterate_again(Terms *terms, const ValueNumber *args);

/* Another element of the state, after another number of iterations. */
ValueNumber iterate_element(Terms *terms, const Iterated *iterated, uint32_t element,
                            const Linear *count);

/* The body of a loop that has been evaluated: values in variables of depth `depth`. */
typedef struct LoopSteps {
  uint32_t depth, num_elements;
  ValueNumber time;         /* the variable for the number of the iteration */
  const ValueNumber *first; /* by element: its value before the loop */
  const ValueNumber *next;  /* by element: its value after an iteration */
} LoopSteps;

/* An element of the state after the loop; NO_ID beyond the limits. */
ValueNumber loop_element(Terms *terms, const LoopSteps *steps, uint32_t element,
                         const Linear *trips);

#endif
