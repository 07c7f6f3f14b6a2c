/* Whether two instructions are one value, as far as can be seen without computing anything. */
#ifndef REMAT_HLO_REMAT_REWRITE_SAME_VALUE_H
#define REMAT_HLO_REMAT_REWRITE_SAME_VALUE_H

#include "remat/rewrite/rewrite.h"

/* Looks through bitcasts and barriers, elements of tuples, and, with a `rewrite`, from clones and
 * their copies to what they stand for. A fusion can have one result several times. Shapes may
 * differ. O(instructions looked through * elements of tuples). */
bool same_value_is(const Module *module, const Rewrite *rewrite, InstId a, InstId b,
                   Arena *scratch);

/* Which element of `tuple` a value is; -1 when it is none, or an element of one. */
int64_t same_value_element(const Module *module, InstId id, InstId tuple, Arena *scratch);

#endif
