/* POSIX extended regular expressions that anybody may give: none of them takes long or much memory.
 */
#ifndef REMAT_HLO_IR_EXPRESSION_H
#define REMAT_HLO_IR_EXPRESSION_H

#include <regex.h>

#include "ir/arena.h"
#include "ir/diag.h"
#include "ir/ids.h"

enum { MAX_EXPRESSION_CHARS = 1000 };

/* To be freed with regfree. RH_ERR_USAGE when `text` is no expression, or not one that is matched
 * in linear time and little memory: no back references, repetition counts whose product is small.
 */
rh_status expression_compile(const char *text, regex_t *expression, rh_diags *diags);

/* The same; it goes with the arena. */
rh_status expression_new(const char *text, const regex_t **expression, rh_diags *diags, Arena *out);

/* Whether it matches a part of the subject, of which only the first characters count. */
bool expression_matches(const regex_t *expression, Str subject, Arena *scratch);

#endif
