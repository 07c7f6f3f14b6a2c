#include "ir/library_files.h"

#include "support.h"

static const struct {
  const char *file;
  bool is_library;
} names[] = {
    {"", false},
    {"train.py", false},
    {"/home/me/train.py", false},
    {"/usr/lib/python3.12/site-packages/flax/linen/linear.py", true},
    {"/venv/lib/python3.12/site-packages/mine.py", true},
    {"/usr/local/lib/python3.12/dist-packages/optax/_src/base.py", true},
    {"/usr/lib/python3.12/contextlib.py", true},
    {"C:\\\\Python\\\\Lib\\\\site-packages\\\\jax\\\\_src\\\\api.py", true},
    {"<frozen runpy>", true},
    {"<ipython-input-3-0123456789ab>", false},
    {"/home/user/src/jax/jax/_src/pjit.py", true},
    {"/src/keras/layers.py", true},
    {"tensorflow/python/framework/ops.py", true},
    /* names that only contain those of libraries */
    {"/tf/jax-lab/train.py", false},
    {"/home/me/myflax/model.py", false},
    {"/home/me/optax.py", false},
    {"/home/me/lib/model.py", false},
    {"/home/me/python3/model.py", false},
};

START_TEST(files_by_name) {
  Str file = str_make(names[_i].file, strlen(names[_i].file));
  ck_assert_msg(library_file_by_name(file) == names[_i].is_library, "%s", names[_i].file);
}
END_TEST

static const char text[] =
    "HloModule m\n\nFileNames\n1 \"/me/a.py\"\n2 \"/x/site-packages/flax/b.py\"\n3 "
    "\"/corp/c.py\"\n\n"
    "FunctionNames\n1 \"f\"\n\n"
    "FileLocations\n1 {file_name_id=1 function_name_id=1 line=5 end_line=5 column=1 "
    "end_column=2}\n\n"
    "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\n"
    "ENTRY e { ROOT p = f32[4] parameter(0) }\n";

/* One letter for each file: l is a library's, u the user's. */
static const struct {
  const char *rules, *flags;
} rows[] = {
    {NULL, "ulu"},
    {"", "ulu"},
    {"^/corp/", "ull"},
    {"!flax", "uuu"},
    {"!flax\n^/corp/", "uul"},
    {"py\n!^/me/", "ull"},
    {"!^/me/\npy", "lll"},
    {"!", "ulu"},
    {"(", NULL},
    {"a\n!(", NULL},
};

START_TEST(files_by_rules) {
  Fixture fixture = fixture_parse(text);
  rh_diags *diags = rh_diags_new();
  const bool *is_library = NULL;
  rh_status status =
      library_files_find(fixture.module->source, rows[_i].rules, &is_library, diags, fixture.out);
  if (!rows[_i].flags) {
    ck_assert_int_eq(status, RH_ERR_USAGE);
    ck_assert_uint_eq(rh_diags_len(diags), 1);
    ck_assert_ptr_null(is_library);
  } else {
    ck_assert_int_eq(status, RH_OK);
    for (int i = 0; i < 3; i++)
      ck_assert_msg(is_library[i] == (rows[_i].flags[i] == 'l'), "row %d, file %d", _i, i);
  }
  rh_diags_free(diags);
  fixture_free(&fixture);
}
END_TEST

START_TEST(no_tables) {
  Fixture fixture = fixture_parse("HloModule m\nENTRY e { ROOT p = f32[4] parameter(0) }\n");
  const bool *is_library;
  ck_assert_int_eq(library_files_find(fixture.module->source, "x", &is_library, NULL, fixture.out),
                   RH_OK);
  ck_assert_ptr_null(is_library);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("library_files");
  TCase *tests = tcase_create("library_files");
  suite_add_tcase(suite, tests);
  tcase_add_loop_test(tests, files_by_name, 0, (int)(sizeof names / sizeof *names));
  tcase_add_loop_test(tests, files_by_rules, 0, (int)(sizeof rows / sizeof *rows));
  tcase_add_test(tests, no_tables);
  return run_suite(suite);
}
