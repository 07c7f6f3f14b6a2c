/* Ratios of times that were published of GPUs' kernels and steps, which profiles have under
 * "known", beside what the model gives them. Each instruction of an item is a line of HLO whose
 * operands are types, possibly after the number of times it runs: `4 * f32[8] add(f32[8], f32[8])`.
 */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/cost/built_in_profiles.h"
#include "cost_fixture.h"
#include "ir/json_read.h"

/* The most by which a ratio may be off, either way. Published figures of one kernel differ as much
 * with the versions of libraries and the power that a card may draw. */
static const double FACTOR = 1.25;
enum { LEAST_RATIOS = 4, MOST_TEXT = 4096 };

static const char *const gpus[] = {"a100-80g", "b200", "h100-sxm", "h200"};

static const BuiltInProfile *find_profile(const char *name) {
  const BuiltInProfile *profile = built_in_profiles;
  while (profile->name && strcmp(profile->name, name) != 0)
    profile++;
  ck_assert_msg(profile->name != NULL, "no profile %s", name);
  return profile;
}

static DeviceProfile read_device(const char *name, Arena *arena) {
  const BuiltInProfile *found = find_profile(name);
  DeviceProfile device;
  ck_assert_int_eq(
      device_profile_parse((const char *)found->json, found->length, &device, arena, NULL), RH_OK);
  return device;
}

/* The length of an operand's type, up to a comma or parenthesis outside of its dimensions. */
static size_t operand_length(const char *text) {
  size_t length = 0;
  for (int depth = 0; depth > 0 || (text[length] != ',' && text[length] != ')'); length++) {
    ck_assert_msg(text[length] != 0, "no end: %s", text);
    depth += text[length] == '[';
    depth -= text[length] == ']';
  }
  return length;
}

/* The text of a module with the instruction `x`, whose operands become parameters. */
static void write_module(const char *line, char *text) {
  static const char COMPS[] =
      "add { p = f16[] parameter(0)\n q = f16[] parameter(1)\n ROOT r = f16[] add(p, q) }\n";
  char operands[MOST_TEXT] = "", params[MOST_TEXT] = "";
  const char *open = strchr(line, '(');
  ck_assert_msg(open != NULL, "no operands: %s", line);
  const char *place = open + 1;
  for (int i = 0; place[-1] != ')'; i++) {
    size_t length = operand_length(place);
    size_t used = strlen(params);
    snprintf(params + used, sizeof params - used, " p%d = %.*s parameter(%d)\n", i, (int)length,
             place, i);
    used = strlen(operands);
    snprintf(operands + used, sizeof operands - used, "%sp%d", i ? ", " : "", i);
    place += length + 1;
    while (*place == ' ')
      place++;
  }
  int len = snprintf(text, MOST_TEXT, "HloModule m\n%sENTRY e {\n%s ROOT x = %.*s(%s)%s\n}\n",
                     COMPS, params, (int)(open - line), line, operands, place);
  ck_assert_int_lt(len, MOST_TEXT);
}

static double line_seconds(const char *line, const DeviceProfile *device) {
  char text[MOST_TEXT];
  int times = 1, begin = 0;
  if (sscanf(line, "%d * %n", &times, &begin) != 1) times = 1;
  write_module(line + begin, text);
  Analysed analysed = analyse(parse_or_fail(text));
  double seconds =
      cost_seconds(analysed.module, &analysed.table, device, find_inst(analysed.module, "x"));
  finish(analysed);
  ck_assert_msg(seconds > 0, "takes no time: %s", line);
  return times * seconds;
}

static double seconds_of(const cJSON *lines, const DeviceProfile *device) {
  double sum = 0;
  const cJSON *line;
  ck_assert_int_gt(cJSON_GetArraySize(lines), 0);
  cJSON_ArrayForEach(line, lines) sum += line_seconds(line->valuestring, device);
  return sum;
}

static void check_ratio(const char *name, const cJSON *item, const DeviceProfile *device,
                        Arena *arena) {
  const cJSON *other = cJSON_GetObjectItemCaseSensitive(item, "to_device");
  DeviceProfile to = other ? read_device(other->valuestring, arena) : *device;
  double modelled = seconds_of(cJSON_GetObjectItemCaseSensitive(item, "of"), device) /
                    seconds_of(cJSON_GetObjectItemCaseSensitive(item, "to"), &to);
  double published = cJSON_GetObjectItemCaseSensitive(item, "ratio")->valuedouble;
  const char *source = cJSON_GetObjectItemCaseSensitive(item, "source")->valuestring;
  ck_assert_msg(modelled < published * FACTOR && published < modelled * FACTOR,
                "%s: %g, published %g: %s", name, modelled, published, source);
  if (getenv("VERBOSE")) printf("%s: %.4g, published %.4g\n", name, modelled, published);
}

START_TEST(model_has_the_published_ratios) {
  Arena *arena = arena_new(NULL);
  const BuiltInProfile *found = find_profile(gpus[_i]);
  DeviceProfile device = read_device(gpus[_i], arena);
  const cJSON *root = json_read((const char *)found->json, found->length, NULL, arena);
  const cJSON *known = cJSON_GetObjectItemCaseSensitive(root, "known"), *item;
  ck_assert_int_ge(cJSON_GetArraySize(known), LEAST_RATIOS);
  cJSON_ArrayForEach(item, known) check_ratio(gpus[_i], item, &device, arena);
  arena_free(arena);
}
END_TEST

/* Without what a kernel reaches of its data sheet, and what it takes to begin, ratios are off. */
START_TEST(data_sheets_alone_have_not) {
  Arena *arena = arena_new(NULL);
  DeviceProfile device = read_device("h100-sxm", arena);
  const char *large =
      "bf16[4096,4096] dot(bf16[4096,4096], bf16[4096,4096]), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  const char *small =
      "bf16[1024,1024] dot(bf16[1024,1024], bf16[1024,1024]), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  double published = 20.7;
  device.product_seconds = 0;
  double ratio = line_seconds(large, &device) / line_seconds(small, &device);
  ck_assert_double_gt(ratio, published * FACTOR);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("known_ratios");
  TCase *tc = tcase_create("known_ratios");
  tcase_add_loop_test(tc, model_has_the_published_ratios, 0, sizeof gpus / sizeof *gpus);
  tcase_add_test(tc, data_sheets_alone_have_not);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
