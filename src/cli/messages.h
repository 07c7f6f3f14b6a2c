/* Diagnostics in a form for people or for programs. */
#ifndef REMAT_HLO_CLI_MESSAGES_H
#define REMAT_HLO_CLI_MESSAGES_H

#include <stdio.h>

#include "input.h"

/* Writes diagnostics to stderr, one after the other. As `input->form` says, each is
 * `file:line:column: error: …` with the source line and a caret, or a JSON object on a line. If
 * memory ran out, it reports only that, removes partially written files, and ends the program. */
void messages_print(const Input *input, const rh_diags *diags);

/* Frees diagnostics that are not to be shown. Like messages_print(), it ends the program if memory
 * ran out. */
void messages_drop(const Input *input, rh_diags *diags);

/* Writes messages that would have been dropped if what they are about had not failed. */
void messages_print_and_free(const Input *input, rh_diags *diags);

/* Writes one message that has no position in the text. */
void messages_say(const Input *input, rh_severity severity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns `error`, `warning` or `note`. */
const char *severity_word(rh_severity severity);

/* Returns whether the byte belongs to a UTF-8 character but is not its first byte. */
bool utf8_is_inside(char c);

/* Returns the length of the UTF-8 sequence at `p`, or 0 if it is not one. */
size_t utf8_length(const char *p, const char *end);

/* A position in a text, and the line that contains it. */
typedef struct Place {
  size_t offset, line, column, line_begin;
} Place;

/* Writes one diagnostic as a JSON object. The manual page documents its keys. `place` and `opener`
 * may be NULL. */
void messages_print_json(const Input *input, const rh_diag *diag, const Place *place,
                         const Place *opener, FILE *out);

#endif
