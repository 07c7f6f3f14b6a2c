#include "ir/opcode.h"

#include <assert.h>

static const OpcodeInfo opcode_infos[NUM_OPCODES] = {
#define OP(id, text, arity, flags) [OPCODE_##id] = {text, arity, flags},
#include "ir/opcodes.def"
};

const OpcodeInfo *opcode_info(Opcode opcode) {
  return &opcode_infos[opcode];
}

/* SPLIT(start, done, the operation that both perform together). */
#define SPLITS                                                                 \
  SPLIT(ALL_GATHER_START, ALL_GATHER_DONE, ALL_GATHER)                         \
  SPLIT(ALL_REDUCE_START, ALL_REDUCE_DONE, ALL_REDUCE)                         \
  SPLIT(ASYNC_START, ASYNC_DONE, ASYNC_START)                                  \
  SPLIT(COLLECTIVE_PERMUTE_START, COLLECTIVE_PERMUTE_DONE, COLLECTIVE_PERMUTE) \
  SPLIT(COPY_START, COPY_DONE, COPY)                                           \
  SPLIT(RECV, RECV_DONE, RECV)                                                 \
  SPLIT(SEND, SEND_DONE, SEND)

/* The tables below use 0 for "none", which is also the value of abs. */
static_assert(OPCODE_ABS == 0, "abs is no half of an operation");

static Opcode found(uint16_t opcode, Opcode other) {
  return opcode ? (Opcode)opcode : other;
}

Opcode opcode_done_of(Opcode opcode) {
#define SPLIT(start, done, whole) [OPCODE_##start] = OPCODE_##done,
  static const uint16_t dones[NUM_OPCODES] = {SPLITS};
#undef SPLIT
  return found(dones[opcode], NUM_OPCODES);
}

Opcode opcode_start_of(Opcode opcode) {
#define SPLIT(start, done, whole) [OPCODE_##done] = OPCODE_##start,
  static const uint16_t starts[NUM_OPCODES] = {SPLITS};
#undef SPLIT
  return found(starts[opcode], NUM_OPCODES);
}

Opcode opcode_begun(Opcode opcode) {
#define SPLIT(start, done, whole) [OPCODE_##start] = OPCODE_##whole,
  static const uint16_t wholes[NUM_OPCODES] = {SPLITS};
#undef SPLIT
  return found(wholes[opcode], opcode);
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
    case OPCODE_WHILE: return true;
    default: return opcode_is_async(opcode);
  }
}
