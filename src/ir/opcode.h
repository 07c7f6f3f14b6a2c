/* The opcodes and their properties. Each opcode has one row in opcodes.def. */
#ifndef REMAT_HLO_IR_OPCODE_H
#define REMAT_HLO_IR_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/ids.h"

typedef enum Opcode {
#define OP(id, text, arity, flags) OPCODE_##id,
#include "ir/opcodes.def"
  NUM_OPCODES
} Opcode;

enum {
  OPF_INFER = 1 << 0,          /* the result shape may be left out of the text (CanInferShape) */
  OPF_ELEMENTWISE = 1 << 1,    /* HloInstruction::IsOpElementwise */
  OPF_TRANSCENDENTAL = 1 << 2, /* counted as transcendental by HloCostAnalysis */
  OPF_SIDE_EFFECT = 1 << 3,    /* always has a side effect (HasSideEffectNoRecurse) */
  OPF_COLLECTIVE = 1 << 4,     /* XLA's HloCollectiveInstruction */
  OPF_CHANNEL = 1 << 5,        /* XLA's HloChannelInstruction: may carry a channel_id */
  OPF_FREE = 1 << 6,           /* costs nothing in any computation */
  OPF_PASS_THROUGH = 1 << 7,   /* forwards a buffer, and may be between a clone and its users */
};

typedef struct OpcodeInfo {
  const char *text;
  int8_t arity; /* < 0: any number, or checked by the opcode's own rule */
  uint8_t flags;
} OpcodeInfo;

const OpcodeInfo *opcode_info(Opcode opcode);

static inline const char *opcode_text(Opcode opcode) {
  return opcode_info(opcode)->text;
}

static inline bool opcode_has(Opcode opcode, unsigned flag) {
  return (opcode_info(opcode)->flags & flag) != 0;
}

/* Whether it takes or writes a slice whose start is an operand. */
static inline bool opcode_is_dynamic_slice(Opcode opcode) {
  return opcode == OPCODE_DYNAMIC_SLICE || opcode == OPCODE_DYNAMIC_UPDATE_SLICE;
}

/* ---- operations that are split, so that others run in between ---- */

/* opcode_done_of() returns the opcode that ends an operation which `opcode` begins (copy-done for
 * copy-start, send-done for send). opcode_start_of() returns the one that begins an operation which
 * `opcode` ends. Both return NUM_OPCODES if there is none. */
Opcode opcode_done_of(Opcode opcode);
Opcode opcode_start_of(Opcode opcode);

static inline bool opcode_begins_split(Opcode opcode) {
  return opcode_done_of(opcode) != NUM_OPCODES;
}

static inline bool opcode_ends_split(Opcode opcode) {
  return opcode_start_of(opcode) != NUM_OPCODES;
}

/* Returns true for opcodes that begin, end or update an operation. */
static inline bool opcode_is_split(Opcode opcode) {
  return opcode_begins_split(opcode) || opcode_ends_split(opcode) || opcode == OPCODE_ASYNC_UPDATE;
}

/* Returns the operation that `opcode` performs or begins: all-reduce for all-reduce-start, and
 * `opcode` itself if it has no other form. */
Opcode opcode_begun(Opcode opcode);

/* Returns true for opcodes that only copy: copy, copy-start, copy-done. */
static inline bool opcode_is_copy(Opcode opcode) {
  return opcode == OPCODE_COPY || opcode == OPCODE_COPY_START || opcode == OPCODE_COPY_DONE;
}

/* Returns true for opcodes whose result is the state of a wrapped computation that is still
 * running: async-start, async-update. */
static inline bool opcode_gives_async_state(Opcode opcode) {
  return opcode == OPCODE_ASYNC_START || opcode == OPCODE_ASYNC_UPDATE;
}

/* Returns true for opcodes whose operand is such a state: async-update, async-done. */
static inline bool opcode_takes_async_state(Opcode opcode) {
  return opcode == OPCODE_ASYNC_UPDATE || opcode == OPCODE_ASYNC_DONE;
}

/* Returns true for opcodes that wrap a computation: async-start, async-update, async-done. */
static inline bool opcode_is_async(Opcode opcode) {
  return opcode_gives_async_state(opcode) || opcode_takes_async_state(opcode);
}

/* ---- how opcodes use values and computations ---- */

/* Returns true for opcodes that forward values without reading them: tuple, get-tuple-element,
 * bitcast, opt-barrier, domain, add-dependency. */
bool opcode_only_passes_on(Opcode opcode);

/* Returns true for opcodes whose called computations run as sequences of their own: while,
 * conditional, call, async. */
bool opcode_is_control_flow(Opcode opcode);

#endif
