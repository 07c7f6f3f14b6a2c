#include "ir/text_buffer.h"

#include "support.h"

START_TEST(pieces_stand_one_behind_the_other) {
  Arena *arena = arena_new(NULL);
  TextBuffer text = {.arena = arena};
  ck_assert_uint_eq(text_str(&text).len, 0);
  text_put(&text, "a");
  text_put(&text, "");
  text_put_str(&text, (Str){0});
  text_put_bytes(&text, "bcx", 2);
  text_put_char(&text, ':');
  text_put_int(&text, INT64_MIN);
  text_put_int(&text, 0);
  ck_assert(str_is(text_str(&text), "abc:-92233720368547758080"));
  ck_assert_str_eq(text_c_string(&text), "abc:-92233720368547758080");
  arena_free(arena);
}
END_TEST

START_TEST(takes_what_is_written) {
  Arena *arena = arena_new(NULL);
  TextBuffer text = {.arena = arena};
  ck_assert_int_eq(text_take(&text, "one, ", 5), 0);
  ck_assert_int_eq(text_take(&text, NULL, 0), 0);
  ck_assert_int_eq(text_take(&text, "two", 3), 0);
  ck_assert_int_ne(text_take(&text, "three", (size_t)UINT32_MAX), 0);
  ck_assert(str_is(text_str(&text), "one, two"));
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("text_buffer");
  TCase *tc = tcase_create("text_buffer");
  tcase_add_test(tc, pieces_stand_one_behind_the_other);
  tcase_add_test(tc, takes_what_is_written);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
