/* Reads frontend_attributes={key="value",key={…}} from its text, which the parser has checked. */
#include "analysis/lint/lint.h"

/* Returns the place after a value: a quoted string, or braces with any content. */
static uint32_t skip_value(const char *text, uint32_t at, uint32_t end) {
  uint32_t depth = 0;
  bool is_quoted = false;
  for (; at < end; at++) {
    if (is_quoted) {
      if (text[at] == '\\') at++;
      is_quoted = at < end && text[at] != '"';
    } else if (text[at] == '"') {
      is_quoted = true;
    } else if (text[at] == '{') {
      depth++;
    } else if (depth == 0 && (text[at] == ',' || text[at] == '}')) {
      break;
    } else if (text[at] == '}') {
      depth--;
    }
  }
  return at < end ? at : end;
}

static Str trimmed(const char *text, uint32_t begin, uint32_t end) {
  while (begin < end && strchr(" \t\r\n", text[begin]))
    begin++;
  while (begin < end && strchr(" \t\r\n", text[end - 1]))
    end--;
  return str_make(text + begin, end - begin);
}

bool lint_frontend(const Lint *lint, InstId id, const char *key, Str *value) {
  const Attr *attr = inst_attr(lint->module, id, ATTR_FRONTEND_ATTRIBUTES);
  if (!attr) return false;
  const char *text = lint->module->source->text;
  uint32_t end = attr->text.end;
  for (uint32_t at = attr->text.begin + 1; at < end; at++) {
    uint32_t equals = at;
    while (equals < end && text[equals] != '=')
      equals++;
    if (equals == end) return false;
    Str name = trimmed(text, at, equals);
    at = skip_value(text, equals + 1, end);
    if (!str_is(name, key)) continue;
    *value = trimmed(text, equals + 1, at);
    bool is_string = value->len >= 2 && value->data[0] == '"';
    if (is_string) *value = str_make(value->data + 1, value->len - 2);
    return true;
  }
  return false;
}
