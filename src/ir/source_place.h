/* Where an instruction comes from, by its metadata. */
#ifndef REMAT_HLO_IR_SOURCE_PLACE_H
#define REMAT_HLO_IR_SOURCE_PLACE_H

#include "ir/module.h"

/* The parts that the metadata does not name are empty or 0. */
typedef struct SourcePlace {
  Str op_name;
  Str file;
  int32_t line;
} SourcePlace;

/* As the text has it, escapes kept. The innermost stack frame stands in for a source_file that is
 * not given. */
SourcePlace source_place_of(const Module *module, InstId id);

#endif
