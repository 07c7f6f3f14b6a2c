/* Writes JSON directly, without a tree in memory, because pages and traces hold a million numbers.
 * For example,
 *
 *   write_text(out, "{\"name\":");
 *   json_string(out, name, length);
 *   json_int_field(out, "bytes", 42);   writes   ,"bytes":42 */
#ifndef REMAT_HLO_EMIT_JSON_H
#define REMAT_HLO_EMIT_JSON_H

#include "ir/writer.h"

/* Writes a string in quotes. The text is UTF-8 without NUL. `<` is escaped too, so that the string
 * can neither end the script of a page that contains it nor begin a comment there. */
void json_string(Writer *out, const char *text, size_t length);

void json_int(Writer *out, int64_t value);

/* Writes `,"key":value` as a further member of an object. The key is written without escaping. */
void json_int_field(Writer *out, const char *key, int64_t value);
void json_string_field(Writer *out, const char *key, rh_text text);

#endif
