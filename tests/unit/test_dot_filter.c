#include "emit/dot/filter.h"

#include "analysis/memory/liveness.h"
#include "emit_fixture.h"

/* ---- what is a filter ---- */

static const struct {
  const char *text;
  DotFilterKind kind;
  const char *rest;
} kind_cases[] = {
    {"peak", DOT_FILTER_PEAK, ""},
    {"all", DOT_FILTER_ALL, ""},
    {"name:a", DOT_FILTER_NAME, "a"},
    {"name:%a", DOT_FILTER_NAME, "a"},
    {"name:%", DOT_FILTER_NAME, "%"},
    {"name:name:a", DOT_FILTER_NAME, "name:a"},
    {"regex:^a|b$", DOT_FILTER_REGEX, "^a|b$"},
    {"scope:a/b", DOT_FILTER_SCOPE, "a/b"},
    {"computation:%main.1", DOT_FILTER_COMPUTATION, "main.1"},
};

START_TEST(filters_are_told_apart) {
  Arena *arena = arena_new(NULL);
  DotFilter filter;
  ck_assert_int_eq(dot_filter_parse(kind_cases[_i].text, &filter, NULL, arena), RH_OK);
  ck_assert_int_eq(filter.kind, kind_cases[_i].kind);
  ck_assert_msg(str_is(filter.text, kind_cases[_i].rest), "%s", kind_cases[_i].text);
  arena_free(arena);
}
END_TEST

static const struct {
  const char *text, *message;
} fault_cases[] = {
    {"", "a graph shows peak, all, name:NAME"},
    {"peaks", "not 'peaks'"},
    {"name", "not 'name'"},
    {"name:", "not 'name:'"},
    {"regex:", "not 'regex:'"},
    {"Scope:a", "not 'Scope:a'"},
    {"regex:(", "the regular expression '(': "},
    {"regex:[a", "the regular expression '[a': "},
    {"regex:(a)\\1", "back references are not supported"},
    {"regex:a{1001}", "it repeats too often"},
    {"regex:a{2,99999999999999999999}", "it repeats too often"},
    {"regex:((a{11}){10}){10}", "it repeats too often"},
};

START_TEST(faults_are_named) {
  rh_diags *diags = rh_diags_new();
  Arena *arena = arena_new(NULL);
  DotFilter filter;
  ck_assert_int_eq(dot_filter_parse(fault_cases[_i].text, &filter, diags, arena), RH_ERR_USAGE);
  arena_free(arena);
  ck_assert_uint_eq(rh_diags_len(diags), 1);
  check_has(rh_diags_get(diags, 0)->message, fault_cases[_i].message);
  rh_diags_free(diags);
}
END_TEST

START_TEST(long_expressions_are_refused) {
  char text[1100];
  Arena *arena = arena_new(NULL);
  DotFilter filter;
  memset(text, 'a', sizeof text);
  memcpy(text, "regex:", 6);
  text[6 + 1000] = '\0';
  ck_assert_int_eq(dot_filter_parse(text, &filter, NULL, arena), RH_OK);
  text[6 + 1000] = 'a';
  text[6 + 1001] = '\0';
  ck_assert_int_eq(dot_filter_parse(text, &filter, NULL, arena), RH_ERR_USAGE);
  arena_free(arena);
}
END_TEST

/* ---- what it wants ---- */

static const char sample[] =
    "HloModule m\n"
    "f { p = f32[] parameter(0)\n"
    " ROOT n = f32[] negate(p), metadata={op_name=\"jit(step)/f/neg\"} }\n"
    "ENTRY main {\n"
    " x = f32[] parameter(0), metadata={op_name=\"params['w'][0]\"}\n"
    " a.1 = f32[] abs(x), metadata={op_name=\"jit(step)/jvp(net)/block_1/abs\"}\n"
    " a.11 = f32[] abs(a.1), metadata={op_name=\"jit(step)/transpose(jvp(net))/block_11/abs\"}\n"
    " c = f32[] copy(a.11)\n"
    " b = f32[] call(c), to_apply=f\n"
    " ROOT r = f32[] abs(b) }\n";

static const struct {
  const char *filter;
  const char *names;
} match_cases[] = {
    {"peak", ""},
    {"all", ""},
    {"name:a.1", "a.1"},
    {"name:a", ""},
    {"computation:f", "p n"},
    {"computation:main", "x a.1 a.11 c b r"},
    {"regex:^a[.]1", "a.1 a.11"},
    {"regex:^a[.]1$", "a.1"},
    {"regex:block_1/", "a.1"},
    {"regex:]|[[:digit:]]1", "x a.11 c"},
    {"regex:[]{999}]\\[0", "x"}, /* braces in brackets and escapes repeat nothing */
    {"regex:\\{1\\}", ""},
    {"regex:[^]]\\{999999", ""},
    {"scope:net", "a.1 a.11 c"}, /* a copy is where its operand is */
    {"scope:block_1", "a.1"},
    {"scope:net/block_1", "a.1"},
    {"scope:step/block_1", ""},
    {"scope:step/net/block_1/abs/more", ""},
    {"scope:params['w']", "x"},
    {"scope:['w'][0]", "x"},
    {"scope:/", ""},
};

START_TEST(matches_are_found) {
  Measured measured = measure_text(sample, "liveness");
  Module *module = measured.module;
  ValueAnalysis values = value_analysis_build(module, measured.out, measured.scratch);
  Places places = places_new(module, &values, measured.out);
  DotFilter filter;
  ck_assert_int_eq(dot_filter_parse(match_cases[_i].filter, &filter, NULL, measured.out), RH_OK);
  const char *names = "";
  for (InstId id = 0; id < module->insts.len; id++) {
    if (!dot_filter_matches(&filter, &places, id, measured.scratch)) continue;
    Str name = inst_name(module, id);
    names =
        arena_printf(measured.out, "%s%s%.*s", names, *names ? " " : "", (int)name.len, name.data);
  }
  check_text(names, match_cases[_i].names, match_cases[_i].filter);
  measured_free(&measured);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("dot_filter");
  TCase *tc = tcase_create("dot_filter");
  tcase_add_loop_test(tc, filters_are_told_apart, 0, sizeof kind_cases / sizeof *kind_cases);
  tcase_add_loop_test(tc, faults_are_named, 0, sizeof fault_cases / sizeof *fault_cases);
  tcase_add_test(tc, long_expressions_are_refused);
  tcase_add_loop_test(tc, matches_are_found, 0, sizeof match_cases / sizeof *match_cases);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
