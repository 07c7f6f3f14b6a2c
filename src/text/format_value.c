/* Writes the values of attributes, token by token. A value was parsed before, so the meaning of its
 * tokens does not matter here, only the blanks between them. */
#include <stdlib.h>

#include "text/format_internal.h"

/* ---- single tokens ---- */

/* Writes the line ends of a string as escapes: XLA reads the same string, and each instruction
 * stays on one line. */
static void write_string(Formatter *formatter, Str text) {
  for (uint32_t begin = 0; begin < text.len;) {
    uint32_t end = begin;
    while (end < text.len && text.data[end] != '\n' && text.data[end] != '\r')
      end++;
    write_bytes(formatter->out, text.data + begin, end - begin);
    if (end < text.len) write_text(formatter->out, text.data[end] == '\n' ? "\\n" : "\\r");
    begin = end + 1;
  }
}

void format_token(Formatter *formatter, const Token *token) {
  Str text = format_span(formatter, (Span){token->begin, token->end});
  if (token->kind == TOK_STRING) {
    write_string(formatter, text);
  } else {
    write_str(formatter->out, text);
  }
}

/* Returns the dict that a string contains, if the dict needs no escapes outside of quotes: XLA
 * prints such a dict without quotes. Returns an empty text otherwise. */
static Str dict_in_string(Formatter *formatter, Str quoted) {
  char *dict = arena_alloc(formatter->scratch, quoted.len);
  uint32_t length = 0;
  if (quoted.len < 4 || quoted.data[1] != '{') return STR("");
  for (uint32_t i = 1; i + 1 < quoted.len; i++) {
    if (quoted.data[i] == '\\') {
      i++;
      if (!strchr("\"'\\", quoted.data[i])) return STR("");
    }
    if (quoted.data[i] < ' ' || quoted.data[i] > '~') return STR("");
    dict[length++] = quoted.data[i];
  }
  Lexer lexer;
  lexer_init(&lexer, dict, length, NULL);
  lex_next(&lexer);
  bool is_dict = lex_json_dict(&lexer) && lexer.tok.end == length;
  return is_dict ? (Str){dict, length} : STR("");
}

static void write_string_or_dict(Formatter *formatter, Str text) {
  ArenaMark mark = arena_mark(formatter->scratch);
  Str dict = text.data[0] == '{' ? text : dict_in_string(formatter, text);
  if (dict.len) {
    write_str(formatter->out, dict);
  } else {
    write_string(formatter, text);
  }
  arena_reset(formatter->scratch, mark);
}

/* Returns the span of the string or dict at the lexer's token, and moves the lexer past it. */
static Span take_string_or_dict(Lexer *lexer) {
  if (lexer->tok.kind == TOK_LBRACE) lex_json_dict(lexer);
  Span span = {lexer->tok.begin, lexer->tok.end};
  lex_next(lexer);
  return span;
}

void format_string_or_dict(Formatter *formatter, Lexer *lexer) {
  write_string_or_dict(formatter, format_span(formatter, take_string_or_dict(lexer)));
}

void format_skip_braces(Lexer *lexer) {
  uint32_t depth = 0;
  do {
    depth += lexer->tok.kind == TOK_LBRACE;
    depth -= lexer->tok.kind == TOK_RBRACE;
    lex_next(lexer);
  } while (depth && lexer->tok.kind != TOK_EOF && lexer->tok.kind != TOK_ERROR);
}

/* ---- metadata ---- */

typedef struct MetadataField {
  const char *name;
  bool is_location;
} MetadataField;

/* The fields in the order in which XLA prints them (OpMetadataToString). */
static const MetadataField metadata_fields[] = {
    {"op_type", false},          {"op_name", false},        {"source_file", true},
    {"source_line", true},       {"source_end_line", true}, {"source_column", true},
    {"source_end_column", true}, {"profile_type", false},   {"deduplicated_name", false},
    {"scheduling_name", false},  {"stack_frame_id", true},  {"metadata_payload", false},
};

enum { NUM_METADATA_FIELDS = sizeof metadata_fields / sizeof *metadata_fields };

static bool is_default_field(const Lexer *lexer) {
  const Token *token = &lexer->tok;
  if (token->kind == TOK_STRING) return token->word.begin == token->word.end;
  return token->kind == TOK_INT && token->integer == 0;
}

/* Reads a `{…}` and returns the values of its fields, which are empty for fields that need not be
 * written. */
static void read_metadata(const Formatter *formatter, Lexer *lexer,
                          Span values[NUM_METADATA_FIELDS]) {
  memset(values, 0, NUM_METADATA_FIELDS * sizeof *values);
  lex_next(lexer);
  while (lexer->tok.kind == TOK_ATTR_NAME || lexer->tok.kind == TOK_COMMA) {
    if (lexer->tok.kind == TOK_COMMA) lex_next(lexer);
    Str name = format_span(formatter, lexer->tok.word);
    lex_next(lexer);
    int field = 0;
    while (field + 1 < NUM_METADATA_FIELDS && !str_is(name, metadata_fields[field].name))
      field++;
    Span value = {lexer->tok.begin, lexer->tok.end};
    bool is_default = is_default_field(lexer);
    if (lexer->tok.kind == TOK_LBRACE) {
      format_skip_braces(lexer);
      value.end = lexer->prev_end;
    } else {
      lex_next(lexer);
    }
    bool is_left_out = metadata_fields[field].is_location && formatter->options->omit_locations;
    if (!is_default && !is_left_out) values[field] = value;
  }
  lex_next(lexer); /* '}' */
}

bool format_metadata(Formatter *formatter, Lexer *lexer, const char *before) {
  Span values[NUM_METADATA_FIELDS];
  read_metadata(formatter, lexer, values);
  if (formatter->options->omit_metadata) return false;
  bool is_first = true;
  for (int field = 0; field < NUM_METADATA_FIELDS; field++) {
    if (values[field].end == 0) continue;
    write_text(formatter->out, is_first ? before : " ");
    if (is_first) write_text(formatter->out, "{");
    write_format(formatter->out, "%s=", metadata_fields[field].name);
    format_tokens(formatter, values[field], COMMA_TIGHT);
    is_first = false;
  }
  if (!is_first) write_text(formatter->out, "}");
  return !is_first;
}

/* ---- frontend attributes ---- */

typedef struct FrontendAttr {
  Str key;
  Span value;
  uint32_t index;
} FrontendAttr;

static int by_key(const void *pa, const void *pb) {
  const FrontendAttr *a = pa, *b = pb;
  int order = str_compare(a->key, b->key);
  return order ? order : (a->index > b->index) - (a->index < b->index);
}

uint32_t format_frontend_attributes(Formatter *formatter, uint32_t offset) {
  ArenaMark mark = arena_mark(formatter->scratch);
  VEC(FrontendAttr) attrs = {0};
  Lexer lexer = format_lexer(formatter, offset);
  lex_next(&lexer);
  while (lexer.tok.kind == TOK_ATTR_NAME) {
    FrontendAttr attr = {.key = format_span(formatter, lexer.tok.word), .index = attrs.len};
    lex_next(&lexer);
    attr.value = take_string_or_dict(&lexer);
    *vec_push(formatter->scratch, &attrs) = attr;
    if (lexer.tok.kind == TOK_COMMA) lex_next(&lexer);
  }
  if (attrs.len) qsort(attrs.data, attrs.len, sizeof *attrs.data, by_key);
  write_text(formatter->out, "{");
  bool is_first = true;
  for (uint32_t i = 0; i < attrs.len; i++) {
    /* If a key is given twice, the last value counts. */
    if (i + 1 < attrs.len && str_equal(attrs.data[i].key, attrs.data[i + 1].key)) continue;
    if (!is_first) write_text(formatter->out, ",");
    write_str(formatter->out, attrs.data[i].key);
    write_text(formatter->out, "=");
    write_string_or_dict(formatter, format_span(formatter, attrs.data[i].value));
    is_first = false;
  }
  write_text(formatter->out, "}");
  arena_reset(formatter->scratch, mark);
  return lexer.tok.end;
}

/* ---- other values ---- */

typedef struct Bracket {
  uint8_t kind; /* TokKind */
  uint32_t num_commas;
} Bracket;

typedef struct Spacer {
  Formatter *formatter;
  CommaStyle style;
  VEC(Bracket) brackets; /* open brackets */
  uint8_t prev;          /* TokKind of the last token; TOK_EOF at the beginning */
  uint8_t before_comma;  /* kind of the token before `prev` */
} Spacer;

static uint8_t innermost(const Spacer *spacer) {
  return spacer->brackets.len ? spacer->brackets.data[spacer->brackets.len - 1].kind : TOK_EOF;
}

static bool blank_after_comma(const Spacer *spacer, const Token *next) {
  bool in_parens = innermost(spacer) == TOK_LPAREN;
  switch (spacer->style) {
    case COMMA_TIGHT: return false;
    case COMMA_OUTER: return in_parens || spacer->brackets.len == 1;
    case COMMA_PARENS: return in_parens;
    case COMMA_SHARDING:
      return spacer->before_comma != TOK_INT ||
             (next->kind != TOK_INT && innermost(spacer) != TOK_LBRACKET);
  }
  return false;
}

static bool is_word(uint8_t kind) {
  return kind >= TOK_NAME || kind == TOK_QUESTION;
}

/* Returns true if a blank is needed before a token, which depends on the token before it. */
static bool needs_blank(const Spacer *spacer, const Token *next) {
  uint8_t prev = spacer->prev, kind = next->kind;
  if (prev == TOK_COMMA) return blank_after_comma(spacer, next);
  if (prev == TOK_COLON) {
    bool is_pair = spacer->style == COMMA_OUTER || spacer->style == COMMA_PARENS;
    return is_pair && innermost(spacer) != TOK_LBRACKET;
  }
  bool is_bracket = prev == TOK_RBRACKET || prev == TOK_RBRACE || prev == TOK_RPAREN;
  if (kind == TOK_LBRACE) return prev == TOK_STRING || is_bracket;
  if (!is_word(kind)) return false;
  if (is_bracket && prev != TOK_RBRACE) {
    /* devices=[2,1]0,1 · <=[2,2]T(1,0) · 'a':(1)2 */
    return kind != TOK_INT && !(kind == TOK_IDENT && next->end - next->begin == 1);
  }
  return prev == TOK_RBRACE || (is_word(prev) && prev != TOK_ATTR_NAME);
}

/* XLA numbers every fifth element of a tuple's sharding. */
static void write_element_number(Spacer *spacer, const Token *token) {
  bool is_element = spacer->style == COMMA_SHARDING && token->kind == TOK_LBRACE &&
                    spacer->prev == TOK_COMMA && spacer->before_comma == TOK_RBRACE &&
                    innermost(spacer) == TOK_LBRACE;
  if (!is_element) return;
  uint32_t number = spacer->brackets.data[spacer->brackets.len - 1].num_commas;
  if (number % 5 == 0) write_format(spacer->formatter->out, "/*index=%u*/", number);
}

static void write_spaced(Spacer *spacer, const Token *token) {
  bool lacks_comma = spacer->style == COMMA_SHARDING && spacer->prev == TOK_RBRACKET &&
                     token->kind == TOK_LBRACKET; /* between a mesh and its axes */
  if (lacks_comma) write_text(spacer->formatter->out, ",");
  if (lacks_comma || needs_blank(spacer, token)) write_text(spacer->formatter->out, " ");
  write_element_number(spacer, token);
  format_token(spacer->formatter, token);
  if (token->kind == TOK_COMMA && spacer->brackets.len) {
    spacer->brackets.data[spacer->brackets.len - 1].num_commas++;
  }
  if (token->kind == TOK_LBRACE || token->kind == TOK_LBRACKET || token->kind == TOK_LPAREN) {
    *vec_push(spacer->formatter->scratch, &spacer->brackets) = (Bracket){.kind = token->kind};
  } else if (spacer->brackets.len && (token->kind == TOK_RBRACE || token->kind == TOK_RBRACKET ||
                                      token->kind == TOK_RPAREN)) {
    spacer->brackets.len--;
  }
  spacer->before_comma = spacer->prev;
  spacer->prev = token->kind;
}

/* At `metadata=`, whose value is a metadata or a `{` list `}` of them. If any field of them is to
 * be written, writes `before` and then the value. */
static bool write_metadata_of_sharding(Formatter *formatter, Lexer *lexer, const char *before) {
  const char *first = before[0] == ',' ? ", metadata=" : " metadata=";
  if (before[0] == '\0') first = "metadata=";
  lex_next(lexer);
  if (lex_peek(lexer) != TOK_LBRACE) return format_metadata(formatter, lexer, first);
  bool is_first = true;
  const char *opener = before[0] == ',' ? ", metadata={" : " metadata={";
  if (before[0] == '\0') opener = "metadata={";
  lex_next(lexer);
  for (;;) {
    if (format_metadata(formatter, lexer, is_first ? opener : ", ")) is_first = false;
    if (lexer->tok.kind != TOK_COMMA) break;
    lex_next(lexer);
  }
  lex_next(lexer); /* '}' */
  if (!is_first) write_text(formatter->out, "}");
  return !is_first;
}

void format_tokens(Formatter *formatter, Span span, CommaStyle style) {
  ArenaMark mark = arena_mark(formatter->scratch);
  Spacer spacer = {.formatter = formatter, .style = style, .prev = TOK_EOF};
  Lexer lexer = format_lexer(formatter, span.begin);
  Token comma = {.kind = TOK_EOF}; /* a comma that is only written if something follows it */
  while (lexer.tok.begin < span.end && lexer.tok.kind != TOK_ERROR && lexer.tok.kind != TOK_EOF) {
    bool is_metadata = lexer.tok.kind == TOK_ATTR_NAME && style == COMMA_SHARDING &&
                       str_is(format_span(formatter, lexer.tok.word), "metadata");
    if (is_metadata) {
      bool is_opened = spacer.prev == TOK_LBRACE;
      const char *before = comma.kind == TOK_COMMA ? "," : is_opened ? "" : " ";
      if (write_metadata_of_sharding(formatter, &lexer, before)) spacer.prev = TOK_RBRACE;
      comma.kind = TOK_EOF;
      continue;
    }
    if (comma.kind == TOK_COMMA) write_spaced(&spacer, &comma);
    comma.kind = TOK_EOF;
    if (lexer.tok.kind == TOK_COMMA) {
      comma = lexer.tok;
    } else {
      write_spaced(&spacer, &lexer.tok);
    }
    lex_next(&lexer);
  }
  if (comma.kind == TOK_COMMA) write_spaced(&spacer, &comma);
  arena_reset(formatter->scratch, mark);
}
