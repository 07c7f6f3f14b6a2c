/* libFuzzer target: whatever is parsed can be checked, in bounded time, without a change to it.
 *
 * What rh_check refuses rh_lint refuses; a limit hides findings and changes neither their number
 * nor the first of them; places are in the text. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remat_hlo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FEW = 3 };

static void require(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "fuzz_check: %s\n", what);
  abort();
}

static void check_diags(const rh_diags *diags, size_t size) {
  for (size_t i = 0; i < rh_diags_len(diags); i++) {
    rh_diag diag = *rh_diags_get(diags, i);
    require(diag.message && diag.message[0], "a diagnostic without a message");
    require(diag.offset <= size || diag.offset == RH_NO_OFFSET, "an offset beyond the text");
    require(diag.opener_offset <= size || diag.opener_offset == RH_NO_OFFSET,
            "an opener beyond the text");
    require(diag.rule || diag.severity == RH_SEVERITY_ERROR, "a finding without a rule");
  }
}

static void check_limited(const rh_module *module, const rh_diags *all) {
  rh_lint_options options = RH_LINT_OPTIONS_INIT;
  options.is_strict = true;
  options.max_findings = FEW;
  rh_diags *some = rh_diags_new();
  uint64_t count;
  rh_status status = rh_lint(module, &options, &count, some);
  size_t shown = count < FEW ? (size_t)count : FEW;
  require(count == rh_diags_len(all), "the limit changes the number");
  require(rh_diags_len(some) == shown, "not as many as the limit says");
  require((status == RH_ERR_INPUT) == (count > 0), "strict, and not refused");
  for (size_t i = 0; i < shown; i++) {
    require(strcmp(rh_diags_get(some, i)->message, rh_diags_get(all, i)->message) == 0,
            "others come first");
  }
  rh_diags_free(some);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  rh_module *module = NULL;
  if (rh_parse((const char *)data, size, NULL, &module, NULL) != RH_OK) return 0;
  rh_diags *diags = rh_diags_new();
  uint64_t count;
  rh_status status = rh_lint(module, NULL, &count, diags);
  require(count == rh_diags_len(diags), "a finding is not told of");
  require(status == rh_check(module, NULL), "rh_check says otherwise");
  check_diags(diags, size);
  check_limited(module, diags);
  rh_diags_free(diags);
  rh_module_free(module);
  return 0;
}
