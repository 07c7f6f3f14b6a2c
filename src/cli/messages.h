/* Diagnostics, as people read them or as programs do. */
#ifndef REMAT_HLO_CLI_MESSAGES_H
#define REMAT_HLO_CLI_MESSAGES_H

#include <stdio.h>

#include "input.h"

/* Writes diagnostics to stderr, one after the other: `file:line:column: error: …` with the line and
 * a caret, or a JSON object on a line, as `input->form` says. If memory ran out, says only that and
 * ends the program; nothing half-written stays behind. */
void messages_print(const Input *input, const rh_diags *diags);

/* Frees diagnostics that nobody is to see; ends the program likewise. */
void messages_drop(const Input *input, rh_diags *diags);

/* The same for what has no place in the text. */
void messages_say(const Input *input, rh_severity severity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* `error`, `warning`, `note`. */
const char *severity_word(rh_severity severity);

/* Whether the byte is in a character of UTF-8 and does not begin it. */
bool utf8_is_inside(char c);

/* Length of the UTF-8 sequence at `p`, 0 when it is none. */
size_t utf8_length(const char *p, const char *end);

/* A place in a text, and the line that it is in. */
typedef struct Place {
  size_t offset, line, column, line_begin;
} Place;

/* One diagnostic as a JSON object, its keys as in the manual page. `place` and `opener` may be
 * NULL. */
void messages_print_json(const Input *input, const rh_diag *diag, const Place *place,
                         const Place *opener, FILE *out);

#endif
