#include "text/lexer.h"

#include "ir/chars.h"
#include "text/scan.h"

enum CharClass {
  CC_WORD = 1 << 0,  /* it may continue a word: letters, digits, _ . - */
  CC_START = 1 << 1, /* it may begin a word: letters, _ */
  CC_DIGIT = 1 << 2,
  CC_SPACE = 1 << 3,
};

#define L (CC_WORD | CC_START)
#define D (CC_WORD | CC_DIGIT)
static const uint8_t char_class[256] = {
    ['\t'] = CC_SPACE, ['\n'] = CC_SPACE, ['\r'] = CC_SPACE, [' '] = CC_SPACE, ['-'] = CC_WORD,
    ['.'] = CC_WORD,   ['_'] = L,         ['0'] = D,         ['1'] = D,        ['2'] = D,
    ['3'] = D,         ['4'] = D,         ['5'] = D,         ['6'] = D,        ['7'] = D,
    ['8'] = D,         ['9'] = D,         ['A'] = L,         ['B'] = L,        ['C'] = L,
    ['D'] = L,         ['E'] = L,         ['F'] = L,         ['G'] = L,        ['H'] = L,
    ['I'] = L,         ['J'] = L,         ['K'] = L,         ['L'] = L,        ['M'] = L,
    ['N'] = L,         ['O'] = L,         ['P'] = L,         ['Q'] = L,        ['R'] = L,
    ['S'] = L,         ['T'] = L,         ['U'] = L,         ['V'] = L,        ['W'] = L,
    ['X'] = L,         ['Y'] = L,         ['Z'] = L,         ['a'] = L,        ['b'] = L,
    ['c'] = L,         ['d'] = L,         ['e'] = L,         ['f'] = L,        ['g'] = L,
    ['h'] = L,         ['i'] = L,         ['j'] = L,         ['k'] = L,        ['l'] = L,
    ['m'] = L,         ['n'] = L,         ['o'] = L,         ['p'] = L,        ['q'] = L,
    ['r'] = L,         ['s'] = L,         ['t'] = L,         ['u'] = L,        ['v'] = L,
    ['w'] = L,         ['x'] = L,         ['y'] = L,         ['z'] = L,
};
#undef L
#undef D

static bool is_class(char c, unsigned wanted) {
  return (char_class[(unsigned char)c] & wanted) != 0;
}

/* Returns '\0' beyond the end of the text, which no rule accepts. */
static char char_at(const Lexer *lexer, uint32_t pos) {
  return pos < lexer->length ? lexer->text[pos] : '\0';
}

void lexer_init(Lexer *lexer, const char *text, uint32_t length, const Words *words) {
  *lexer = (Lexer){.text = text, .length = length, .words = words};
}

static void error_at(Lexer *lexer, uint32_t pos, const char *error) {
  lexer->tok.kind = TOK_ERROR;
  lexer->tok.is_stray = false;
  lexer->tok.error = error;
  lexer->tok.begin = pos;
  lexer->tok.end = pos;
  lexer->pos = lexer->length;
}

/* Skips blanks and comments. Returns false, with an error token, if a comment is malformed. */
static bool skip_blanks(Lexer *lexer) {
  const char *text = lexer->text;
  uint32_t pos = lexer->pos, length = lexer->length;
  for (;;) {
    while (pos < length && is_class(text[pos], CC_SPACE))
      pos++;
    if (pos + 1 >= length || text[pos] != '/') break; /* true for almost all tokens */
    uint32_t begin = pos;
    if (text[pos + 1] == '/') {
      pos += 2;
      while (pos < length && text[pos] != '\n' && text[pos] != '\r') {
        if (text[pos++] == '\0') {
          error_at(lexer, pos - 1, "NUL byte in a comment");
          return false;
        }
      }
    } else if (text[pos + 1] == '*') {
      for (pos += 2;; pos++) {
        const char *star = pos < length ? memchr(text + pos, '*', length - pos) : NULL;
        uint32_t stop = star ? (uint32_t)(star - text) : length;
        const char *nul = memchr(text + pos, '\0', stop - pos);
        if (nul) {
          error_at(lexer, (uint32_t)(nul - text), "NUL byte in a comment");
          return false;
        }
        if (!star) {
          error_at(lexer, begin, "comment is never closed");
          return false;
        }
        pos = stop;
        if (pos + 1 < length && text[pos + 1] == '/') break;
      }
      pos += 2;
    } else {
      break;
    }
  }
  lexer->pos = pos;
  return true;
}

static uint32_t skip_in(const Lexer *lexer, uint32_t pos, const char *set) {
  while (pos < lexer->length && lexer->text[pos] && strchr(set, lexer->text[pos]))
    pos++;
  return pos;
}

static uint32_t skip_digits(const Lexer *lexer, uint32_t pos) {
  while (pos < lexer->length && is_class(lexer->text[pos], CC_DIGIT))
    pos++;
  return pos;
}

/* [0-9bf?]{2,}_[0-9io?]{2,}->[0-9bf?]{2,}
 *
 * Returns the end, or 0 if the text does not match. */
static uint32_t match_dim_labels(const Lexer *lexer, uint32_t pos) {
  uint32_t end = skip_in(lexer, pos, "0123456789bf?");
  if (end - pos < 2 || char_at(lexer, end) != '_') return 0;
  pos = end + 1;
  end = skip_in(lexer, pos, "0123456789io?");
  if (end - pos < 2 || char_at(lexer, end) != '-' || char_at(lexer, end + 1) != '>') return 0;
  pos = end + 2;
  end = skip_in(lexer, pos, "0123456789bf?");
  return end - pos < 2 ? 0 : end;
}

/* -?(d+ | d+.d* | d*.d+) with an optional exponent, which is required if there is no dot. */
static uint32_t match_float(const Lexer *lexer, uint32_t pos) {
  if (char_at(lexer, pos) == '-') pos++;
  uint32_t whole_end = skip_digits(lexer, pos);
  uint32_t end = whole_end;
  bool has_dot = false;
  if (char_at(lexer, end) == '.') {
    uint32_t fraction_end = skip_digits(lexer, end + 1);
    has_dot = whole_end > pos || fraction_end > end + 1;
    if (has_dot) end = fraction_end;
  }
  if (end == pos) return 0;
  char exponent = char_at(lexer, end);
  if (exponent == 'e' || exponent == 'E') {
    uint32_t digits = end + 1;
    char sign = char_at(lexer, digits);
    if (sign == '+' || sign == '-') digits++;
    uint32_t exponent_end = skip_digits(lexer, digits);
    if (exponent_end > digits) return exponent_end;
  }
  return has_dot ? end : 0;
}

/* [0-9]+(x[0-9]+)+ */
static uint32_t match_dxd(const Lexer *lexer, uint32_t pos) {
  uint32_t end = skip_digits(lexer, pos);
  if (end == pos) return 0;
  bool is_product = false;
  while (char_at(lexer, end) == 'x') {
    uint32_t next = skip_digits(lexer, end + 1);
    if (next == end + 1) break;
    end = next;
    is_product = true;
  }
  return is_product ? end : 0;
}

/* pad_dim = lo '_' hi ('_' interior)?
 *
 * Returns the end, or 0 if the text at `pos` does not match. */
static uint32_t match_pad_dim(const Lexer *lexer, uint32_t pos) {
  for (int part = 0; part < 2; part++) {
    if (char_at(lexer, pos) == '-') pos++;
    uint32_t end = skip_digits(lexer, pos);
    if (end == pos) return 0;
    pos = end;
    if (part == 0) {
      if (char_at(lexer, pos) != '_') return 0;
      pos++;
    }
  }
  if (char_at(lexer, pos) == '_') {
    uint32_t end = skip_digits(lexer, pos + 1);
    if (end > pos + 1) return end;
  }
  return pos;
}

static uint32_t match_pad(const Lexer *lexer, uint32_t pos) {
  uint32_t end = match_pad_dim(lexer, pos);
  while (end && char_at(lexer, end) == 'x') {
    uint32_t next = match_pad_dim(lexer, end + 1);
    if (!next) break;
    end = next;
  }
  return end;
}

/* -?[0-9]+ in [-2^63, 2^64). Returns 1 if it matched, 0 if there is no integer, and -1 if the
 * integer is out of range. */
static int match_int(const Lexer *lexer, uint32_t pos, uint32_t *end, int64_t *value) {
  bool is_negative = char_at(lexer, pos) == '-';
  if (is_negative) pos++;
  uint32_t begin = pos;
  uint64_t magnitude = 0;
  for (; pos < lexer->length && is_class(lexer->text[pos], CC_DIGIT); pos++) {
    uint64_t digit = (uint64_t)(lexer->text[pos] - '0');
    if (magnitude > (UINT64_MAX - digit) / 10) return -1;
    magnitude = magnitude * 10 + digit;
  }
  if (pos == begin) return 0;
  if (is_negative && magnitude > (uint64_t)INT64_MAX + 1) return -1;
  *value = (int64_t)(is_negative ? 0 - magnitude : magnitude);
  *end = pos;
  return 1;
}

static void finish(Lexer *lexer, TokKind kind, uint32_t end) {
  Token *tok = &lexer->tok;
  tok->kind = (uint8_t)kind;
  tok->end = end;
  tok->word = (Span){tok->begin, end};
  lexer->pos = end;
}

static bool lex_int(Lexer *lexer) {
  uint32_t end = 0;
  int64_t value = 0;
  int matched = match_int(lexer, lexer->tok.begin, &end, &value);
  if (matched == 0) return false;
  if (matched < 0) {
    error_at(lexer, lexer->tok.begin, "integer does not fit in 64 bits");
    return true;
  }
  finish(lexer, TOK_INT, end);
  lexer->tok.integer = value;
  return true;
}

/* `nan` or `-nan` with an optional payload `(0x…)`. `end` is the offset after the word. */
static void lex_nan(Lexer *lexer, uint32_t end) {
  lexer->tok.is_nan = true;
  lexer->tok.nan_payload = 0;
  if (char_at(lexer, end) != '(') {
    finish(lexer, TOK_DECIMAL, end);
    return;
  }
  uint32_t pos = end + 1;
  bool is_hex = char_at(lexer, pos) == '0' && char_at(lexer, pos + 1) == 'x';
  pos += 2;
  uint32_t digits = pos;
  uint64_t payload = 0;
  bool is_too_large = false;
  for (; char_hex_value(char_at(lexer, pos)) >= 0; pos++) {
    is_too_large |= payload >> 48 != 0;
    payload = payload << 4 | (uint64_t)char_hex_value(char_at(lexer, pos));
  }
  if (!is_hex || pos == digits || char_at(lexer, pos) != ')') {
    error_at(lexer, end, "a NaN payload is written (0x…)");
  } else if (is_too_large || payload == 0 || payload >> 52 != 0) {
    error_at(lexer, end, "NaN payload must be between 0x1 and 0xfffffffffffff");
  } else {
    finish(lexer, TOK_DECIMAL, pos + 1);
    lexer->tok.nan_payload = payload;
  }
}

/* Reads an integer with so few digits that it cannot overflow and that no other pattern matches
 * further. Nearly all numbers have this form. */
static bool lex_plain_int(Lexer *lexer) {
  enum { SAFE_DIGITS = 18 };
  uint32_t begin = lexer->tok.begin, pos = begin;
  bool is_negative = lexer->text[pos] == '-';
  int64_t value = 0;
  for (pos += is_negative; is_class(char_at(lexer, pos), CC_DIGIT); pos++) {
    if (pos - begin - is_negative == SAFE_DIGITS) return false;
    value = value * 10 + (lexer->text[pos] - '0');
  }
  char next = char_at(lexer, pos);
  bool is_end = next == ',' || next == '}' || next == ')' || next == ']' || next == ' ';
  if (!is_end || pos == begin + is_negative) return false;
  finish(lexer, TOK_INT, pos);
  lexer->tok.integer = is_negative ? -value : value;
  return true;
}

/* XLA tries the patterns in this order at the same offset. */
static void lex_number(Lexer *lexer, bool only_int) {
  uint32_t begin = lexer->tok.begin, end;
  if (lex_plain_int(lexer)) return;
  if (!only_int) {
    if ((end = match_float(lexer, begin))) {
      lexer->tok.is_nan = false;
      finish(lexer, TOK_DECIMAL, end);
      return;
    }
    if ((end = match_dim_labels(lexer, begin))) {
      finish(lexer, TOK_DIM_LABELS, end);
      return;
    }
    if ((end = match_dxd(lexer, begin))) {
      finish(lexer, TOK_DXD, end);
      return;
    }
    if ((end = match_pad(lexer, begin))) {
      finish(lexer, TOK_PAD, end);
      return;
    }
  }
  if (lex_int(lexer)) return;
  if (lexer->text[begin] == '?') {
    finish(lexer, TOK_QUESTION, begin + 1);
  } else if (char_at(lexer, begin + 1) == 'i' && char_at(lexer, begin + 2) == 'n' &&
             char_at(lexer, begin + 3) == 'f') {
    finish(lexer, TOK_NEG_INF, begin + 4);
  } else if (char_at(lexer, begin + 1) == 'n' && char_at(lexer, begin + 2) == 'a' &&
             char_at(lexer, begin + 3) == 'n') {
    lex_nan(lexer, begin + 4);
  } else {
    error_at(lexer, begin, "a number is expected after '-'");
  }
}

/* Returns the possible meanings of the word from `begin` to `end`. */
static const Word *look_up(Lexer *lexer, uint32_t begin, uint32_t end) {
  Str word = {lexer->text + begin, end - begin};
  lexer->tok.hash = hash_str(word);
  lexer->tok.known = lexer->words ? words_find(lexer->words, word, lexer->tok.hash) : NULL;
  return lexer->tok.known;
}

static void lex_word(Lexer *lexer) {
  const char *text = lexer->text;
  uint32_t begin = lexer->tok.begin, end = scan_word(text, begin + 1, lexer->length);
  const Word *known = look_up(lexer, begin, end);
  char next = char_at(lexer, end);
  if (next == ':' || next == '=') {
    finish(lexer, next == ':' ? TOK_NAME : TOK_ATTR_NAME, end + 1);
    lexer->tok.word.end = end;
  } else if (known && known->type != NUM_TYPES) {
    lexer->tok.value = known->type;
    finish(lexer, TOK_TYPE, end);
  } else if (end - begin == 3 && memcmp(text + begin, "nan", 3) == 0) {
    lex_nan(lexer, end);
  } else if (known && known->keyword != NUM_KEYWORDS) {
    lexer->tok.value = known->keyword;
    finish(lexer, TOK_KEYWORD, end);
  } else {
    uint32_t labels_end =
        text[begin] == 'b' || text[begin] == 'f' ? match_dim_labels(lexer, begin) : 0;
    if (labels_end) {
      finish(lexer, TOK_DIM_LABELS, labels_end);
    } else {
      finish(lexer, TOK_IDENT, end);
    }
  }
}

/* Returns the number of bytes of the UTF-8 sequence at `pos`, checked as loosely as RE2 does, or 0
 * if there is none. */
static uint32_t utf8_length(const char *text, uint32_t pos, uint32_t end) {
  unsigned char lead = (unsigned char)text[pos];
  uint32_t length = lead < 0x80   ? 1
                    : lead < 0xC2 ? 0
                    : lead < 0xE0 ? 2
                    : lead < 0xF0 ? 3
                    : lead < 0xF5 ? 4
                                  : 0;
  if (length > end - pos) return 0;
  for (uint32_t i = 1; i < length; i++) {
    if (((unsigned char)text[pos + i] & 0xC0) != 0x80) return 0;
  }
  return length;
}

/* Returns the offset after the closing quote, or 0 with an error token. */
static uint32_t scan_string(Lexer *lexer, uint32_t begin, bool *has_escapes) {
  const char *text = lexer->text;
  char quote = text[begin];
  uint32_t pos = begin + 1;
  *has_escapes = false;
  for (;;) {
    pos = scan_plain_string(text, pos, lexer->length, quote);
    if (pos >= lexer->length) break;
    char c = text[pos];
    if (c == quote) return pos + 1;
    if (c == '\\') {
      *has_escapes = true;
      pos++;
      if (pos >= lexer->length) break;
      if (text[pos] == '\n') {
        error_at(lexer, pos - 1, "a backslash before the end of a line inside a string");
        return 0;
      }
    }
    uint32_t length = utf8_length(text, pos, lexer->length);
    if (!length) {
      error_at(lexer, pos, "string is not valid UTF-8");
      return 0;
    }
    pos += length;
  }
  error_at(lexer, begin, "string is never closed");
  return 0;
}

static bool is_surrogate(uint32_t rune) {
  return rune >= 0xD800 && rune <= 0xDFFF;
}

/* Returns true if the text from `pos` (inside the quotes of a string) to `end` contains only
 * escapes that absl::CUnescape accepts. Otherwise `*bad` is the offset of the first other one. */
static bool check_escapes(const char *text, uint32_t pos, uint32_t end, uint32_t *bad) {
  while (pos < end) {
    if (text[pos] != '\\') {
      pos++;
      continue;
    }
    *bad = pos++;
    if (pos == end) return false;
    char c = text[pos++];
    if (c >= '0' && c <= '7') { /* up to three octal digits, at most \377 */
      unsigned value = (unsigned)(c - '0');
      for (int i = 0; i < 2 && pos < end && text[pos] >= '0' && text[pos] <= '7'; i++) {
        value = value * 8 + (unsigned)(text[pos++] - '0');
      }
      if (value > 0xFF) return false;
    } else if (c == 'x' || c == 'X') { /* any number of hex digits, at most 0xff */
      if (pos == end || char_hex_value(text[pos]) < 0) return false;
      unsigned value = 0;
      while (pos < end && char_hex_value(text[pos]) >= 0) {
        value = (value << 4 | (unsigned)char_hex_value(text[pos++])) & 0xFFFF;
        if (value > 0xFF) return false;
      }
    } else if (c == 'u' || c == 'U') {
      uint32_t rune = 0;
      for (int i = 0; i < (c == 'u' ? 4 : 8); i++) {
        if (pos == end || char_hex_value(text[pos]) < 0) return false;
        rune = rune << 4 | (uint32_t)char_hex_value(text[pos++]);
        if (rune > 0x10FFFF) return false;
      }
      if (is_surrogate(rune)) return false;
    } else if (c == '\0' || !strchr("abfnrtv\\?'\"", c)) {
      return false;
    }
  }
  return true;
}

static void lex_string(Lexer *lexer) {
  uint32_t begin = lexer->tok.begin;
  bool has_escapes;
  uint32_t end = scan_string(lexer, begin, &has_escapes);
  if (!end) return;
  uint32_t bad;
  if (has_escapes && !check_escapes(lexer->text, begin + 1, end - 1, &bad)) {
    error_at(lexer, bad, "unknown escape in a string");
    return;
  }
  finish(lexer, TOK_STRING, end);
  lexer->tok.word = (Span){begin + 1, end - 1};
}

static void lex_percent(Lexer *lexer) {
  uint32_t begin = lexer->tok.begin, end = begin + 1;
  if (!is_class(char_at(lexer, end), CC_START)) {
    error_at(lexer, begin, "a name is expected after '%'");
    return;
  }
  end = scan_word(lexer->text, end, lexer->length);
  lexer->tok.hash = hash_bytes(HASH_SEED, lexer->text + begin + 1, end - begin - 1);
  lexer->tok.known = NULL;
  finish(lexer, TOK_NAME, end);
  lexer->tok.word.begin = begin + 1;
}

/* Tokens of one character that do not begin any other token; 0 = none. */
static const uint8_t single_tokens[256] = {
    ['='] = TOK_EQUAL,    [','] = TOK_COMMA,  [':'] = TOK_COLON,  ['*'] = TOK_ASTERISK,
    ['#'] = TOK_HASH,     ['+'] = TOK_PLUS,   ['~'] = TOK_TILDE,  ['['] = TOK_LBRACKET,
    [']'] = TOK_RBRACKET, ['{'] = TOK_LBRACE, ['}'] = TOK_RBRACE, ['('] = TOK_LPAREN,
    [')'] = TOK_RPAREN,
};

/* Sets the error token for a character with which no token begins. */
static void reject(Lexer *lexer, uint32_t begin, char c) {
  if (c == '\0') {
    error_at(lexer, begin, "NUL byte in the text");
  } else if ((unsigned char)c >= 0x80) {
    error_at(lexer, begin, "only comments and strings may hold non-ASCII characters");
  } else {
    error_at(lexer, begin, "unexpected character");
    lexer->tok.is_stray = c > ' ' && c < 0x7F;
  }
}

static void lex_token(Lexer *lexer, bool only_int) {
  lexer->prev_end = lexer->tok.end;
  if (lexer->tok.kind == TOK_ERROR) return; /* after an error, the lexer does not advance */
  uint32_t begin = lexer->pos;
  /* At most one blank precedes most tokens. */
  if (begin < lexer->length && lexer->text[begin] == ' ') begin++;
  char c = char_at(lexer, begin);
  if (is_class(c, CC_SPACE) || c == '/') {
    lexer->pos = begin;
    if (!skip_blanks(lexer)) return;
    begin = lexer->pos;
    c = char_at(lexer, begin);
  }
  lexer->tok.begin = begin;
  if (single_tokens[(unsigned char)c]) {
    finish(lexer, (TokKind)single_tokens[(unsigned char)c], begin + 1);
    return;
  }
  if (begin >= lexer->length) {
    finish(lexer, TOK_EOF, begin);
    return;
  }
  switch (c) {
    case '%': lex_percent(lexer); return;
    case '"':
    case '\'': lex_string(lexer); return;
    case '<':
      if (char_at(lexer, begin + 1) == '=') {
        finish(lexer, TOK_LESS_EQUAL, begin + 2);
      } else {
        error_at(lexer, begin, "'<' is only known as part of '<='");
        lexer->tok.is_stray = true;
      }
      return;
    case '.':
      if (char_at(lexer, begin + 1) == '.' && char_at(lexer, begin + 2) == '.') {
        finish(lexer, TOK_DOTS, begin + 3);
      } else {
        error_at(lexer, begin, "'.' is only known as part of '...'");
        lexer->tok.is_stray = true;
      }
      return;
    case '-':
      if (char_at(lexer, begin + 1) == '>') {
        finish(lexer, TOK_ARROW, begin + 2);
        return;
      }
      lex_number(lexer, only_int);
      return;
    case '?': lex_number(lexer, only_int); return;
    default: break;
  }
  if (is_class(c, CC_START)) {
    lex_word(lexer);
  } else if (is_class(c, CC_DIGIT)) {
    lex_number(lexer, only_int);
  } else {
    reject(lexer, begin, c);
  }
}

void lex_next(Lexer *lexer) {
  lex_token(lexer, false);
}

void lex_next_int(Lexer *lexer) {
  lex_token(lexer, true);
}

TokKind lex_peek(const Lexer *lexer) {
  if (lexer->tok.kind == TOK_EOF || lexer->tok.kind == TOK_ERROR) return lexer->tok.kind;
  Lexer ahead = *lexer;
  lex_next(&ahead);
  return ahead.tok.kind;
}

bool lex_json_dict(Lexer *lexer) {
  uint32_t begin = lexer->tok.begin, depth = 0;
  for (uint32_t pos = begin; pos < lexer->length;) {
    char c = lexer->text[pos];
    if (c == '"') {
      bool has_escapes;
      pos = scan_string(lexer, pos, &has_escapes);
      if (!pos) return false;
      continue;
    }
    pos++;
    depth += c == '{';
    if (c == '}' && --depth == 0) {
      lexer->tok.begin = begin;
      finish(lexer, TOK_STRING, pos);
      return true;
    }
  }
  return false;
}

uint32_t text_line_end(const char *text, uint32_t length, uint32_t pos) {
  uint32_t end = pos;
  while (end < length) {
    char c = text[end];
    if (c == '\n') return end + 1;
    if (c == ' ' || c == '\t' || c == '\r') {
      end++;
    } else if (c == '/' && end + 1 < length && text[end + 1] == '/') {
      const char *newline = memchr(text + end, '\n', length - end);
      return newline ? (uint32_t)(newline - text) + 1 : length;
    } else if (c == '/' && end + 1 < length && text[end + 1] == '*') {
      for (end += 2; end + 1 < length && !(text[end] == '*' && text[end + 1] == '/'); end++) {}
      end = end + 2 <= length ? end + 2 : length;
    } else {
      return pos;
    }
  }
  return pos;
}

const char *tok_kind_text(TokKind kind) {
  switch (kind) {
    case TOK_EOF: return "end of text";
    case TOK_ERROR: return "invalid text";
    case TOK_EQUAL: return "'='";
    case TOK_COMMA: return "','";
    case TOK_COLON: return "':'";
    case TOK_ASTERISK: return "'*'";
    case TOK_QUESTION: return "'?'";
    case TOK_HASH: return "'#'";
    case TOK_PLUS: return "'+'";
    case TOK_TILDE: return "'~'";
    case TOK_LBRACKET: return "'['";
    case TOK_RBRACKET: return "']'";
    case TOK_LBRACE: return "'{'";
    case TOK_RBRACE: return "'}'";
    case TOK_LPAREN: return "'('";
    case TOK_RPAREN: return "')'";
    case TOK_ARROW: return "'->'";
    case TOK_LESS_EQUAL: return "'<='";
    case TOK_DOTS: return "'...'";
    case TOK_NAME: return "a name";
    case TOK_ATTR_NAME: return "an attribute";
    case TOK_IDENT: return "a word";
    case TOK_TYPE: return "an element type";
    case TOK_KEYWORD: return "a keyword";
    case TOK_STRING: return "a string";
    case TOK_INT: return "an integer";
    case TOK_DECIMAL: return "a decimal number";
    case TOK_NEG_INF: return "'-inf'";
    case TOK_DIM_LABELS: return "dimension labels";
    case TOK_DXD: return "sizes joined by 'x'";
    case TOK_PAD: return "padding";
  }
  return "";
}
