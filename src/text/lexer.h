/* Tokens of HLO text (xla/hlo/parser/hlo_lexer.cc). One token is held; a saved copy of the Lexer is
 * a place to go back to. What a word is depends only on the word and the byte behind it, so the
 * lexer needs no help from the parser, except that an integer list asks for plain integers. */
#ifndef REMAT_HLO_TEXT_LEXER_H
#define REMAT_HLO_TEXT_LEXER_H

#include "text/words.h"

typedef enum TokKind {
  TOK_EOF,
  TOK_ERROR, /* `Token.error` says what is wrong */
  TOK_EQUAL,
  TOK_COMMA,
  TOK_COLON,
  TOK_ASTERISK,
  TOK_QUESTION,
  TOK_HASH,
  TOK_PLUS,
  TOK_TILDE,
  TOK_LBRACKET,
  TOK_RBRACKET,
  TOK_LBRACE,
  TOK_RBRACE,
  TOK_LPAREN,
  TOK_RPAREN,
  TOK_ARROW,
  TOK_LESS_EQUAL,
  TOK_DOTS,
  TOK_NAME,      /* %word, or a word with `:` right behind it (which is swallowed) */
  TOK_ATTR_NAME, /* a word with `=` right behind it (which is swallowed) */
  TOK_IDENT,     /* any other word */
  TOK_TYPE,      /* an element type; `value` is the ElementType */
  TOK_KEYWORD,   /* `value` is the Keyword */
  TOK_STRING,
  TOK_INT,
  TOK_DECIMAL, /* a float, or nan */
  TOK_NEG_INF,
  TOK_DIM_LABELS, /* b01f_01io->b01f */
  TOK_DXD,        /* 2x2 */
  TOK_PAD,        /* 1_1x0_0 */
} TokKind;

typedef struct Token {
  uint8_t kind;
  uint8_t value;       /* ElementType or Keyword */
  bool is_nan;         /* of a TOK_DECIMAL */
  bool is_stray;       /* of a TOK_ERROR: one character that begins no token */
  uint32_t begin, end; /* the whole token */
  Span word;           /* without %, quotes, swallowed `:` or `=` */
  int64_t integer;     /* of a TOK_INT; 64 bits, 2^63 and above wrap (XLA's rule) */
  union {
    uint64_t nan_payload; /* of a nan; 0 = none given */
    uint64_t hash;        /* of a word, `%` left out: hash_str() */
    const char *error;
  };
  const Word *known; /* of a word without `%`: what it can mean, NULL = nothing */
} Token;

typedef struct Lexer {
  const char *text;
  const Words *words;
  uint32_t length;
  uint32_t pos;      /* behind `tok` */
  uint32_t prev_end; /* end of the token before `tok` */
  Token tok;
} Lexer;

/* Without `words` no word means anything: for texts that are known to be names or numbers. */
void lexer_init(Lexer *lexer, const char *text, uint32_t length, const Words *words);

/* Reads the next token into lexer->tok. */
void lex_next(Lexer *lexer);

/* The same where only an integer or punctuation is of interest: `1_2` reads as 1 here. */
void lex_next_int(Lexer *lexer);

/* Goes on behind `end`: what lies up to there was read without tokens. */
static inline void lex_skip_to(Lexer *lexer, uint32_t end) {
  lexer->tok.end = lexer->pos = end;
  lex_next(lexer);
}

/* Goes on at `pos`, whatever was read before, errors too. */
static inline void lex_restart(Lexer *lexer, uint32_t pos) {
  lexer->tok.kind = TOK_EOF;
  lex_skip_to(lexer, pos);
}

/* The kind of the token behind the current one. */
TokKind lex_peek(const Lexer *lexer);

/* With `{` as current token: reads to its partner as XLA's LexJsonDict does (only "…" hides braces)
 * and makes the whole dict the current token, a TOK_STRING. False when it does not close. */
bool lex_json_dict(Lexer *lexer);

static inline bool tok_is_keyword(const Token *tok, Keyword keyword) {
  return tok->kind == TOK_KEYWORD && tok->value == keyword;
}

/* Text belongs to instructions whole: what follows one on its line, if that is only blanks and
 * comments, is its own, the rest belongs to the next. From the end of an instruction (or of '{') to
 * where the next one's part begins. */
uint32_t text_line_end(const char *text, uint32_t length, uint32_t pos);

/* A token as messages call it: `'{'`, `name`, `end of text`. */
const char *tok_kind_text(TokKind kind);

#endif
