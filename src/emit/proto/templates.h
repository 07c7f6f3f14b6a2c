/* Which instruction of the original module has the same line as a given one, so that its message,
 * with other operands, is that one's. Nothing depends on how an instruction came about: what has
 * the same line is the same instruction to XLA's parser, too. */
#ifndef REMAT_HLO_EMIT_PROTO_TEMPLATES_H
#define REMAT_HLO_EMIT_PROTO_TEMPLATES_H

#include "emit/proto/line.h"
#include "emit/proto/original.h"
#include "emit/proto/shapes.h"

typedef struct Templates {
  const Original *original;
  Arena *arena;
  Line *lines;          /* by InstId of the original module */
  ShapeMessages shapes; /* all of its shapes */
  IdTable by_line;      /* InstIds by line, one for each line */
} Templates;

/* Reads the lines of the original module. `*bad` is the instruction whose text is not XLA's, if it
 * returns false. */
bool templates_read(Templates *templates, const Original *original, InstId *bad, Arena *out);

/* Returns the original instruction of the same line, and preferably of the same name, or of the
 * name from which `name` is made, as in dot.5.remat2. One that differs in the shape is returned
 * only if nothing else depends on it. Returns NO_ID if there is none. */
InstId templates_find(const Templates *templates, Str name, const Line *line);

#endif
