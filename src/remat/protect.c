#include "remat/protect.h"

/* Constants, parameters and what costs nothing may run any time: to wait for them is no wait. */
static bool is_worth_waiting_for(const Module *module, InstId id) {
  switch (inst_get(module, id)->opcode) {
    case OPCODE_PARAMETER:
    case OPCODE_CONSTANT:
    case OPCODE_TUPLE:
    case OPCODE_GET_TUPLE_ELEMENT:
    case OPCODE_BITCAST: return false;
    default: return !(inst_get(module, id)->flags & INST_REMAT);
  }
}

void protect_with_control(Rewrite *rewrite, const Schedule *schedule) {
  Module *module = rewrite->module;
  for (CompId comp = 0; comp < schedule->num_comps; comp++) {
    InstId before = NO_ID;
    for (uint32_t i = 0; i < schedule->of[comp].len; i++) {
      InstId id = schedule->of[comp].ids[i];
      if (rewrite_stands_for(rewrite, id) != NO_ID && before != NO_ID) {
        module_add_control(module, before, id);
      } else if (is_worth_waiting_for(module, id)) {
        before = id;
      }
    }
  }
}
