/* Runs a module on numbers instead of arrays, to compare what two modules compute. Nothing of it is
 * shared with the verifier.
 *
 * A value is a vector of 32-bit numbers, one for each part of its shape. Tuples, fusions, calls,
 * loops and conditionals do what they do; copies, barriers and bitcasts hand on; anything else
 * gives a hash of its opcode, attributes, literal, shapes and operands. Loops run a fixed number of
 * times. */
#ifndef REMAT_HLO_TESTS_INTERPRET_H
#define REMAT_HLO_TESTS_INTERPRET_H

#include "ir/module.h"

typedef struct Outcome {
  uint32_t result;     /* hash of all parts of the entry's root */
  uint32_t effects;    /* of the side effects, in the order in which they happened */
  uint32_t effect_set; /* the same, whatever their order */
  uint32_t num_effects;
} Outcome;

/* Every computation runs in the order of the text. */
Outcome interpret(const Module *module);

#endif
