#include "ir/opcode.h"

static const OpcodeInfo opcode_infos[NUM_OPCODES] = {
#define OP(id, text, arity, flags) [OPCODE_##id] = {text, arity, flags},
#include "ir/opcodes.def"
};

const OpcodeInfo *opcode_info(Opcode opcode) {
  return &opcode_infos[opcode];
}
