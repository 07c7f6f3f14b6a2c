#include "peek.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* The first line is sufficient, and it is rarely longer than FIRST_BYTES. */
enum { FIRST_BYTES = 1 << 15, GROWTH = 16 };

static const char key[] = "HloModule ";

static size_t skip_blanks(const Input *input, size_t at) {
  while (at < input->length && strchr(" \t\r\n", input->text[at]) && input->text[at])
    at++;
  return at;
}

static size_t skip_comments(const Input *input) {
  size_t at = skip_blanks(input, 0);
  while (at + 1 < input->length && input->text[at] == '/') {
    const char *end = memchr(input->text + at, '\n', input->length - at);
    if (input->text[at + 1] != '/' || !end) break;
    at = skip_blanks(input, (size_t)(end - input->text));
  }
  return at;
}

static Content content_of(const Input *input) {
  static const char mark[] = "is_scheduled=true";
  size_t at = skip_comments(input), left = input->length - at;
  const char *end = memchr(input->text + at, '\n', left);
  bool has_line = end || !input->is_cut;
  if (!has_line && (left < sizeof key || input->text[at] == '/')) return CONTENT_UNKNOWN;
  if (left < sizeof key || memcmp(input->text + at, key, sizeof key - 1) != 0) return CONTENT_OTHER;
  size_t line_end = end ? (size_t)(end - input->text) : input->length;
  for (; at + sizeof mark - 1 <= line_end; at++) {
    if (memcmp(input->text + at, mark, sizeof mark - 1) == 0) return CONTENT_SCHEDULED;
  }
  return has_line ? CONTENT_UNSCHEDULED : CONTENT_UNKNOWN;
}

/* Returns whether a name ends before this character. */
static bool is_end_of_name(char c) {
  return c == ',' || (c && strchr(" \t\r\n", c));
}

/* Returns false if more of the file has to be read. */
static bool find_name(const Input *input, rh_text *name) {
  size_t at = skip_comments(input);
  bool is_module =
      input->length - at >= sizeof key && memcmp(input->text + at, key, sizeof key - 1) == 0;
  if (is_module) {
    size_t begin = skip_blanks(input, at + sizeof key - 1);
    begin += begin < input->length && input->text[begin] == '%';
    size_t end = begin;
    while (end < input->length && !is_end_of_name(input->text[end]))
      end++;
    bool is_whole = end < input->length || !input->is_cut;
    if (is_whole) *name = (rh_text){input->text + begin, end - begin};
    return is_whole;
  }
  bool may_follow = input->length - at < sizeof key || input->text[at] == '/';
  return !(input->is_cut && may_follow);
}

/* Reads the beginning of a file, or all of a protocol buffer, of which there is no text otherwise.
 */
static rh_status read_beginning(const char *path, MessageForm form, size_t most, Input *input) {
  rh_status status = input_read_beginning(path, form, most, input);
  if (status != RH_OK || !input_is_proto(input)) return status;
  input_free(input);
  return input_read(path, form, input);
}

rh_status peek_content(const char *path, MessageForm form, Content *content, char **name) {
  rh_status status = RH_OK;
  *content = CONTENT_UNKNOWN;
  *name = NULL;
  for (size_t most = FIRST_BYTES; status == RH_OK && *content == CONTENT_UNKNOWN; most *= GROWTH) {
    Input input = {0};
    rh_text found = {0};
    status = read_beginning(path, form, most, &input);
    if (status == RH_OK) *content = content_of(&input);
    if (*content == CONTENT_SCHEDULED || *content == CONTENT_UNSCHEDULED) find_name(&input, &found);
    if (found.length) *name = memory_need(strndup(found.data, found.length));
    input_free(&input);
  }
  return status;
}

char *peek_module_name(const char *path) {
  for (size_t most = FIRST_BYTES;; most *= GROWTH) {
    Input input = {0};
    rh_text name = {0};
    bool is_read = read_beginning(path, FORM_NONE, most, &input) == RH_OK;
    bool is_known = !is_read || find_name(&input, &name);
    char *copy = name.length ? memory_need(strndup(name.data, name.length)) : NULL;
    input_free(&input);
    if (is_known) return copy;
  }
}
