/* Uses a stack of open lists instead of recursion, so the nesting is limited only by memory and by
 * MAX_DEPTH. */
#include "ir/json_tree.h"

#include "ir/chars.h"
#include "ir/vec.h"

enum { MAX_DEPTH = 256 };

typedef struct Open {
  JsonNode *list;
  JsonNode **end; /* where the next element is linked in */
} Open;

typedef struct Reader {
  const char *text;
  uint32_t pos, length;
  VEC(Open) open;
  rh_diags *diags;
  Arena *out;
} Reader;

static rh_status fail(const Reader *reader, uint32_t offset, const char *what) {
  return diag_fail(reader->diags, RH_ERR_INPUT, DIAG_ABOUT(RH_CODE_JSON, offset), "%s", what);
}

static void skip_blanks(Reader *reader) {
  while (reader->pos < reader->length && char_is_space(reader->text[reader->pos]))
    reader->pos++;
}

static bool take(Reader *reader, char c) {
  if (reader->pos == reader->length || reader->text[reader->pos] != c) return false;
  reader->pos++;
  return true;
}

/* ---- strings ---- */

static bool read_hex(Reader *reader, uint32_t *code) {
  *code = 0;
  for (int i = 0; i < 4; i++) {
    if (reader->pos == reader->length) return false;
    char c = reader->text[reader->pos];
    int digit = char_hex_value(c);
    if (digit < 0) return false;
    *code = *code * 16 + (uint32_t)digit;
    reader->pos++;
  }
  return true;
}

/* Reads the digits after `\u`. A pair of surrogates is one character. */
static bool read_code(Reader *reader, uint32_t *code) {
  if (!read_hex(reader, code)) return false;
  if (*code < 0xD800 || *code > 0xDFFF) return true;
  uint32_t low;
  if (*code > 0xDBFF || !take(reader, '\\') || !take(reader, 'u') || !read_hex(reader, &low) ||
      low < 0xDC00 || low > 0xDFFF) {
    return false;
  }
  *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
  return true;
}

/* Reads the escape after a backslash. Its value is never longer than the escape. */
static bool read_escape(Reader *reader, char *to, uint32_t *len) {
  static const char letters[] = "\"\\/bfnrt", stand_for[] = "\"\\/\b\f\n\r\t";
  if (reader->pos == reader->length) return false;
  char c = reader->text[reader->pos++];
  const char *letter = c ? strchr(letters, c) : NULL;
  uint32_t code;
  if (letter) {
    to[(*len)++] = stand_for[letter - letters];
    return true;
  }
  if (c != 'u' || !read_code(reader, &code)) return false;
  *len += utf8_put(to + *len, code);
  return true;
}

static rh_status read_string(Reader *reader, Str *string) {
  uint32_t begin = reader->pos++, end = reader->pos;
  while (end < reader->length && reader->text[end] != '"') {
    bool is_escape = reader->text[end] == '\\' && end + 1 < reader->length;
    end += is_escape ? 2 : 1;
  }
  char *to = arena_alloc(reader->out, end - begin + 1);
  uint32_t len = 0;
  while (!take(reader, '"')) {
    if (reader->pos >= reader->length) return fail(reader, begin, "this string has no end");
    char c = reader->text[reader->pos++];
    if ((unsigned char)c < ' ') {
      return fail(reader, reader->pos - 1, "a string has no line ends or control characters");
    }
    if (c != '\\') {
      to[len++] = c;
    } else if (!read_escape(reader, to, &len)) {
      return fail(reader, reader->pos - 1, "no such escape in a string");
    }
  }
  to[len] = 0;
  *string = str_make(to, len);
  return RH_OK;
}

/* ---- values ---- */

static rh_status read_number(Reader *reader, JsonNode *node) {
  uint32_t begin = reader->pos;
  while (reader->pos < reader->length && reader->text[reader->pos] &&
         strchr("+-.0123456789eE", reader->text[reader->pos])) {
    reader->pos++;
  }
  node->kind = JSON_NUMBER;
  node->text = str_make(reader->text + begin, reader->pos - begin);
  return node->text.len ? RH_OK : fail(reader, begin, "expected a value");
}

static rh_status read_word(Reader *reader, JsonNode *node) {
  static const struct {
    const char *word;
    JsonKind kind;
  } words[] = {{"null", JSON_NULL}, {"false", JSON_FALSE}, {"true", JSON_TRUE}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    size_t len = strlen(words[i].word);
    if (reader->length - reader->pos < len ||
        memcmp(reader->text + reader->pos, words[i].word, len) != 0) {
      continue;
    }
    reader->pos += (uint32_t)len;
    node->kind = words[i].kind;
    return RH_OK;
  }
  return read_number(reader, node);
}

/* Reads a value, or the beginning of a list, which is then open. */
static rh_status read_value(Reader *reader, JsonNode *node) {
  skip_blanks(reader);
  node->offset = reader->pos;
  char c = reader->pos < reader->length ? reader->text[reader->pos] : 0;
  if (c == '"') {
    node->kind = JSON_STRING;
    return read_string(reader, &node->text);
  }
  if (c != '[' && c != '{') return read_word(reader, node);
  if (reader->open.len == MAX_DEPTH) return fail(reader, reader->pos, "nested too deeply");
  node->kind = c == '[' ? JSON_ARRAY : JSON_OBJECT;
  reader->pos++;
  *vec_push(reader->out, &reader->open) = (Open){node, &node->first};
  return RH_OK;
}

static rh_status read_key(Reader *reader, const JsonNode *object, JsonNode *member) {
  skip_blanks(reader);
  member->key_offset = reader->pos;
  if (reader->pos == reader->length || reader->text[reader->pos] != '"') {
    return fail(reader, reader->pos, "expected a key in quotes");
  }
  rh_status status = read_string(reader, &member->key);
  if (status != RH_OK) return status;
  for (const JsonNode *other = object->first; other; other = other->next) {
    if (str_equal(other->key, member->key)) {
      return diag_fail(reader->diags, RH_ERR_INPUT,
                       (DiagPlace){member->key_offset, other->key_offset, RH_CODE_JSON},
                       "this key is twice");
    }
  }
  skip_blanks(reader);
  return take(reader, ':') ? RH_OK : fail(reader, reader->pos, "expected ':' after the key");
}

/* Reads the next element of the innermost list, or the end of the list. */
static rh_status read_next(Reader *reader) {
  Open *open = &reader->open.data[reader->open.len - 1];
  JsonNode *list = open->list;
  bool is_object = list->kind == JSON_OBJECT;
  skip_blanks(reader);
  if (take(reader, is_object ? '}' : ']')) {
    reader->open.len--;
    return RH_OK;
  }
  if (list->first && !take(reader, ',')) {
    return diag_fail(reader->diags, RH_ERR_INPUT,
                     (DiagPlace){reader->pos, list->offset, RH_CODE_JSON}, "expected ',' or '%c'",
                     is_object ? '}' : ']');
  }
  JsonNode *node = arena_zalloc(reader->out, sizeof *node);
  rh_status status = is_object ? read_key(reader, list, node) : RH_OK;
  *open->end = node; /* this happens before a deeper list moves the stack */
  open->end = &node->next;
  return status == RH_OK ? read_value(reader, node) : status;
}

rh_status json_tree_parse(const char *text, size_t length, JsonNode **root, rh_diags *diags,
                          Arena *out) {
  Reader reader = {.text = text, .diags = diags, .out = out};
  if (length >= NO_OFFSET) {
    return diag_fail(diags, RH_ERR_INPUT, DIAG_ABOUT(RH_CODE_TOO_LARGE, NO_OFFSET),
                     "the text is larger than 4 GiB");
  }
  reader.length = (uint32_t)length;
  *root = arena_zalloc(out, sizeof **root);
  rh_status status = read_value(&reader, *root);
  while (status == RH_OK && reader.open.len)
    status = read_next(&reader);
  skip_blanks(&reader);
  if (status == RH_OK && reader.pos < reader.length) {
    status = fail(&reader, reader.pos, "nothing may follow the value");
  }
  return status;
}

const JsonNode *json_member(const JsonNode *object, const char *key) {
  for (const JsonNode *member = object->first; member; member = member->next) {
    if (str_is(member->key, key)) return member;
  }
  return NULL;
}

bool json_int64(const JsonNode *node, int64_t *value) {
  if (node->kind != JSON_NUMBER) return false;
  bool is_negative = node->text.data[0] == '-';
  uint64_t sum = 0, most = (uint64_t)INT64_MAX + is_negative;
  for (uint32_t i = is_negative; i < node->text.len; i++) {
    char c = node->text.data[i];
    if (c < '0' || c > '9') return false;
    uint64_t digit = (uint64_t)(c - '0');
    if (sum > (most - digit) / 10) return false;
    sum = sum * 10 + digit;
  }
  *value = is_negative ? (int64_t)(0 - sum) : (int64_t)sum;
  return node->text.len > (uint32_t)is_negative;
}
