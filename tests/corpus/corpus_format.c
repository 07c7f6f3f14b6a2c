/* fmt of all the modules that XLA accepts: the result parses, has as many computations and
 * instructions, and comes out of fmt unchanged. What XLA's printer wrote comes out as it is. */
#include <stdio.h>
#include <stdlib.h>

#include "corpus.h"
#include "remat_hlo.h"
#include "support.h"

/* The top folders of the paths in verdict.tsv, a test each. */
static const struct {
  const char *folder;
  bool is_printed; /* by XLA's printer */
} folders[] = {{"hlo/", false}, {"tests/", false}, {"train/", true}, {"infer/", true}};

static const rh_format_options forms[] = {{sizeof(rh_format_options), false, false, false},
                                          {sizeof(rh_format_options), true, false, false},
                                          {sizeof(rh_format_options), false, true, false},
                                          {sizeof(rh_format_options), false, false, true}};

typedef struct Text {
  char *data;
  size_t length, room;
} Text;

static Text read_all(const char *name) {
  char path[CORPUS_PATH_CHARS];
  FILE *file = fopen(corpus_path(path, name), "rb");
  ck_assert_msg(file != NULL, "cannot open %s", path);
  fseek(file, 0, SEEK_END);
  Text text = {.length = (size_t)ftell(file)};
  rewind(file);
  text.data = malloc(text.length + 1);
  ck_assert_uint_eq(fread(text.data, 1, text.length, file), text.length);
  text.data[text.length] = '\0';
  fclose(file);
  return text;
}

static int append(void *context, const char *data, size_t length) {
  Text *text = context;
  if (text->length + length > text->room) {
    text->room = (text->length + length) * 2;
    text->data = realloc(text->data, text->room);
  }
  memcpy(text->data + text->length, data, length);
  text->length += length;
  return 0;
}

static bool equal(const Text *a, const Text *b) {
  return a->length == b->length && memcmp(a->data, b->data, a->length) == 0;
}

/* NULL when all is as it should be. */
static const char *fault_of_form(const rh_module *module, const rh_format_options *form) {
  Text once = {NULL, 0, 0}, twice = {NULL, 0, 0};
  rh_format(module, form, append, &once, NULL);
  rh_module *again = NULL;
  const char *fault = NULL;
  if (rh_parse(once.data, once.length, NULL, &again, NULL) != RH_OK) {
    fault = "cannot be read any more";
  } else {
    rh_module_info before = *rh_get_info(module), after = *rh_get_info(again);
    if (before.num_computations != after.num_computations ||
        before.num_instructions != after.num_instructions) {
      fault = "has another number of computations or instructions";
    }
    rh_format(again, form, append, &twice, NULL);
    if (!fault && !equal(&once, &twice)) fault = "is formatted again";
  }
  rh_module_free(again);
  free(once.data);
  free(twice.data);
  return fault;
}

static const char *fault_of(const char *path, bool is_printed) {
  Text text = read_all(path), same = {NULL, 0, 0};
  rh_module *module = NULL;
  const char *fault = NULL;
  if (rh_parse(text.data, text.length, NULL, &module, NULL) != RH_OK) fault = "is refused";
  for (size_t i = 0; !fault && i < sizeof forms / sizeof *forms; i++) {
    fault = fault_of_form(module, &forms[i]);
  }
  if (!fault && is_printed) {
    rh_format(module, NULL, append, &same, NULL);
    if (!equal(&text, &same)) fault = "is laid out otherwise than by XLA";
  }
  rh_module_free(module);
  free(same.data);
  free(text.data);
  return fault;
}

START_TEST(all_are_formatted) {
  const char *folder = folders[_i].folder;
  Text table = read_all("verdict.tsv");
  int num_modules = 0, num_faults = 0;
  for (char *line = table.data, *end; (end = strchr(line, '\n')); line = end + 1) {
    *end = '\0';
    char path[512], verdict[8];
    if (strncmp(line, folder, strlen(folder)) != 0) continue;
    ck_assert_int_eq(sscanf(line, "%511[^\t]\t%7[^\t]", path, verdict), 2);
    if (strcmp(verdict, "ok") != 0) continue;
    const char *fault = fault_of(path, folders[_i].is_printed);
    if (fault) printf("%s: %s\n", path, fault);
    num_faults += fault != NULL;
    num_modules++;
  }
  free(table.data);
  ck_assert_int_gt(num_modules, 0);
  ck_assert_msg(num_faults == 0, "%d of %d modules", num_faults, num_modules);
}
END_TEST

int main(void) {
  if (!corpus_is_there()) return EXIT_SKIPPED;
  Suite *suite = suite_create("corpus_format");
  TCase *tc = tcase_create("format");
  tcase_set_timeout(tc, 600); /* the sanitizers are slow */
  tcase_add_loop_test(tc, all_are_formatted, 0, sizeof folders / sizeof *folders);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
