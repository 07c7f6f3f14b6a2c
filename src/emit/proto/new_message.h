/* Messages of instructions that are like no original one. */
#ifndef REMAT_HLO_EMIT_PROTO_NEW_MESSAGE_H
#define REMAT_HLO_EMIT_PROTO_NEW_MESSAGE_H

#include "emit/proto/line.h"
#include "emit/proto/message.h"

/* Makes the message of an instruction, whose line and shape are given, but for its name, its
 * operands, what it calls, and what its line is without. Returns NULL if it has other attributes
 * than those that the printer writes for the opcode. */
InstMessage *new_message(const Module *module, InstId id, const Line *line, Bytes shape,
                         Arena *out);

#endif
