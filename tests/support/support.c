#include "support.h"

#include <stdio.h>
#include <stdlib.h>

#include "text/parse.h"

static Module *parse_text_or_fail(const char *text, size_t length, const char *what) {
  rh_diags *diags = rh_diags_new();
  Module *module = NULL;
  if (text_parse(text, length, NULL, &module, diags) != RH_OK) {
    rh_diag diag = rh_diags_get(diags, rh_diags_len(diags) - 1);
    size_t line = 0, column = 0;
    rh_locate(text, length, diag.offset, &line, &column);
    ck_abort_msg("%s:%zu:%zu: %s", what, line, column, diag.message);
  }
  rh_diags_free(diags);
  return module;
}

Module *parse_or_fail(const char *text) {
  return parse_text_or_fail(text, strlen(text), "text");
}

Module *parse_file_or_fail(const char *path) {
  char full[4096];
  snprintf(full, sizeof full, "%s/%s", TEST_SOURCE_DIR, path);
  FILE *file = fopen(full, "rb");
  ck_assert_msg(file != NULL, "cannot open %s", full);
  fseek(file, 0, SEEK_END);
  long length = ftell(file);
  rewind(file);
  char *text = malloc((size_t)length + 1);
  ck_assert_uint_eq(fread(text, 1, (size_t)length, file), (size_t)length);
  fclose(file);
  return parse_text_or_fail(text, (size_t)length, path);
}

InstId find_inst(const Module *module, const char *name) {
  for (InstId id = 0; id < module->insts.len; id++) {
    if (!(inst_get(module, id)->flags & INST_DEAD) && str_is(inst_name(module, id), name)) {
      return id;
    }
  }
  ck_abort_msg("no instruction '%s'", name);
  return NO_ID;
}

CompId find_comp(const Module *module, const char *name) {
  for (CompId id = 0; id < module->comps.len; id++) {
    if (!(comp_get(module, id)->flags & COMP_DEAD) && str_is(comp_name(module, id), name)) {
      return id;
    }
  }
  ck_abort_msg("no computation '%s'", name);
  return NO_ID;
}

int run_suite(Suite *suite) {
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
