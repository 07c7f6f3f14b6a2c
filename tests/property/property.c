#include "property.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "remat/legality/safe_reads.h"

enum {
  SHOWN_CHARS = 1200, /* Check cannot take long messages */
  NEW_PART = 4,       /* of the seeds, as a divisor, that are new each time */
};

static int append(void *context, const char *data, size_t length) {
  Text *text = context;
  char *grown = realloc(text->data, text->length + length + 1);
  if (!grown) return 1;
  memcpy(grown + text->length, data, length);
  text->data = grown;
  text->length += length;
  grown[text->length] = '\0';
  return 0;
}

Text print_text(const rh_module *module) {
  Text text = {0};
  ck_assert_int_eq(rh_print(module, append, &text, NULL), RH_OK);
  ck_assert_ptr_nonnull(text.data);
  return text;
}

static void check_ok(rh_status status, rh_diags *diags, Text text, const char *what) {
  if (status == RH_OK) return;
  rh_diag diag = {.message = "no message"};
  if (rh_diags_len(diags)) diag = *rh_diags_get(diags, rh_diags_len(diags) - 1);
  size_t line = 0, column = 0;
  rh_locate(text.data, text.length, diag.offset, &line, &column);
  ck_abort_msg("status %d, line %zu, column %zu: %s\n%s\n%.*s", (int)status, line, column,
               diag.message, what, SHOWN_CHARS, text.data);
}

rh_module *parse_text(Text text, const char *what) {
  rh_diags *diags = rh_diags_new();
  rh_module *module = NULL;
  check_ok(rh_parse(text.data, text.length, NULL, &module, diags), diags, text, what);
  check_ok(rh_check(module, diags), diags, text, what);
  rh_diags_free(diags);
  return module;
}

rh_module *parse_printed(Text text, const rh_module *printed, const char *what) {
  rh_module *module = parse_text(text, what);
  take_copies_as(module, rh_get_info(printed)->copies);
  return module;
}

static bool has_known_reads(Module *module) {
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  Schedule schedule = schedule_in_text_order(module, arena);
  bool has_some = known_reads_find(module, &schedule, arena, scratch).len > 0;
  arena_free(scratch);
  arena_free(arena);
  return has_some;
}

/* For looking at what failed. */
static void save_if_wanted(Text text) {
  const char *path = getenv("REMAT_HLO_SAVE");
  FILE *file = path && *path ? fopen(path, "w") : NULL;
  if (!file) return;
  fwrite(text.data, 1, text.length, file);
  fclose(file);
}

Sample sample_make_with(uint64_t seed, const GenerateOptions *options) {
  Sample sample = {.seed = seed, .options = *options, .settings = RH_SETTINGS_INIT};
  sample.text.data = generate_module(options, &sample.text.length);
  save_if_wanted(sample.text);
  sample.module = parse_text(sample.text, sample_shown(&sample));
  sample.has_known_reads = has_known_reads(sample.module->module);
  if (sample.has_known_reads) take_copies_as(sample.module, RH_COPIES_PENDING);
  return sample;
}

Sample sample_make(uint64_t seed, uint32_t max_insts, unsigned allowed) {
  GenerateOptions options = generate_options(seed, max_insts, allowed);
  return sample_make_with(seed, &options);
}

void sample_take_as_it_is(Sample *sample) {
  take_copies_as(sample->module, RH_COPIES_AUTO);
}

void sample_free(Sample *sample) {
  rh_module_free(sample->module);
  free(sample->text.data);
}

/* Each test runs in a process of its own, one sample after the other: one buffer serves. */
const char *sample_shown(const Sample *sample) {
  static char shown[SHOWN_CHARS + 300];
  snprintf(shown, sizeof shown,
           "REMAT_HLO_SEED=%" PRIu64
           " REMAT_HLO_SEEDS=1 repeats it (features %x, %u instructions)\n"
           "%.*s",
           sample->seed, sample->options.features, sample->options.num_insts, SHOWN_CHARS,
           sample->text.data);
  return shown;
}

rh_module *schedule_sample(const Sample *sample, const char *scheduler) {
  rh_schedule_options options = RH_SCHEDULE_OPTIONS_INIT;
  options.scheduler = sample->options.is_scheduled ? "input" : scheduler;
  rh_module *scheduled = NULL;
  rh_diags *diags = rh_diags_new();
  check_ok(rh_schedule(sample->module, &sample->settings, &options, &scheduled, diags), diags,
           sample->text, sample_shown(sample));
  rh_diags_free(diags);
  return scheduled;
}

void check_equivalent(const rh_module *before, const rh_module *after, rh_copies copies,
                      bool any_rounding, const char *what, const Sample *sample) {
  rh_diags *diags = rh_diags_new();
  rh_settings settings = RH_SETTINGS_INIT;
  settings.copies = copies;
  rh_verify_options options = RH_VERIFY_OPTIONS_INIT;
  options.any_rounding = any_rounding;
  rh_status status = rh_verify(before, after, &settings, &options, diags);
  ck_assert_msg(status == RH_OK, "%s: %s\n%s", what,
                rh_diags_len(diags) ? rh_diags_get(diags, 0)->message : "no message",
                sample_shown(sample));
  rh_diags_free(diags);
}

rh_profile *make_profile_with_link(uint64_t *state) {
  static const char text[] =
      "{\"name\": \"toy\", \"description\": \"\", \"source\": \"\", \"memory_bytes\": 0,"
      " \"memory_bandwidth\": 1e9, \"flops\": {\"default\": 1e9}, \"vector_flops\": {\"default\":"
      " 1e9}, \"transcendentals\": 1e8, \"host_to_device\": 1e9, \"device_to_host\": 1e9,"
      " \"interconnect\": 1e9, \"kernel_seconds\": 1e-6}";
  static const double rates[] = {1e7, 1e9, 1e11};
  rh_profile *profile = NULL;
  rh_profile_options link = RH_PROFILE_OPTIONS_INIT;
  link.to_device = rates[random_below(state, 3)]; /* the order in which they once were drawn */
  link.to_host = rates[random_below(state, 3)];
  ck_assert_int_eq(rh_profile_parse(text, strlen(text), &link, &profile, NULL), RH_OK);
  return profile;
}

uint64_t seed_state(uint64_t seed) {
  uint64_t state = ~seed;
  random_next(&state);
  return state;
}

bool is_wanted_algorithm(const char *name) {
  const char *wanted = getenv("REMAT_HLO_ALGORITHM");
  if (wanted && *wanted) return strcmp(name, wanted) == 0;
  return !(rh_find(RH_ALGORITHMS, name)->traits & RH_TRAIT_NEEDS_SOLVER);
}

static int number_from(const char *variable, int fallback) {
  const char *text = getenv(variable);
  return text && *text ? atoi(text) : fallback;
}

static int default_seeds(int num_seeds) {
#if defined __SANITIZE_ADDRESS__ || defined RH_ARENA_MALLOC
  return num_seeds >= 10 ? num_seeds / 10 : 1;
#else
  return num_seeds;
#endif
}

/* Where new seeds begin: somewhere else each time, or where the environment says, so that a run of
 * a commit can be repeated. */
static int first_new_seed(void) {
  enum { BEYOND_FIXED = 1000000, PLACES = 100000, APART = 10000 };
  int64_t place = number_from("REMAT_HLO_NEW_SEED", (int)(time(NULL) % PLACES)) % PLACES;
  return BEYOND_FIXED + (int)place * APART;
}

int run_property(const char *name, const TTest *test, int num_seeds) {
  bool is_asked_for = getenv("REMAT_HLO_SEED");
  int first = number_from("REMAT_HLO_SEED", 1);
  int count = number_from("REMAT_HLO_SEEDS", default_seeds(num_seeds));
  int num_new = is_asked_for ? 0 : number_from("REMAT_HLO_NEW_SEEDS", count / NEW_PART);
  int first_new = first_new_seed();
  Suite *suite = suite_create(name);
  TCase *tc = tcase_create(name);
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, test, first, first + count - (num_new < count ? num_new : 0));
  if (num_new) tcase_add_loop_test(tc, test, first_new, first_new + num_new);
  suite_add_tcase(suite, tc);
  SRunner *runner = srunner_create(suite);
  if (num_new) printf("%d new seeds from %d on\n", num_new, first_new);
  fflush(stdout); /* before processes are forked */
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
