#include "ir/opcode.h"

static const OpcodeInfo opcode_infos[NUM_OPCODES] = {
#define OP(id, text, arity, flags) [OPCODE_##id] = {text, arity, flags},
#include "ir/opcodes.def"
};

const OpcodeInfo *opcode_info(Opcode opcode) {
  return &opcode_infos[opcode];
}

bool opcode_only_passes_on(Opcode opcode) {
  switch (opcode) {
    case OPCODE_TUPLE:
    case OPCODE_GET_TUPLE_ELEMENT:
    case OPCODE_BITCAST:
    case OPCODE_OPT_BARRIER:
    case OPCODE_DOMAIN:
    case OPCODE_ADD_DEPENDENCY: return true;
    default: return false;
  }
}

bool opcode_is_control_flow(Opcode opcode) {
  switch (opcode) {
    case OPCODE_CALL:
    case OPCODE_CONDITIONAL:
    case OPCODE_WHILE:
    case OPCODE_ASYNC_START:
    case OPCODE_ASYNC_UPDATE:
    case OPCODE_ASYNC_DONE: return true;
    default: return false;
  }
}
