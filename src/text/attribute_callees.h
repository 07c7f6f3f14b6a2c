/* The computations that an attribute's text names. */
#ifndef REMAT_HLO_TEXT_ATTRIBUTE_CALLEES_H
#define REMAT_HLO_TEXT_ATTRIBUTE_CALLEES_H

#include "ir/module.h"

/* attr->num_callees of them, in the order of the text. */
const CompId *attribute_callees(const Module *module, InstId id, const Attr *attr);

#endif
