#include "remat/legality/collection.h"

#include "support.h"

static const char text[] =
    "HloModule m\n"
    "both { p = f32[4] parameter(0)\n q = f32[4] abs(p), metadata={op_name=\"net/inner\"}\n"
    " r = f32[4] negate(q), metadata={op_name=\"net/outer\"}\n"
    " ROOT t = (f32[4], f32[4]) tuple(r, p) }\n"
    "ENTRY e { x = f32[4] parameter(0)\n"
    " first = f32[4] abs(x), metadata={op_name=\"net/layer_1/relu\" source_file=\"m.py\" "
    "source_line=12}\n"
    " second = f32[4] abs(first), metadata={op_name=\"net/layer_12/relu\" source_file=\"m.py\" "
    "source_line=123}\n"
    " ROOT third = (f32[4], f32[4]) fusion(second), kind=kLoop, calls=both }\n";

static const struct {
  const char *expressions, *names;
} rows[] = {
    {"", ""},
    {"\n\r\n", ""},
    {"layer_1/", "first"},
    {"layer_1", "first second"},
    {"^second$", "second"},
    {"m.py:12$", "first"},
    {"m.py:123", "second"},
    {"net/outer", "third"}, /* a result of the fusion */
    {"net/inner", ""},      /* only inside the fusion */
    {"^first\r\n\n^third", "first third"},
    {"^(fir|sec)[a-z]+$", "first second"},
};

START_TEST(matches_are_those_of_the_table) {
  Fixture fixture = fixture_parse(text);
  const Module *module = fixture.module;
  Collection collection;
  ck_assert_int_eq(collection_parse(rows[_i].expressions, &collection, NULL, fixture.out), RH_OK);
  const char *names = NULL;
  text_add(fixture.out, &names, "%s", "");
  for (uint32_t i = 0; i < comp_num_insts(module, module->entry); i++) {
    InstId id = comp_inst(module, module->entry, i);
    Str name = inst_name(module, id);
    if (collection_has(&collection, module, id, fixture.scratch))
      text_add(fixture.out, &names, "%.*s", (int)name.len, name.data);
  }
  check_text(names, rows[_i].names, rows[_i].expressions);
  fixture_free(&fixture);
}
END_TEST

START_TEST(faults_are_named) {
  Arena *arena = arena_new(NULL);
  rh_diags *diags = rh_diags_new();
  Collection collection;
  ck_assert_int_eq(collection_parse("a\n(b\nc", &collection, diags, arena), RH_ERR_USAGE);
  ck_assert_uint_eq(rh_diags_len(diags), 1);
  ck_assert_ptr_nonnull(strstr(rh_diags_get(diags, 0)->message, "the regular expression '(b': "));
  ck_assert_uint_eq(collection.expressions.len, 0);
  rh_diags_free(diags);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("collection");
  TCase *tc = tcase_create("collection");
  tcase_add_loop_test(tc, matches_are_those_of_the_table, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tc, faults_are_named);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
