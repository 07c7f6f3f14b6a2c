/* Diagnostics are values: what is wrong and where, as byte offsets into the text. Line, column and
 * caret are computed when somebody prints them (rh_locate). */
#ifndef REMAT_HLO_IR_DIAG_H
#define REMAT_HLO_IR_DIAG_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/arena.h"
#include "remat_hlo.h"

/* What RH_NOT_EQUIVALENT is called in src/remat, which goes with the next change there. */
#define RH_NO RH_NOT_EQUIVALENT

/* Where a diagnostic points. `opener` is the bracket or definition it goes back to. `code` says
 * what it is about; RH_CODE_OTHER = what the public function said that its diagnostics are about.
 */
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

/* Adds an error and returns `status`, for `return diag_fail(...)`. `diags` may be NULL. */
rh_status diag_fail(rh_diags *diags, rh_status status, DiagPlace place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

void diag_warn(rh_diags *diags, DiagPlace place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Says of the diagnostic that was added last which rule it is a finding of. */
void diag_set_rule(rh_diags *diags, const char *rule);

void diag_add(rh_diags *diags, rh_severity severity, DiagPlace place, const char *format,
              va_list args);

/* An empty list in an arena of such options. rh_diags_free. */
rh_diags *diags_new(const ArenaOptions *options);

/* Which guard a list jumps to when it has no memory, and what diagnostics are about that do not say
 * so themselves. */
typedef struct DiagsOwner {
  ArenaGuard *guard;
  rh_code code, warning_code;
} DiagsOwner;

/* Changes that, and returns what it was. `diags` may be NULL. */
DiagsOwner diags_swap_owner(rh_diags *diags, DiagsOwner owner);

/* Says, without any memory, that there was none. */
void diags_note_out_of_memory(rh_diags *diags, size_t wanted_bytes, size_t limit_bytes);

#endif
