/* What XLA has dumped of real models is right: each finding in it would be a false alarm. */
#include <stdio.h>
#include <stdlib.h>

#include "corpus.h"
#include "files.h"
#include "support.h"

static const char *const folders[] = {"train", "infer", "scheduled", "memory"};

START_TEST(real_modules_have_no_finding) {
  CorpusFiles files = corpus_list(folders[_i], ".hlo");
  ck_assert_msg(files.count > 0, "%s is empty", folders[_i]);
  for (size_t i = 0; i < files.count; i++) {
    CorpusModule loaded = corpus_load(files.names[i]);
    rh_diags *diags = rh_diags_new();
    uint64_t count;
    rh_status status = rh_lint(loaded.module, NULL, &count, diags);
    if (status != RH_OK || count) {
      rh_diag diag = *rh_diags_get(diags, 0);
      ck_abort_msg("%s: %s [%s]", files.names[i], diag.message, diag.rule ? diag.rule : "");
    }
    rh_diags_free(diags);
    corpus_unload(&loaded);
  }
  corpus_list_free(&files);
}
END_TEST

int main(void) {
  if (!corpus_is_there()) return EXIT_SKIPPED;
  Suite *suite = suite_create("corpus_lint");
  TCase *tc = tcase_create("lint");
  tcase_set_timeout(tc, 300); /* the sanitizers are slow */
  tcase_add_loop_test(tc, real_modules_have_no_finding, 0, sizeof folders / sizeof *folders);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
