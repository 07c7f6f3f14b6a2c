/* The table of the attributes that each opcode accepts, in addition to those that every instruction
 * accepts. For example, `slice` requires the attribute `slice`, and `add` has no attributes of its
 * own. */
#ifndef REMAT_HLO_TEXT_ATTRIBUTE_RULES_H
#define REMAT_HLO_TEXT_ATTRIBUTE_RULES_H

#include "ir/attribute.h"
#include "ir/opcode.h"

typedef struct AttrRule {
  int16_t attr; /* AttrId; -1 ends the list */
  bool is_required;
} AttrRule;

/* Returns the rules of an opcode, in the order in which XLA prints the attributes. */
const AttrRule *attribute_rules(Opcode opcode);

/* Returns true if every instruction accepts the attribute: the annotations (ir/attribute.h) and
 * backend_config. */
bool attribute_is_common(AttrId attr);

#endif
