/* The message that a module was printed from, matched with the module: which message is which
 * instruction. Names say that, and opcodes, operands, called computations and roots must agree. */
#ifndef REMAT_HLO_EMIT_PROTO_ORIGINAL_H
#define REMAT_HLO_EMIT_PROTO_ORIGINAL_H

#include "emit/proto/message.h"
#include "ir/diag.h"
#include "ir/module.h"

typedef struct Original {
  const Module *module;
  ModuleMessage *message;
  CompMessage **comps;       /* in the order of the message */
  uint32_t *comp_numbers;    /* by CompId of the module: place in `comps` */
  const InstMessage **insts; /* by InstId of the module */
  IdTable comp_names;        /* CompIds by name */
  IdTable inst_names;        /* InstIds by name */
} Original;

/* Reads the message. Returns RH_ERR_INPUT if it is none, or not that of the module. */
rh_status original_read(Original *original, const Module *module, Bytes data, rh_diags *diags,
                        Arena *out);

/* Both return NO_ID if there is none of this name. */
CompId original_comp(const Original *original, Str name);
InstId original_inst(const Original *original, Str name);

/* Whether the message of an instruction may call a computation that its line does not name: that
 * which ends an asynchronous operation, where the line of the start has it. */
static inline bool original_may_hide_callee(const Instruction *inst) {
  return inst->num_callees == 0 &&
         (inst->opcode == OPCODE_ASYNC_UPDATE || inst->opcode == OPCODE_ASYNC_DONE);
}

static inline const CompMessage *original_comp_message(const Original *original, CompId comp) {
  return original->comps[original->comp_numbers[comp]];
}

#endif
