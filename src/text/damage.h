/* Recognizes HLO text that was damaged between the compiler and this tool: quoted as in an e-mail,
 * numbered by a pager, wrapped at a column, or merged by a version control system.
 *
 * These functions are called only after a text failed to parse, because XLA accepts some of the
 * damaged forms. */
#ifndef REMAT_HLO_TEXT_DAMAGE_H
#define REMAT_HLO_TEXT_DAMAGE_H

#include "ir/ids.h"

typedef struct Damage {
  const char *message; /* a constant; NULL = no damage was found */
  uint32_t offset;
  uint32_t opener; /* as in DiagPlace */
} Damage;

/* Returns what may have damaged a text whose parse failed at `offset`. `has_begun` is true if a
 * part of a module was parsed before that offset. */
Damage damage_find(Str text, uint32_t offset, bool has_begun);

/* Returns the column at which the text seems to be wrapped, for a parse that failed at the end of a
 * line at `offset`. Returns 0 if the text does not seem to be wrapped. */
uint32_t damage_wrap_column(Str text, uint32_t offset);

#endif
