/* The lexer: it splits HLO text into tokens (xla/hlo/parser/hlo_lexer.cc). For example,
 *
 *   %add.1 = f32[2]{0} add(a, b), index=1
 *
 * begins with NAME EQUAL TYPE LBRACKET INT RBRACKET and ends with ATTR_NAME INT. The lexer holds
 * one token. A copy of the Lexer struct saves its position, and assigning the copy back restores
 * it.
 *
 * The kind of a word depends only on the word itself and on the byte after it, so the lexer needs
 * no information from the parser. The one exception is that a list of integers asks for plain
 * integers (lex_next_int). */
#ifndef REMAT_HLO_TEXT_LEXER_H
#define REMAT_HLO_TEXT_LEXER_H

#include "text/words.h"

typedef enum TokKind {
  TOK_EOF,
  TOK_ERROR, /* `Token.error` is the message */
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
  TOK_NAME,      /* %word, or a word directly followed by `:`, which is consumed */
  TOK_ATTR_NAME, /* a word directly followed by `=`, which is consumed */
  TOK_IDENT,     /* any other word */
  TOK_TYPE,      /* an element type; `value` is the ElementType */
  TOK_KEYWORD,   /* `value` is the Keyword */
  TOK_STRING,
  TOK_INT,
  TOK_DECIMAL, /* a float or nan */
  TOK_NEG_INF,
  TOK_DIM_LABELS, /* b01f_01io->b01f */
  TOK_DXD,        /* 2x2 */
  TOK_PAD,        /* 1_1x0_0 */
} TokKind;

typedef struct Token {
  uint8_t kind;
  uint8_t value;       /* ElementType or Keyword */
  bool is_nan;         /* for a TOK_DECIMAL */
  bool is_stray;       /* for a TOK_ERROR: a single character that no token begins with */
  uint32_t begin, end; /* the whole token */
  Span word;           /* without `%`, quotes, and the consumed `:` or `=` */
  int64_t integer;     /* for a TOK_INT: 64 bits; values from 2^63 on wrap around, as in XLA */
  union {
    uint64_t nan_payload; /* for a nan; 0 = none given */
    uint64_t hash;        /* for a word: hash_str() of it without `%` */
    const char *error;
  };
  const Word *known; /* for a word without `%`: its possible meanings; NULL = none */
} Token;

typedef struct Lexer {
  const char *text;
  const Words *words;
  uint32_t length;
  uint32_t pos;      /* the offset after `tok` */
  uint32_t prev_end; /* the end of the token before `tok` */
  Token tok;
} Lexer;

/* Starts a lexer. If `words` is NULL, no word has a meaning; this is for texts that are known to
 * hold only names or numbers. */
void lexer_init(Lexer *lexer, const char *text, uint32_t length, const Words *words);

/* Reads the next token into lexer->tok. */
void lex_next(Lexer *lexer);

/* Reads the next token where only an integer or punctuation is expected: it reads `1` from
 * `1_2`. */
void lex_next_int(Lexer *lexer);

/* Continues after `end`, when the bytes up to `end` were read without the lexer. */
static inline void lex_skip_to(Lexer *lexer, uint32_t end) {
  lexer->tok.end = lexer->pos = end;
  lex_next(lexer);
}

/* Continues at `pos`, even if the current token is an error. */
static inline void lex_restart(Lexer *lexer, uint32_t pos) {
  lexer->tok.kind = TOK_EOF;
  lex_skip_to(lexer, pos);
}

/* Returns the kind of the token after the current one. */
TokKind lex_peek(const Lexer *lexer);

/* The current token must be `{`. Reads to the matching `}` as XLA's LexJsonDict does, where only
 * "…" hides braces, and makes the whole dict the current token, of kind TOK_STRING. Returns false
 * if there is no matching `}`. */
bool lex_json_dict(Lexer *lexer);

static inline bool tok_is_keyword(const Token *tok, Keyword keyword) {
  return tok->kind == TOK_KEYWORD && tok->value == keyword;
}

/* Returns where the part of the text that belongs to the next instruction begins. `pos` is the end
 * of an instruction, or the offset after `{`. If only blanks and comments follow on that line, they
 * belong to the instruction before them; everything else belongs to the next instruction. */
uint32_t text_line_end(const char *text, uint32_t length, uint32_t pos);

/* Returns the form in which messages show a kind of token: `'{'`, `name`, `end of text`. */
const char *tok_kind_text(TokKind kind);

#endif
