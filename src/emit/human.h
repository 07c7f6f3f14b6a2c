/* Text for people, which all emitters share: sizes, counts, names and source positions. */
#ifndef REMAT_HLO_EMIT_HUMAN_H
#define REMAT_HLO_EMIT_HUMAN_H

#include "ir/module.h"
#include "ir/source_place.h"

typedef struct HumanBytes {
  char text[28];
  uint32_t len;
} HumanBytes;

/* Returns `17 B`, `1.50 KiB` or `81.25 MiB`: powers of 1024 with two decimals, rounded half up. It
 * does not depend on the locale. */
HumanBytes human_bytes(int64_t bytes);

/* Returns `1,234,567` for 1234567. */
HumanBytes human_count(uint64_t count);

/* Returns the shape index of a part as XLA writes it, `{1,0}`. It is empty for part 0, which is the
 * whole shape. */
Str human_part(const ShapeTable *shapes, ShapeId shape, uint32_t part, Arena *out);

/* Returns the text with U+FFFD in place of NUL and of everything that is not valid UTF-8. Returns
 * `text` itself if nothing is to be replaced. */
Str human_utf8(Str text, Arena *out);

/* Returns the meaning of a string in the module's text: its escapes are resolved, and the result is
 * valid as for human_utf8. */
Str human_unescape(Str raw, Arena *out);

/* Returns the source position of an instruction. The escapes are resolved, and the result is valid
 * as for human_utf8. */
SourcePlace human_source_place(const Module *module, InstId id, Arena *out);

#endif
