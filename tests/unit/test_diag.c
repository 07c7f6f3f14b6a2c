#include "ir/diag.h"

#include <stdlib.h>
#include <string.h>

#include "support.h"

START_TEST(diagnostics_stay_in_order) {
  rh_diags *diags = rh_diags_new();
  ck_assert_uint_eq(rh_diags_len(diags), 0);
  diag_warn(diags, DIAG_AT(7), "first %d", 1);
  rh_status status =
      diag_fail(diags, RH_ERR_INPUT, (DiagPlace){.offset = 9, .opener = 3}, "second %s", "x");
  ck_assert_int_eq(status, RH_ERR_INPUT);
  ck_assert_int_eq(diag_fail(diags, RH_ERR_WRITE, DIAG_NOWHERE, "third"), RH_ERR_WRITE);
  ck_assert_uint_eq(rh_diags_len(diags), 3);

  rh_diag first = *rh_diags_get(diags, 0), second = *rh_diags_get(diags, 1);
  rh_diag third = *rh_diags_get(diags, 2);
  ck_assert_int_eq(first.severity, RH_SEVERITY_WARNING);
  ck_assert_str_eq(first.message, "first 1");
  ck_assert_uint_eq(first.offset, 7);
  ck_assert(first.opener_offset == RH_NO_OFFSET);
  ck_assert_int_eq(second.severity, RH_SEVERITY_ERROR);
  ck_assert_str_eq(second.message, "second x");
  ck_assert_uint_eq(second.offset, 9);
  ck_assert_uint_eq(second.opener_offset, 3);
  ck_assert(third.offset == RH_NO_OFFSET && third.opener_offset == RH_NO_OFFSET);
  rh_diags_free(diags);
}
END_TEST

START_TEST(nobody_need_listen) {
  ck_assert_int_eq(diag_fail(NULL, RH_ERR_INPUT, DIAG_AT(0), "%s", "x"), RH_ERR_INPUT);
  diag_warn(NULL, DIAG_NOWHERE, "x");
  rh_diags_free(NULL);
}
END_TEST

START_TEST(messages_may_be_long_and_many) {
  rh_diags *diags = rh_diags_new();
  char *long_text = malloc(100001);
  memset(long_text, 'm', 100000);
  long_text[100000] = '\0';
  for (int i = 0; i < 100; i++)
    diag_warn(diags, DIAG_AT((uint32_t)i), "%s%d", long_text, i);
  ck_assert_uint_eq(rh_diags_len(diags), 100);
  ck_assert_uint_eq(strlen(rh_diags_get(diags, 0)->message), 100001);
  ck_assert_str_eq(rh_diags_get(diags, 42)->message + 100000, "42");
  free(long_text);
  rh_diags_free(diags);
}
END_TEST

static const struct {
  const char *text;
  size_t offset, line, column;
} places[] = {
    {"abc", 0, 1, 1},        {"abc", 2, 1, 3},    {"abc", 3, 1, 4},  /* the end of the text is a
                                                                        place */
    {"abc", 99, 1, 4},       {"", 0, 1, 1},       {"a\nb", 1, 1, 2}, /* the newline belongs to its
                                                                        line */
    {"a\nb", 2, 2, 1},       {"a\r\nb", 3, 2, 1}, {"\n\n\n", 2, 3, 1}, {"\n\n\n", 3, 4, 1},
    {"ab\ncd\nef", 7, 3, 2}, {"a\tb", 2, 1, 3}, /* columns are bytes */
    {"\xc3\xa9x", 2, 1, 3},
};

START_TEST(places_match_table) {
  size_t line = 0, column = 0;
  rh_locate(places[_i].text, strlen(places[_i].text), places[_i].offset, &line, &column);
  ck_assert_msg(line == places[_i].line && column == places[_i].column, "'%s' at %zu: %zu:%zu",
                places[_i].text, places[_i].offset, line, column);
}
END_TEST

START_TEST(nul_bytes_are_no_end) {
  size_t line = 0, column = 0;
  rh_locate("a\0\nb\0c", 6, 5, &line, &column);
  ck_assert_uint_eq(line, 2);
  ck_assert_uint_eq(column, 3);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("diag");
  TCase *tc = tcase_create("diag");
  tcase_add_test(tc, diagnostics_stay_in_order);
  tcase_add_test(tc, nobody_need_listen);
  tcase_add_test(tc, messages_may_be_long_and_many);
  tcase_add_loop_test(tc, places_match_table, 0, sizeof places / sizeof *places);
  tcase_add_test(tc, nul_bytes_are_no_end);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
