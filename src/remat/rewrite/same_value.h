/* Comparison of the values of two instructions, as far as it is possible without evaluating
 * anything. */
#ifndef REMAT_HLO_REMAT_REWRITE_SAME_VALUE_H
#define REMAT_HLO_REMAT_REWRITE_SAME_VALUE_H

#include "remat/rewrite/rewrite.h"

/* Returns whether two instructions have the same value. Looks through bitcasts, barriers and
 * elements of tuples and, if `rewrite` is not NULL, from clones and their copies to the original
 * instructions. A fusion can have the same result several times: these elements have the same
 * value. The shapes may differ. O(instructions looked through * elements of tuples). */
bool same_value_is(const Module *module, const Rewrite *rewrite, InstId a, InstId b,
                   Arena *scratch);

/* Returns the index of the element of `tuple` that an instruction is, or -1 when it is not an
 * element of `tuple`, or is an element of an element. */
int64_t same_value_element(const Module *module, InstId id, InstId tuple, Arena *scratch);

#endif
