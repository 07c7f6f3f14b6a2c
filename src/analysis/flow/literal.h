/* The numbers of small constants. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_LITERAL_H
#define REMAT_HLO_ANALYSIS_FLOW_LITERAL_H

#include "ir/module.h"

/* Reads the integer of a constant like `5` or `{ {5} }`; `true` is 1 and `false` is 0. False if it
 * is no single integer, does not fit, or is not in the text. */
bool literal_integer(const Module *module, InstId constant, int64_t *value);

/* Whether the constant is one number, a power of two or its negative, by which multiplication is
 * exact. Of numbers with more than 20 digits it is not known. */
bool literal_is_power_of_two(const Module *module, InstId constant);

/* Whether the instruction is a constant with something in it that is not a number. */
bool literal_is_nan(const Module *module, InstId constant);

#endif
