/* Writes literals in XLA's layout (Literal::ToStringWithoutShapeOneline): `{1, 2}` for a vector, `{
 * { 1, 2 }, { 3, 4 } }` for an array with more dimensions, `( {1, 2}, 3 )` for a tuple. Numbers are
 * not changed. */
#include <inttypes.h>

#include "text/format_internal.h"

/* The properties of a shape that determine the layout of its literal. */
typedef struct LiteralShape {
  uint32_t rank;
  int64_t last_dim;
} LiteralShape;

typedef struct LiteralWriter {
  Formatter *formatter;
  Lexer *lexer;
  LiteralShape shape;
  uint32_t level;
  VEC(int64_t) seen; /* number of elements so far at each open level */
} LiteralWriter;

/* Returns true if the braces have no blanks inside: those of vectors, and rows of at most one
 * element. */
static bool is_tight(const LiteralWriter *writer, uint32_t level) {
  return level == writer->shape.rank && (writer->shape.rank == 1 || writer->shape.last_dim <= 1);
}

static void write_separator(LiteralWriter *writer) {
  if (writer->level == 0) return;
  if (writer->seen.data[writer->level - 1]++) write_text(writer->formatter->out, ", ");
}

static void open_brace(LiteralWriter *writer) {
  Writer *out = writer->formatter->out;
  write_separator(writer);
  write_text(out, "{");
  /* XLA numbers all but the two innermost dimensions of an array with four or more. */
  if (writer->level > 0 && writer->shape.rank > 3 && writer->level + 1 < writer->shape.rank) {
    write_format(out, " /*i%u=%" PRId64 "*/", writer->level - 1,
                 writer->seen.data[writer->level - 1] - 1);
  }
  *vec_push(writer->formatter->scratch, &writer->seen) = 0;
  writer->level++;
  lex_next(writer->lexer);
  bool is_elided = writer->lexer->tok.kind == TOK_DOTS;
  if (!is_tight(writer, writer->level) && !is_elided) write_text(out, " ");
}

static void close_brace(LiteralWriter *writer, bool is_elided) {
  if (!is_tight(writer, writer->level) && !is_elided) write_text(writer->formatter->out, " ");
  write_text(writer->formatter->out, "}");
  writer->seen.len--;
  writer->level--;
  lex_next(writer->lexer);
}

/* Writes `(1, 2)`. */
static void write_complex(LiteralWriter *writer) {
  for (int i = 0; i < 5; i++) {
    format_token(writer->formatter, &writer->lexer->tok);
    if (writer->lexer->tok.kind == TOK_COMMA) write_text(writer->formatter->out, " ");
    lex_next(writer->lexer);
  }
}

/* Writes the literal of an array, which may have commas anywhere, and moves the lexer past it. XLA
 * reads a comma without braces around it as a literal without numbers. */
static void write_array(Formatter *formatter, Lexer *lexer, LiteralShape shape) {
  ArenaMark mark = arena_mark(formatter->scratch);
  LiteralWriter writer = {.formatter = formatter, .lexer = lexer, .shape = shape};
  bool is_elided = false;
  if (lexer->tok.kind == TOK_COMMA) write_text(formatter->out, ",");
  do {
    switch (lexer->tok.kind) {
      case TOK_COMMA: lex_next(lexer); continue;
      case TOK_LBRACE: open_brace(&writer); continue;
      case TOK_RBRACE: close_brace(&writer, is_elided); continue;
      case TOK_EOF:
      case TOK_ERROR: return;
      default: break;
    }
    write_separator(&writer);
    is_elided |= lexer->tok.kind == TOK_DOTS;
    if (lexer->tok.kind == TOK_LPAREN) {
      write_complex(&writer);
    } else {
      format_token(formatter, &lexer->tok);
      lex_next(lexer);
    }
  } while (writer.level > 0);
  arena_reset(formatter->scratch, mark);
}

static void write_literal(Formatter *formatter, Lexer *lexer, ShapeId id) {
  const ShapeTable *shapes = &formatter->module->shapes;
  const Shape *shape = shape_get(shapes, id);
  if (!shape_is_tuple(shape)) {
    int64_t last_dim = shape->rank ? shape->dims[shape->rank - 1] : 0;
    write_array(formatter, lexer, (LiteralShape){shape->rank, last_dim});
    return;
  }
  write_text(formatter->out, "(");
  lex_next(lexer);
  for (uint32_t i = 0; i < shape->rank && lexer->tok.kind != TOK_RPAREN; i++) {
    if (i && lexer->tok.kind == TOK_COMMA) lex_next(lexer);
    write_text(formatter->out, i ? ", " : " ");
    write_literal(formatter, lexer, shape->elements[i]);
  }
  write_text(formatter->out, shape->rank ? " )" : ")");
  lex_next(lexer);
}

void format_literal(Formatter *formatter, ShapeId shape, uint32_t offset) {
  Lexer lexer = format_lexer(formatter, offset);
  write_literal(formatter, &lexer, shape);
}

/* Writes the tokens of an array's shape. The layout is always written, because otherwise the `{` of
 * the literal would be read as a layout. */
static LiteralShape write_shape(Formatter *formatter, Lexer *lexer) {
  Writer *out = formatter->out;
  LiteralShape shape = {0, 0};
  format_token(formatter, &lexer->tok); /* the element type */
  lex_next(lexer);
  do {
    if (lexer->tok.kind == TOK_INT) {
      shape.rank++;
      shape.last_dim = lexer->tok.integer;
    }
    format_token(formatter, &lexer->tok);
    lex_next(lexer);
  } while (lexer->tok.kind != TOK_RBRACKET && lexer->tok.kind != TOK_EOF);
  format_token(formatter, &lexer->tok);
  lex_next(lexer);
  TokKind next = lex_peek(lexer);
  if (lexer->tok.kind == TOK_LBRACE && (next == TOK_INT || next == TOK_COLON)) {
    uint32_t begin = lexer->tok.begin;
    format_skip_braces(lexer);
    format_tokens(formatter, (Span){begin, lexer->prev_end}, COMMA_TIGHT);
  } else if (shape.rank) {
    write_text(out, "{");
    for (uint32_t i = shape.rank; i-- > 0;)
      write_format(out, i ? "%u," : "%u}", i);
  }
  return shape;
}

static void write_shaped_literal(Formatter *formatter, Lexer *lexer) {
  if (lexer->tok.kind != TOK_LPAREN) {
    LiteralShape shape = write_shape(formatter, lexer);
    write_text(formatter->out, " ");
    write_array(formatter, lexer, shape);
    return;
  }
  write_text(formatter->out, "(");
  lex_next(lexer);
  bool is_empty = true;
  while (lexer->tok.kind != TOK_RPAREN && lexer->tok.kind != TOK_EOF) {
    write_text(formatter->out, is_empty ? " " : ", ");
    write_shaped_literal(formatter, lexer);
    if (lexer->tok.kind == TOK_COMMA) lex_next(lexer);
    is_empty = false;
  }
  write_text(formatter->out, is_empty ? ")" : " )");
  lex_next(lexer);
}

void format_shaped_literal(Formatter *formatter, uint32_t offset) {
  Lexer lexer = format_lexer(formatter, offset);
  write_shaped_literal(formatter, &lexer);
}
