#include "analysis/cost/device_profile.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "support.h"

static char *read_profile(const char *name, size_t *length) {
  char path[4096];
  snprintf(path, sizeof path, "%s/share/remat-hlo/profiles/%s.json", TEST_SOURCE_DIR, name);
  FILE *file = fopen(path, "rb");
  ck_assert_msg(file != NULL, "cannot open %s", path);
  char *text = malloc(1 << 16);
  *length = fread(text, 1, 1 << 16, file);
  fclose(file);
  return text;
}

static const char *const shipped[] = {
    "a100-40g", "a100-80g", "b200",    "cpu",     "h100-sxm", "h200",
    "mi300x",   "tpu-v5e",  "tpu-v5p", "tpu-v6e", "tpu7x",
};

START_TEST(shipped_profile_is_whole) {
  const char *name = shipped[_i];
  size_t length;
  char *text = read_profile(name, &length);
  Arena *arena = arena_new(NULL);
  rh_diags *diags = rh_diags_new();
  DeviceProfile profile;
  rh_status status = device_profile_parse(text, length, &profile, arena, diags);
  ck_assert_msg(status == RH_OK, "%s: %s", name,
                rh_diags_len(diags) ? rh_diags_get(diags, 0)->message : "no message");
  ck_assert_uint_eq(rh_diags_len(diags), 0);
  ck_assert_str_eq(profile.name, name);
  ck_assert(strlen(profile.description) > 0 && strlen(profile.source) > 0);
  ck_assert_int_ge(profile.memory_bytes, 0);
  for (int type = 0; type < NUM_TYPES; type++) {
    ck_assert_double_gt(profile.flops[type], 0);
    ck_assert_double_gt(profile.vector_flops[type], 0);
    /* A matrix unit is not slower than what it is there to relieve, and no unit does a million
     * times what another does: a slip in an exponent shows here. */
    ck_assert_double_ge(profile.flops[type], profile.vector_flops[type]);
    ck_assert_double_lt(profile.flops[type], 1e17);
    ck_assert_double_gt(profile.vector_flops[type], 1e12);
  }
  ck_assert_double_gt(profile.memory_bandwidth, 1e11);
  ck_assert_double_lt(profile.memory_bandwidth, 1e14);
  ck_assert_double_gt(profile.transcendentals, 1e11);
  ck_assert_double_lt(profile.transcendentals, profile.vector_flops[TYPE_F32]);
  ck_assert_double_gt(profile.interconnect, 1e9);
  ck_assert_double_gt(profile.host_to_device, 1e9);
  ck_assert_double_gt(profile.device_to_host, 1e9);
  ck_assert_double_le(profile.host_to_device, profile.memory_bandwidth);
  ck_assert_double_gt(profile.kernel_seconds, 0);
  ck_assert_double_lt(profile.kernel_seconds, 1e-4);
  rh_diags_free(diags);
  arena_free(arena);
  free(text);
}
END_TEST

START_TEST(all_shipped_profiles_are_tested) {
  DIR *folder = opendir(TEST_SOURCE_DIR "/share/remat-hlo/profiles");
  ck_assert(folder != NULL);
  for (const struct dirent *entry; (entry = readdir(folder));) {
    const char *suffix = strstr(entry->d_name, ".json");
    if (!suffix) continue;
    size_t length = (size_t)(suffix - entry->d_name);
    bool is_known = false;
    for (size_t i = 0; i < sizeof shipped / sizeof *shipped; i++) {
      is_known |= strlen(shipped[i]) == length && memcmp(shipped[i], entry->d_name, length) == 0;
    }
    ck_assert_msg(is_known, "%s is not in the list", entry->d_name);
  }
  closedir(folder);
}
END_TEST

static const char whole[] =
    "{\"name\": \"toy\", \"description\": \"d\", \"source\": \"s\", \"memory_bytes\": 1024,\n"
    "\"memory_bandwidth\": 1e9, \"flops\": {\"bf16\": 4e12, \"default\": 1e12},\n"
    "\"vector_flops\": {\"default\": 2e11}, \"transcendentals\": 1e10, \"host_to_device\": 3e9,\n"
    "\"device_to_host\": 4e9, \"interconnect\": 5e9, \"kernel_seconds\": 0}";

START_TEST(types_without_a_rate_take_the_default) {
  Arena *arena = arena_new(NULL);
  DeviceProfile profile;
  ck_assert_int_eq(device_profile_parse(whole, strlen(whole), &profile, arena, NULL), RH_OK);
  ck_assert_double_eq(profile.flops[TYPE_BF16], 4e12);
  ck_assert_double_eq(profile.flops[TYPE_F32], 1e12);
  ck_assert_double_eq(profile.vector_flops[TYPE_BF16], 2e11);
  ck_assert_int_eq(profile.memory_bytes, 1024);
  ck_assert_double_eq(profile.memory_bandwidth, 1e9);
  ck_assert_double_eq(profile.transcendentals, 1e10);
  ck_assert_double_eq(profile.host_to_device, 3e9);
  ck_assert_double_eq(profile.device_to_host, 4e9);
  ck_assert_double_eq(profile.interconnect, 5e9);
  ck_assert_double_eq(profile.kernel_seconds, 0);
  ck_assert_str_eq(profile.description, "d");
  ck_assert_str_eq(profile.source, "s");
  arena_free(arena);
}
END_TEST

/* `whole` with a clock and prices, all the same, before its end. */
static void write_prices(char *text, size_t room, const char *more) {
  int len =
      snprintf(text, room, "%.*s, \"clock\": 2e9, \"cycles\": {", (int)strlen(whole) - 1, whole);
  for (int unit = 0; unit < UNIT_FIRST_FIGURE; unit++)
    len += snprintf(text + len, room - (size_t)len, "\"%s\": 7, ", unit_key((CostUnit)unit));
  snprintf(text + len, room - (size_t)len,
           "%s, \"fused_pieces\": 9, \"lone_pieces\": 9, \"lone_registers\": 9}}", more);
}

START_TEST(prices_are_read) {
  char text[4096];
  Arena *arena = arena_new(NULL);
  DeviceProfile profile;
  write_prices(text, sizeof text, "\"product_vector\": 0.5");
  ck_assert_int_eq(device_profile_parse(text, strlen(text), &profile, arena, NULL), RH_OK);
  ck_assert_double_eq(profile.clock, 2e9);
  ck_assert(profile.has_units);
  ck_assert_double_eq(profile.cycles.of[UNIT_PACK], 7);
  ck_assert_double_eq(profile.cycles.of[UNIT_PRODUCT_VECTOR], 0.5);
  ck_assert_int_eq(device_profile_parse(whole, strlen(whole), &profile, arena, NULL), RH_OK);
  ck_assert(!profile.has_units && profile.clock <= 0);
  arena_free(arena);
}
END_TEST

static const struct {
  const char *more;
  const char *message;
} price_faults[] = {
    {"\"product_vector\": -1",
     "device profile: 'cycles.product_vector' must be a number, 0 or more"},
    {"\"product_vector\": 1, \"pack\": 1", "device profile: 'cycles.pack' is given twice"},
    {"\"product_vector\": 1, \"packs\": 1", "device profile: 'cycles.packs' is no unit"},
    {"\"product_vector\": \"1\"",
     "device profile: 'cycles.product_vector' must be a number, 0 or more"},
};

START_TEST(shares_are_applied) {
  char text[4096];
  Arena *arena = arena_new(NULL);
  DeviceProfile profile;
  snprintf(text, sizeof text,
           "%.*s, \"matrix_share\": 0.5, \"memory_share\": 0.25, \"product_seconds\": 3e-6, "
           "\"block_bandwidth\": 5e7, \"product_serial\": 0.3, "
           "\"known\": [{\"ratio\": 2, \"source\": \"s\"}]}",
           (int)strlen(whole) - 1, whole);
  ck_assert_int_eq(device_profile_parse(text, strlen(text), &profile, arena, NULL), RH_OK);
  ck_assert_double_eq(profile.flops[TYPE_BF16], 2e12);
  ck_assert_double_eq(profile.flops[TYPE_F32], 5e11);
  ck_assert_double_eq(profile.vector_flops[TYPE_BF16], 2e11);
  ck_assert_double_eq(profile.memory_bandwidth, 2.5e8);
  ck_assert_double_eq(profile.block_bandwidth, 5e7);
  ck_assert_double_eq(profile.product_serial, 0.3);
  ck_assert_double_eq(profile.product_seconds, 3e-6);
  arena_free(arena);
}
END_TEST

static void check_message(const char *text, const char *message) {
  Arena *arena = arena_new(NULL);
  rh_diags *diags = rh_diags_new();
  DeviceProfile profile;
  ck_assert_int_eq(device_profile_parse(text, strlen(text), &profile, arena, diags), RH_ERR_INPUT);
  ck_assert_str_eq(rh_diags_get(diags, 0)->message, message);
  rh_diags_free(diags);
  arena_free(arena);
}

START_TEST(faults_of_prices_are_named) {
  char text[4096];
  write_prices(text, sizeof text, price_faults[_i].more);
  check_message(text, price_faults[_i].message);
}
END_TEST

START_TEST(prices_must_be_whole) {
  char text[4096];
  write_prices(text, sizeof text, "\"product_vector\": 1");
  char *clock = strstr(text, "\"clock\": 2e9, ");
  memmove(clock, clock + strlen("\"clock\": 2e9, "),
          strlen(clock) - strlen("\"clock\": 2e9, ") + 1);
  check_message(text, "device profile: 'clock' is missing, which 'cycles' needs");
  write_prices(text, sizeof text, "\"product_vector\": 1");
  memcpy(strstr(text, "\"pack\""), "\"nope\"", strlen("\"nope\""));
  check_message(text, "device profile: 'cycles.nope' is no unit");
  snprintf(text, sizeof text, "%.*s, \"clock\": 2e9, \"cycles\": {}}", (int)strlen(whole) - 1,
           whole);
  check_message(text, "device profile: 'cycles.kernel' is missing");
}
END_TEST

/* `whole` with one piece replaced, and what is said about it. */
static const struct {
  const char *piece;
  const char *replacement;
  const char *message;
} faults[] = {
    {"\"name\": \"toy\", ", "", "device profile: 'name' is missing"},
    {"\"source\": \"s\", ", "", "device profile: 'source' is missing"},
    {"\"memory_bytes\": 1024,", "", "device profile: 'memory_bytes' is missing"},
    {", \"kernel_seconds\": 0", "", "device profile: 'kernel_seconds' is missing"},
    {"\"vector_flops\": {\"default\": 2e11}, ", "", "device profile: 'vector_flops' is missing"},
    {"\"default\": 2e11", "", "device profile: 'vector_flops.default' is missing"},
    {"\"default\": 1e12", "\"f32\": 1e12", "device profile: 'flops.default' is missing"},
    {"\"name\"", "\"nmae\"", "device profile: 'nmae' is an unknown key"},
    {"\"interconnect\": 5e9", "\"interconnect\": 5e9, \"interconnect\": 5e9",
     "device profile: 'interconnect' is given twice"},
    {"\"bf16\"", "\"default\": 2e12, \"bf16\"", "device profile: 'flops.default' is given twice"},
    {"\"bf16\"", "\"bf16\": 2e12, \"bf16\"", "device profile: 'flops.bf16' is given twice"},
    {"\"bf16\"", "\"bfloat\"", "device profile: 'flops.bfloat' is no element type"},
    {"\"bf16\"", "\"token\"", "device profile: 'flops.token' is no element type"},
    {"\"toy\"", "7", "device profile: 'name' must be a string"},
    {"\"d\"", "null", "device profile: 'description' must be a string"},
    {"1024", "\"1024\"",
     "device profile: 'memory_bytes' must be a whole number of bytes, 0 or more"},
    {"1024", "1.5", "device profile: 'memory_bytes' must be a whole number of bytes, 0 or more"},
    {"1024", "-1", "device profile: 'memory_bytes' must be a whole number of bytes, 0 or more"},
    {"1024", "1e300", "device profile: 'memory_bytes' must be a whole number of bytes, 0 or more"},
    {"1e9", "0", "device profile: 'memory_bandwidth' must be a number above 0"},
    {"1e9", "-1e9", "device profile: 'memory_bandwidth' must be a number above 0"},
    {"1e9", "1e999", "device profile: 'memory_bandwidth' must be a number above 0"},
    {"1e9", "true", "device profile: 'memory_bandwidth' must be a number above 0"},
    {"4e12", "\"fast\"", "device profile: 'flops.bf16' must be a number above 0"},
    {"4e12", "0", "device profile: 'flops.bf16' must be a number above 0"},
    {"{\"default\": 2e11}", "2e11",
     "device profile: 'vector_flops' must be an object of rates by type"},
    {"{\"default\": 2e11}", "[2e11]",
     "device profile: 'vector_flops' must be an object of rates by type"},
    {"\"kernel_seconds\": 0", "\"kernel_seconds\": -1",
     "device profile: 'kernel_seconds' must be a number, 0 or more"},
    {"\"kernel_seconds\": 0", "\"kernel_seconds\": 0, \"matrix_share\": 1.5",
     "device profile: 'matrix_share' must be a number above 0, at most 1"},
    {"\"kernel_seconds\": 0", "\"kernel_seconds\": 0, \"memory_share\": 0",
     "device profile: 'memory_share' must be a number above 0, at most 1"},
    {"\"kernel_seconds\": 0", "\"kernel_seconds\": 0, \"known\": {}",
     "device profile: 'known' must be a list of ratios"},
    {"\"kernel_seconds\": 0", "\"kernel_seconds\": 0, \"known\": [{\"ratio\": 2}]",
     "device profile: 'known' must have a ratio above 0 and a source in each item"},
    {"\"kernel_seconds\": 0", "\"kernel_seconds\": \"0\"",
     "device profile: 'kernel_seconds' must be a number, 0 or more"},
};

static char *with_replacement(const char *piece, const char *replacement) {
  const char *found = strstr(whole, piece);
  ck_assert_msg(found != NULL, "no '%s'", piece);
  size_t capacity = sizeof whole + strlen(replacement);
  char *text = malloc(capacity);
  snprintf(text, capacity, "%.*s%s%s", (int)(found - whole), whole, replacement,
           found + strlen(piece));
  return text;
}

START_TEST(faults_are_named) {
  char *text = with_replacement(faults[_i].piece, faults[_i].replacement);
  Arena *arena = arena_new(NULL);
  rh_diags *diags = rh_diags_new();
  DeviceProfile profile;
  ck_assert_int_eq(device_profile_parse(text, strlen(text), &profile, arena, diags), RH_ERR_INPUT);
  ck_assert_uint_eq(rh_diags_len(diags), 1);
  ck_assert_str_eq(rh_diags_get(diags, 0)->message, faults[_i].message);
  rh_diags_free(diags);
  arena_free(arena);
  free(text);
}
END_TEST

static const struct {
  const char *text;
  const char *message;
  size_t offset;
} broken[] = {
    {"", "device profile: not valid JSON here", 0},
    {"{\"name\": }", "device profile: not valid JSON here", 9},
    {"{\"name\": \"toy\" \"source\"", "device profile: not valid JSON here", 15},
    {"{} {}", "device profile: not valid JSON here", 3},
    {"[]", "device profile: must be a JSON object", 0},
    {" 7 \n", "device profile: must be a JSON object", 0},
    {"{}", "device profile: 'name' is missing", RH_NO_OFFSET},
};

START_TEST(broken_json_is_located) {
  Arena *arena = arena_new(NULL);
  rh_diags *diags = rh_diags_new();
  DeviceProfile profile;
  const char *text = broken[_i].text;
  ck_assert_int_eq(device_profile_parse(text, strlen(text), &profile, arena, diags), RH_ERR_INPUT);
  ck_assert_uint_eq(rh_diags_len(diags), 1);
  rh_diag diag = *rh_diags_get(diags, 0);
  ck_assert_str_eq(diag.message, broken[_i].message);
  ck_assert_msg(diag.offset == broken[_i].offset, "%s: at %zu", text, diag.offset);
  rh_diags_free(diags);
  arena_free(arena);
}
END_TEST

/* Every beginning of a valid text is an error, and is read no further than it goes. */
START_TEST(cut_off_text_is_an_error) {
  for (size_t length = 0; length < strlen(whole); length++) {
    char *text = malloc(length + 1);
    memcpy(text, whole, length);
    Arena *arena = arena_new(NULL);
    DeviceProfile profile;
    ck_assert_int_eq(device_profile_parse(text, length, &profile, arena, NULL), RH_ERR_INPUT);
    arena_free(arena);
    free(text);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("device_profile");
  TCase *tc = tcase_create("device_profile");
  tcase_add_loop_test(tc, shipped_profile_is_whole, 0, sizeof shipped / sizeof *shipped);
  tcase_add_test(tc, all_shipped_profiles_are_tested);
  tcase_add_test(tc, types_without_a_rate_take_the_default);
  tcase_add_loop_test(tc, faults_are_named, 0, sizeof faults / sizeof *faults);
  tcase_add_test(tc, prices_are_read);
  tcase_add_test(tc, shares_are_applied);
  tcase_add_loop_test(tc, faults_of_prices_are_named, 0,
                      sizeof price_faults / sizeof *price_faults);
  tcase_add_test(tc, prices_must_be_whole);
  tcase_add_loop_test(tc, broken_json_is_located, 0, sizeof broken / sizeof *broken);
  tcase_add_test(tc, cut_off_text_is_an_error);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
