#include "plan_file.h"

#include "memory.h"
#include "messages.h"

/* Replaces the options for the preparation of the module by those with which the plan was made.
 * --copies overrides the plan. */
static rh_status take_preparation(const rh_plan *plan, Options *options, rh_diags *diags) {
  options->target = rh_plan_target(plan);
  if (options->copies == RH_COPIES_AUTO) options->copies = rh_plan_copies(plan);
  return rh_plan_preparation(plan, &options->schedule, diags);
}

rh_status plan_file_read(Options *options, PlanFile *file) {
  *file = (PlanFile){0};
  if (!options->apply_plan) return RH_OK;
  rh_status status =
      input_read(options->apply_plan, (MessageForm)options->diagnostics, &file->input);
  if (status != RH_OK) return status;
  rh_diags *diags = memory_need(rh_diags_new());
  status = rh_plan_parse(file->input.text, file->input.length, &file->plan, diags);
  if (status == RH_OK) status = take_preparation(file->plan, options, diags);
  messages_print(&file->input, diags);
  rh_diags_free(diags);
  return status;
}

void plan_file_free(PlanFile *file) {
  rh_plan_free(file->plan);
  input_free(&file->input);
}

rh_status plan_file_apply(const PlanFile *file, const rh_module *module,
                          const rh_settings *settings, const rh_remat_options *remat,
                          rh_module **result, rh_remat_result *outcome) {
  rh_diags *diags = memory_need(rh_diags_new());
  rh_status status = rh_apply_plan(module, settings, file->plan, remat, result, outcome, diags);
  messages_print(&file->input, diags);
  rh_diags_free(diags);
  return status;
}
