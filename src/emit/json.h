/* JSON that is written while it is made: pages and traces have a million numbers. */
#ifndef REMAT_HLO_EMIT_JSON_H
#define REMAT_HLO_EMIT_JSON_H

#include "ir/writer.h"

/* A string in quotes. The text is UTF-8 without NUL; `<` is escaped too, so that nothing ends the
 * script of a page that the string is in, or begins a comment there. */
void json_string(Writer *out, const char *text, size_t length);

void json_int(Writer *out, int64_t value);

/* `,"key":value`, as one more of an object; the key is written as it is. */
void json_int_field(Writer *out, const char *key, int64_t value);
void json_string_field(Writer *out, const char *key, rh_text text);

#endif
