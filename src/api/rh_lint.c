/* The public function of lint.h. */
#include "analysis/lint/lint.h"

#include "api/call.h"
#include "api/sized.h"

rh_status rh_lint(const rh_module *module, const rh_lint_options *given, uint64_t *num_findings,
                  rh_diags *diags) {
  if (num_findings) *num_findings = 0;
  CALL_OPEN(call, diags, RH_CODE_CONTRADICTION);
  rh_lint_options options = RH_LINT_OPTIONS_INIT;
  const rh_module *taken = NULL;
  rh_status status = sized_read(&options, sizeof options, given, "rh_lint_options", diags);
  if (status == RH_OK) status = call_take(call, module, NULL, &taken);
  if (status != RH_OK) return call_close(call, status);
  LintInput input = {
      .module = taken->module,
      .schedule = taken->has_schedule ? &taken->schedule : NULL,
      .severity = options.is_strict ? RH_SEVERITY_ERROR : RH_SEVERITY_WARNING,
      .max_findings = options.max_findings,
  };
  uint64_t count;
  status = lint_module(&input, &count, diags);
  if (num_findings) *num_findings = count;
  return call_close(call, status);
}
