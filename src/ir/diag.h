/* Diagnostics are values: what is wrong and where, as byte offsets into the text. Line, column and
 * caret are computed when somebody prints them (rh_locate). */
#ifndef REMAT_HLO_IR_DIAG_H
#define REMAT_HLO_IR_DIAG_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "remat_hlo.h"

/* Where a diagnostic points. `opener` is the bracket or definition it goes back to. */
typedef struct DiagPlace {
  uint32_t offset;
  uint32_t opener;
} DiagPlace;

#define NO_OFFSET UINT32_MAX
#define DIAG_AT(at) ((DiagPlace){.offset = (at), .opener = NO_OFFSET})
#define DIAG_NOWHERE DIAG_AT(NO_OFFSET)

/* Adds an error and returns `status`, for `return diag_fail(...)`. `diags` may be NULL. */
rh_status diag_fail(rh_diags *diags, rh_status status, DiagPlace place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

void diag_warn(rh_diags *diags, DiagPlace place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Says of the diagnostic that was added last which rule it is a finding of. */
void diag_set_rule(rh_diags *diags, const char *rule);

void diag_add(rh_diags *diags, rh_severity severity, DiagPlace place, const char *format,
              va_list args);

#endif
