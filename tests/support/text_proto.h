/* A message of the form of XLA's HloModuleProto, with all that its text is printed from, and that
 * text. */
#ifndef REMAT_HLO_TESTS_TEXT_PROTO_H
#define REMAT_HLO_TESTS_TEXT_PROTO_H

#include "emit/proto/print.h"

typedef RematHloText__Module TextModule;

/* An instruction without operands. Its id, in the computation 1 or 2, is set by text_proto. */
InstText text_inst(const char *name, const char *opcode, Bytes shape);

/* Shapes with the usual layout; those of a tuple. */
Bytes text_shape(int32_t type, const int64_t *dims, size_t rank, Arena *out);
Bytes text_tuple(Bytes *elements, size_t count, Arena *out);

Bytes text_bytes(const char *text);

/* The message of a module whose entry is these instructions: the last is the root, the first is its
 * parameter. Each one's operand ids are places. */
Bytes text_module(const InstText *insts, size_t count, Arena *out);

/* A module with a fusion, a schedule that differs from the order of the message, stack frames of
 * which one is not used, and its text. */
Bytes text_proto(Arena *out);
extern const char text_proto_text[];

#endif
