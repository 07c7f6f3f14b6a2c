#include <remat_hlo.h>
#include <stdio.h>
#include <string.h>

static int put(void *file, const char *data, size_t length) {
  return fwrite(data, 1, length, (FILE *)file) == length ? 0 : 1;
}

static rh_status reduce(const char *hlo, int64_t limit_bytes, rh_diags *diags) {
  rh_module *input = NULL, *scheduled = NULL, *result = NULL;
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  rh_status status = rh_parse(hlo, strlen(hlo), NULL, &input, diags);
  options.limit_bytes = limit_bytes;
  if (status == RH_OK) status = rh_schedule(input, NULL, NULL, &scheduled, diags);
  if (status == RH_OK) status = rh_remat(scheduled, NULL, &options, &result, NULL, diags);
  if (status == RH_OVER_LIMIT) fputs("above the limit, but the best there is:\n", stderr);
  if (result != NULL && rh_print(result, put, stdout, diags) != RH_OK) status = RH_ERR_WRITE;
  rh_module_free(result);
  rh_module_free(scheduled);
  rh_module_free(input);
  return status;
}

int main(void) {
  const char *hlo =
      "HloModule m\n\nENTRY e {\n  p = f32[1000] parameter(0)\n"
      "  a = f32[1000] negate(p)\n  ROOT r = f32[1000] add(p, a)\n}\n";
  rh_diags *diags = rh_diags_new();
  rh_status status = reduce(hlo, 12000, diags);
  for (size_t i = 0; i < rh_diags_len(diags); i++)
    fprintf(stderr, "%s\n", rh_diags_get(diags, i)->message);
  rh_diags_free(diags);
  return status == RH_OK ? 0 : 1;
}
