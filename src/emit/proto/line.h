/* The text of an instruction without what differs between an instruction and its clone: its name,
 * its operands, its control predecessors and the names of the computations that it calls. Nor does
 * it have the number of a parameter, the index of a get-tuple-element and the backend_config of a
 * loop, which change with the state of a loop, and the backend_config of a slice, which is dropped
 * where what it notes is not so any more. What is left is all that determines the other fields
 * of the instruction's message:
 *
 *   %dot.5.remat = f32[8,8]{1,0} dot(f32[8,4]{1,0} %a, %b), lhs_contracting_dims={1}, metadata={…}
 *                  ^^^^^^^^^^^^^ ^^^ ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
 *
 * What is in the parentheses counts if there are no operands: a constant's value. */
#ifndef REMAT_HLO_EMIT_PROTO_LINE_H
#define REMAT_HLO_EMIT_PROTO_LINE_H

#include "ir/module.h"
#include "ir/text_buffer.h"

typedef struct Line {
  Str shape;
  Str value; /* what is in the parentheses, if there are no operands */
  Str rest;  /* the attributes */
  uint16_t opcode;
  bool has_operands;
} Line;

/* Reads the line of an instruction that was read from a text. What of it is not in one piece is put
 * together in `out`. Returns false if the text has another form than XLA's own. */
bool line_read(const Module *module, InstId id, Line *line, Arena *out);

/* Whether the line is without the index, or without the backend_config. */
bool line_has_index(uint16_t opcode);
bool line_has_config(uint16_t opcode);

uint64_t line_hash(const Line *line);
bool line_equal(const Line *a, const Line *b);

/* Returns true if the lines differ in the shape at most. */
bool line_equal_but_shape(const Line *a, const Line *b);

#endif
