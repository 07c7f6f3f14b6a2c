#include "emit/human.h"

static char *put_decimal(char *end, uint64_t value) {
  do {
    *--end = (char)('0' + value % 10);
    value /= 10;
  } while (value);
  return end;
}

static uint64_t magnitude_of(int64_t value) {
  return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

Str decimal_text(int64_t value, char room[DECIMAL_CHARS]) {
  char *end = room + DECIMAL_CHARS, *begin = put_decimal(end, magnitude_of(value));
  if (value < 0) *--begin = '-';
  return (Str){begin, (uint32_t)(end - begin)};
}

static void append(HumanBytes *human, const char *text, size_t len) {
  memcpy(human->text + human->len, text, len + 1);
  human->len += (uint32_t)len;
}

HumanBytes human_bytes(int64_t bytes) {
  static const char units[7][5] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
  uint64_t value = magnitude_of(bytes), hundredths = value * 100;
  uint32_t unit = 0;
  if (value >= 1024) {
    for (unit = 1; value >= UINT64_C(1) << 20; unit++)
      value >>= 10;
    hundredths = (value * 100 + 512) >> 10;
  }
  if (hundredths >= 102400) { /* 1023.999 KiB are 1.00 MiB, not 1024.00 KiB */
    hundredths = 100;
    unit++;
  }
  HumanBytes human = {.len = 0};
  char room[24], *end = room + sizeof room - 1, *begin = end;
  *end = '\0';
  if (unit) {
    begin = put_decimal(begin, 100 + hundredths % 100);
    *begin = '.';
  }
  begin = put_decimal(begin, hundredths / 100);
  if (bytes < 0) *--begin = '-';
  append(&human, begin, (size_t)(end - begin));
  append(&human, units[unit], strlen(units[unit]));
  return human;
}

HumanBytes human_count(uint64_t count) {
  char room[32], *end = room + sizeof room - 1, *begin = end;
  *end = '\0';
  for (; count >= 1000; count /= 1000) {
    begin = put_decimal(begin, 1000 + count % 1000);
    *begin = ',';
  }
  begin = put_decimal(begin, count);
  HumanBytes human = {.len = 0};
  append(&human, begin, (size_t)(end - begin));
  return human;
}

Str human_part(const ShapeTable *shapes, ShapeId shape, uint32_t part, Arena *out) {
  if (part == 0) return (Str){0};
  VEC(char) text = {0};
  char separator = '{';
  while (part != 0) {
    const Shape *tuple = shape_get(shapes, shape);
    uint32_t element = shape_element_of_part(tuple, part);
    char room[DECIMAL_CHARS];
    Str digits = decimal_text(element, room);
    *vec_push(out, &text) = separator;
    memcpy(vec_extend(out, &text, digits.len), digits.data, digits.len);
    separator = ',';
    part -= tuple->element_offsets[element];
    shape = tuple->elements[element];
  }
  *vec_push(out, &text) = '}';
  return (Str){text.data, text.len};
}

/* ---- text ---- */

/* Bytes of the UTF-8 sequence at `text`, 0 when there is none: no overlong forms, no surrogates. */
static uint32_t utf8_length(const unsigned char *text, uint32_t len) {
  unsigned char lead = text[0];
  if (lead < 0x80) return lead != 0;
  uint32_t length = lead >= 0xC2 && lead < 0xE0   ? 2
                    : lead >= 0xE0 && lead < 0xF0 ? 3
                    : lead >= 0xF0 && lead < 0xF5 ? 4
                                                  : 0;
  if (length == 0 || length > len) return 0;
  for (uint32_t i = 1; i < length; i++) {
    if ((text[i] & 0xC0) != 0x80) return 0;
  }
  if (lead == 0xE0 && text[1] < 0xA0) return 0;
  if (lead == 0xED && text[1] >= 0xA0) return 0;
  if (lead == 0xF0 && text[1] < 0x90) return 0;
  if (lead == 0xF4 && text[1] >= 0x90) return 0;
  return length;
}

/* The length of the valid beginning of a text. Names are ASCII: eight bytes a step find no sign bit
 * and no zero in them. */
static uint32_t valid_length(Str text) {
  const uint64_t ones = UINT64_C(0x0101010101010101), signs = ones << 7;
  uint32_t pos = 0;
  while (pos < text.len) {
    uint64_t word;
    if (text.len - pos >= sizeof word) {
      memcpy(&word, text.data + pos, sizeof word);
      if (((word | (word - ones)) & signs) == 0) {
        pos += (uint32_t)sizeof word;
        continue;
      }
    }
    uint32_t length = utf8_length((const unsigned char *)text.data + pos, text.len - pos);
    if (length == 0) break;
    pos += length;
  }
  return pos;
}

Str human_utf8(Str text, Arena *out) {
  const unsigned char *bytes = (const unsigned char *)text.data;
  uint32_t pos = valid_length(text);
  if (pos == text.len) return text;
  VEC(char) clean = {0};
  if (pos) memcpy(vec_extend(out, &clean, pos), text.data, pos);
  while (pos < text.len) {
    uint32_t length = utf8_length(bytes + pos, text.len - pos);
    if (length) {
      memcpy(vec_extend(out, &clean, length), text.data + pos, length);
      pos += length;
    } else {
      memcpy(vec_extend(out, &clean, 3u), "\xEF\xBF\xBD", 3);
      pos++;
    }
  }
  return (Str){clean.data, clean.len};
}

static int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 16;
}

/* The number at `*pos` in the given base, at most `max_digits` long. */
static uint32_t scan_number(Str raw, uint32_t *pos, int base, int max_digits) {
  uint32_t value = 0;
  for (int i = 0; i < max_digits && *pos < raw.len && digit_value(raw.data[*pos]) < base; i++) {
    value = value * (uint32_t)base + (uint32_t)digit_value(raw.data[(*pos)++]);
  }
  return value;
}

static uint32_t put_utf8(char *to, uint32_t rune) {
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

/* The escape behind a backslash (absl::CUnescape); an escape is never shorter than what it means.
 */
static uint32_t put_escape(char *to, Str raw, uint32_t *pos) {
  static const char letters[] = "abfnrtv", meanings[] = "\a\b\f\n\r\t\v";
  char c = raw.data[*pos];
  const char *letter = c ? strchr(letters, c) : NULL;
  if (c >= '0' && c <= '7') {
    to[0] = (char)scan_number(raw, pos, 8, 3);
    return 1;
  }
  ++*pos;
  if (c == 'x' || c == 'X') {
    to[0] = (char)scan_number(raw, pos, 16, INT32_MAX);
    return 1;
  }
  if (c == 'u') return put_utf8(to, scan_number(raw, pos, 16, 4));
  if (c == 'U') return put_utf8(to, scan_number(raw, pos, 16, 8));
  to[0] = letter ? meanings[letter - letters] : c;
  return 1;
}

Str human_unescape(Str raw, Arena *out) {
  if (raw.len == 0 || !memchr(raw.data, '\\', raw.len)) return human_utf8(raw, out);
  char *text = arena_array(out, char, raw.len + 4);
  uint32_t len = 0;
  for (uint32_t pos = 0; pos < raw.len;) {
    char c = raw.data[pos++];
    if (c == '\\' && pos < raw.len) {
      len += put_escape(text + len, raw, &pos);
    } else {
      text[len++] = c;
    }
  }
  return human_utf8((Str){text, len}, out);
}

/* ---- places ---- */

SourcePlace human_source_place(const Module *module, InstId id, Arena *out) {
  SourcePlace place = source_place_of(module, id);
  place.op_name = human_unescape(place.op_name, out);
  place.file = human_unescape(place.file, out);
  return place;
}
