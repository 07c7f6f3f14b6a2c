/* Sizes, names and places as people read them; what the emitters share. */
#ifndef REMAT_HLO_EMIT_HUMAN_H
#define REMAT_HLO_EMIT_HUMAN_H

#include "ir/module.h"
#include "ir/source_place.h"

typedef struct HumanBytes {
  char text[28];
  uint32_t len;
} HumanBytes;

/* `17 B`, `1.50 KiB`, `81.25 MiB`: two decimals, rounded half up, powers of 1024, no locale. */
HumanBytes human_bytes(int64_t bytes);

/* `1234567` as `1,234,567`. */
HumanBytes human_count(uint64_t count);

/* The index of a part of a shape as XLA writes it, `{1,0}`; empty for part 0, the whole. */
Str human_part(const ShapeTable *shapes, ShapeId shape, uint32_t part, Arena *out);

/* The text with everything that is not valid UTF-8, and NUL, replaced by U+FFFD. The text itself
 * when there is nothing to replace. */
Str human_utf8(Str text, Arena *out);

/* What a string of the module's text stands for, its escapes resolved, as human_utf8. */
Str human_unescape(Str raw, Arena *out);

/* Where an instruction comes from, with escapes resolved, as human_utf8. */
SourcePlace human_source_place(const Module *module, InstId id, Arena *out);

#endif
