/* What happens to HLO text on its way from a compiler: it is quoted, numbered, wrapped, merged.
 * Asked only when a text did not parse, as XLA would take some of it. */
#ifndef REMAT_HLO_TEXT_DAMAGE_H
#define REMAT_HLO_TEXT_DAMAGE_H

#include "ir/ids.h"

typedef struct Damage {
  const char *message; /* a constant; NULL = none is seen */
  uint32_t offset;
  uint32_t opener; /* as DiagPlace has it */
} Damage;

/* What may have been done to a text that is wrong at `offset`. `has_begun`: something of a module
 * has been read before. */
Damage damage_find(Str text, uint32_t offset, bool has_begun);

/* The column that the text seems to be wrapped at, where the end of a line is what is wrong at
 * `offset`; 0 when it does not. */
uint32_t damage_wrap_column(Str text, uint32_t offset);

#endif
