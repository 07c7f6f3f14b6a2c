/* Which attributes an opcode takes, beside those that all instructions take. */
#ifndef REMAT_HLO_TEXT_ATTRIBUTE_RULES_H
#define REMAT_HLO_TEXT_ATTRIBUTE_RULES_H

#include "ir/attribute.h"
#include "ir/opcode.h"

typedef struct AttrRule {
  int16_t attr; /* AttrId; -1 ends the list */
  bool is_required;
} AttrRule;

/* In the order in which XLA prints them. */
const AttrRule *attribute_rules(Opcode opcode);

/* Whether all instructions take it: the annotations (ir/attribute.h) and backend_config. */
bool attribute_is_common(AttrId attr);

#endif
