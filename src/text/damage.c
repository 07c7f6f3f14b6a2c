#include "text/damage.h"

#include <stdbool.h>
#include <string.h>

#include "ir/chars.h"
#include "ir/diag.h"

static uint32_t line_begin(Str text, uint32_t pos) {
  while (pos > 0 && text.data[pos - 1] != '\n')
    pos--;
  return pos;
}

static uint32_t line_end(Str text, uint32_t pos) {
  const char *newline = memchr(text.data + pos, '\n', text.len - pos);
  return newline ? (uint32_t)(newline - text.data) : text.len;
}

static bool has_at(Str text, uint32_t pos, const char *word) {
  size_t len = strlen(word);
  return text.len - pos >= len && memcmp(text.data + pos, word, len) == 0;
}

/* ---- text before the module ---- */

/* Returns where a header seems to begin, in the line of `pos` or in a later one. Returns the end of
 * the text if there is none. */
static uint32_t find_header(Str text, uint32_t pos) {
  /* HloModule after one of these characters does not begin a module. */
  static const char before[] = "\"'/%_=.-";
  while (pos < text.len) {
    const char *found = memchr(text.data + pos, 'H', text.len - pos);
    if (!found) break;
    pos = (uint32_t)(found - text.data);
    bool is_inside = pos > 0 && strchr(before, text.data[pos - 1]);
    if (!is_inside && (has_at(text, pos, "HloModule ") || has_at(text, pos, "HloModule\x1b"))) {
      return pos;
    }
    pos++;
  }
  return text.len;
}

static const char *name_prefix(Str prefix) {
  uint32_t i = 0;
  while (i < prefix.len && (char_is_digit(prefix.data[i]) || prefix.data[i] == ' '))
    i++;
  if (memchr(prefix.data, '\x1b', prefix.len)) {
    return "the text has the colour codes of a terminal: remove them";
  }
  if (prefix.data[0] == '>') return "lines begin with '>', as quoted mail does: remove it";
  if (char_is_digit(prefix.data[0]) && (i == prefix.len || (i + 1 == prefix.len))) {
    return "lines begin with their numbers: remove them";
  }
  return "a prefix stands before HloModule, as loggers write it: remove it from all lines";
}

static Damage find_prefix(Str text, uint32_t offset) {
  uint32_t header = find_header(text, line_begin(text, offset));
  if (header == text.len) return (Damage){0};
  uint32_t begin = line_begin(text, header);
  while (begin < header && char_is_blank(text.data[begin]))
    begin++;
  if (has_at(text, begin, "//") || has_at(text, begin, "/*")) return (Damage){0};
  if (begin == header) {
    return (Damage){"what stands before HloModule is no HLO: remove it", offset, header};
  }
  return (Damage){name_prefix((Str){text.data + begin, header - begin}), begin, NO_OFFSET};
}

/* ---- text within the module ---- */

static bool is_conflict(Str text, uint32_t pos) {
  static const char *const markers[] = {"<<<<<<< ", "=======\n", "=======\r", "||||||| ",
                                        ">>>>>>> "};
  bool begins_line = pos == 0 || text.data[pos - 1] == '\n';
  for (size_t i = 0; begins_line && i < sizeof markers / sizeof *markers; i++) {
    if (has_at(text, pos, markers[i])) return true;
  }
  return false;
}

Damage damage_find(Str text, uint32_t offset, bool has_begun) {
  if (offset >= text.len) return (Damage){0};
  Damage prefix = has_begun ? (Damage){0} : find_prefix(text, offset);
  if (prefix.message) return prefix;
  if (text.data[offset] == '\x1b') {
    return (Damage){"the text has the colour codes of a terminal: remove them", offset, NO_OFFSET};
  }
  if (!is_conflict(text, offset)) return (Damage){0};
  return (Damage){"the text has the conflict markers of a merge: resolve them", offset, NO_OFFSET};
}

/* ---- wrapped lines ---- */

/* Returns true if `pos` is in the last word of the line that ends at `end`. */
static bool is_last_word(Str text, uint32_t pos, uint32_t end) {
  while (pos < end && !strchr(" \t,", text.data[pos]))
    pos++;
  return pos >= end;
}

uint32_t damage_wrap_column(Str text, uint32_t offset) {
  enum { LEAST_COLUMN = 40, LEAST_LINES = 3 };
  if (offset >= text.len) return 0;
  uint32_t begin = line_begin(text, offset), width = line_end(text, offset) - begin;
  if (offset == begin && begin > 0) { /* the token at `offset` is wrong because of the line above */
    width = begin - 1 - line_begin(text, begin - 1);
  } else if (!is_last_word(text, offset, begin + width)) {
    return 0;
  }
  if (width < LEAST_COLUMN) return 0;
  uint32_t num_lines = 0;
  for (uint32_t pos = 0; pos < text.len;) {
    uint32_t end = line_end(text, pos);
    if (end - pos > width) return 0;
    num_lines += end - pos == width;
    pos = end + 1;
  }
  return num_lines >= LEAST_LINES ? width : 0;
}
