/* The state of the formatter and the functions that its files share. Every function copies tokens
 * of the source text and puts its own blanks and line ends between them. */
#ifndef REMAT_HLO_TEXT_FORMAT_INTERNAL_H
#define REMAT_HLO_TEXT_FORMAT_INTERNAL_H

#include "text/format.h"
#include "text/lexer.h"

typedef struct Formatter {
  const Module *module;
  const ModuleSource *source;
  const rh_format_options *options;
  Writer *out;
  Arena *scratch; /* memory that is used for one instruction */
  Arena *tables;  /* memory that lives as long as the formatter */
  Words words;
  Str *new_names;  /* by InstId: names of instructions that have no line in the text but get one */
  bool *is_inline; /* by CompId: operands that have no line in the text do not get one */
} Formatter;

static inline Str format_span(const Formatter *formatter, Span span) {
  return (Str){formatter->source->text + span.begin, span.end - span.begin};
}

/* Returns a lexer at the first token that begins at or after `offset`. */
Lexer format_lexer(const Formatter *formatter, uint32_t offset);

/* ---- names and shapes (format.c) ---- */

/* Writes a name without `%`, unless the name would then be read as another token. */
void format_bare_name(Formatter *formatter, Str name);

/* Writes a name without `%` in the short form, and with `%` in the long form. */
void format_name(Formatter *formatter, Str name);
void format_inst_name(Formatter *formatter, InstId id);
void format_shape(Formatter *formatter, ShapeId shape, bool with_layout);

/* Returns true if a shape that the text leaves to be inferred may be written. It may not be written
 * if it is huge, or if it has a layout that XLA accepts in the shape of an array but not in the
 * shape of a tuple. */
bool format_is_writable(const Formatter *formatter, ShapeId shape);

/* Gives names to the operands of a computation that have no line in the text, because an
 * instruction on its own line needs a name. */
void format_name_operands(Formatter *formatter, CompId id);

/* Writes `{`, the instructions, and `}`. `depth` is the number of enclosing computations. */
void format_body(Formatter *formatter, CompId id, uint32_t depth);

/* ---- values (format_value.c) ---- */

/* Where a blank follows a comma. */
typedef enum CommaStyle {
  COMMA_TIGHT,    /* nowhere: {0,1} */
  COMMA_OUTER,    /* in the outermost braces and in parentheses: {{0,1}: (0, {})} */
  COMMA_PARENS,   /* in parentheses: {({"a"}, {"b" {0,1}})} */
  COMMA_SHARDING, /* not in lists of devices and axes: {mesh['a'=2,'b'=4], [{'a'}, {'b'}]} */
} CommaStyle;

/* Writes the tokens of a span. */
void format_tokens(Formatter *formatter, Span span, CommaStyle style);

/* Writes a token. A string is not broken across lines. */
void format_token(Formatter *formatter, const Token *token);

/* Writes the metadata that begins at the lexer's `{` and moves the lexer past its `}`. If there is
 * anything to write, writes `before` first. Returns true if something was written. */
bool format_metadata(Formatter *formatter, Lexer *lexer, const char *before);

/* Writes `{key=value,…}`, sorted by key, from the `{` at `offset`. Returns the end offset. */
uint32_t format_frontend_attributes(Formatter *formatter, uint32_t offset);

/* Writes the string or dict at the lexer's token unchanged, and moves the lexer to the next
 * token. */
void format_string_or_dict(Formatter *formatter, Lexer *lexer);

/* Moves the lexer past the `}` that closes the lexer's `{`. */
void format_skip_braces(Lexer *lexer);

/* ---- attributes, literals and the header ---- */

/* Writes `, name=value` for each attribute, in XLA's order (format_attribute.c). */
void format_attributes(Formatter *formatter, InstId id, uint32_t depth);

/* Writes a literal of this shape from the token at `offset` (format_literal.c). */
void format_literal(Formatter *formatter, ShapeId shape, uint32_t offset);
void format_shaped_literal(Formatter *formatter, uint32_t offset);

/* Writes everything before the first computation (format_header.c). */
void format_header(Formatter *formatter);

#endif
