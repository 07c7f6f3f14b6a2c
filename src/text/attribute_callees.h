/* Finds the computations that the text of an attribute names, for example the two of
 * `branch_computations={%b0, %b1}`. */
#ifndef REMAT_HLO_TEXT_ATTRIBUTE_CALLEES_H
#define REMAT_HLO_TEXT_ATTRIBUTE_CALLEES_H

#include "ir/module.h"

/* Returns attr->num_callees computations, in the order of the text. */
const CompId *attribute_callees(const Module *module, InstId id, const Attr *attr);

#endif
