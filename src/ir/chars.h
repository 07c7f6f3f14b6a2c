/* Characters of ASCII, and numbers and runes as text: the same in every locale. */
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

/* What parts words within a line. */
static inline bool char_is_blank(char c) {
  return c == ' ' || c == '\t';
}

/* What HLO text and JSON take for nothing between words. */
static inline bool char_is_space(char c) {
  return char_is_blank(c) || c == '\n' || c == '\r';
}

/* What a hexadecimal digit counts, -1 for any other character. */
static inline int char_hex_value(char c) {
  if (char_is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* Writes a rune in UTF-8. Returns how many bytes that took, at most 4. */
uint32_t utf8_put(char *to, uint32_t rune);

/* Writes the digits of `value` before `end`. Returns where they begin. */
char *decimal_put(char *end, uint64_t value);

/* A number in decimal, as snprintf would, but without its cost: logs have many. The text ends where
 * `room` ends. */
enum { DECIMAL_CHARS = 20 };
Str decimal_text(int64_t value, char room[DECIMAL_CHARS]);

#endif
