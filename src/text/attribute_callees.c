#include "text/attribute_callees.h"

/* Returns the position of an attribute's first computation in Instruction.callees. XLA's order
 * differs from that of the text (body before condition, select before scatter). */
static uint32_t first_callee_of(const Module *module, InstId id, const Attr *attr) {
  switch (attr->id) {
    case ATTR_CONDITION:
    case ATTR_FALSE_COMPUTATION:
    case ATTR_SCATTER: return 1;
    case ATTR_BODY:
    case ATTR_TRUE_COMPUTATION:
    case ATTR_SELECT: return 0;
    default: break;
  }
  uint32_t first = 0;
  for (const Attr *other = inst_attrs(module, id).data; other != attr; other++)
    first += other->num_callees;
  return first;
}

const CompId *attribute_callees(const Module *module, InstId id, const Attr *attr) {
  InstId implied = inst_implied_by(module, id), owner = implied == NO_ID ? id : implied;
  return inst_callees(module, owner) + first_callee_of(module, owner, attr);
}
