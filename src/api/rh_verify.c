/* The public function that verifies. */
#include "analysis/flow/copy_stage.h"
#include "ir/handle.h"
#include "text/reparse.h"
#include "remat/legality/safe_reads.h"
#include "remat/verify/verify.h"

/* The verifier takes a text's order for the schedule, so it gets what rh_print would write. */
static rh_status module_to_verify(const rh_module *handle, Module **own, rh_diags *diags,
                                  Arena *scratch) {
  *own = NULL;
  rh_status status = handle_check(handle, diags);
  if (status != RH_OK || !handle->is_rendered) return status;
  return module_reparse(handle->module, &handle->schedule, PRINT_SCHEDULED, own, diags, scratch);
}

/* The order of a text is one that it can run in. */
static OrderedModule order_module(const rh_module *handle, Schedule *schedule, Arena *arena) {
  *schedule = handle->schedule;
  if (!handle->has_schedule) *schedule = schedule_in_text_order(handle->module, arena);
  return (OrderedModule){handle->module, schedule, !handle->has_schedule};
}

/* Which values share memory is known from the modules, when they are read only from the orders. */
static rh_status verify_reads(const rh_module *before, const rh_module *after, rh_copies copies,
                              rh_diags *diags, Arena *scratch) {
  bool is_inserted =
      copies == RH_COPIES_AUTO ? copies_are_inserted(before->module) : copies == RH_COPIES_INSERTED;
  if (!is_inserted) return RH_OK;
  Arena *arena = arena_new(arena_options(scratch));
  Schedule schedules[2];
  OrderedModule own = order_module(before, &schedules[0], arena);
  OrderedModule other = order_module(after, &schedules[1], arena);
  rh_status status = safe_reads_verify(&own, &other, diags, scratch);
  arena_free(arena);
  return status;
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
