/* Parses literals. They are checked but not stored, because their text is printed again unchanged.
 *
 *     literal := scalar | nested braces to the rank, commas anywhere
 *              | '(' literal,… ')' for a tuple
 *
 * XLA stores every number in the next element in order, whatever the braces say, and compares the
 * counts at each '}'. A number without braces is one element of an array. */
#include "text/parser.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

typedef struct FloatRange {
  uint8_t type;
  double first_out; /* the smallest magnitude that XLA rejects, because it does not round to a
                       finite value */
  uint64_t max_nan_payload; /* 0 = the type accepts no payload */
} FloatRange;

/* The limits were found by bisection with jaxlib 0.12. XLA converts double to float and then to the
 * type, which explains the values for f16 and bf16. The fp4 and fp6 types saturate. The parts of
 * complex numbers are compared without rounding. */
static const FloatRange float_ranges[] = {
    {TYPE_F4E2M1FN, INFINITY, 0},
    {TYPE_F6E2M3FN, INFINITY, 0},
    {TYPE_F6E3M2FN, INFINITY, 0},
    {TYPE_F8E3M4, 15.75, 0xF},
    {TYPE_F8E4M3, 248, 0x7},
    {TYPE_F8E4M3B11FNUZ, 31, 0},
    {TYPE_F8E4M3FN, 0x1.d000000000001p+8, 0},
    {TYPE_F8E4M3FNUZ, 248, 0},
    {TYPE_F8E5M2, 61440, 0x3},
    {TYPE_F8E5M2FNUZ, 61440, 0},
    {TYPE_F8E8M0FNU, 0x1.8p+127, 0},
    {TYPE_BF16, 0x1.feffffp+127, 0x7F},
    {TYPE_F16, 0x1.ffdfffp+15, 0x3FF},
    {TYPE_F32, 0x1.ffffffp+127, 0x7FFFFF},
    {TYPE_F64, INFINITY, UINT64_C(0xFFFFFFFFFFFFF)},
    {TYPE_C64, 0x1.fffffe0000001p+127, 0x7FFFFF},
    {TYPE_C128, INFINITY, UINT64_C(0xFFFFFFFFFFFFF)},
};

static const FloatRange *float_range(ElementType type) {
  for (size_t i = 0; i < sizeof float_ranges / sizeof *float_ranges; i++) {
    if (float_ranges[i].type == type) return &float_ranges[i];
  }
  return NULL;
}

/* Reads a number token as a double. It is copied because `strtod` needs a terminated text. */
bool parse_double(Parser *parser, double *value) {
  switch (tok(parser)->kind) {
    case TOK_INT: *value = (double)tok(parser)->integer; break;
    case TOK_NEG_INF: *value = -INFINITY; break;
    case TOK_DECIMAL:
      if (tok(parser)->is_nan) {
        *value = NAN;
      } else {
        Str word = tok_word(parser);
        ArenaMark mark = arena_mark(parser->scratch);
        *value = strtod(arena_strndup(parser->scratch, word.data, word.len), NULL);
        arena_reset(parser->scratch, mark);
        if (isinf(*value)) {
          return parse_fail(parser, tok(parser)->begin, "the number is out of range for a double");
        }
      }
      break;
    default:
      if (!tok_is_keyword(tok(parser), KW_INF)) return parse_expected(parser, "a number");
      *value = INFINITY;
      break;
  }
  lex_next(&parser->lex);
  return true;
}

static bool check_nan(Parser *parser, ElementType type, const Token *token) {
  uint64_t largest = float_range(type)->max_nan_payload;
  if (token->nan_payload <= largest) return true;
  if (largest == 0) {
    return parse_fail(parser, token->begin, "%s does not know NaN payloads", type_info(type)->text);
  }
  return parse_fail(parser, token->begin, "NaN payload is beyond 0x%" PRIx64 ", the largest of %s",
                    largest, type_info(type)->text);
}

static bool check_float(Parser *parser, ElementType type, const Token *token, double value) {
  if (isinf(value) || isnan(value)) return true;
  bool is_in = fabs(value) < float_range(type)->first_out;
  /* The type represents only powers of two. */
  if (type == TYPE_F8E8M0FNU && value <= 0) is_in = false;
  return is_in || parse_fail(parser, token->begin, "the number is out of range for %s",
                             type_info(type)->text);
}

static bool check_int(Parser *parser, ElementType type, const Token *token) {
  const TypeInfo *info = type_info(type);
  int64_t value = token->integer;
  bool ok = true;
  if (info->class == TYPE_CLASS_UINT) {
    ok = info->bits == 64 || (uint64_t)value >> info->bits == 0;
  } else if (info->class == TYPE_CLASS_SINT && info->bits < 64) {
    int64_t limit = INT64_C(1) << (info->bits - 1);
    ok = value >= -limit && value < limit;
  }
  return ok || parse_fail(parser, token->begin, "the number is out of range for %s", info->text);
}

/* '(' real ',' imaginary ')' */
static bool parse_complex(Parser *parser, ElementType type) {
  uint32_t opener = tok(parser)->begin;
  lex_next(&parser->lex);
  for (int part = 0; part < 2; part++) {
    Token token = *tok(parser);
    double value;
    if (!parse_double(parser, &value) || !check_float(parser, type, &token, value)) return false;
    /* XLA checks only the payload of the real part. */
    if (part == 0 && isnan(value) && !check_nan(parser, type, &token)) return false;
    if (part == 0 && !parse_token(parser, TOK_COMMA, "between the parts of a complex number")) {
      return false;
    }
  }
  return parse_close(parser, TOK_RPAREN, opener, "the complex number");
}

/* Reads one number of a literal. */
static bool parse_element(Parser *parser, ElementType type) {
  const Token token = *tok(parser);
  uint8_t class = type_info(type)->class;
  bool is_word = token.kind == TOK_KEYWORD && (token.value == KW_TRUE || token.value == KW_FALSE);
  if (is_word) {
    if (class != TYPE_CLASS_PRED) {
      return parse_fail(parser, token.begin, "true and false are for pred, not for %s",
                        type_info(type)->text);
    }
    lex_next(&parser->lex);
    return true;
  }
  if (class == TYPE_CLASS_PRED || class == TYPE_CLASS_SINT || class == TYPE_CLASS_UINT) {
    if (token.kind != TOK_INT) {
      return parse_expected(parser, arena_printf(parser->scratch, "an integer in a literal of %s",
                                                 type_info(type)->text));
    }
    lex_next(&parser->lex);
    return check_int(parser, type, &token);
  }
  if (class == TYPE_CLASS_FLOAT) {
    double value;
    return parse_double(parser, &value) && check_float(parser, type, &token, value) &&
           (!isnan(value) || check_nan(parser, type, &token));
  }
  return parse_fail(parser, token.begin, "a complex number is written (real, imaginary)");
}

/* The state of each open '{'. */
typedef struct Nest {
  int64_t seen;
  uint32_t opener;
} Nest;

static bool open_brace(Parser *parser, const Shape *shape, Nest *nest, uint32_t *level) {
  if (*level == shape->rank) {
    return parse_fail(parser, tok(parser)->begin, "the literal nests deeper than its rank, %u",
                      shape->rank);
  }
  if (*level > 0 && ++nest[*level - 1].seen > shape->dims[*level - 1]) {
    return parse_fail_opened(parser, tok(parser)->begin, nest[*level - 1].opener,
                             "dimension %u of the literal has %" PRId64
                             " elements, here comes one "
                             "more",
                             *level - 1, shape->dims[*level - 1]);
  }
  nest[*level] = (Nest){.opener = tok(parser)->begin};
  ++*level;
  lex_next(&parser->lex);
  return true;
}

/* `shallow` is the offset of the first number outside of the innermost braces. */
static bool close_brace(Parser *parser, const Shape *shape, Nest *nest, uint32_t *level,
                        uint32_t shallow) {
  if (*level == 0) return parse_fail(parser, tok(parser)->begin, "'}' without '{' in a literal");
  --*level;
  if (nest[*level].seen != shape->dims[*level] && shallow != NO_OFFSET) {
    return parse_fail(parser, shallow, "expected '{' before the numbers: the literal's rank is %u",
                      shape->rank);
  }
  if (nest[*level].seen != shape->dims[*level]) {
    return parse_fail_opened(parser, tok(parser)->begin, nest[*level].opener,
                             "dimension %u of the literal needs %" PRId64 " elements, has %" PRId64,
                             *level, shape->dims[*level], nest[*level].seen);
  }
  nest[*level].seen = 0;
  lex_next(&parser->lex);
  return true;
}

static bool fail_token(Parser *parser, const Shape *shape, const Nest *nest, uint32_t level) {
  const char *outside = shape->rank ? "a number or '{'" : "a literal";
  parse_expected(parser, level ? "a number, '{' or '}'" : outside);
  bool is_end = at(parser, TOK_RPAREN) || at(parser, TOK_EOF);
  if (level && is_end) parser->error.opener = nest[level - 1].opener;
  return false;
}

static bool parse_array_literal(Parser *parser, const Shape *shape, bool *is_elided) {
  ArenaMark mark = arena_mark(parser->scratch);
  Nest *nest = arena_zarray(parser->scratch, Nest, shape->rank + 1);
  uint32_t level = 0;
  int64_t num_elements = 0;
  uint32_t shallow = NO_OFFSET;
  bool ok = true;
  do {
    switch (tok(parser)->kind) {
      case TOK_LBRACE: ok = open_brace(parser, shape, nest, &level); break;
      case TOK_RBRACE: ok = close_brace(parser, shape, nest, &level, shallow); break;
      case TOK_COMMA: lex_next(&parser->lex); break;
      case TOK_DOTS:
        if (level != 1) {
          ok = parse_fail(parser, tok(parser)->begin,
                          "'...' stands for elements of the outermost "
                          "dimension only");
          break;
        }
        nest[0].seen = shape->dims[0];
        *is_elided = true;
        lex_next(&parser->lex);
        break;
      case TOK_LPAREN:
      case TOK_KEYWORD:
      case TOK_INT:
      case TOK_DECIMAL:
      case TOK_NEG_INF: {
        uint32_t place = tok(parser)->begin;
        bool is_complex = type_info(shape->type)->class == TYPE_CLASS_COMPLEX;
        if (tok(parser)->kind == TOK_LPAREN && is_complex) {
          if (shape->rank > 0 && level != shape->rank) {
            ok = parse_fail(parser, place, "the number stands at depth %u of a literal of rank %u",
                            level, shape->rank);
            break;
          }
          ok = parse_complex(parser, shape->type);
        } else if (tok(parser)->kind == TOK_LPAREN) {
          ok = parse_fail(parser, place, "'(' is for complex numbers only");
        } else if (tok(parser)->kind == TOK_KEYWORD && tok(parser)->value > KW_INF) {
          ok = parse_expected(parser, "a number");
        } else {
          ok = parse_element(parser, shape->type);
        }
        if (shape->rank > 0 && level == shape->rank) {
          nest[level - 1].seen++;
        } else if (level > 0 && shallow == NO_OFFSET) {
          shallow = place;
        }
        if (ok && shape->num_elements >= 0 && num_elements >= shape->num_elements) {
          ok = parse_fail(parser, place, "the literal has more elements than its shape");
        }
        num_elements++;
        break;
      }
      default: ok = fail_token(parser, shape, nest, level); break;
    }
  } while (ok && level > 0);
  arena_reset(parser->scratch, mark);
  return ok;
}

static bool parse_tuple_literal(Parser *parser, ShapeId tuple, bool *is_elided) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_enter(parser, "literal")) return false;
  bool ok = parse_token(parser, TOK_LPAREN, "before the elements of a tuple");
  uint32_t count = shape_get(&parser->module->shapes, tuple)->rank;
  for (uint32_t i = 0; ok && i < count && !(i == 0 && at(parser, TOK_RPAREN)); i++) {
    if (i > 0 && !eat(parser, TOK_COMMA)) {
      diag_warn(parser->diags, DIAG_AT(tok(parser)->begin),
                "',' is missing between the elements of a tuple literal; XLA overlooks it");
    }
    ShapeId element = shape_get(&parser->module->shapes, tuple)->elements[i];
    ok = parse_literal(parser, element, is_elided);
  }
  parse_leave(parser);
  return ok && parse_close(parser, TOK_RPAREN, opener, "the tuple literal");
}

bool parse_literal(Parser *parser, ShapeId id, bool *is_elided) {
  const Shape *shape = shape_get(&parser->module->shapes, id);
  if (shape_is_tuple(shape)) return parse_tuple_literal(parser, id, is_elided);
  if (!shape_is_array(shape)) {
    Str text = shape_text(&parser->module->shapes, id, false, parser->scratch);
    return parse_fail(parser, tok(parser)->begin, "%.*s has no literals", (int)text.len, text.data);
  }
  const char *why;
  if (!parse_array_is_valid(shape, &why)) { /* XLA terminates when it makes the literal */
    return parse_fail(parser, tok(parser)->begin, "no literal has this shape: %s", why);
  }
  return parse_array_literal(parser, shape, is_elided);
}

bool parse_shaped_literal(Parser *parser) {
  bool is_elided = false;
  if (!at(parser, TOK_LPAREN)) {
    ShapeId shape;
    return parse_shape(parser, &shape) && parse_literal(parser, shape, &is_elided);
  }
  uint32_t opener = tok(parser)->begin;
  if (!parse_enter(parser, "literal")) return false;
  lex_next(&parser->lex);
  bool ok = true;
  while (ok && !at(parser, TOK_RPAREN)) {
    ok = parse_shaped_literal(parser);
    if (ok && !at(parser, TOK_RPAREN) && !eat(parser, TOK_COMMA)) {
      diag_warn(parser->diags, DIAG_AT(tok(parser)->begin),
                "',' is missing between the elements of a tuple literal; XLA overlooks it");
    }
  }
  parse_leave(parser);
  return ok && parse_close(parser, TOK_RPAREN, opener, "the tuple literal");
}
