#include "emit/dot/text.h"

#include "emit/human.h"

enum { MAX_TOOLTIP_CHARS = 500, MAX_ID_CHARS = 4000 };

/* Back to the beginning of a UTF-8 sequence. */
static uint32_t sequence_begin(Str text, uint32_t pos) {
  while (pos > 0 && pos < text.len && ((unsigned char)text.data[pos] & 0xC0) == 0x80)
    pos--;
  return pos;
}

/* For HTML-like labels; what is between " in them, too. escStrings know entities as well. */
void dot_put_html(TextBuffer *text, Str raw) {
  Str clean = human_utf8(raw, text->arena);
  for (uint32_t i = 0; i < clean.len; i++) {
    char c = clean.data[i];
    switch (c) {
      case '&': text_put(text, "&amp;"); break;
      case '<': text_put(text, "&lt;"); break;
      case '>': text_put(text, "&gt;"); break;
      case '"': text_put(text, "&quot;"); break;
      default: text_put_char(text, (unsigned char)c < 0x20 ? ' ' : c);
    }
  }
}

/* For an escString: a backslash would begin an escape. */
void dot_put_escaped(TextBuffer *text, Str raw) {
  bool is_long = raw.len > MAX_TOOLTIP_CHARS;
  if (is_long) raw.len = sequence_begin(raw, MAX_TOOLTIP_CHARS);
  TextBuffer html = {.arena = text->arena};
  dot_put_html(&html, raw);
  for (uint32_t i = 0; i < html.chars.len; i++) {
    if (html.chars.data[i] == '\\') text_put(text, "\\");
    text_put_char(text, html.chars.data[i]);
  }
  if (is_long) text_put(text, "\xE2\x80\xA6");
}

void dot_put_size(TextBuffer *text, int64_t bytes) {
  text_put(text, human_bytes(bytes).text);
}

void dot_put_count(TextBuffer *text, uint64_t count) {
  text_put(text, human_count(count).text);
}

/* Names end in what tells them apart, so it is the middle of a long one that is left out. */
void dot_put_shortened(TextBuffer *text, Str name, uint32_t max_chars) {
  if (name.len == 0) name = STR("(no name)"); /* <B></B> is an error */
  if (name.len <= max_chars) {
    dot_put_html(text, name);
    return;
  }
  uint32_t head = sequence_begin(name, max_chars * 2 / 3);
  uint32_t tail = sequence_begin(name, name.len - max_chars / 3 + 1);
  dot_put_html(text, (Str){name.data, head});
  text_put(text, "\xE2\x80\xA6"); /* … */
  dot_put_html(text, (Str){name.data + tail, name.len - tail});
}

void dot_put_path(TextBuffer *text, Str path) {
  uint32_t begin = 0;
  for (uint32_t i = 0; i < path.len && path.len - begin > DOT_NAME_CHARS; i++) {
    if (path.data[i] == '/' || (path.data[i] == '[' && i > 0)) begin = i;
  }
  if (begin > 0) text_put(text, "\xE2\x80\xA6");
  dot_put_shortened(text, (Str){path.data + begin, path.len - begin}, DOT_NAME_CHARS);
}

/* Long names of parameters differ in the middle: they get two lines. */
void dot_put_name_lines(TextBuffer *text, Str name) {
  if (name.len <= DOT_NAME_CHARS) {
    dot_put_shortened(text, name, DOT_NAME_CHARS);
    return;
  }
  uint32_t half = name.len <= 2 * DOT_NAME_CHARS ? (name.len + 1) / 2 : DOT_NAME_CHARS;
  half = sequence_begin(name, half);
  dot_put_html(text, (Str){name.data, half});
  text_put(text, "<BR/>");
  dot_put_shortened(text, (Str){name.data + half, name.len - half}, DOT_NAME_CHARS);
}

char *dot_name(const char *prefix, Str name, Arena *out) {
  Str clean = human_utf8(name, out);
  if (clean.len > MAX_ID_CHARS) clean.len = sequence_begin(clean, MAX_ID_CHARS);
  TextBuffer text = {.arena = out};
  text_put(&text, prefix);
  for (uint32_t i = 0; i < clean.len; i++) {
    if (clean.data[i] == '\\') text_put(&text, "\\");
    text_put_char(&text, clean.data[i]);
  }
  return text_c_string(&text);
}
