/* Every module of the corpus that XLA accepts prints back byte for byte. corpus_verdict has those
 * of verdict.tsv; here are those that it does not name, which XLA wrote itself: all must load. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "support.h"

static const struct {
  const char *folder, *ending;
  size_t min_files;
} folders[] = {
    {"train", ".hlo", 6},     {"infer", ".hlo", 9},   {"hlo", ".hlo", 100},
    {"scheduled", ".hlo", 6}, {"memory", ".hlo", 16}, {"memory", ".txt", 16},
};

/* What is still to come of a text that is being printed. */
typedef struct Rest {
  const char *data;
  size_t length;
} Rest;

static int compare(void *context, const char *data, size_t length) {
  Rest *rest = context;
  if (length > rest->length || memcmp(rest->data, data, length) != 0) return 1;
  rest->data += length;
  rest->length -= length;
  return 0;
}

/* What XLA says: false when the table has the file as an error. */
static bool is_accepted(const char *verdicts, const char *name) {
  char key[CORPUS_PATH_CHARS];
  snprintf(key, sizeof key, "\n%s\terr", name);
  return strstr(verdicts, key) == NULL;
}

/* Modules begin with their name; the folder also holds buffer assignments. */
static bool is_module(const char *text) {
  return strstr(text, "HloModule ") != NULL || strstr(text, "ENTRY ") != NULL;
}

START_TEST(modules_print_back) {
  size_t length;
  char *verdicts = corpus_read("verdict.tsv", &length);
  CorpusFiles files = corpus_list(folders[_i].folder, folders[_i].ending);
  size_t num_modules = 0;
  for (size_t i = 0; i < files.count; i++) {
    if (!is_accepted(verdicts, files.names[i])) continue;
    char *text = corpus_read(files.names[i], &length);
    bool is_one = is_module(text);
    free(text);
    if (!is_one) continue;
    CorpusModule loaded = corpus_load(files.names[i]);
    Rest rest = {loaded.text, loaded.length};
    ck_assert_msg(rh_print(loaded.module, compare, &rest, NULL) == RH_OK && rest.length == 0,
                  "%s differs at byte %zu", files.names[i], (size_t)(rest.data - loaded.text));
    corpus_unload(&loaded);
    num_modules++;
  }
  ck_assert_msg(num_modules >= folders[_i].min_files, "%zu modules in %s", num_modules,
                folders[_i].folder);
  corpus_list_free(&files);
  free(verdicts);
}
END_TEST

int main(void) {
  if (!corpus_is_there()) return EXIT_SKIPPED;
  Suite *suite = suite_create("corpus_round_trip");
  TCase *tc = tcase_create("round_trip");
  tcase_set_timeout(tc, 300); /* the sanitizers are slow */
  tcase_add_loop_test(tc, modules_print_back, 0, sizeof folders / sizeof *folders);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
