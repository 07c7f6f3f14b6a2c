#include "ir/text_buffer.h"

#include "ir/chars.h"

void text_put_bytes(TextBuffer *text, const char *data, uint32_t len) {
  if (len) memcpy(vec_extend(text->arena, &text->chars, len), data, len);
}

void text_put(TextBuffer *text, const char *literal) {
  text_put_bytes(text, literal, (uint32_t)strlen(literal));
}

void text_put_int(TextBuffer *text, int64_t value) {
  char room[DECIMAL_CHARS];
  text_put_str(text, decimal_text(value, room));
}

char *text_c_string(TextBuffer *text) {
  text_put_char(text, '\0');
  return text->chars.data;
}

int text_take(void *context, const char *data, size_t length) {
  TextBuffer *text = context;
  if (length > UINT32_MAX - text->chars.len) return -1;
  text_put_bytes(text, data, (uint32_t)length);
  return 0;
}
