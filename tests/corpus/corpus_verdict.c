/* What XLA's parser says of thousands of modules, by the public functions.
 *
 * verdict.tsv has a line a module: its path, ok or err, and the numbers of computations and
 * instructions that XLA read. We must say the same, and print what was accepted byte for byte. */
#include <stdio.h>
#include <stdlib.h>

#include "corpus.h"
#include "remat_hlo.h"
#include "support.h"

/* The top folders of the paths, a test each; with how many modules at least, so that a file that is
 * cut off is noticed. */
static const struct {
  const char *folder;
  int min_modules;
} folders[] = {{"hlo/", 200}, {"tests/", 3500}, {"train/", 6}, {"infer/", 9}};

static char *read_all(const char *name, size_t *length) {
  char path[CORPUS_PATH_CHARS];
  FILE *file = fopen(corpus_path(path, name), "rb");
  ck_assert_msg(file != NULL, "cannot open %s", path);
  fseek(file, 0, SEEK_END);
  *length = (size_t)ftell(file);
  rewind(file);
  char *text = malloc(*length + 1);
  ck_assert_uint_eq(fread(text, 1, *length, file), *length);
  text[*length] = '\0';
  fclose(file);
  return text;
}

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

typedef struct Verdict {
  char path[512], xla[8];
  unsigned long num_computations, num_instructions;
} Verdict;

/* NULL when we agree. */
static const char *difference(const Verdict *wanted) {
  size_t length;
  char *text = read_all(wanted->path, &length);
  rh_module *module = NULL;
  rh_status status = rh_parse(text, length, NULL, &module, NULL);
  const char *what = NULL;
  if ((status == RH_OK) != (strcmp(wanted->xla, "ok") == 0)) {
    what = status == RH_OK ? "accepted" : "refused";
  } else if (status == RH_OK) {
    rh_module_info info = *rh_get_info(module);
    Rest rest = {text, length};
    if (info.num_computations != wanted->num_computations) what = "another number of computations";
    if (info.num_instructions != wanted->num_instructions) {
      what = "another number of instructions";
    }
    if (rh_print(module, compare, &rest, NULL) != RH_OK || rest.length) what = "printed otherwise";
  } else if (status != RH_ERR_INPUT) {
    what = "another status";
  }
  rh_module_free(module);
  free(text);
  return what;
}

START_TEST(verdicts_are_xla_s) {
  const char *folder = folders[_i].folder;
  size_t length;
  char *table = read_all("verdict.tsv", &length);
  int num_modules = 0, num_differences = 0;
  for (char *line = table, *end; (end = strchr(line, '\n')); line = end + 1) {
    if (strncmp(line, folder, strlen(folder)) != 0) continue;
    *end = '\0';
    Verdict verdict = {.num_computations = 0};
    ck_assert_msg(sscanf(line, "%511[^\t]\t%7[^\t]\t%lu\t%lu", verdict.path, verdict.xla,
                         &verdict.num_computations, &verdict.num_instructions) >= 2,
                  "what is '%s'?", line);
    const char *what = difference(&verdict);
    if (what) printf("%s: %s\n", verdict.path, what);
    num_differences += what != NULL;
    num_modules++;
  }
  free(table);
  ck_assert_int_ge(num_modules, folders[_i].min_modules);
  ck_assert_msg(num_differences == 0, "%d of %d modules", num_differences, num_modules);
}
END_TEST

int main(void) {
  if (!corpus_is_there()) return EXIT_SKIPPED;
  Suite *suite = suite_create("corpus_verdict");
  TCase *tc = tcase_create("verdict");
  tcase_set_timeout(tc, 300); /* the sanitizers are slow */
  tcase_add_loop_test(tc, verdicts_are_xla_s, 0, sizeof folders / sizeof *folders);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
