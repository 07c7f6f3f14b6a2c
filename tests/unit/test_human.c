#include "emit/human.h"

#include "support.h"

static bool is(Str text, const char *wanted) {
  return str_equal(text, str_make(wanted, strlen(wanted)));
}

static const struct {
  int64_t bytes;
  const char *text;
} bytes_cases[] = {
    {0, "0 B"},
    {1, "1 B"},
    {1023, "1023 B"},
    {1024, "1.00 KiB"},
    {1029, "1.00 KiB"}, /* 1.0049 */
    {1030, "1.01 KiB"}, /* 1.0059 */
    {1536, "1.50 KiB"},
    {1048570, "1023.99 KiB"},
    {1048575, "1.00 MiB"},
    {1048576, "1.00 MiB"},
    {12939264, "12.34 MiB"},
    {INT64_C(1) << 30, "1.00 GiB"},
    {INT64_C(5) << 40, "5.00 TiB"},
    {INT64_C(5) << 50, "5.00 PiB"},
    {INT64_MAX, "8.00 EiB"},
    {INT64_MIN, "-8.00 EiB"},
    {-1, "-1 B"},
};

START_TEST(bytes_match_table) {
  HumanBytes human = human_bytes(bytes_cases[_i].bytes);
  ck_assert_str_eq(human.text, bytes_cases[_i].text);
  ck_assert_uint_eq(human.len, strlen(bytes_cases[_i].text));
}
END_TEST

START_TEST(counts_have_commas) {
  ck_assert_str_eq(human_count(0).text, "0");
  ck_assert_str_eq(human_count(999).text, "999");
  ck_assert_str_eq(human_count(1000).text, "1,000");
  ck_assert_str_eq(human_count(12045678).text, "12,045,678");
  ck_assert_str_eq(human_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
}
END_TEST

START_TEST(parts_are_written_as_indices) {
  Module *module = parse_or_fail(
      "HloModule m\nENTRY e { ROOT p = (f32[2], (s32[], (), pred[3]), u8[]) parameter(0) }");
  static const char *const indices[] = {"", "{0}", "{1}", "{1,0}", "{1,1}", "{1,2}", "{2}"};
  ShapeId shape = inst_get(module, find_inst(module, "p"))->shape;
  for (uint32_t part = 0; part < 7; part++) {
    Str index = human_part(&module->shapes, shape, part, module->arena);
    ck_assert_msg(is(index, indices[part]), "%.*s", (int)index.len, index.data);
  }
  module_free(module);
}
END_TEST

#define WRONG "\xEF\xBF\xBD"

static const struct {
  const char *raw, *text;
} utf8_cases[] = {
    {"", ""},
    {"plain.1 and longer than eight", "plain.1 and longer than eight"},
    {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
    {"eight by\xFFtes", "eight by" WRONG "tes"},
    {"\xC0\x80", WRONG WRONG},                     /* overlong */
    {"\xE0\x9F\xBF", WRONG WRONG WRONG},           /* overlong */
    {"\xED\xA0\x80", WRONG WRONG WRONG},           /* surrogate */
    {"\xF4\x90\x80\x80", WRONG WRONG WRONG WRONG}, /* beyond U+10FFFF */
    {"\xF0\x8F\x80\x80", WRONG WRONG WRONG WRONG}, /* overlong */
    {"cut \xE2\x82", "cut " WRONG WRONG},
    {"\xE2(", WRONG "("},
};

START_TEST(utf8_matches_table) {
  Arena *arena = arena_new(NULL);
  const char *raw = utf8_cases[_i].raw;
  Str text = human_utf8(str_make(raw, strlen(raw)), arena);
  ck_assert_msg(is(text, utf8_cases[_i].text), "%s: %.*s", raw, (int)text.len, text.data);
  arena_free(arena);
}
END_TEST

START_TEST(nul_is_replaced) {
  Arena *arena = arena_new(NULL);
  Str text = human_utf8(str_make("a\0bcdefghijk\0", 13), arena);
  ck_assert(is(text, "a" WRONG "bcdefghijk" WRONG));
  arena_free(arena);
}
END_TEST

static const struct {
  const char *raw, *text;
} escape_cases[] = {
    {"none", "none"},
    {"\\\"q\\\" \\'s\\' \\\\ \\?", "\"q\" 's' \\ ?"},
    {"\\a\\b\\f\\n\\r\\t\\v", "\a\b\f\n\r\t\v"},
    {"\\101\\60\\7", "A0\a"},
    {"\\1011", "A1"},
    {"\\x41g\\X4a", "AgJ"},
    {"\\xff", WRONG},
    {"\\303\\251", "\xC3\xA9"},
    {"\\u00e9\\u20AC\\U0001F600", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
    {"\\0", WRONG},
    {"end\\", "end\\"},
};

START_TEST(escapes_match_table) {
  Arena *arena = arena_new(NULL);
  const char *raw = escape_cases[_i].raw;
  Str text = human_unescape(str_make(raw, strlen(raw)), arena);
  ck_assert_msg(is(text, escape_cases[_i].text), "%s: %.*s", raw, (int)text.len, text.data);
  arena_free(arena);
}
END_TEST

static const struct {
  const char *metadata, *op_name, *file;
  int32_t line;
} place_cases[] = {
    {"", "", "", 0},
    {", metadata={op_name=\"a/\\\"b\\\"\"}", "a/\"b\"", "", 0},
    {", metadata={source_file=\"own.py\" source_line=7}", "", "own.py", 7},
    {", metadata={source_file=\"own.py\" source_line=7 stack_frame_id=2}", "", "own.py", 7},
    {", metadata={stack_frame_id=2}", "", "two.py", 20},
    {", metadata={stack_frame_id=1}", "", "one.py", 10},
    {", metadata={stack_frame_id=3}", "", "", 0},
};

START_TEST(places_match_table) {
  Arena *arena = arena_new(NULL);
  char *text = arena_printf(
      arena,
      "HloModule m\n\nFileNames\n1 \"one.py\"\n2 \"two.py\"\n\nFunctionNames\n1 \"f\"\n\n"
      "FileLocations\n"
      "1 {file_name_id=1 function_name_id=1 line=10 end_line=10 column=1 end_column=2}\n"
      "2 {file_name_id=2 function_name_id=1 line=20 end_line=20 column=1 end_column=2}\n\n"
      "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n"
      "2 {file_location_id=2 parent_frame_id=2}\n\n"
      "ENTRY e { ROOT p = f32[] parameter(0)%s }\n",
      place_cases[_i].metadata);
  Module *module = parse_or_fail(text);
  SourcePlace place = human_source_place(module, find_inst(module, "p"), arena);
  ck_assert(is(place.op_name, place_cases[_i].op_name));
  ck_assert_msg(is(place.file, place_cases[_i].file), "%s: %.*s", place_cases[_i].metadata,
                (int)place.file.len, place.file.data);
  ck_assert_int_eq(place.line, place_cases[_i].line);
  module_free(module);
  arena_free(arena);
}
END_TEST

#define NUM_ROWS(table) (int)(sizeof(table) / sizeof *(table))

int main(void) {
  Suite *suite = suite_create("human");
  TCase *tc = tcase_create("human");
  tcase_add_loop_test(tc, bytes_match_table, 0, NUM_ROWS(bytes_cases));
  tcase_add_test(tc, counts_have_commas);
  tcase_add_test(tc, parts_are_written_as_indices);
  tcase_add_loop_test(tc, utf8_matches_table, 0, NUM_ROWS(utf8_cases));
  tcase_add_test(tc, nul_is_replaced);
  tcase_add_loop_test(tc, escapes_match_table, 0, NUM_ROWS(escape_cases));
  tcase_add_loop_test(tc, places_match_table, 0, NUM_ROWS(place_cases));
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
