/* Diagnostics: lists of errors and warnings, with byte offsets into the text. Line, column and
 * caret are only computed when a diagnostic is printed (rh_locate). For example,
 *
 *   return diag_fail(diags, RH_ERR_INPUT, DIAG_AT(offset), "unknown opcode '%s'", name); */
#ifndef REMAT_HLO_IR_DIAG_H
#define REMAT_HLO_IR_DIAG_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/arena.h"
#include "remat_hlo.h"

/* The place of a diagnostic. `opener` is the bracket or definition that it refers to. `code` is its
 * kind; RH_CODE_OTHER means the default kind that the public function set. */
typedef struct DiagPlace {
  uint32_t offset;
  uint32_t opener;
  rh_code code;
} DiagPlace;

#define NO_OFFSET UINT32_MAX
#define DIAG_AT(at) ((DiagPlace){.offset = (at), .opener = NO_OFFSET})
#define DIAG_NOWHERE DIAG_AT(NO_OFFSET)
#define DIAG_FROM_TO(at, from) ((DiagPlace){.offset = (at), .opener = (from)})
#define DIAG_ABOUT(about, at) ((DiagPlace){.offset = (at), .opener = NO_OFFSET, .code = (about)})

/* Adds an error and returns `status`, so that callers can write `return diag_fail(...)`. `diags`
 * may be NULL. */
rh_status diag_fail(rh_diags *diags, rh_status status, DiagPlace place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds the error that there is no `noun` of this name, with the one of `names` that was probably
 * meant. Returns RH_ERR_USAGE. */
rh_status diag_fail_unknown(rh_diags *diags, const char *noun, const char *name,
                            const char *const *names, size_t count);

void diag_warn(rh_diags *diags, DiagPlace place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a note about the module as a whole. */
void diag_note(rh_diags *diags, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sets the rule of which the last diagnostic is a finding. */
void diag_set_rule(rh_diags *diags, const char *rule);

void diag_add(rh_diags *diags, rh_severity severity, DiagPlace place, const char *format,
              va_list args);

/* Returns an empty list, in an arena with these options. It is freed with rh_diags_free. */
rh_diags *diags_new(const ArenaOptions *options);

/* The guard to which a list jumps when it runs out of memory, and the default kinds of its errors
 * and warnings. */
typedef struct DiagsOwner {
  ArenaGuard *guard;
  rh_code code, warning_code;
} DiagsOwner;

/* Replaces the owner and returns the previous one. `diags` may be NULL. */
DiagsOwner diags_swap_owner(rh_diags *diags, DiagsOwner owner);

/* Records that memory ran out. This needs no memory. */
void diags_note_out_of_memory(rh_diags *diags, size_t wanted_bytes, size_t limit_bytes);

#endif
