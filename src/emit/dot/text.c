#include "emit/dot/text.h"

#include "emit/human.h"

enum { MAX_TOOLTIP_CHARS = 500, MAX_ID_CHARS = 4000 };

void dot_put_bytes(DotText *text, const char *data, uint32_t len) {
  if (len) memcpy(vec_extend(text->arena, &text->chars, len), data, len);
}

void dot_put(DotText *text, const char *literal) {
  dot_put_bytes(text, literal, (uint32_t)strlen(literal));
}

char *dot_text_end(DotText *text) {
  *vec_push(text->arena, &text->chars) = '\0';
  return text->chars.data;
}

/* Back to the beginning of a UTF-8 sequence. */
static uint32_t sequence_begin(Str text, uint32_t pos) {
  while (pos > 0 && pos < text.len && ((unsigned char)text.data[pos] & 0xC0) == 0x80)
    pos--;
  return pos;
}

/* For HTML-like labels; what is between " in them, too. escStrings know entities as well. */
void dot_put_html(DotText *text, Str raw) {
  Str clean = human_utf8(raw, text->arena);
  for (uint32_t i = 0; i < clean.len; i++) {
    char c = clean.data[i];
    switch (c) {
      case '&': dot_put(text, "&amp;"); break;
      case '<': dot_put(text, "&lt;"); break;
      case '>': dot_put(text, "&gt;"); break;
      case '"': dot_put(text, "&quot;"); break;
      default: *vec_push(text->arena, &text->chars) = (unsigned char)c < 0x20 ? ' ' : c;
    }
  }
}

/* For an escString: a backslash would begin an escape. */
void dot_put_escaped(DotText *text, Str raw) {
  bool is_long = raw.len > MAX_TOOLTIP_CHARS;
  if (is_long) raw.len = sequence_begin(raw, MAX_TOOLTIP_CHARS);
  DotText html = {.arena = text->arena};
  dot_put_html(&html, raw);
  for (uint32_t i = 0; i < html.chars.len; i++) {
    if (html.chars.data[i] == '\\') dot_put(text, "\\");
    *vec_push(text->arena, &text->chars) = html.chars.data[i];
  }
  if (is_long) dot_put(text, "\xE2\x80\xA6");
}

void dot_put_size(DotText *text, int64_t bytes) {
  dot_put(text, human_bytes(bytes).text);
}

void dot_put_count(DotText *text, uint64_t count) {
  dot_put(text, human_count(count).text);
}

/* A number that somebody may search for, without commas. */
void dot_put_number(DotText *text, int64_t number) {
  char room[DECIMAL_CHARS];
  Str digits = decimal_text(number, room);
  dot_put_bytes(text, digits.data, digits.len);
}

/* Names end in what tells them apart, so it is the middle of a long one that is left out. */
void dot_put_shortened(DotText *text, Str name, uint32_t max_chars) {
  if (name.len == 0) name = STR("(no name)"); /* <B></B> is an error */
  if (name.len <= max_chars) {
    dot_put_html(text, name);
    return;
  }
  uint32_t head = sequence_begin(name, max_chars * 2 / 3);
  uint32_t tail = sequence_begin(name, name.len - max_chars / 3 + 1);
  dot_put_html(text, (Str){name.data, head});
  dot_put(text, "\xE2\x80\xA6"); /* … */
  dot_put_html(text, (Str){name.data + tail, name.len - tail});
}

void dot_put_path(DotText *text, Str path) {
  uint32_t begin = 0;
  for (uint32_t i = 0; i < path.len && path.len - begin > DOT_NAME_CHARS; i++) {
    if (path.data[i] == '/' || (path.data[i] == '[' && i > 0)) begin = i;
  }
  if (begin > 0) dot_put(text, "\xE2\x80\xA6");
  dot_put_shortened(text, (Str){path.data + begin, path.len - begin}, DOT_NAME_CHARS);
}

/* Long names of parameters differ in the middle: they get two lines. */
void dot_put_name_lines(DotText *text, Str name) {
  if (name.len <= DOT_NAME_CHARS) {
    dot_put_shortened(text, name, DOT_NAME_CHARS);
    return;
  }
  uint32_t half = name.len <= 2 * DOT_NAME_CHARS ? (name.len + 1) / 2 : DOT_NAME_CHARS;
  half = sequence_begin(name, half);
  dot_put_html(text, (Str){name.data, half});
  dot_put(text, "<BR/>");
  dot_put_shortened(text, (Str){name.data + half, name.len - half}, DOT_NAME_CHARS);
}

char *dot_name(const char *prefix, Str name, Arena *out) {
  Str clean = human_utf8(name, out);
  if (clean.len > MAX_ID_CHARS) clean.len = sequence_begin(clean, MAX_ID_CHARS);
  DotText text = {.arena = out};
  dot_put(&text, prefix);
  for (uint32_t i = 0; i < clean.len; i++) {
    if (clean.data[i] == '\\') dot_put(&text, "\\");
    *vec_push(out, &text.chars) = clean.data[i];
  }
  return dot_text_end(&text);
}
