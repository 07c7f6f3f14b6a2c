/* The two ways in which a clone reads wrong values without any error: from a donated parameter, and
 * from a value that a loop carries (both seen in XLA with modules that a compile had written). */
#include "analysis/memory/overwrites.h"

#include <stdio.h>
#include <string.h>

#include "remat_hlo.h"
#include "support.h"

/* `a` is cheap to recompute and is live across `wide`. If the parameter `w` is donated, its memory
 * holds `new_w` when `a` is read for the last time. */
#define DONATED(alias)                                                                     \
  "HloModule donated, is_scheduled=true" alias                                             \
  "\n"                                                                                     \
  "sum { x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = f32[] add(x, y) }\n" \
  "ENTRY e {\n"                                                                            \
  "  w = f32[1000] parameter(0)\n"                                                         \
  "  zero = f32[] constant(0)\n"                                                           \
  "  a = f32[1000] sine(w)\n"                                                              \
  "  wide = f32[5,1000] broadcast(a), dimensions={1}\n"                                    \
  "  narrow = f32[1000] reduce(wide, zero), dimensions={0}, to_apply=sum\n"                \
  "  twice = f32[5,1000] broadcast(narrow), dimensions={1}\n"                              \
  "  again = f32[1000] reduce(twice, zero), dimensions={0}, to_apply=sum\n"                \
  "  new_w = f32[1000] subtract(w, again)\n"                                               \
  "  last = f32[1000] multiply(a, new_w)\n"                                                \
  "  ROOT out = (f32[1000], f32[1000]) tuple(new_w, last)\n}\n"

/* `a` reads `v`, whose memory the loop reuses and changes. */
#define CARRIED(read)                                                                           \
  "HloModule carried, is_scheduled=true\n"                                                      \
  "sum { x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = f32[] add(x, y) }\n"      \
  "cond { p = (f32[1000], s32[]) parameter(0)\n  i = s32[] get-tuple-element(p), index=1\n"     \
  "  n = s32[] constant(3)\n  ROOT less = pred[] compare(i, n), direction=LT }\n"               \
  "body { p = (f32[1000], s32[]) parameter(0)\n  v = f32[1000] get-tuple-element(p), index=0\n" \
  "  i = s32[] get-tuple-element(p), index=1\n  one = s32[] constant(1)\n"                      \
  "  next = f32[1000] cosine(v)\n  j = s32[] add(i, one)\n"                                     \
  "  ROOT r = (f32[1000], s32[]) tuple(next, j) }\n"                                            \
  "ENTRY e {\n"                                                                                 \
  "  w = f32[1000] parameter(0)\n"                                                              \
  "  start = s32[] parameter(1)\n"                                                              \
  "  zero = f32[] constant(0)\n"                                                                \
  "  v = f32[1000] negate(w)\n"                                                                 \
  "  a = f32[1000] sine(" read                                                                  \
  ")\n"                                                                                         \
  "  wide = f32[5,1000] broadcast(a), dimensions={1}\n"                                         \
  "  narrow = f32[1000] reduce(wide, zero), dimensions={0}, to_apply=sum\n"                     \
  "  twice = f32[5,1000] broadcast(narrow), dimensions={1}\n"                                   \
  "  again = f32[1000] reduce(twice, zero), dimensions={0}, to_apply=sum\n"                     \
  "  copied = s32[] copy(start)\n"                                                              \
  "  t = (f32[1000], s32[]) tuple(v, copied)\n"                                                 \
  "  loop = (f32[1000], s32[]) while(t), condition=cond, body=body\n"                           \
  "  result = f32[1000] get-tuple-element(loop), index=0\n"                                     \
  "  last = f32[1000] multiply(a, result)\n"                                                    \
  "  ROOT out = f32[1000] add(last, again)\n}\n"

/* A part of the text that each of the two algorithms gives; NULL if it keeps `a`. */
static const struct {
  const char *text;
  const char *standard, *path;
} cases[] = {
    /* path places the clone after new_w, which is wrong if new_w has the memory of w. */
    {DONATED(""),
     "a.remat = f32[1000] sine(w)\n  new_w =", "new_w = f32[1000] subtract(w, again)\n  a.remat ="},
    {DONATED(", input_output_alias={ {0}: (0, {}, may-alias) }"),
     "a.remat = f32[1000] sine(w)\n  new_w =", NULL},
    /* A parameter that nothing overwrites. */
    {CARRIED("w"), "a.remat = f32[1000] sine(w)", "a.remat = f32[1000] sine(w)"},
    /* The clone reads a value of its own. */
    {CARRIED("v"), "a.remat2 = f32[1000] sine(v)\n  loop =", "a.remat = f32[1000] sine(v.remat.1)"},
};

typedef struct Seen {
  const char *reason; /* of a; NULL = a is not live at the peak */
} Seen;

static void note_reason(void *context, const rh_live_buffer *buffer) {
  Seen *seen = context;
  if (buffer->instruction.length == 1 && buffer->instruction.data[0] == 'a') {
    seen->reason = buffer->reason;
  }
}

static int append(void *context, const char *data, size_t length) {
  strncat(context, data, length);
  return 0;
}

/* Verifies the module with a clone of `a` after all other instructions: the values are the same,
 * but the memory that the clone reads has been overwritten. */
static void check_verified(const char *text, const char *operand, rh_copies copies,
                           const char *fault) {
  const char *reader = strstr(text, "  last = f32[1000] multiply(a, ");
  const char *rest = strchr(strchr(reader, ','), ' ');
  char after[8192];
  snprintf(after, sizeof after,
           "%.*s  a.remat = f32[1000] sine(%s)\n  last = f32[1000] multiply(a.remat,%s",
           (int)(reader - text), text, operand, rest);
  rh_module *modules[2];
  ck_assert_int_eq(rh_parse(text, strlen(text), NULL, &modules[0], NULL), RH_OK);
  ck_assert_int_eq(rh_parse(after, strlen(after), NULL, &modules[1], NULL), RH_OK);
  rh_diags *diags = rh_diags_new();
  rh_settings settings = RH_SETTINGS_INIT;
  settings.copies = copies;
  rh_status status = rh_verify(modules[0], modules[1], &settings, NULL, diags);
  ck_assert_msg(status == (fault ? RH_NOT_EQUIVALENT : RH_OK), "%d: %s", (int)status, after);
  if (fault) ck_assert_str_eq(rh_diags_get(diags, 0)->message, fault);
  rh_diags_free(diags);
  rh_module_free(modules[1]);
  rh_module_free(modules[0]);
}

START_TEST(verify_sees_reads_of_what_is_overwritten) {
  const char *donated = DONATED(", input_output_alias={ {0}: (0, {}, may-alias) }");
  const char *gone = "'w' is read by 'a.remat' after 'new_w' has overwritten it";
  check_verified(donated, "w", RH_COPIES_AUTO, gone);
  check_verified(donated, "w", RH_COPIES_INSERTED, gone);
  check_verified(donated, "w", RH_COPIES_PENDING, NULL);
  check_verified(DONATED(""), "w", RH_COPIES_INSERTED, NULL);
  gone = "'v' is read by 'a.remat' after 'next' has overwritten it";
  check_verified(CARRIED("v"), "v", RH_COPIES_AUTO, gone);
  check_verified(CARRIED("v"), "v", RH_COPIES_PENDING, NULL);
}
END_TEST

/* Both updates overwrite the parameter, which the module may only read, the dead one last. */
#define UPDATES(dead)                                                      \
  "HloModule m, is_scheduled=true\nENTRY e {\n  w = f32[8] parameter(0)\n" \
  "  q = f32[2] parameter(1)\n  i = s32[] parameter(2)\n"                  \
  "  d = f32[8] dynamic-update-slice(w, q, i)\n" dead "  ROOT r = f32[8] negate(d)\n}\n"

/* Without the dead update, the other one is what the parameter's memory holds in the end. */
START_TEST(a_known_read_stays_known_without_dead_code) {
  const char *texts[] = {UPDATES("  b = f32[8] dynamic-update-slice(w, q, i)\n"), UPDATES("")};
  rh_module *modules[2];
  for (int i = 0; i < 2; i++)
    ck_assert_int_eq(rh_parse(texts[i], strlen(texts[i]), NULL, &modules[i], NULL), RH_OK);
  rh_settings settings = RH_SETTINGS_INIT;
  settings.copies = RH_COPIES_INSERTED;
  ck_assert_int_eq(rh_verify(modules[0], modules[1], &settings, NULL, NULL), RH_OK);
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  options.limit_bytes = 0;
  rh_module *result = NULL;
  ck_assert_int_eq(rh_remat(modules[0], &settings, &options, &result, NULL, NULL), RH_OVER_LIMIT);
  rh_module_free(result);
  rh_module_free(modules[1]);
  rh_module_free(modules[0]);
}
END_TEST

static uint32_t count_reads(const Fixture *fixture, const Schedule *schedule) {
  ValueAnalysis values = value_analysis_build(fixture->module, fixture->out, fixture->scratch);
  return overwritten_reads_find(fixture->module, &values, schedule, fixture->out, fixture->scratch)
      .list.len;
}

static void check_result(const char *text, const char *algorithm, const char *expected) {
  rh_module *parsed, *scheduled, *result;
  ck_assert_int_eq(rh_parse(text, strlen(text), NULL, &parsed, NULL), RH_OK);
  ck_assert_int_eq(rh_schedule(parsed, NULL, NULL, &scheduled, NULL), RH_OK);
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  options.memory_model = "xla-remat";
  options.algorithm = algorithm;
  options.limit_bytes = 0;
  options.small_node_bytes = 0;
  ck_assert_int_eq(rh_remat(scheduled, NULL, &options, &result, NULL, NULL), RH_OVER_LIMIT);
  char printed[8192] = "";
  ck_assert_int_eq(rh_print(result, append, printed, NULL), RH_OK);

  Fixture fixture = fixture_parse(printed);
  Schedule order = schedule_in_text_order(fixture.module, fixture.out);
  ck_assert_msg(count_reads(&fixture, &order) == 0, "%s: %s", algorithm, printed);
  fixture_free(&fixture);
  Seen seen = {NULL};
  ck_assert_int_eq(rh_visit_live(result, NULL, "xla-remat", &options, note_reason, &seen, NULL),
                   RH_OK);
  if (expected) {
    ck_assert_msg(strstr(printed, expected) != NULL, "%s: %s", algorithm, printed);
  } else {
    ck_assert_msg(!strstr(printed, "a.remat"), "%s: %s", algorithm, printed);
    ck_assert_msg(seen.reason && strcmp(seen.reason, "overwritten") == 0, "%s: %s", algorithm,
                  seen.reason ? seen.reason : "not alive at the peak");
  }
  rh_module_free(result);
  rh_module_free(scheduled);
  rh_module_free(parsed);
}

START_TEST(clones_read_nothing_that_is_overwritten) {
  check_result(cases[_i].text, "standard", cases[_i].standard);
  check_result(cases[_i].text, "path", cases[_i].path);
}
END_TEST

/* ---- overwritten reads ---- */

static const struct {
  const char *head, *body;
  bool is_free;
} orders[] = {
    /* Several values, one after the other, in a parameter's memory. */
    {", input_output_alias={ {}: (0, {}, may-alias) }",
     "p = f32[8] parameter(0)\n a = f32[8] sine(p)\n ROOT b = f32[8] add(p, a)\n", true},
    /* Read after it has been overwritten. */
    {", input_output_alias={ {0}: (0, {}, may-alias) }",
     "p = f32[8] parameter(0)\n a = f32[8] sine(p)\n b = f32[8] cosine(p)\n"
     " ROOT t = (f32[8], f32[8]) tuple(a, b)\n",
     false},
    /* An update in place whose operand is read later, or before. */
    {"",
     "p = f32[8] parameter(0)\n i = s32[] parameter(1)\n u = f32[1] parameter(2)\n"
     " x = f32[8] sine(p)\n d = f32[8] dynamic-update-slice(x, u, i)\n"
     " ROOT s = f32[8] add(x, d)\n",
     false},
    {"",
     "p = f32[8] parameter(0)\n i = s32[] parameter(1)\n u = f32[1] parameter(2)\n"
     " x = f32[8] sine(p)\n y = f32[8] cosine(x)\n d = f32[8] dynamic-update-slice(x, u, i)\n"
     " ROOT s = f32[8] add(y, d)\n",
     true},
};

START_TEST(interference_matches_table) {
  char text[1024];
  snprintf(text, sizeof text, "HloModule m, is_scheduled=true%s\nENTRY e {\n %s}\n",
           orders[_i].head, orders[_i].body);
  Fixture fixture = fixture_parse(text);
  Schedule schedule = schedule_in_text_order(fixture.module, fixture.out);
  ck_assert_msg((count_reads(&fixture, &schedule) == 0) == orders[_i].is_free, "%s", text);
  fixture_free(&fixture);
}
END_TEST

/* `late` reads the memory that `over`, or the loop, overwrites; only the order of the text puts
 * `late` first. */
static const char *const reordered[] = {
    "HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }\n"
    "ENTRY e {\n"
    "  p = f32[64] parameter(0)\n  a = f32[64] exponential(p)\n  b = f32[64] sine(a)\n"
    "  late = f32[64] multiply(b, p)\n  over = f32[64] multiply(a, a)\n"
    "  ROOT t = (f32[64], f32[64], f32[64]) tuple(over, b, late)\n}\n",
    "HloModule m, is_scheduled=true\n"
    "cond { p = (f32[64]) parameter(0)\n  ROOT c = pred[] constant(false) }\n"
    "body { p = (f32[64]) parameter(0)\n  x = f32[64] get-tuple-element(p), index=0\n"
    "  y = f32[64] cosine(x)\n  ROOT r = (f32[64]) tuple(y) }\n"
    "ENTRY e {\n"
    "  q = f32[64] parameter(0)\n  p = f32[64] negate(q)\n  a = f32[64] sine(q)\n"
    "  late = f32[64] multiply(a, p)\n  i = (f32[64]) tuple(p)\n"
    "  loop = (f32[64]) while(i), condition=cond, body=body\n"
    "  o = f32[64] get-tuple-element(loop), index=0\n"
    "  ROOT t = (f32[64], f32[64]) tuple(o, late)\n}\n",
};

/* The number of schedulers whose order has a read of overwritten memory. */
static int count_unsafe(const char *text, rh_copies copies) {
  rh_module *parsed, *scheduled;
  const rh_entry *entry;
  int count = 0;
  ck_assert_int_eq(rh_parse(text, strlen(text), NULL, &parsed, NULL), RH_OK);
  for (size_t i = 0; (entry = rh_list(RH_SCHEDULERS, i)); i++) {
    rh_schedule_options options = RH_SCHEDULE_OPTIONS_INIT;
    options.scheduler = entry->name;
    rh_settings settings = RH_SETTINGS_INIT;
    settings.copies = copies;
    ck_assert_int_eq(rh_schedule(parsed, &settings, &options, &scheduled, NULL), RH_OK);
    count += rh_verify(parsed, scheduled, NULL, NULL, NULL) != RH_OK;
    rh_module_free(scheduled);
  }
  rh_module_free(parsed);
  return count;
}

START_TEST(schedulers_put_no_read_behind_what_overwrites) {
  ck_assert_int_eq(count_unsafe(reordered[_i], RH_COPIES_AUTO), 0);
  ck_assert_int_eq(count_unsafe(reordered[_i], RH_COPIES_INSERTED), 0);
  ck_assert_int_gt(count_unsafe(reordered[_i], RH_COPIES_PENDING), 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("safe_reads");
  TCase *tc = tcase_create("safe_reads");
  tcase_add_loop_test(tc, clones_read_nothing_that_is_overwritten, 0, sizeof cases / sizeof *cases);
  tcase_add_test(tc, verify_sees_reads_of_what_is_overwritten);
  tcase_add_test(tc, a_known_read_stays_known_without_dead_code);
  tcase_add_loop_test(tc, interference_matches_table, 0, sizeof orders / sizeof *orders);
  tcase_add_loop_test(tc, schedulers_put_no_read_behind_what_overwrites, 0,
                      sizeof reordered / sizeof *reordered);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
