#include <stdarg.h>
#include <stdio.h>

#include "emit/proto/print.h"
#include "ir/chars.h"

void print_refuse(Printer *printer, const char *format, ...) {
  if (printer->refusal) return;
  char message[256];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(message, sizeof message, format, args);
  va_end(args);
  printer->refusal = arena_strndup(
      printer->arena, message, length < (int)sizeof message ? (size_t)length : sizeof message - 1);
}

void print_malformed(Printer *printer) {
  printer->is_malformed = true;
  print_refuse(printer, "the bytes are not an HloModuleProto");
}

void *print_read(Printer *printer, const ProtobufCMessageDescriptor *type, Bytes data, Arena *out) {
  ProtobufCMessage *message = message_read(type, data, out);
  if (!message)
    print_malformed(printer);
  else
    print_known(printer, message);
  return message;
}

void print_known(Printer *printer, const ProtobufCMessage *message) {
  if (message && message->n_unknown_fields)
    print_refuse(printer, "field %u of %s is not known", (unsigned)message->unknown_fields[0].tag,
                 message->descriptor->short_name);
}

Bytes print_keep(Printer *printer, Bytes data) {
  Bytes kept = {.len = data.len, .data = arena_alloc(printer->arena, data.len)};
  if (data.len) memcpy(kept.data, data.data, data.len);
  return kept;
}

void print_ints(TextBuffer *text, const int64_t *values, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (i) text_put_char(text, ',');
    text_put_int(text, values[i]);
  }
}

void print_key_ints(TextBuffer *text, const char *key, const int64_t *values, size_t count) {
  text_put(text, key);
  text_put_char(text, '{');
  print_ints(text, values, count);
  text_put_char(text, '}');
}

void print_key_int(TextBuffer *text, const char *key, int64_t value) {
  text_put(text, key);
  text_put_int(text, value);
}

void print_separator(TextBuffer *text, size_t index) {
  if (index == 0) return;
  text_put(text, ", ");
  if (index % 5) return;
  print_key_int(text, "/*index=", (int64_t)index);
  text_put(text, "*/");
}

void print_word(Printer *printer, TextBuffer *text, const char *key, AttrKind kind, int32_t value) {
  bool ignores_case;
  const char *const *words = attribute_enum_words(kind, &ignores_case);
  for (int32_t i = 0; words[i]; i++) {
    if (i != value) continue;
    text_put(text, key);
    text_put(text, words[i]);
    return;
  }
  print_refuse(printer, "%s%d is not known", key, (int)value);
}

static bool is_plain(char c) {
  return c >= 0x20 && c < 0x7f && c != '"' && c != '\'' && c != '\\';
}

static void put_escape(TextBuffer *text, unsigned char c) {
  text_put_char(text, '\\');
  switch (c) {
    case '\n': text_put_char(text, 'n'); break;
    case '\r': text_put_char(text, 'r'); break;
    case '\t': text_put_char(text, 't'); break;
    case '"':
    case '\'':
    case '\\': text_put_char(text, (char)c); break;
    default:
      text_put_char(text, (char)('0' + (c >> 6)));
      text_put_char(text, (char)('0' + (c >> 3 & 7)));
      text_put_char(text, (char)('0' + (c & 7)));
  }
}

void print_escaped(TextBuffer *text, Bytes value) {
  const char *data = (const char *)value.data;
  size_t begin = 0;
  for (size_t i = 0; i < value.len; i++) {
    if (is_plain(data[i])) continue;
    text_put_bytes(text, data + begin, (uint32_t)(i - begin));
    put_escape(text, value.data[i]);
    begin = i + 1;
  }
  if (begin < value.len) text_put_bytes(text, data + begin, (uint32_t)(value.len - begin));
}

/* Returns the place after the string that begins at `at`, or 0 if it does not end, or not as XLA's
 * expression has it. */
static size_t string_end(Bytes value, size_t at) {
  for (size_t i = at + 1; i < value.len; i++) {
    if (value.data[i] == '"') return i + 1;
    if (value.data[i] == '\\' && (++i == value.len || value.data[i] == '\n')) return 0;
  }
  return 0;
}

/* HloLexer::LexJsonDict: braces that match, but for those in strings. */
static bool is_dict(Bytes value) {
  size_t depth = 0;
  for (size_t i = 0; i < value.len;) {
    if (value.data[i] == '"') {
      i = string_end(value, i);
      if (i == 0) return false;
      continue;
    }
    if (value.data[i] == '{') depth++;
    if (value.data[i] == '}') depth--;
    i++;
    if (depth == 0) return i == value.len;
  }
  return false;
}

/* What XLA's lexer skips before and after a dictionary, and what its expression does not match
 * unless it is UTF-8. */
static bool is_hard_to_tell(Bytes value) {
  char first = (char)value.data[0];
  char last = (char)value.data[value.len - 1];
  if (char_is_space(first) || first == '/') return true;
  if (first != '{') return false;
  for (size_t i = 0; i < value.len; i++) {
    if (value.data[i] >= 0x80) return true;
  }
  return char_is_space(last) || !is_dict(value);
}

void print_config(Printer *printer, TextBuffer *text, Bytes value) {
  bool is_text = value.len == 0 || value.data[0] != '{';
  if (value.len && is_hard_to_tell(value))
    print_refuse(printer, "a value may be a dictionary or not");
  if (is_text) text_put_char(text, '"');
  if (is_text)
    print_escaped(text, value);
  else
    text_put_bytes(text, (const char *)value.data, (uint32_t)value.len);
  if (is_text) text_put_char(text, '"');
}

static bool is_type_word(Bytes name) {
  for (ElementType type = 0; type < NUM_TYPES; type++) {
    if (str_is(bytes_str(name), type_info(type)->text)) return true;
  }
  return false;
}

/* NameUniquer::GetSanitizedName returns the same name. */
static bool is_clean(Bytes name) {
  const char *data = (const char *)name.data;
  bool is_one_word = true;
  if (name.len == 0 || name.len > UINT16_MAX) return false;
  if (!char_is_letter(data[0]) && data[0] != '_') return false;
  for (size_t i = 1; i < name.len; i++) {
    char c = data[i];
    if (char_is_letter(c) || char_is_digit(c)) continue;
    if (c != '_' && c != '.' && c != '-') return false;
    is_one_word = false;
  }
  if (data[0] == '_' && name.len > 1 && data[1] == '_')
    return str_begins_with(bytes_str(name), "__xla_");
  return !is_one_word || name.len > 13 || !is_type_word(name);
}

void print_name(Printer *printer, TextBuffer *text, Bytes name) {
  if (!is_clean(name)) print_refuse(printer, "XLA would change the name of something");
  text_put_bytes(text, (const char *)name.data, (uint32_t)name.len);
}
