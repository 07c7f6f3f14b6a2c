/* The public function of lint.h. */
#include "analysis/lint/lint.h"
#include "ir/handle.h"

rh_status rh_lint(const rh_module *module, const rh_lint_options *options, uint64_t *num_findings,
                  rh_diags *diags) {
  rh_lint_options chosen = RH_LINT_OPTIONS_INIT;
  if (options) chosen = *options;
  LintInput input = {
      .module = module->module,
      .schedule = module->has_schedule ? &module->schedule : NULL,
      .severity = chosen.is_strict ? RH_SEVERITY_ERROR : RH_SEVERITY_WARNING,
      .max_findings = chosen.max_findings,
  };
  uint64_t count;
  rh_status status = lint_module(&input, &count, diags);
  if (num_findings) *num_findings = count;
  return status;
}
