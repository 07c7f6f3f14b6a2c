/* libFuzzer target: whatever is parsed can be laid out anew, in each form, as the same module.
 *
 * The result parses again, with as many computations and instructions, the module's name and what
 * else rh_get_info tells of it; rh_check says the same of it; laying it out once more changes no
 * byte. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "remat_hlo.h"

/* Tuples of tuples can double with each line, and so can the shapes that are written for them. */
enum { MAX_RESULT_BYTES = 8 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
  const char *name;
  rh_format_options options;
} forms[] = {
    {"long", {.struct_size = sizeof(rh_format_options), .is_short = false}},
    {"short", {.struct_size = sizeof(rh_format_options), .is_short = true}},
    {"no-metadata", {.struct_size = sizeof(rh_format_options), .omit_metadata = true}},
    {"strip-locations", {.struct_size = sizeof(rh_format_options), .omit_locations = true}},
};

enum { NUM_FORMS = sizeof forms / sizeof forms[0] };

static void require(bool ok, const char *what, int form, const Bytes *shown) {
  if (ok) return;
  fprintf(stderr, "fuzz_fmt: %s: %s\n", forms[form].name, what);
  if (shown) fwrite(shown->data, 1, shown->len, stderr);
  abort();
}

/* Whether the result is small enough to go on with. */
static bool format(const rh_module *module, int form, Bytes *bytes) {
  *bytes = (Bytes){.max = MAX_RESULT_BYTES};
  rh_status status = rh_format(module, &forms[form].options, bytes_append, bytes, NULL);
  require(status == RH_OK || bytes->len > 0, "nothing is written", form, NULL);
  return status == RH_OK;
}

static void check_same(const rh_module *module, const rh_module *again, int form,
                       const Bytes *bytes) {
  rh_module_info before = *rh_get_info(module), after = *rh_get_info(again);
  require(before.num_computations == after.num_computations, "other computations", form, bytes);
  require(before.num_instructions == after.num_instructions, "other instructions", form, bytes);
  require(before.num_elided_literals == after.num_elided_literals, "other literals", form, bytes);
  require(before.num_partitions == after.num_partitions, "other partitions", form, bytes);
  require(before.is_scheduled == after.is_scheduled, "another schedule", form, bytes);
  require(before.name.length == after.name.length &&
              memcmp(before.name.data, after.name.data, before.name.length) == 0,
          "another name", form, bytes);
  require(rh_check(module, NULL) == rh_check(again, NULL), "another verdict", form, bytes);
}

static rh_module *parse_result(int form, const Bytes *bytes) {
  rh_module *module = NULL;
  rh_diags *diags = rh_diags_new();
  rh_status status = rh_parse(bytes->data, bytes->len, NULL, &module, diags);
  require(status == RH_OK, rh_diags_len(diags) ? rh_diags_get(diags, 0)->message : "", form, bytes);
  rh_diags_free(diags);
  return module;
}

static void check_form(const rh_module *module, int form) {
  Bytes once, twice;
  if (format(module, form, &once)) {
    rh_module *again = parse_result(form, &once);
    check_same(module, again, form, &once);
    bool is_whole = format(again, form, &twice);
    require(is_whole && once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0,
            "changes once more", form, &once);
    free(twice.data);
    rh_module_free(again);
  }
  free(once.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  rh_module *module;
  if (rh_parse((const char *)data, size, NULL, &module, NULL) != RH_OK) return 0;
  for (int form = 0; form < NUM_FORMS; form++)
    check_form(module, form);
  rh_module_free(module);
  return 0;
}
