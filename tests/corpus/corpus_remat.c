/* The main job on every real dump, and on what XLA's tests have: `path` and `standard` at 70 % of
 * the peak. The status is ok or no, the result is equivalent, and its peak is the one that a fresh
 * parse of the written text has. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "support.h"

static const struct {
  const char *folder, *ending;
} folders[] = {
    {"train", ".hlo"},
    {"infer", ".hlo"},
    {"scheduled", ".hlo"},
    {"memory", "after_optimizations.txt"},
    {"memory", "post_scheduler.hlo"},
};
static const char *const algorithms[] = {"path", "standard"};

/* These run with REMAT_HLO_LONG_TESTS=1 only. */
static bool takes_long(const char *name, size_t length, const char *algorithm) {
  if (corpus_is_slow_build() && length > 600000) return true;
  return strcmp(algorithm, "standard") == 0 && strstr(name, "gpt_j_6b");
}

typedef struct Chars {
  char *data;
  size_t length, room;
} Chars;

static int append(void *context, const char *data, size_t length) {
  Chars *chars = context;
  if (chars->length + length > chars->room) {
    chars->room = (chars->length + length) * 2;
    chars->data = realloc(chars->data, chars->room);
    if (!chars->data) return 1;
  }
  memcpy(chars->data + chars->length, data, length);
  chars->length += length;
  return 0;
}

static void check_result(const rh_module *before, const rh_module *result,
                         const rh_remat_options *options, const rh_remat_result *info,
                         const char *what) {
  Chars text = {0};
  ck_assert_int_eq(rh_print(result, append, &text, NULL), RH_OK);
  rh_module *parsed = NULL, *fresh = NULL;
  ck_assert_msg(rh_parse(text.data, text.length, NULL, &parsed, NULL) == RH_OK, "%s: unreadable",
                what);
  take_copies_as(parsed, rh_get_info(result)->copies);
  ck_assert_int_eq(rh_schedule(parsed, NULL, NULL, &fresh, NULL), RH_OK);
  rh_memory memory = RH_MEMORY_INIT;
  ck_assert_int_eq(rh_measure_memory(fresh, NULL, options->memory_model, &memory, NULL), RH_OK);
  int64_t counted = rh_counted_bytes(&memory, options->limit_counts);
  ck_assert_msg(counted == info->counted_bytes, "%s: claims %" PRId64 " bytes, has %" PRId64, what,
                info->counted_bytes, counted);
  ck_assert_msg(rh_verify(before, parsed, NULL, NULL, NULL) == RH_OK, "%s: not equivalent", what);
  rh_module_free(fresh);
  rh_module_free(parsed);
  free(text.data);
}

static void check_remat(const rh_module *module, const char *name, const char *algorithm) {
  char what[CORPUS_PATH_CHARS];
  snprintf(what, sizeof what, "%s of %s", algorithm, name);
  rh_module *scheduled = NULL, *result = NULL;
  ck_assert_msg(rh_schedule(module, NULL, NULL, &scheduled, NULL) == RH_OK, "%s: no schedule",
                what);
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  options.algorithm = algorithm;
  if (strcmp(algorithm, "standard") == 0) { /* as XLA's pass counts */
    options.memory_model = "xla-remat";
    options.limit_counts = RH_COUNT_TEMP_OUTPUTS;
  }
  rh_memory memory = RH_MEMORY_INIT;
  ck_assert_int_eq(rh_measure_memory(scheduled, NULL, options.memory_model, &memory, NULL), RH_OK);
  int64_t before = rh_counted_bytes(&memory, options.limit_counts);
  options.limit_bytes = before / 10 * 7;
  options.small_node_bytes = 0;
  rh_remat_result info = RH_REMAT_RESULT_INIT;
  rh_diags *diags = rh_diags_new();
  rh_status status = rh_remat(scheduled, NULL, &options, &result, &info, diags);
  ck_assert_msg(status == RH_OK || status == RH_OVER_LIMIT, "%s: status %d, %s", what, (int)status,
                rh_diags_len(diags) ? rh_diags_get(diags, 0)->message : "");
  rh_diags_free(diags);
  ck_assert_msg(info.counted_bytes <= before, "%s: %" PRId64 " bytes, more than %" PRId64, what,
                info.counted_bytes, before);
  ck_assert_msg((status == RH_OK) == (info.counted_bytes <= options.limit_bytes),
                "%s: status %d with %" PRId64 " bytes", what, (int)status, info.counted_bytes);
  check_result(module, result, &options, &info, what);
  rh_module_free(result);
  rh_module_free(scheduled);
}

/* Some are there to be refused, by XLA's verifier if not by its parser. */
static rh_module *load_valid(const char *name, char **text) {
  size_t length;
  *text = corpus_read(name, &length);
  rh_module *module = NULL;
  if (rh_parse(*text, length, NULL, &module, NULL) == RH_OK && rh_check(module, NULL) == RH_OK) {
    return module;
  }
  rh_module_free(module);
  free(*text);
  return NULL;
}

START_TEST(small_modules_are_rematerialized) {
  static const char *const small[] = {"tests", "hlo"};
  CorpusFiles files = corpus_list(small[_i], ".hlo");
  size_t step = corpus_is_slow_build() && !corpus_wants_all() ? 10 : 1, num_done = 0;
  for (size_t i = 0; i < files.count; i += step) {
    char *text;
    rh_module *module = load_valid(files.names[i], &text);
    if (!module) continue;
    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++)
      check_remat(module, files.names[i], algorithms[a]);
    num_done++;
    rh_module_free(module);
    free(text);
  }
  ck_assert_msg(num_done * 10 >= files.count / step * 9, "%zu of %zu", num_done,
                files.count / step);
  corpus_list_free(&files);
}
END_TEST

START_TEST(real_dumps_are_rematerialized) {
  CorpusFiles files = corpus_list(folders[_i].folder, folders[_i].ending);
  ck_assert_msg(files.count >= 6, "%zu files in %s", files.count, folders[_i].folder);
  for (size_t i = 0; i < files.count; i++) {
    CorpusModule loaded = corpus_load(files.names[i]);
    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
      if (takes_long(files.names[i], loaded.length, algorithms[a]) && !corpus_wants_all()) {
        printf("left out: %s of %s; REMAT_HLO_LONG_TESTS=1 runs it\n", algorithms[a],
               files.names[i]);
        continue;
      }
      check_remat(loaded.module, files.names[i], algorithms[a]);
    }
    corpus_unload(&loaded);
  }
  corpus_list_free(&files);
}
END_TEST

/* A module past copy-insertion that was once taken for one before it, and what was made of it. */
START_TEST(unsafe_rewrites_are_refused) {
  CorpusModule before = corpus_load("unsafe/donated_cond.before.hlo");
  CorpusModule wrong = corpus_load("unsafe/donated_cond.wrong.hlo");
  ck_assert_int_eq(rh_get_info(before.module)->copies, RH_COPIES_INSERTED);
  ck_assert_int_eq(rh_verify(before.module, before.module, NULL, NULL, NULL), RH_OK);
  rh_diags *diags = rh_diags_new();
  ck_assert_int_eq(rh_verify(before.module, wrong.module, NULL, NULL, diags), RH_NOT_EQUIVALENT);
  ck_assert_ptr_nonnull(strstr(rh_diags_get(diags, 0)->message, "has overwritten it"));
  rh_diags_free(diags);
  corpus_unload(&wrong);
  corpus_unload(&before);
}
END_TEST

int main(void) {
  if (!corpus_is_there()) return EXIT_SKIPPED;
  Suite *suite = suite_create("corpus_remat");
  TCase *tc = tcase_create("remat");
  tcase_set_timeout(tc, 600); /* the sanitizers are slow */
  tcase_add_test(tc, unsafe_rewrites_are_refused);
  tcase_add_loop_test(tc, real_dumps_are_rematerialized, 0, sizeof folders / sizeof *folders);
  tcase_add_loop_test(tc, small_modules_are_rematerialized, 0, 2);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
