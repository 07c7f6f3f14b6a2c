/* Runs a module on numbers instead of arrays, to compare what two modules compute. Nothing of it is
 * shared with the verifier.
 *
 * A value is a vector of 32-bit numbers, one for each part of its shape. Tuples, fusions, calls,
 * loops and conditionals do what they do; copies, barriers, bitcasts and reshapes hand on, as does
 * what picks or moves elements of a value whose elements are all the same; anything else gives a
 * hash of its opcode, attributes, literal, shapes and operands. What conditions compute decides how
 * often loops run. */
#ifndef REMAT_HLO_TESTS_INTERPRET_H
#define REMAT_HLO_TESTS_INTERPRET_H

#include "ir/attribute.h"
#include "ir/module.h"

typedef struct Outcome {
  uint32_t result;     /* hash of all parts of the entry's root */
  uint32_t effects;    /* of the side effects, in the order in which they happened */
  uint32_t effect_set; /* the same, whatever their order */
  uint32_t num_effects;
} Outcome;

/* Every computation runs in the order of the text. */
Outcome interpret(const Module *module);

/* The same with values where XLA puts them: those of one HloBuffer (analysis/flow/alias.h) have one
 * piece of memory, so that what reads a value after another one was written there reads the other
 * one. The call graph is flat. A parameter that is the caller's, or a constant, that was written
 * over changes the result. */
Outcome interpret_in_memory(const Module *module);

/* Whether an attribute says what an instruction computes; computations that it names say that by
 * what they are. */
bool attr_tells_value(const Attr *attr);

#endif
