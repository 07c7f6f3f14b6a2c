#include "messages.h"

#include <stdio.h>
#include <string.h>

/* A line is shown up to this far to either side of the place. */
enum { SHOWN_BEFORE = 60, SHOWN_BEHIND = 60 };

/* Names in a message can be as long as the file. */
enum { MAX_MESSAGE = 500 };

static const char *severity_word(rh_severity severity) {
  switch (severity) {
    case RH_SEVERITY_ERROR: return "error";
    case RH_SEVERITY_WARNING: return "warning";
    case RH_SEVERITY_NOTE: return "note";
  }
  return "error";
}

static bool is_continuation(char c) {
  return ((unsigned char)c & 0xC0) == 0x80;
}

/* One character of the line, control characters made visible. Returns the columns that it takes. */
static int put_character(char c, FILE *out) {
  if (is_continuation(c)) {
    fputc(c, out);
    return 0;
  }
  fputc((unsigned char)c < ' ' || c == 0x7F ? (c == '\t' ? ' ' : '?') : c, out);
  return 1;
}

/* The source line around the place, and a caret below it; nothing when it is empty. */
static void print_line(const Input *input, size_t offset, FILE *out) {
  const char *text = input->text;
  size_t begin = offset, end = offset;
  while (begin > 0 && text[begin - 1] != '\n' && offset - begin < SHOWN_BEFORE)
    begin--;
  while (begin < offset && is_continuation(text[begin]))
    begin++;
  while (end < input->length && text[end] != '\n' && text[end] != '\r' &&
         end - offset < SHOWN_BEHIND) {
    end++;
  }
  while (end < input->length && is_continuation(text[end]))
    end++;
  if (begin == end) return;
  bool is_cut_before = begin > 0 && text[begin - 1] != '\n';
  bool is_cut_behind = end < input->length && text[end] != '\n' && text[end] != '\r';
  int caret = 0;
  fputs(is_cut_before ? "  ..." : "  ", out);
  for (size_t i = begin; i < end; i++) {
    int width = put_character(text[i], out);
    if (i < offset) caret += width;
  }
  fputs(is_cut_behind ? "...\n" : "\n", out);
  fprintf(out, "%*s^\n", caret + (is_cut_before ? 5 : 2), "");
}

static void print_place(const Input *input, size_t offset, FILE *out) {
  fputs(input->path, out);
  if (offset != RH_NO_OFFSET) {
    size_t line, column;
    rh_locate(input->text, input->length, offset, &line, &column);
    fprintf(out, ":%zu:%zu", line, column);
  }
}

/* It goes back to a bracket that was opened or to what was defined. */
static const char *opener_text(const Input *input, size_t offset) {
  bool is_bracket = offset < input->length && strchr("([{", input->text[offset]);
  return is_bracket ? "opened here" : "it is here";
}

void messages_print(const Input *input, const rh_diags *diags) {
  for (size_t i = 0; i < rh_diags_len(diags); i++) {
    rh_diag diag = rh_diags_get(diags, i);
    bool has_place = diag.offset != RH_NO_OFFSET && diag.offset <= input->length;
    print_place(input, has_place ? diag.offset : RH_NO_OFFSET, stderr);
    fprintf(stderr, ": %s: %.*s%s\n", severity_word(diag.severity), MAX_MESSAGE, diag.message,
            strlen(diag.message) > MAX_MESSAGE ? "..." : "");
    if (has_place) print_line(input, diag.offset, stderr);
    if (diag.opener_offset != RH_NO_OFFSET && diag.opener_offset <= input->length) {
      print_place(input, diag.opener_offset, stderr);
      fprintf(stderr, ": note: %s\n", opener_text(input, diag.opener_offset));
      print_line(input, diag.opener_offset, stderr);
    }
  }
}
