#include "analysis/range/literal_range.h"

#include "ir/chars.h"

typedef struct Reader {
  const char *at, *end;
  bool is_float;
} Reader;

/* Skips blanks, braces, commas and comments. False if a comment does not end. */
static bool skip_to_number(Reader *reader) {
  for (; reader->at < reader->end; reader->at++) {
    if (*reader->at == '/') {
      if (reader->end - reader->at < 4 || reader->at[1] != '*') return false;
      reader->at += 2;
      while (reader->end - reader->at > 1 && !(reader->at[0] == '*' && reader->at[1] == '/'))
        reader->at++;
      if (reader->end - reader->at < 2) return false;
      reader->at++;
    } else if (!strchr(" \t\r\n{},", *reader->at)) {
      break;
    }
  }
  return true;
}

static bool at_word(Reader *reader, const char *word) {
  size_t len = strlen(word);
  if ((size_t)(reader->end - reader->at) < len || memcmp(reader->at, word, len) != 0) return false;
  reader->at += len;
  return true;
}

/* `12`, `-3`, `4.00`, `true`; not `1e3`, `0.5`, `inf`, `-0.0`. */
static bool read_integer(Reader *reader, int64_t *value) {
  bool is_true = at_word(reader, "true");
  *value = is_true;
  if (is_true || at_word(reader, "false")) return true;
  bool is_negative = at_word(reader, "-");
  const char *digits = reader->at;
  for (; reader->at < reader->end && char_is_digit(*reader->at); reader->at++) {
    int64_t digit = *reader->at - '0';
    if (!mul_bytes(*value, 10, value)) return false;
    if (!add_bytes(*value, is_negative ? -digit : digit, value)) return false;
  }
  bool is_number = reader->at > digits;
  if (is_number && reader->at < reader->end && *reader->at == '.') {
    for (reader->at++; reader->at < reader->end && *reader->at == '0'; reader->at++)
      continue;
  }
  bool ends = reader->at == reader->end || strchr(" \t\r\n},/", *reader->at);
  return is_number && ends && !(reader->is_float && is_negative && *value == 0);
}

ValueRange literal_range(const Module *module, InstId id) {
  const Shape *shape = inst_shape(module, id);
  InstId origin = inst_get(module, id)->origin;
  bool is_elided = inst_get(module, id)->flags & INST_ELIDED_LITERAL;
  if (is_elided || origin >= module->source->insts.len) return UNKNOWN_RANGE;
  const InstSource *source = &module->source->insts.data[origin];
  if (source->close - source->paren > MAX_LITERAL_CHARS) return UNKNOWN_RANGE;
  const char *text = module->source->text;
  Reader reader = {text + source->paren + 1, text + source->close,
                   type_info((ElementType)shape->type)->class == TYPE_CLASS_FLOAT};
  ValueRange range = {INT64_MAX, INT64_MIN};
  int64_t count = 0;
  for (;; count++) {
    if (!skip_to_number(&reader)) return UNKNOWN_RANGE;
    int64_t value;
    if (reader.at == reader.end) break;
    if (!read_integer(&reader, &value)) return UNKNOWN_RANGE;
    if (shape->type == TYPE_PRED) value = value != 0;
    if (value < range.low) range.low = value;
    if (value > range.high) range.high = value;
  }
  /* If there are fewer numbers than elements, XLA leaves the other elements unset. */
  return count > 0 && count == shape->num_elements ? range : UNKNOWN_RANGE;
}
