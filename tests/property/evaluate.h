/* Runs a module on arrays, for modules with loops over stacks: indices, slices and updates do what
 * HLO says. Integers wrap as their types do. Numbers of other types are any 64 bits: sums and
 * products are those of integers, and every other operation gives a hash of its operands, as does a
 * loop that runs for too long. Nothing of it is shared with the verifier. */
#ifndef REMAT_HLO_TESTS_EVALUATE_H
#define REMAT_HLO_TESTS_EVALUATE_H

#include "ir/module.h"

typedef struct Evaluation {
  uint64_t result;      /* hash of all elements of the entry's root */
  uint64_t effects;     /* of the side effects, in the order in which they happened */
  uint32_t num_clamped; /* starts of slices that were outside of the array */
  bool is_known;        /* false: something could not be run, or ran for too long */
} Evaluation;

/* The parameters are made up. */
Evaluation evaluate_module(const Module *module);

#endif
