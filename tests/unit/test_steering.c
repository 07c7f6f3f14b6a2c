#include "remat/legality/steering.h"

#include "support.h"

static const char text[] =
    "HloModule m\n"
    "inner { i = f32[4] parameter(0)\n ROOT deep = f32[4] sine(i) }\n"
    "both { p = f32[4] parameter(0)\n q = f32[4] fusion(p), kind=kLoop, calls=inner\n"
    " r = f32[4] negate(q), metadata={op_name=\"net/outer\"}\n"
    " ROOT t = (f32[4], f32[4]) tuple(r, p) }\n"
    "ENTRY e { x = f32[4] parameter(0)\n"
    " first = f32[4] abs(x), metadata={op_name=\"net/relu\" source_file=\"m.py\" source_line=12}\n"
    " seen = f32[2,2] bitcast(first)\n"
    " back = f32[4] bitcast(seen)\n"
    " pair = (f32[4], f32[4]) fusion(back), kind=kLoop, calls=both\n"
    " left = f32[4] get-tuple-element(pair), index=0\n"
    " ROOT right = f32[4] abs(left) }\n";

/* The reasons for instructions of the entry computation, as `name=reason`. */
static const struct {
  const char *pin, *never, *asked;
  size_t num_warnings;
} rows[] = {
    {NULL, NULL, "", 0},
    {"", NULL, "", 1},
    {"^first$", NULL, "first=pinned", 0},
    {NULL, "^first$", "first=never", 0},
    {"m.py:12", NULL, "first=pinned", 0},
    {"^first$\n^right$", NULL, "first=pinned right=pinned", 0},
    {"first", "first|right", "first=pinned right=never", 0},
    /* the instruction that computes its value */
    {"^back$", NULL, "first=pinned seen=pinned back=pinned", 0},
    {NULL, "^left$", "pair=never left=never", 0},
    /* a result of a fusion, and an instruction in it */
    {"net/outer", NULL, "pair=pinned", 0},
    {"^deep$", NULL, "", 0},
    {NULL, "^deep$", "pair=never", 0},
    {NULL, "^q$", "pair=never", 0},
    {"nobody", "nobody", "", 2},
};

START_TEST(asked_for_is_what_the_table_has) {
  Fixture fixture = fixture_parse(text);
  const Module *module = fixture.module;
  rh_diags *diags = rh_diags_new();
  const uint8_t *asked;
  ck_assert_int_eq(steering_find(module, rows[_i].pin, rows[_i].never, &asked, diags, fixture.out,
                                 fixture.scratch),
                   RH_OK);
  const char *names = NULL;
  text_add(fixture.out, &names, "%s", "");
  for (uint32_t i = 0; asked && i < comp_num_insts(module, module->entry); i++) {
    InstId id = comp_inst(module, module->entry, i);
    if (asked[id] == KEEP_NONE) continue;
    Str name = inst_name(module, id);
    text_add(fixture.out, &names, "%.*s=%s", (int)name.len, name.data,
             keep_reason_name((KeepReason)asked[id]));
  }
  check_text(names, rows[_i].asked, "asked for");
  ck_assert_uint_eq(rh_diags_len(diags), rows[_i].num_warnings);
  rh_diags_free(diags);
  fixture_free(&fixture);
}
END_TEST

START_TEST(faults_are_told) {
  Fixture fixture = fixture_parse(text);
  const uint8_t *asked;
  ck_assert_int_eq(
      steering_find(fixture.module, "(", NULL, &asked, NULL, fixture.out, fixture.scratch),
      RH_ERR_USAGE);
  ck_assert_int_eq(
      steering_find(fixture.module, "a", "(", &asked, NULL, fixture.out, fixture.scratch),
      RH_ERR_USAGE);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("steering");
  TCase *tests = tcase_create("steering");
  suite_add_tcase(suite, tests);
  tcase_add_loop_test(tests, asked_for_is_what_the_table_has, 0, (int)(sizeof rows / sizeof *rows));
  tcase_add_test(tests, faults_are_told);
  return run_suite(suite);
}
