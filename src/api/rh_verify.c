/* The public function that verifies. */
#include "analysis/flow/copy_stage.h"
#include "api/call.h"
#include "api/sized.h"
#include "text/reparse.h"
#include "remat/legality/safe_reads.h"
#include "remat/verify/verify.h"

/* The verifier takes the order of a text for the schedule, so it needs the module as rh_print()
 * would write it. */
static rh_status module_to_verify(const rh_module *handle, Module **own, rh_diags *diags,
                                  Arena *scratch) {
  *own = NULL;
  rh_status status = handle_check(handle, diags);
  if (status != RH_OK || !handle->is_rendered) return status;
  return module_reparse(handle->module, &handle->schedule, PRINT_SCHEDULED, own, diags, scratch);
}

/* Returns the module with its schedule. A module without one has the order of its text, which is a
 * possible order of execution. */
static OrderedModule order_module(const rh_module *handle, Schedule *schedule, Arena *arena) {
  *schedule = handle->schedule;
  if (!handle->has_schedule) *schedule = schedule_in_text_order(handle->module, arena);
  return (OrderedModule){handle->module, schedule, !handle->has_schedule};
}

/* The modules determine which values share memory, but only the orders determine when these values
 * are read. */
static rh_status verify_reads(const rh_module *before, const rh_module *after, rh_diags *diags,
                              Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Schedule schedules[2];
  OrderedModule own = order_module(before, &schedules[0], arena);
  OrderedModule other = order_module(after, &schedules[1], arena);
  rh_status status = safe_reads_verify(&own, &other, diags, scratch);
  arena_free(arena);
  return status;
}

/* Reads matter once XLA has inserted its copies. If it is only assumed that it has still to do so,
 * warns of what is right for no other reason. */
static rh_status verify_copies(const rh_module *before, const rh_module *after, rh_diags *diags,
                               Arena *scratch) {
  CopyFinding found = copies_find(before->module);
  if (found.is_inserted) return verify_reads(before, after, diags, scratch);
  if (!found.is_sure && verify_reads(before, after, NULL, scratch) != RH_OK) {
    diag_warn(diags, DIAG_ABOUT(RH_CODE_OPEN_COPIES, NO_OFFSET),
              "the result is right only if XLA has still to insert its copies, which is assumed "
              "because %s; if the module comes from after that, give --copies=inserted",
              found.reason);
  }
  return RH_OK;
}

/* Verifies values and rounding, and says so if only the rounding is not shown to be the same. */
static rh_status verify_values(const Module *before, const Module *after,
                               const rh_verify_options *options, rh_diags *diags, Arena *scratch) {
  bool keeps_order = !options->ignore_schedule;
  rh_status status =
      verify_modules(before, after, keeps_order, !options->any_rounding, diags, scratch);
  if (status != RH_NOT_EQUIVALENT || options->any_rounding) return status;
  if (verify_modules(before, after, keeps_order, false, NULL, scratch) == RH_OK) {
    diag_note(
        diags,
        "the values are the same, but what rounds them is not in the same fusions as before, where "
        "a compiler may round them otherwise; --any-rounding accepts that");
  }
  return status;
}

static rh_status verify(const rh_module *before, const rh_module *after,
                        const rh_verify_options *options, rh_diags *diags) {
  Arena *scratch = arena_new(arena_options(before->module->arena));
  Module *own_before = NULL, *own_after = NULL;
  rh_status status = module_to_verify(before, &own_before, diags, scratch);
  if (status == RH_OK) status = module_to_verify(after, &own_after, diags, scratch);
  if (status == RH_OK) {
    status = verify_values(own_before ? own_before : before->module,
                           own_after ? own_after : after->module, options, diags, scratch);
  }
  if (status == RH_OK) status = verify_copies(before, after, diags, scratch);
  module_free(own_before);
  module_free(own_after);
  arena_free(scratch);
  return status;
}

rh_status rh_verify(const rh_module *before, const rh_module *after, const rh_settings *settings,
                    const rh_verify_options *given, rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_DIFFERENCE);
  rh_verify_options options = RH_VERIFY_OPTIONS_INIT;
  const rh_module *taken_before = NULL, *taken_after = NULL;
  rh_status status = sized_read(&options, sizeof options, given, "rh_verify_options", diags);
  if (status == RH_OK) status = call_take(call, before, settings, &taken_before);
  if (status == RH_OK) status = call_take(call, after, NULL, &taken_after);
  if (status == RH_OK) status = verify(taken_before, taken_after, &options, diags);
  return call_close(call, status);
}
