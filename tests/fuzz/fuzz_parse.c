/* libFuzzer target: any bytes at all are refused with a message or read without loss.
 *
 * What is accepted must print back byte for byte, also from a copy whose original is gone; must get
 * through module_check; and must parse again, with as many instructions, from its scheduled form
 * and from the form in which every instruction counts as changed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "ir/module_check.h"
#include "text/parse.h"
#include "text/print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok, const char *what, const Bytes *shown) {
  if (ok) return;
  fprintf(stderr, "fuzz_parse: %s\n", what);
  if (shown) fwrite(shown->data, 1, shown->len, stderr);
  abort();
}

static Bytes print(const Module *module, const Schedule *schedule, PrintOrder order) {
  Bytes bytes = {0};
  Arena *scratch = arena_new(NULL);
  Writer *writer = arena_alloc(scratch, sizeof *writer);
  writer_init(writer, bytes_append, &bytes);
  text_print(module, schedule, order, writer, scratch);
  require(writer_finish(writer) == RH_OK, "the writer failed", NULL);
  arena_free(scratch);
  return bytes;
}

static void check_diags(const rh_diags *diags, size_t size) {
  for (size_t i = 0; i < rh_diags_len(diags); i++) {
    rh_diag diag = *rh_diags_get(diags, i);
    require(diag.message && diag.message[0], "a diagnostic without a message", NULL);
    require(diag.offset <= size || diag.offset == RH_NO_OFFSET, "an offset beyond the text", NULL);
    require(diag.opener_offset <= size || diag.opener_offset == RH_NO_OFFSET,
            "an opener beyond the text", NULL);
  }
}

static void check_same(const Module *module, const char *text, size_t size, const char *what) {
  Bytes bytes = print(module, NULL, PRINT_AS_READ);
  require(bytes.len == size && memcmp(bytes.data, text, size) == 0, what, &bytes);
  free(bytes.data);
}

/* Takes the text over. */
static void check_parses(Bytes bytes, uint64_t num_insts, const char *what) {
  Module *module;
  require(text_parse(bytes.data, bytes.len, NULL, &module, NULL) == RH_OK, what, &bytes);
  require(module_num_instructions(module) == num_insts, what, &bytes);
  module_free(module);
  free(bytes.data);
}

static void check_module(Module *module, const char *text, size_t size, rh_diags *diags) {
  size_t num_warnings = rh_diags_len(diags);
  rh_status status = module_check(module, diags);
  require(status == RH_OK || rh_diags_len(diags) == num_warnings + 1, "refused without a reason",
          NULL);
  check_same(module, text, size, "printed otherwise than read");

  uint64_t num_insts = module_num_instructions(module);
  Arena *arena = arena_new(NULL);
  Schedule schedule = schedule_in_text_order(module, arena);
  InstId bad;
  require(schedule_is_valid(module, &schedule, &bad, arena), "the text's order is no schedule",
          NULL);
  check_parses(print(module, &schedule, PRINT_SCHEDULED), num_insts, "the scheduled form is wrong");
  arena_free(arena);

  Module *copy = module_copy(module);
  module_free(module);
  check_same(copy, text, size, "a copy printed otherwise than read");
  for (InstId id = 0; id < copy->insts.len; id++)
    inst_get(copy, id)->flags |= INST_CHANGED;
  check_parses(print(copy, NULL, PRINT_AS_READ), num_insts, "the changed form is wrong");
  module_free(copy);
}

/* Going on behind an error neither makes a text right nor changes what is said first. */
static void check_all_errors(const char *text, size_t size, const rh_diags *first) {
  rh_diags *diags = rh_diags_new();
  Module *module = NULL;
  rh_status status = text_parse_all(text, size, NULL, 20, &module, diags);
  size_t last = rh_diags_len(first) - 1;
  require(status == RH_ERR_INPUT && !module && rh_diags_len(diags) > last &&
              rh_diags_get(diags, last)->offset == rh_diags_get(first, last)->offset,
          "another error comes first", NULL);
  check_diags(diags, size);
  rh_diags_free(diags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *text = (const char *)data;
  rh_diags *diags = rh_diags_new();
  Module *module = NULL;
  rh_status status = text_parse(text, size, NULL, &module, diags);
  if (status == RH_OK) {
    check_module(module, text, size, diags);
  } else {
    require(status == RH_ERR_INPUT && !module && rh_diags_len(diags) > 0,
            "refused without a reason", NULL);
    check_all_errors(text, size, diags);
  }
  check_diags(diags, size);
  rh_diags_free(diags);
  return 0;
}
