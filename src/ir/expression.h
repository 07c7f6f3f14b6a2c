/* POSIX extended regular expressions from users. Expressions that would need much time or memory
 * are rejected. */
#ifndef REMAT_HLO_IR_EXPRESSION_H
#define REMAT_HLO_IR_EXPRESSION_H

#include <regex.h>

#include "ir/arena.h"
#include "ir/diag.h"
#include "ir/ids.h"

enum { MAX_EXPRESSION_CHARS = 1000 };

/* Compiles an expression. It is freed with the arena. Returns RH_ERR_USAGE if `text` is not an
 * expression, or not one that is matched in linear time and with little memory: back references are
 * not allowed, and the product of repetition counts must be small. */
rh_status expression_new(const char *text, const regex_t **expression, rh_diags *diags, Arena *out);

/* Returns true if the expression matches a part of the subject. Only the first characters of the
 * subject are examined. */
bool expression_matches(const regex_t *expression, Str subject, Arena *scratch);

#endif
