/* What every public function does around its work: where to go on when memory runs out, what its
 * diagnostics are about, and which settings its modules are looked at with.
 *
 *     rh_status rh_example(const rh_module *module, const rh_settings *settings, rh_thing **thing,
 *                          rh_diags *diags) {
 *       *thing = NULL;
 *       CALL_OPEN(call, diags, RH_CODE_OTHER);
 *       const rh_module *taken;
 *       rh_status status = call_take(call, module, settings, &taken);
 *       if (status == RH_OK) status = ...;  arenas come from call_memory() or from `taken`
 *       if (status == RH_OK) *thing = ...;  last of all, so that it is not set when memory runs out
 *       return call_close(call, status);
 *     }
 *
 * An arena that was made meanwhile and is not freed by the end is a result, and stays. */
#ifndef REMAT_HLO_API_CALL_H
#define REMAT_HLO_API_CALL_H

#include "ir/diag.h"
#include "ir/handle.h"

enum { MAX_TAKEN = 2 };

/* In memory of its own: what changes between setjmp and longjmp must not be a variable. */
typedef struct Call {
  ArenaGuard guard;
  rh_diags *diags;
  DiagsOwner diags_owner;   /* before the call */
  Module *taken[MAX_TAKEN]; /* views */
  int num_taken;
} Call;

/* `code` is what errors and notes are about that do not say so themselves. NULL when there is no
 * memory. */
Call *call_new(rh_diags *diags, rh_code code);

/* The same of warnings. */
void call_warn_about(Call *call, rh_code code);

/* Sees to it that nothing is left but what was there before. RH_ERR_MEMORY. `call` may be NULL. */
rh_status call_out_of_memory(Call *call, rh_diags *diags);

/* Returns `status`. */
rh_status call_close(Call *call, rh_status status);

#define CALL_OPEN(call, diags, code)                   \
  Call *const call = call_new((diags), (code));        \
  if (!call) return call_out_of_memory(NULL, (diags)); \
  if (setjmp(call->guard.jump) != 0) return call_out_of_memory(call, (diags))

/* For the arenas of the call; at most so many bytes in each, 0 = no limit. */
ArenaOptions call_memory(Call *call, size_t max_bytes);

/* The module as it is to be looked at during the call. `settings` may be NULL. RH_ERR_USAGE when
 * something is wrong with them. */
rh_status call_take(Call *call, const rh_module *module, const rh_settings *settings,
                    const rh_module **taken);

/* Settings as the library has them. */
rh_status settings_read(const rh_settings *given, rh_settings *settings, rh_diags *diags);

#endif
