/* Whether two instructions are one value, as far as can be seen without computing anything. */
#ifndef REMAT_HLO_REMAT_SAME_VALUE_H
#define REMAT_HLO_REMAT_SAME_VALUE_H

#include "remat/rewrite.h"

/* Looks through bitcasts and barriers, elements of tuples, and, with a `rewrite`, from clones and
 * their copies to what they stand for. Shapes may differ. O(instructions looked through). */
bool same_value_is(const Module *module, const Rewrite *rewrite, InstId a, InstId b,
                   Arena *scratch);

#endif
