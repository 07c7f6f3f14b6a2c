/* The public function that verifies. */
#include "ir/handle.h"
#include "remat/rh_reparse.h"
#include "remat/safe_reads.h"
#include "remat/verify.h"

/* The verifier takes a text's order for the schedule, so it gets what rh_print would write. */
static rh_status module_to_verify(const rh_module *handle, Module **own, rh_diags *diags,
                                  Arena *scratch) {
  *own = NULL;
  rh_status status = handle_check(handle, diags);
  if (status != RH_OK || !handle->is_rendered) return status;
  return module_reparse(handle->module, &handle->schedule, PRINT_SCHEDULED, own, diags, scratch);
}

/* What share memory with each other only the order tells. */
static rh_status verify_reads(const rh_module *before, const rh_module *after, rh_copies copies,
                              rh_diags *diags, Arena *scratch) {
  if (!before->has_schedule || !after->has_schedule) return RH_OK;
  if (copies_resolve(before, copies, scratch) == RH_COPIES_PENDING) return RH_OK;
  return safe_reads_verify(after->module, &after->schedule, diags, scratch);
}

rh_status rh_verify(const rh_module *before, const rh_module *after,
                    const rh_verify_options *options, rh_diags *diags) {
  static const rh_verify_options defaults = {.copies = RH_COPIES_AUTO};
  if (!options) options = &defaults;
  Arena *scratch = arena_new(arena_options(before->module->arena));
  Module *own_before = NULL, *own_after = NULL;
  rh_status status = module_to_verify(before, &own_before, diags, scratch);
  if (status == RH_OK) status = module_to_verify(after, &own_after, diags, scratch);
  if (status == RH_OK) {
    status = verify_modules(own_before ? own_before : before->module,
                            own_after ? own_after : after->module, !options->ignore_schedule, diags,
                            scratch);
  }
  if (status == RH_OK) status = verify_reads(before, after, options->copies, diags, scratch);
  if (own_before) module_free(own_before);
  if (own_after) module_free(own_after);
  arena_free(scratch);
  return status;
}
