#include "ir/chars.h"

uint32_t utf8_put(char *to, uint32_t rune) {
  if (rune < 0x80) {
    to[0] = (char)rune;
    return 1;
  }
  uint32_t length = rune < 0x800 ? 2 : rune < 0x10000 ? 3 : 4;
  static const unsigned char leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
  for (uint32_t i = length - 1; i > 0; i--, rune >>= 6)
    to[i] = (char)(0x80 | (rune & 0x3F));
  to[0] = (char)(leads[length] | rune);
  return length;
}

char *decimal_put(char *end, uint64_t value) {
  do {
    *--end = (char)('0' + value % 10);
    value /= 10;
  } while (value);
  return end;
}

Str decimal_text(int64_t value, char room[DECIMAL_CHARS]) {
  uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
  char *end = room + DECIMAL_CHARS, *begin = decimal_put(end, magnitude);
  if (value < 0) *--begin = '-';
  return (Str){begin, (uint32_t)(end - begin)};
}
