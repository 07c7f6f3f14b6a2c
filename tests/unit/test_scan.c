#include "text/scan.h"

#include <stdlib.h>

#include "support.h"

/* Wherever the stop is, whatever lies before it, and however near the end of the memory. */
START_TEST(words_stop_at_each_other_byte) {
  for (int byte = 0; byte < 256; byte++) {
    for (uint32_t len = 0; len < 40; len++) {
      char *text = malloc(len + 1);
      memset(text, "a_Z9.-"[len % 6], len);
      text[len] = (char)byte;
      uint32_t expected = len + scan_is_word((char)byte);
      ck_assert_msg(scan_word(text, 0, len + 1) == expected, "byte %d at %u", byte, len);
      ck_assert_uint_eq(scan_word(text, 0, len), len);
      free(text);
    }
  }
}
END_TEST

START_TEST(word_bytes_are_those_of_names) {
  for (int byte = 0; byte < 256; byte++) {
    bool expected = byte != 0 && strchr(
                                     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789_.-",
                                     byte);
    ck_assert_msg(scan_is_word((char)byte) == expected, "byte %d", byte);
    char text[16];
    memset(text, byte, sizeof text);
    ck_assert_msg(scan_word(text, 0, 16) == (expected ? 16u : 0u), "byte %d", byte);
  }
}
END_TEST

START_TEST(strings_stop_at_what_needs_a_look) {
  static const char stops[] = {'"', '\\', (char)0x80, (char)0xff};
  for (size_t s = 0; s < sizeof stops; s++) {
    for (uint32_t len = 0; len < 40; len++) {
      char *text = malloc(len + 1);
      for (uint32_t i = 0; i < len; i++)
        text[i] = "a'\x01 \x7f/"[i % 6];
      text[len] = stops[s];
      ck_assert_uint_eq(scan_plain_string(text, 0, len + 1, '"'), len);
      ck_assert_uint_eq(scan_plain_string(text, 0, len, '"'), len);
      free(text);
    }
  }
  ck_assert_uint_eq(scan_plain_string("a\"b'c", 0, 5, '\''), 3);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("scan");
  TCase *tc = tcase_create("scan");
  tcase_add_test(tc, words_stop_at_each_other_byte);
  tcase_add_test(tc, word_bytes_are_those_of_names);
  tcase_add_test(tc, strings_stop_at_what_needs_a_look);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
