#include "messages.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exit_code.h"
#include "interrupt.h"
#include "memory.h"

/* The number of bytes of a line that are shown before and after the position. */
enum { SHOWN_BEFORE = 60, SHOWN_AFTER = 60 };

/* The longest message that is shown; names in a message can be as long as the file. */
enum { MAX_MESSAGE = 500 };

const char *severity_word(rh_severity severity) {
  switch (severity) {
    case RH_SEVERITY_ERROR: return "error";
    case RH_SEVERITY_WARNING: return "warning";
    case RH_SEVERITY_NOTE: return "note";
  }
  return "error";
}

bool utf8_is_inside(char c) {
  return ((unsigned char)c & 0xC0) == 0x80;
}

size_t utf8_length(const char *p, const char *end) {
  unsigned char lead = (unsigned char)*p;
  size_t len = lead < 0x80                   ? 1
               : lead >= 0xC2 && lead < 0xE0 ? 2
               : lead >= 0xE0 && lead < 0xF0 ? 3
               : lead >= 0xF0 && lead < 0xF5 ? 4
                                             : 0;
  if (len > (size_t)(end - p)) return 0;
  for (size_t i = 1; i < len; i++) {
    if (!utf8_is_inside(p[i])) return 0;
  }
  return len;
}

/* Writes one character of the line, or a visible replacement if it cannot be shown. Returns its
 * length in bytes. */
static size_t put_character(const char *p, const char *end, FILE *out) {
  size_t length = utf8_length(p, end);
  bool is_control = (unsigned char)*p < ' ' || *p == 0x7F;
  if (length == 0 || is_control) {
    fputc(*p == '\t' ? ' ' : '?', out);
    return 1;
  }
  fwrite(p, 1, length, out);
  return length;
}

/* Writes the source line around the position, and a caret below it. Writes nothing if the line is
 * empty. */
static void print_line(const Input *input, size_t offset, FILE *out) {
  const char *text = input->text;
  size_t begin = offset, end = offset;
  while (begin > 0 && text[begin - 1] != '\n' && offset - begin < SHOWN_BEFORE)
    begin--;
  while (begin < offset && utf8_is_inside(text[begin]))
    begin++;
  while (end < input->length && text[end] != '\n' && text[end] != '\r' &&
         end - offset < SHOWN_AFTER) {
    end++;
  }
  for (int i = 0; i < 3 && end < input->length && utf8_is_inside(text[end]); i++)
    end++;
  if (begin == end) return;
  bool is_cut_before = begin > 0 && text[begin - 1] != '\n';
  bool is_cut_after = end < input->length && text[end] != '\n' && text[end] != '\r';
  int caret = 0;
  fputs(is_cut_before ? "  ..." : "  ", out);
  for (size_t i = begin; i < end; i += put_character(text + i, text + end, out))
    caret += i < offset;
  fputs(is_cut_after ? "...\n" : "\n", out);
  fprintf(out, "%*s^\n", caret + (is_cut_before ? 5 : 2), "");
}

/* Finds the line and column of an offset. `*place` is the result of the previous search, and {0} at
 * first. Positions in the order of the text need only one pass in total. */
static void find_place(const Input *input, size_t offset, Place *place) {
  if (place->line == 0 || offset < place->offset) *place = (Place){.line = 1};
  size_t pos = place->offset;
  for (;;) {
    const char *newline = memchr(input->text + pos, '\n', offset - pos);
    if (!newline) break;
    place->line++;
    pos = place->line_begin = (size_t)(newline - input->text) + 1;
  }
  place->offset = offset;
  place->column = offset - place->line_begin + 1;
}

/* Returns the note for the place that a diagnostic refers back to: an opening bracket or quote, or
 * a definition. */
static const char *opener_text(const Input *input, size_t offset) {
  bool is_bracket = offset < input->length && strchr("([{\"'", input->text[offset]);
  return is_bracket ? "opened here" : "it is here";
}

/* Writes a message. Control characters are replaced, because baselines and strings of the module
 * can contain escape sequences for terminals. */
static void put_message(const char *message, FILE *out) {
  size_t length = strnlen(message, MAX_MESSAGE + 1);
  bool is_cut = length > MAX_MESSAGE;
  const char *end = message + (is_cut ? MAX_MESSAGE : length);
  while (is_cut && end > message && utf8_is_inside(*end))
    end--;
  for (const char *p = message; p < end;)
    p += put_character(p, end, out);
  if (is_cut) fputs("...", out);
}

static void print_text(const Input *input, const rh_diag *diag, const Place *place,
                       const Place *opener, FILE *out) {
  fputs(input->path, out);
  if (place) fprintf(out, ":%zu:%zu", place->line, place->column);
  fprintf(out, ": %s: ", severity_word(diag->severity));
  put_message(diag->message, out);
  if (diag->rule) fprintf(out, " [%s]", diag->rule);
  fputc('\n', out);
  if (place) print_line(input, place->offset, out);
  if (!opener) return;
  fprintf(out, "%s:%zu:%zu: note: %s\n", input->path, opener->line, opener->column,
          opener_text(input, opener->offset));
  print_line(input, opener->offset, out);
}

/* Writes a diagnostic in one piece, because stderr has no buffer. */
static void print(const Input *input, const rh_diag *diag, const Place *place,
                  const Place *opener) {
  if (input->form == FORM_NONE) return;
  char *text = NULL;
  size_t length = 0;
  FILE *out = memory_need(open_memstream(&text, &length));
  (input->form == FORM_JSON ? messages_print_json : print_text)(input, diag, place, opener, out);
  if (fclose(out) != 0) memory_need(NULL);
  fwrite(text, 1, length, stderr);
  free(text);
}

static void end_without_memory(const Input *input, const rh_diag *diag) {
  char wanted[RH_FORMAT_CHARS], limit[RH_FORMAT_CHARS];
  rh_format_bytes((int64_t)diag->wanted_bytes, wanted);
  rh_format_bytes((int64_t)diag->limit_bytes, limit);
  messages_say(input, RH_SEVERITY_ERROR, "out of memory, %s more wanted%s%s%s", wanted,
               diag->limit_bytes ? " (--max-memory=" : "", diag->limit_bytes ? limit : "",
               diag->limit_bytes ? ")" : "");
  interrupt_remove_temporaries();
  _exit(EXIT_CODE_SYSTEM);
}

static void check_memory(const Input *input, const rh_diags *diags) {
  for (size_t i = 0; i < rh_diags_len(diags); i++) {
    const rh_diag *diag = rh_diags_get(diags, i);
    if (diag->code == RH_CODE_OUT_OF_MEMORY) end_without_memory(input, diag);
  }
}

void messages_print_and_free(const Input *input, rh_diags *diags) {
  messages_print(input, diags);
  rh_diags_free(diags);
}

void messages_drop(const Input *input, rh_diags *diags) {
  check_memory(input, diags);
  rh_diags_free(diags);
}

/* Whether a message was there before: several functions that read the same module warn of it. What
 * has a place is another message. */
static bool is_repeated(const rh_diags *diags, size_t index) {
  const rh_diag *diag = rh_diags_get(diags, index);
  if (diag->offset != RH_NO_OFFSET) return false;
  for (size_t i = 0; i < index; i++) {
    const rh_diag *before = rh_diags_get(diags, i);
    if (before->offset == RH_NO_OFFSET && before->severity == diag->severity &&
        strcmp(before->message, diag->message) == 0)
      return true;
  }
  return false;
}

void messages_print(const Input *input, const rh_diags *diags) {
  Place place = {0}, opener = {0};
  check_memory(input, diags);
  for (size_t i = 0; i < rh_diags_len(diags); i++) {
    const rh_diag *diag = rh_diags_get(diags, i);
    if (is_repeated(diags, i)) continue;
    bool has_place = diag->offset != RH_NO_OFFSET && diag->offset <= input->length;
    bool has_opener = diag->opener_offset != RH_NO_OFFSET && diag->opener_offset <= input->length;
    if (has_place) find_place(input, diag->offset, &place);
    if (has_opener) find_place(input, diag->opener_offset, &opener);
    print(input, diag, has_place ? &place : NULL, has_opener ? &opener : NULL);
  }
}

void messages_say(const Input *input, rh_severity severity, const char *format, ...) {
  char message[MAX_MESSAGE];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  rh_diag diag = {.severity = severity, .message = message};
  print(input, &diag, NULL, NULL);
}
