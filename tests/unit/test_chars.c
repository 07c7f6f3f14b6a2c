#include "ir/chars.h"

#include "support.h"

static bool is(Str text, const char *expected) {
  return str_is(text, expected);
}

static const struct {
  const char *chars, *name;
  bool (*holds)(char c);
} classes[] = {
    {"0123456789", "digit", char_is_digit},
    {"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "letter", char_is_letter},
    {" \t", "blank", char_is_blank},
    {" \t\n\r", "space", char_is_space},
};

START_TEST(classes_hold_their_characters) {
  for (int c = 0; c < 256; c++) {
    bool expected = c != 0 && strchr(classes[_i].chars, c);
    ck_assert_msg(classes[_i].holds((char)c) == expected, "%s: character %d", classes[_i].name, c);
  }
}
END_TEST

START_TEST(hexadecimal_digits_have_values) {
  static const char low[] = "0123456789abcdef", high[] = "0123456789ABCDEF";
  for (int c = 0; c < 256; c++) {
    const char *digit = c ? strchr(low, c) : NULL;
    const char *capital = c ? strchr(high, c) : NULL;
    int expected = digit ? (int)(digit - low) : capital ? (int)(capital - high) : -1;
    ck_assert_msg(char_hex_value((char)c) == expected, "character %d", c);
  }
}
END_TEST

static const struct {
  uint32_t rune;
  const char *bytes;
} runes[] = {
    {0x7F, "\x7F"},           {0x80, "\xC2\x80"},
    {0x7FF, "\xDF\xBF"},      {0x800, "\xE0\xA0\x80"},
    {0xFFFF, "\xEF\xBF\xBF"}, {0x10000, "\xF0\x90\x80\x80"},
    {0x2026, "\xE2\x80\xA6"}, {0x10FFFF, "\xF4\x8F\xBF\xBF"},
};

START_TEST(runes_are_written_in_utf8) {
  char room[4];
  uint32_t length = utf8_put(room, runes[_i].rune);
  ck_assert_msg(is((Str){room, length}, runes[_i].bytes), "U+%04X", runes[_i].rune);
}
END_TEST

START_TEST(decimals_are_exact) {
  char room[DECIMAL_CHARS];
  ck_assert(is(decimal_text(0, room), "0"));
  ck_assert(is(decimal_text(-7, room), "-7"));
  ck_assert(is(decimal_text(INT64_MAX, room), "9223372036854775807"));
  ck_assert(is(decimal_text(INT64_MIN, room), "-9223372036854775808"));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("chars");
  TCase *tc = tcase_create("chars");
  tcase_add_loop_test(tc, classes_hold_their_characters, 0, sizeof classes / sizeof *classes);
  tcase_add_test(tc, hexadecimal_digits_have_values);
  tcase_add_loop_test(tc, runes_are_written_in_utf8, 0, sizeof runes / sizeof *runes);
  tcase_add_test(tc, decimals_are_exact);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
