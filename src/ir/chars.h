/* Classes of ASCII characters, and conversion of numbers and code points to text. Unlike the
 * functions of the C library, these do not depend on the locale. */
#ifndef REMAT_HLO_IR_CHARS_H
#define REMAT_HLO_IR_CHARS_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/ids.h"

static inline bool char_is_digit(char c) {
  return c >= '0' && c <= '9';
}

static inline bool char_is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Returns true for the characters that separate words within a line. */
static inline bool char_is_blank(char c) {
  return c == ' ' || c == '\t';
}

/* Returns true for the characters that HLO text and JSON ignore between words. */
static inline bool char_is_space(char c) {
  return char_is_blank(c) || c == '\n' || c == '\r';
}

/* Returns the value of a hexadecimal digit, or -1 for any other character. */
static inline int char_hex_value(char c) {
  if (char_is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* Writes a code point in UTF-8. Returns the number of bytes, at most 4. */
uint32_t utf8_put(char *to, uint32_t rune);

/* Writes the digits of `value` so that they end before `end`. Returns where they begin. */
char *decimal_put(char *end, uint64_t value);

/* Returns a number in decimal, like snprintf() but faster, because logs hold many numbers. The text
 * is the end of `room`. */
enum { DECIMAL_CHARS = 20 };
Str decimal_text(int64_t value, char room[DECIMAL_CHARS]);

#endif
