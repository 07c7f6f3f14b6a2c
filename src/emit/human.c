#include "emit/human.h"

#include "ir/chars.h"
#include "ir/text_buffer.h"

static uint64_t magnitude_of(int64_t value) {
  return value < 0 ? -(uint64_t)value : (uint64_t)value;
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
    begin = decimal_put(begin, 100 + hundredths % 100);
    *begin = '.';
  }
  begin = decimal_put(begin, hundredths / 100);
  if (bytes < 0) *--begin = '-';
  append(&human, begin, (size_t)(end - begin));
  append(&human, units[unit], strlen(units[unit]));
  return human;
}

HumanBytes human_count(uint64_t count) {
  char room[32], *end = room + sizeof room - 1, *begin = end;
  *end = '\0';
  for (; count >= 1000; count /= 1000) {
    begin = decimal_put(begin, 1000 + count % 1000);
    *begin = ',';
  }
  begin = decimal_put(begin, count);
  HumanBytes human = {.len = 0};
  append(&human, begin, (size_t)(end - begin));
  return human;
}

Str human_part(const ShapeTable *shapes, ShapeId shape, uint32_t part, Arena *out) {
  if (part == 0) return (Str){0};
  TextBuffer text = {.arena = out};
  char separator = '{';
  while (part != 0) {
    const Shape *tuple = shape_get(shapes, shape);
    uint32_t element = shape_element_of_part(tuple, part);
    text_put_char(&text, separator);
    text_put_int(&text, element);
    separator = ',';
    part -= tuple->element_offsets[element];
    shape = tuple->elements[element];
  }
  text_put_char(&text, '}');
  return text_str(&text);
}

/* ---- text ---- */

/* Returns the number of bytes of the UTF-8 sequence at `text`, or 0 if there is none. Overlong
 * forms and surrogates are invalid. */
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

/* Returns the length of the valid beginning of a text. Names are mostly ASCII, so it checks eight
 * bytes at a time for a sign bit and for zero. */
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
  TextBuffer clean = {.arena = out};
  text_put_bytes(&clean, text.data, pos);
  while (pos < text.len) {
    uint32_t length = utf8_length(bytes + pos, text.len - pos);
    if (length) {
      text_put_bytes(&clean, text.data + pos, length);
      pos += length;
    } else {
      text_put(&clean, "\xEF\xBF\xBD");
      pos++;
    }
  }
  return text_str(&clean);
}

/* Reads the number at `*pos` in the given base, with at most `max_digits` digits. */
static uint32_t scan_number(Str raw, uint32_t *pos, int base, int max_digits) {
  uint32_t value = 0;
  for (int i = 0; i < max_digits && *pos < raw.len; i++) {
    int digit = char_hex_value(raw.data[*pos]);
    if (digit < 0 || digit >= base) break;
    value = value * (uint32_t)base + (uint32_t)digit;
    ++*pos;
  }
  return value;
}

/* Resolves the escape after a backslash (absl::CUnescape). An escape is never shorter than its
 * value. */
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
  if (c == 'u') return utf8_put(to, scan_number(raw, pos, 16, 4));
  if (c == 'U') return utf8_put(to, scan_number(raw, pos, 16, 8));
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
