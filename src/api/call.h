/* The frame of every public function: it determines where execution continues when memory runs out,
 * the code of the diagnostics, and the settings with which the call sees its modules.
 *
 *     rh_status rh_example(const rh_module *module, const rh_settings *settings, rh_thing **thing,
 *                          rh_diags *diags) {
 *       *thing = NULL;
 *       CALL_OPEN(call, diags, RH_CODE_OTHER);
 *       const rh_module *taken;
 *       rh_status status = call_take(call, module, settings, &taken);
 *       if (status == RH_OK) status = ...;  arenas use call_memory() or `taken`
 *       if (status == RH_OK) *thing = ...;  last, so that it is not set if memory runs out
 *       return call_close(call, status);
 *     }
 *
 * An arena that is made during the call and not freed by its end belongs to the result, and is
 * kept. */
#ifndef REMAT_HLO_API_CALL_H
#define REMAT_HLO_API_CALL_H

#include "ir/diag.h"
#include "ir/handle.h"

enum { MAX_TAKEN = 2 };

/* Allocated on the heap, because a local variable that changes between setjmp and longjmp becomes
 * indeterminate. */
typedef struct Call {
  ArenaGuard guard;
  rh_diags *diags;
  DiagsOwner diags_owner;   /* the owner before the call */
  Module *taken[MAX_TAKEN]; /* the views that call_take() made */
  int num_taken;
} Call;

/* Begins a call. `code` is for errors and notes that have no code of their own. Returns NULL when
 * there is no memory. */
Call *call_new(rh_diags *diags, rh_code code);

/* Sets the code for warnings that have no code of their own. */
void call_warn_about(Call *call, rh_code code);

/* Frees everything that was made since the call began. Returns RH_ERR_MEMORY. `call` may be
 * NULL. */
rh_status call_out_of_memory(Call *call, rh_diags *diags);

/* Ends the call. Returns `status`. */
rh_status call_close(Call *call, rh_status status);

#define CALL_OPEN(call, diags, code)                   \
  Call *const call = call_new((diags), (code));        \
  if (!call) return call_out_of_memory(NULL, (diags)); \
  if (setjmp(call->guard.jump) != 0) return call_out_of_memory(call, (diags))

/* Returns the options for the arenas of the call. Each arena is limited to `max_bytes`, 0 = no
 * limit. */
ArenaOptions call_memory(Call *call, size_t max_bytes);

/* Sets `*taken` to the module as the call must see it with these settings. `settings` may be NULL.
 * Returns RH_ERR_USAGE when the settings are invalid. */
rh_status call_take(Call *call, const rh_module *module, const rh_settings *settings,
                    const rh_module **taken);

/* Frees what the last call_take() made, so that a call can take any number of modules one after the
 * other. */
void call_give_back(Call *call);

/* Converts a caller's settings to those of the library. */
rh_status settings_read(const rh_settings *given, rh_settings *settings, rh_diags *diags);

#endif
