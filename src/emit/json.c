#include "emit/json.h"

#include "emit/human.h"
#include "ir/chars.h"

static bool is_plain(char c) {
  return (unsigned char)c >= 0x20 && c != '"' && c != '\\' && c != '<';
}

void json_string(Writer *out, const char *text, size_t length) {
  size_t begin = 0;
  write_text(out, "\"");
  for (size_t i = 0; i < length; i++) {
    if (is_plain(text[i])) continue;
    write_bytes(out, text + begin, i - begin);
    write_format(out, "\\u%04x", (unsigned)(unsigned char)text[i]);
    begin = i + 1;
  }
  if (begin < length) write_bytes(out, text + begin, length - begin);
  write_text(out, "\"");
}

void json_int(Writer *out, int64_t value) {
  char room[DECIMAL_CHARS];
  write_str(out, decimal_text(value, room));
}

void json_int_field(Writer *out, const char *key, int64_t value) {
  write_format(out, ",\"%s\":", key);
  json_int(out, value);
}

void json_string_field(Writer *out, const char *key, rh_text text) {
  write_format(out, ",\"%s\":", key);
  json_string(out, text.data, text.length);
}
