/* The source position of an instruction: the part of the user's program that it comes from, as its
 * metadata gives it. */
#ifndef REMAT_HLO_IR_SOURCE_PLACE_H
#define REMAT_HLO_IR_SOURCE_PLACE_H

#include "ir/module.h"

/* Fields that the metadata does not give are empty or 0. */
typedef struct SourcePlace {
  Str op_name;
  Str file;
  int32_t line;
} SourcePlace;

/* Returns the strings as in the text, without resolving escapes. If the metadata has no
 * source_file, the innermost stack frame gives the position. */
SourcePlace source_place_of(const Module *module, InstId id);

#endif
