/* What the files of the formatter give each other. All of them copy tokens of the source, with
 * blanks and line ends of their own between them. */
#ifndef REMAT_HLO_TEXT_FORMAT_INTERNAL_H
#define REMAT_HLO_TEXT_FORMAT_INTERNAL_H

#include "text/format.h"
#include "text/lexer.h"

typedef struct Formatter {
  const Module *module;
  const ModuleSource *source;
  const rh_format_options *options;
  Writer *out;
  Arena *scratch; /* what lives within one instruction */
  Arena *tables;  /* what lives as long as the formatter */
  Words words;
  Str *new_names;  /* by InstId, of those that get a line though they have none in the text */
  bool *is_inline; /* by CompId: operands without a line stay without one */
} Formatter;

static inline Str format_span(const Formatter *formatter, Span span) {
  return (Str){formatter->source->text + span.begin, span.end - span.begin};
}

/* A lexer at the token that begins at or behind `offset`. */
Lexer format_lexer(const Formatter *formatter, uint32_t offset);

/* ---- names and shapes (format.c) ---- */

/* A name without `%`, unless it would mean something else. */
void format_bare_name(Formatter *formatter, Str name);

/* The same in the short form, with `%` in the long one. */
void format_name(Formatter *formatter, Str name);
void format_inst_name(Formatter *formatter, InstId id);
void format_shape(Formatter *formatter, ShapeId shape, bool with_layout);

/* Whether a shape that the text leaves to be inferred may be written down. It may not if it is
 * huge, or has a layout that XLA takes in an array's shape but not in a tuple's. */
bool format_is_writable(const Formatter *formatter, ShapeId shape);

/* Gives a computation's operands without a line names, as lines of their own need them. */
void format_name_operands(Formatter *formatter, CompId id);

/* `{`, the instructions, `}`; `depth` counts the computations around it. */
void format_body(Formatter *formatter, CompId id, uint32_t depth);

/* ---- values (format_value.c) ---- */

/* Where a blank goes behind a comma. */
typedef enum CommaStyle {
  COMMA_TIGHT,    /* nowhere: {0,1} */
  COMMA_OUTER,    /* in the outermost braces and in parentheses: {{0,1}: (0, {})} */
  COMMA_PARENS,   /* in parentheses: {({"a"}, {"b" {0,1}})} */
  COMMA_SHARDING, /* not in lists of devices and axes: {mesh['a'=2,'b'=4], [{'a'}, {'b'}]} */
} CommaStyle;

/* The tokens in a span. */
void format_tokens(Formatter *formatter, Span span, CommaStyle style);

/* A token; a string stays on its line. */
void format_token(Formatter *formatter, const Token *token);

/* The metadata at the lexer's `{`, which is left behind its `}`. With `before` in front of it, if
 * there is anything left to write. */
bool format_metadata(Formatter *formatter, Lexer *lexer, const char *before);

/* `{key=value,…}` sorted by key, from the `{` at `offset`. Returns the end. */
uint32_t format_frontend_attributes(Formatter *formatter, uint32_t offset);

/* The string or dict at the lexer's token as it stands; goes on to the next token. */
void format_string_or_dict(Formatter *formatter, Lexer *lexer);

/* Reads up to the `}` that closes the lexer's `{`, and behind it. */
void format_skip_braces(Lexer *lexer);

/* ---- the rest ---- */

/* `, name=value` for each attribute, in XLA's order (format_attribute.c). */
void format_attributes(Formatter *formatter, InstId id, uint32_t depth);

/* A literal of this shape from the token at `offset` (format_literal.c). */
void format_literal(Formatter *formatter, ShapeId shape, uint32_t offset);
void format_shaped_literal(Formatter *formatter, uint32_t offset);

/* Everything before the first computation (format_header.c). */
void format_header(Formatter *formatter);

#endif
