/* The public functions that rematerialize. */
#include "api/measure.h"
#include "api/names.h"
#include "ir/diag.h"
#include "remat/engine/engine.h"
#include "remat/plan/handle.h"

/* Finds what the options name and has the engine do it. */
static rh_status run(const rh_module *module, const RematAlgorithm *algorithm, const Plan *plan,
                     const rh_remat_options *options, rh_module **result,
                     rh_remat_result *result_info, rh_diags *diags) {
  *result = NULL;
  if (!algorithm) return fail_unknown_name(RH_ALGORITHMS, options->algorithm, diags);
  const MemoryModel *model;
  rh_status status = find_model(module, options->memory_model, &model, diags);
  if (status != RH_OK) return status;
  RematRequest request = {.module = module,
                          .options = options,
                          .algorithm = algorithm,
                          .plan = plan,
                          .memory_model = model,
                          .device = options->profile ? profile_of(options->profile) : NULL};
  rh_remat_result info = {0};
  status = remat_engine_run(&request, result, &info, diags);
  if (result_info) *result_info = info;
  if (status != RH_OK) return status;
  return info.is_met ? RH_OK : RH_NO;
}

rh_status rh_remat(const rh_module *module, const rh_remat_options *options, rh_module **result,
                   rh_remat_result *result_info, rh_diags *diags) {
  return run(module, remat_algorithm_find(options->algorithm), NULL, options, result, result_info,
             diags);
}

rh_status rh_apply_plan(const rh_module *module, const rh_plan *plan,
                        const rh_remat_options *options, rh_module **result,
                        rh_remat_result *result_info, rh_diags *diags) {
  *result = NULL;
  rh_status status = handle_check_scheduled(module, diags);
  if (status != RH_OK) return status;
  plan_warn_of_module(plan, module, diags);
  return run(module, &plan_algorithm, &plan->plan, options, result, result_info, diags);
}
