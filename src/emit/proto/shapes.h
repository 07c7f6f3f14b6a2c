/* The messages of shapes. Those of the original module are taken as they are, by the text of the
 * shape; others are made, if they are arrays of plain layout, or tuples of shapes that can be had.
 */
#ifndef REMAT_HLO_EMIT_PROTO_SHAPES_H
#define REMAT_HLO_EMIT_PROTO_SHAPES_H

#include "emit/proto/message.h"
#include "emit/proto/original.h"

typedef struct ShapeMessage {
  Str text;
  Bytes bytes;
} ShapeMessage;

typedef struct ShapeMessages {
  Arena *arena;
  VEC(ShapeMessage) list;
  IdTable table;
} ShapeMessages;

/* Notes the shape of an instruction of the original module, whose text is `text`. */
void shapes_note(ShapeMessages *shapes, Str text, Bytes bytes);

/* Finds the message of a shape, whose text is `text`. Returns false if it cannot be had. */
bool shapes_find(ShapeMessages *shapes, const ShapeTable *table, ShapeId shape, Str text,
                 Bytes *bytes);

#endif
