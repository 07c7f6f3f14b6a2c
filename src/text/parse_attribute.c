/* Parses the values of attributes. Each function is named after a kind of value and reads the text
 * after `name=`. Integers are stored in source->ints as ir/attribute.h describes. */
#include <math.h>
#include <strings.h>

#include "text/parser.h"

static bool parse_bool_value(Parser *parser) {
  bool value = false;
  if (!parse_bool(parser, &value)) return false;
  push_int(parser, value);
  return true;
}

static bool parse_int_value(Parser *parser) {
  int64_t value = 0;
  if (!parse_int(parser, &value)) return false;
  push_int(parser, value);
  return true;
}

static bool parse_int32_value(Parser *parser) {
  int64_t value = 0;
  if (!parse_int32(parser, &value)) return false;
  push_int(parser, value);
  return true;
}

static bool parse_float_value(Parser *parser) {
  uint32_t place = tok(parser)->begin;
  double value;
  if (!parse_double(parser, &value)) return false;
  if (fabs(value) > 0x1.fffffep+127) {
    return parse_fail(parser, place, "the number is out of range for a float");
  }
  return true;
}

static bool parse_string_value(Parser *parser) {
  Span text;
  return parse_string(parser, &text);
}

bool parse_string_or_dict(Parser *parser) {
  if (at(parser, TOK_STRING)) return parse_string_value(parser);
  if (!at(parser, TOK_LBRACE)) return parse_expected(parser, "a string or a JSON dict");
  uint32_t opener = tok(parser)->begin;
  if (!lex_json_dict(&parser->lex)) {
    return parse_fail(parser, opener, "the JSON dict is never closed");
  }
  lex_next(&parser->lex);
  return true;
}

/* '{' (name '=' (string | dict)),… '}' */
bool parse_frontend_attributes(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the frontend attributes")) return false;
  if (!at(parser, TOK_RBRACE)) {
    do {
      if (!at(parser, TOK_ATTR_NAME)) return parse_expected(parser, "`key=`");
      lex_next(&parser->lex);
      if (!parse_string_or_dict(parser)) return false;
    } while (eat(parser, TOK_COMMA));
  }
  return parse_close(parser, TOK_RBRACE, opener, "the frontend attributes");
}

/* '{' (visualizing_index=I (',' name '=' number)*)? '}' */
static bool parse_statistics(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the statistics")) return false;
  if (!at(parser, TOK_RBRACE)) {
    int64_t index;
    if (!at(parser, TOK_ATTR_NAME)) return parse_expected(parser, "`visualizing_index=`");
    lex_next(&parser->lex);
    if (!parse_int(parser, &index)) return false;
    while (eat(parser, TOK_COMMA)) {
      if (!at(parser, TOK_ATTR_NAME)) return parse_expected(parser, "`statistic=`");
      lex_next(&parser->lex);
      if (!at(parser, TOK_INT) && !at(parser, TOK_DECIMAL)) {
        return parse_expected(parser, "a number");
      }
      lex_next(&parser->lex);
    }
  }
  return parse_close(parser, TOK_RBRACE, opener, "the statistics");
}

/* '{' (true | false),… '}' */
static bool parse_bool_list(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the list")) return false;
  if (!at(parser, TOK_RBRACE)) {
    do {
      if (!parse_bool_value(parser)) return false;
    } while (eat(parser, TOK_COMMA));
  }
  return parse_close(parser, TOK_RBRACE, opener, "the list");
}

static bool parse_int_list_value(Parser *parser) {
  return parse_int_list(parser, TOK_LBRACE, TOK_RBRACE, TOK_COMMA);
}

/* '{' list,… '}'
 *
 * If `length` is not 0, the lists must have that many elements. */
static bool parse_int_list_list(Parser *parser, uint32_t length) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before a list of lists")) return false;
  if (!at(parser, TOK_RBRACE)) {
    do {
      uint32_t place = tok(parser)->begin, before = parser->source->ints.len;
      if (at(parser, TOK_ATTR_NAME)) {
        parse_check_closed(parser, TOK_RBRACE, opener, "the list of lists");
      }
      if (!parse_int_list_value(parser)) return false;
      if (length && parser->source->ints.len - before != length) {
        return parse_fail(parser, place, "expected a pair of integers, found %u of them",
                          parser->source->ints.len - before);
      }
    } while (eat(parser, TOK_COMMA));
  }
  return parse_close(parser, TOK_RBRACE, opener, "the list of lists");
}

/* '{' ('[' start ':' limit (':' stride)? ']'),… '}' */
static bool parse_slice(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the slice")) return false;
  if (!at(parser, TOK_RBRACE)) {
    do {
      uint32_t place = tok(parser)->begin, before = parser->source->ints.len;
      if (at(parser, TOK_ATTR_NAME)) {
        parse_check_closed(parser, TOK_RBRACE, opener, "the slice");
      }
      if (!parse_int_list(parser, TOK_LBRACKET, TOK_RBRACKET, TOK_COLON)) return false;
      uint32_t count = parser->source->ints.len - before;
      if (count != 2 && count != 3) {
        return parse_fail(parser, place, "a slice is [start:limit] or [start:limit:stride]");
      }
      if (count == 2) push_int(parser, 1);
    } while (eat(parser, TOK_COMMA));
  }
  return parse_close(parser, TOK_RBRACE, opener, "the slice");
}

/* int (separator int)* within one token: "2x2", "1_1"
 *
 * Appends to the module's integers. */
static bool split_ints(Parser *parser, Str text, char separator, uint32_t place, uint32_t *count) {
  *count = 0;
  for (uint32_t begin = 0; begin <= text.len;) {
    uint32_t end = begin;
    while (end < text.len && text.data[end] != separator)
      end++;
    Lexer number;
    lexer_init(&number, text.data + begin, end - begin, NULL);
    lex_next_int(&number);
    if (number.tok.kind != TOK_INT || number.pos != end - begin) {
      return parse_fail(parser, place, "an integer in '%.*s' is out of range", (int)text.len,
                        text.data);
    }
    push_int(parser, number.tok.integer);
    ++*count;
    begin = end + 1;
  }
  return true;
}

/* sizes = int | DxD
 *
 * Reads one value per dimension. */
static bool parse_sizes(Parser *parser, uint32_t *count) {
  *count = 1;
  if (at(parser, TOK_INT)) return parse_int_value(parser);
  if (!at(parser, TOK_DXD)) return parse_expected(parser, "sizes such as 3x3");
  bool ok = split_ints(parser, tok_word(parser), 'x', tok(parser)->begin, count);
  if (ok) lex_next(&parser->lex);
  return ok;
}

/* pad = (lo '_' hi ('_' interior)?) ('x' …)*
 *
 * Reads three integers per dimension. `interior` must be allowed. */
static bool parse_pad(Parser *parser, bool with_interior, uint32_t *count) {
  if (!at(parser, TOK_PAD)) return parse_expected(parser, "padding such as 0_0x1_1");
  Str text = tok_word(parser);
  uint32_t place = tok(parser)->begin;
  *count = 0;
  for (uint32_t begin = 0; begin <= text.len;) {
    uint32_t end = begin, num_ints;
    while (end < text.len && text.data[end] != 'x')
      end++;
    Str dim = {text.data + begin, end - begin};
    if (!split_ints(parser, dim, '_', place, &num_ints)) return false;
    if (num_ints == 2) push_int(parser, 0);
    if (num_ints == 3 && !with_interior) {
      return parse_fail(parser, place, "window padding is low_high; '%.*s' has three numbers",
                        (int)dim.len, dim.data);
    }
    ++*count;
    begin = end + 1;
  }
  lex_next(&parser->lex);
  return true;
}

static bool parse_padding(Parser *parser) {
  uint32_t count;
  return parse_pad(parser, true, &count);
}

enum {
  WINDOW_SIZE,
  WINDOW_STRIDE,
  WINDOW_PAD,
  WINDOW_LHS,
  WINDOW_RHS,
  WINDOW_REVERSAL,
  NUM_WINDOW
};

typedef struct WindowField {
  uint32_t first, count; /* indices in the module's integers */
  uint32_t place;
} WindowField;

static int64_t window_value(const Parser *parser, WindowField field, uint32_t dim, uint32_t step,
                            uint32_t offset, int64_t fallback) {
  if (field.count == 0) return fallback;
  return parser->source->ints.data[field.first + dim * step + offset];
}

/* '{' (size= | stride= | pad= | lhs_dilate= | rhs_dilate= | rhs_reversal=)* '}', without commas. */
static bool parse_window(Parser *parser) {
  static const char *const names[NUM_WINDOW] = {"size",       "stride",     "pad",
                                                "lhs_dilate", "rhs_dilate", "rhs_reversal"};
  WindowField fields[NUM_WINDOW] = {0};
  uint32_t opener = tok(parser)->begin, before = parser->source->ints.len;
  if (!parse_token(parser, TOK_LBRACE, "before the window")) return false;
  while (!at(parser, TOK_RBRACE)) {
    uint32_t place = tok(parser)->begin;
    if (!at(parser, TOK_ATTR_NAME)) {
      return parse_expected(parser, at(parser, TOK_COMMA)
                                        ? "'}' or, after a blank, a field of the window"
                                        : "a field of the window or '}'");
    }
    Str name = tok_word(parser);
    uint32_t field = 0;
    while (field < NUM_WINDOW && !str_is(name, names[field]))
      field++;
    if (field == NUM_WINDOW) {
      const char *meant = parse_meant(parser, name, names, NUM_WINDOW);
      return parse_fail(
          parser, place, "a window has no field '%.*s'%s", (int)name.len, name.data,
          *meant ? meant : "; its own are size, stride, pad, lhs_dilate, rhs_dilate, rhs_reversal");
    }
    if (fields[field].count) {
      return parse_fail(parser, place, "the window's %s is given twice", names[field]);
    }
    lex_next(&parser->lex);
    fields[field].first = parser->source->ints.len;
    fields[field].place = place;
    if (field == WINDOW_PAD ? !parse_pad(parser, false, &fields[field].count)
                            : !parse_sizes(parser, &fields[field].count)) {
      return false;
    }
  }
  uint32_t rank = fields[WINDOW_SIZE].count;
  for (uint32_t field = 0; field < NUM_WINDOW; field++) {
    if (fields[field].count && fields[field].count != rank) {
      return parse_fail(parser, fields[field].place,
                        "the window's %s has %u dimensions, its size %u", names[field],
                        fields[field].count, rank);
    }
  }
  /* The values are arranged by dimension, with the defaults filled in, and then moved to the
   * front. */
  uint32_t raw_end = parser->source->ints.len;
  for (uint32_t i = 0; i < rank; i++) {
    push_int(parser, window_value(parser, fields[WINDOW_SIZE], i, 1, 0, 1));
    push_int(parser, window_value(parser, fields[WINDOW_STRIDE], i, 1, 0, 1));
    push_int(parser, window_value(parser, fields[WINDOW_PAD], i, 3, 0, 0));
    push_int(parser, window_value(parser, fields[WINDOW_PAD], i, 3, 1, 0));
    push_int(parser, window_value(parser, fields[WINDOW_LHS], i, 1, 0, 1));
    push_int(parser, window_value(parser, fields[WINDOW_RHS], i, 1, 0, 1));
    push_int(parser, window_value(parser, fields[WINDOW_REVERSAL], i, 1, 0, 0) == 1);
  }
  int64_t *ints = parser->source->ints.data;
  if (rank) memmove(ints + before, ints + raw_end, (size_t)rank * 7 * sizeof *ints);
  parser->source->ints.len = before + rank * 7;
  return parse_close(parser, TOK_RBRACE, opener, "the window");
}

/* Reads one of the three parts of dim_labels: two letters, the digits 0…n-1, each of them once, and
 * any number of `?`. Appends the positions to the module's integers, those of the letters first. */
static bool parse_label_part(Parser *parser, Str part, const char *letters, uint32_t *num_spatial) {
  uint32_t place = tok(parser)->begin;
  *num_spatial = 0;
  for (uint32_t i = 0; i < part.len; i++) {
    char c = part.data[i];
    *num_spatial += c != letters[0] && c != letters[1] && c != '?';
    for (uint32_t k = 0; c != '?' && k < i; k++) {
      if (part.data[k] == c) {
        return parse_fail(parser, place, "'%c' comes twice in the dimension labels '%.*s'", c,
                          (int)part.len, part.data);
      }
    }
  }
  uint32_t first = parser->source->ints.len;
  for (uint32_t i = 0; i < 2 + *num_spatial; i++)
    push_int(parser, -1);
  for (uint32_t i = 0; i < part.len; i++) {
    char c = part.data[i];
    if (c == '?') continue;
    uint32_t slot = c == letters[0] ? 0 : c == letters[1] ? 1 : 2 + (uint32_t)(c - '0');
    if (slot >= 2 + *num_spatial) {
      return parse_fail(parser, place, "'%c' is no label of the %u spatial dimensions in '%.*s'", c,
                        *num_spatial, (int)part.len, part.data);
    }
    parser->source->ints.data[first + slot] = i;
  }
  return true;
}

static bool parse_dim_labels(Parser *parser) {
  if (!at(parser, TOK_DIM_LABELS)) {
    return parse_expected(parser, "dimension labels such as b01f_01io->b01f");
  }
  Str text = tok_word(parser);
  uint32_t place = tok(parser)->begin;
  const char *underscore = memchr(text.data, '_', text.len);
  const char *arrow = memchr(text.data, '>', text.len);
  Str parts[3] = {{text.data, (uint32_t)(underscore - text.data)},
                  {underscore + 1, (uint32_t)(arrow - 1 - underscore - 1)},
                  {arrow + 1, (uint32_t)(text.data + text.len - arrow - 1)}};
  static const char *const letters[3] = {"bf", "io", "bf"};
  uint32_t num_spatial[3];
  uint32_t count_at = parser->source->ints.len;
  push_int(parser, 0);
  for (int i = 0; i < 3; i++) {
    if (!parse_label_part(parser, parts[i], letters[i], &num_spatial[i])) return false;
  }
  if (num_spatial[0] != num_spatial[1] || num_spatial[0] != num_spatial[2]) {
    return parse_fail(parser, place,
                      "input, kernel and output have %u, %u and %u spatial dimensions",
                      num_spatial[0], num_spatial[1], num_spatial[2]);
  }
  parser->source->ints.data[count_at] = num_spatial[0];
  lex_next(&parser->lex);
  return true;
}

/* '{' (int ','?)* '}'
 *
 * Appends to the module's integers. */
bool parse_shape_index(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before a shape index")) return false;
  while (!at(parser, TOK_RBRACE)) {
    if (!parse_int_value(parser)) return false;
    if (!eat(parser, TOK_COMMA)) break;
  }
  return parse_close(parser, TOK_RBRACE, opener, "the shape index");
}

/* Appends the length of a shape index and then the index. */
static bool parse_counted_index(Parser *parser) {
  uint32_t count_at = parser->source->ints.len;
  push_int(parser, 0);
  if (!parse_shape_index(parser)) return false;
  parser->source->ints.data[count_at] = (int64_t)(parser->source->ints.len - count_at - 1);
  return true;
}

/* '{' (index ':' '(' operand ',' index ')' ','?)* '}' */
static bool parse_aliasing(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the aliases")) return false;
  while (!at(parser, TOK_RBRACE)) {
    if (!parse_counted_index(parser) ||
        !parse_token(parser, TOK_COLON, "after the output's index")) {
      return false;
    }
    uint32_t pair = tok(parser)->begin;
    if (!parse_token(parser, TOK_LPAREN, "before the operand")) return false;
    int64_t operand = 0;
    if (at(parser, TOK_INT)) {
      parse_int(parser, &operand);
    } else {
      diag_warn(parser->diags, DIAG_AT(tok(parser)->begin),
                "the operand's number is missing; XLA overlooks it");
    }
    push_int(parser, operand);
    if (!parse_token(parser, TOK_COMMA, "after the operand's number") ||
        !parse_counted_index(parser) || !parse_close(parser, TOK_RPAREN, pair, "the pair")) {
      return false;
    }
    if (!eat(parser, TOK_COMMA)) break;
  }
  return parse_close(parser, TOK_RBRACE, opener, "the aliases");
}

static bool parse_shape_value(Parser *parser) {
  ShapeId shape;
  if (!parse_shape(parser, &shape)) return false;
  push_int(parser, shape);
  return true;
}

static bool parse_shape_list(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the shapes")) return false;
  if (!at(parser, TOK_RBRACE)) {
    do {
      if (!parse_shape_value(parser)) return false;
    } while (eat(parser, TOK_COMMA));
  }
  return parse_close(parser, TOK_RBRACE, opener, "the shapes");
}

/* computation = name | '{' instruction+ '}'
 *
 * The name must be defined before its use. */
static bool parse_computation(Parser *parser) {
  CompId comp = NO_ID;
  if (at(parser, TOK_LBRACE)) {
    if (!parse_computation_body(parser, (Str){0}, COMP_NESTED, &comp)) return false;
  } else {
    uint32_t place = tok(parser)->begin;
    Str name;
    if (!parse_name(parser, &name)) return false;
    comp = parser_find_comp(parser, name);
    if (comp == NO_ID) {
      return parse_fail_name(parser, place, NAME_OF_COMP, "computation", name);
    }
  }
  *vec_push(parser->tables, &parser->callees) = comp;
  return true;
}

static bool parse_computation_list(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the computations")) return false;
  if (!at(parser, TOK_RBRACE)) {
    do {
      if (!parse_computation(parser)) return false;
    } while (eat(parser, TOK_COMMA));
  }
  return parse_close(parser, TOK_RBRACE, opener, "the computations");
}

/* Where elements are written `x#1` (XLA:TPU's dumps), an element may still be named as a control
 * predecessor, although it has no line. The order of the text says the same. */
static bool is_left_out(const Parser *parser, Str name) {
  static const char element[] = "get-tuple-element";
  return parser->source->uses_compact_gte && name.len >= sizeof element - 1 &&
         memcmp(name.data, element, sizeof element - 1) == 0;
}

/* '{' name,… '}' with at least one name */
static bool parse_instruction_list(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the instructions")) return false;
  do {
    uint32_t place = tok(parser)->begin;
    Str name;
    if (!parse_name(parser, &name)) return false;
    InstId id = parser_find_inst(parser, name);
    if (id == NO_ID && !is_left_out(parser, name)) {
      return parse_fail_name(parser, place, NAME_OF_INST, "instruction", name);
    }
    if (id != NO_ID) *vec_push(parser->tables, &parser->predecessors) = id;
  } while (eat(parser, TOK_COMMA));
  return parse_close(parser, TOK_RBRACE, opener, "the instructions");
}

static bool words_equal(Str word, const char *known, bool ignores_case) {
  if (strlen(known) != word.len) return false;
  return (ignores_case ? strncasecmp(known, word.data, word.len)
                       : strncmp(known, word.data, word.len)) == 0;
}

static bool parse_enum(Parser *parser, AttrKind kind) {
  bool ignores_case = false;
  const char *const *words = attribute_enum_words(kind, &ignores_case);
  if (at(parser, TOK_IDENT)) {
    for (int64_t i = 0; words[i]; i++) {
      if (words_equal(tok_word(parser), words[i], ignores_case)) {
        push_int(parser, i);
        lex_next(&parser->lex);
        return true;
      }
    }
  }
  uint32_t num_words = 0;
  const char *list = "one of ";
  for (; words[num_words]; num_words++)
    list = arena_printf(parser->scratch, "%s%s%s", list, num_words ? ", " : "", words[num_words]);
  return parse_expected_word(parser, list, words, num_words);
}

static bool parse_precision_list(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the precisions")) return false;
  if (!at(parser, TOK_RBRACE)) {
    do {
      if (!parse_enum(parser, ATTR_KIND_PRECISION)) return false;
    } while (eat(parser, TOK_COMMA));
  }
  return parse_close(parser, TOK_RBRACE, opener, "the precisions");
}

/* '{' (atol= | rtol= | ulps=) number,… '}' */
static bool parse_tolerance(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the tolerances")) return false;
  if (!at(parser, TOK_RBRACE)) {
    do {
      Str name = tok_word(parser);
      if (!at(parser, TOK_ATTR_NAME) ||
          (!str_is(name, "atol") && !str_is(name, "rtol") && !str_is(name, "ulps"))) {
        return parse_expected(parser, "atol=, rtol= or ulps=");
      }
      lex_next(&parser->lex);
      uint32_t place = tok(parser)->begin;
      double value;
      if (!parse_double(parser, &value)) return false;
      if (!(value >= 0))
        return parse_fail(parser, place, "a tolerance is not negative"); /* XLA terminates here */
    } while (eat(parser, TOK_COMMA));
  }
  return parse_close(parser, TOK_RBRACE, opener, "the tolerances");
}

/* '{' mode=(default|highest) | tolerance={…} '}' */
static bool parse_result_accuracy(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the result accuracy")) return false;
  Str name = tok_word(parser);
  bool is_attr = at(parser, TOK_ATTR_NAME);
  if (is_attr && str_is(name, "mode")) {
    lex_next(&parser->lex);
    Str mode = tok_word(parser);
    if (!at(parser, TOK_IDENT) ||
        (!words_equal(mode, "default", true) && !words_equal(mode, "highest", true))) {
      return parse_expected(parser, "default or highest");
    }
    lex_next(&parser->lex);
  } else if (is_attr && str_is(name, "tolerance")) {
    lex_next(&parser->lex);
    if (!parse_tolerance(parser)) return false;
  } else {
    return parse_expected(parser, "mode= or tolerance=");
  }
  return parse_close(parser, TOK_RBRACE, opener, "the result accuracy");
}

/* '{' (lhs= | rhs=) '{' field* '}' … '}', without commas. */
static bool parse_tensor_configs(Parser *parser, const char *const *int_fields,
                                 bool with_sparsity) {
  int64_t kept[2][4] = {{0}}; /* for each side: given, non-zeros, block size, dimension */
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the configuration")) return false;
  while (!at(parser, TOK_RBRACE)) {
    Str side = tok_word(parser);
    if (!at(parser, TOK_ATTR_NAME) || (!str_is(side, "lhs") && !str_is(side, "rhs"))) {
      return parse_expected(parser, "lhs=, rhs= or '}'");
    }
    int64_t *words = kept[str_is(side, "rhs")];
    words[0] = true;
    lex_next(&parser->lex);
    uint32_t inner = tok(parser)->begin;
    if (!parse_token(parser, TOK_LBRACE, "before the tensor's configuration")) return false;
    while (!at(parser, TOK_RBRACE)) {
      Str name = tok_word(parser);
      if (!at(parser, TOK_ATTR_NAME)) return parse_expected(parser, "a field or '}'");
      uint32_t place = tok(parser)->begin, count, before = parser->source->ints.len;
      int known = 0;
      while (int_fields[known] && !str_is(name, int_fields[known]))
        known++;
      bool is_sparsity = with_sparsity && str_is(name, "sparsity");
      if (!int_fields[known] && !is_sparsity) {
        return parse_fail(parser, place, "there is no field '%.*s' here", (int)name.len, name.data);
      }
      lex_next(&parser->lex);
      if (is_sparsity) {
        if (!parse_sizes(parser, &count)) return false;
        if (count != 2) return parse_fail(parser, place, "sparsity is two numbers, such as 2x4");
        words[1] = parser->source->ints.data[before];
        words[2] = parser->source->ints.data[before + 1];
      } else if (!parse_int_value(parser)) {
        return false;
      } else if (str_is(name, "dimension")) {
        words[3] = parser->source->ints.data[before];
      }
      parser->source->ints.len = before;
    }
    if (!parse_close(parser, TOK_RBRACE, inner, "the tensor's configuration")) return false;
  }
  for (int i = 0; with_sparsity && i < 8; i++)
    push_int(parser, kept[i / 4][i % 4]);
  return parse_close(parser, TOK_RBRACE, opener, "the configuration");
}

/* '{' ("name" index?)? '}' */
bool parse_original_array(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before an original array")) return false;
  if (eat(parser, TOK_STRING) && at(parser, TOK_LBRACE)) {
    uint32_t before = parser->source->ints.len;
    if (!parse_shape_index(parser)) return false;
    parser->source->ints.len = before;
  }
  return parse_close(parser, TOK_RBRACE, opener, "the original array");
}

/* '{' '[' synthetic_call ']' '}' | '{' tree (',' '[' string ']')? '}'
 *
 * The tree is any sequence of parentheses, commas and original arrays; XLA does not check its
 * structure. */
static bool parse_original_value(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the original value")) return false;
  if (eat(parser, TOK_LBRACKET)) {
    if (!at_ident(parser, "synthetic_call")) return parse_expected(parser, "synthetic_call");
    lex_next(&parser->lex);
    return parse_token(parser, TOK_RBRACKET, "after synthetic_call") &&
           parse_close(parser, TOK_RBRACE, opener, "the original value");
  }
  bool has_hierarchy = false;
  while (!at(parser, TOK_RBRACE)) {
    if (at(parser, TOK_LBRACE)) {
      if (!parse_original_array(parser)) return false;
    } else if (eat(parser, TOK_COMMA)) {
      uint32_t place = tok(parser)->begin;
      if (!eat(parser, TOK_LBRACKET)) continue;
      if (has_hierarchy) return parse_fail(parser, place, "the call hierarchy is given twice");
      has_hierarchy = true;
      Span text;
      if (!parse_string(parser, &text) ||
          !parse_close(parser, TOK_RBRACKET, place, "the call hierarchy")) {
        return false;
      }
    } else if (!eat(parser, TOK_LPAREN) && !eat(parser, TOK_RPAREN)) {
      return parse_expected(parser, "'(', ')', ',', an original array or '}'");
    }
  }
  return parse_close(parser, TOK_RBRACE, opener, "the original value");
}

/* '{' kind="sharding" entry=… exit=… '}', in any order; commas are optional */
static bool parse_domain(Parser *parser) {
  static const char *const names[] = {"kind", "entry", "exit"};
  bool seen[3] = {false};
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the domain")) return false;
  bool is_supported = false;
  while (!at(parser, TOK_RBRACE) || !(seen[0] || seen[1] || seen[2])) {
    if (at(parser, TOK_RBRACE)) break;
    eat(parser, TOK_COMMA);
    uint32_t place = tok(parser)->begin;
    Str name = tok_word(parser);
    int field = 0;
    while (field < 3 && !str_is(name, names[field]))
      field++;
    if (!at(parser, TOK_ATTR_NAME) || field == 3) {
      return parse_expected(parser, "kind=, entry= or exit=");
    }
    if (seen[field]) return parse_fail(parser, place, "%s is given twice", names[field]);
    seen[field] = true;
    lex_next(&parser->lex);
    if (field == 0) {
      is_supported = at(parser, TOK_STRING) && str_is(tok_word(parser), "sharding");
      if (!parse_string_value(parser)) return false;
    } else if (!parse_sharding(parser)) {
      return false;
    }
  }
  for (int field = 0; field < 3; field++) {
    if (!seen[field]) return parse_fail(parser, opener, "the domain lacks %s=", names[field]);
  }
  if (!is_supported) return parse_fail(parser, opener, "the only domain kind is \"sharding\"");
  return parse_close(parser, TOK_RBRACE, opener, "the domain");
}

static bool parse_metadata_value(Parser *parser) {
  Metadata metadata;
  if (!parse_metadata(parser, &metadata)) return false;
  push_int(parser, parser->source->metadata.len);
  *vec_push(parser->arena, &parser->source->metadata) = metadata;
  return true;
}

bool parse_attribute_value(Parser *parser, AttrId attr) {
  static const char *const sparsity_fields[] = {"dimension", "stride", "idx", NULL};
  static const char *const scaling_fields[] = {"scale_idx", NULL};
  AttrKind kind = attribute_info(attr)->kind;
  switch (kind) {
    case ATTR_KIND_ALIASING: return parse_aliasing(parser);
    case ATTR_KIND_BLOCK_SCALING: return parse_tensor_configs(parser, scaling_fields, false);
    case ATTR_KIND_BOOL: return parse_bool_value(parser);
    case ATTR_KIND_BOOL_LIST: return parse_bool_list(parser);
    case ATTR_KIND_COMPUTATION: return parse_computation(parser);
    case ATTR_KIND_COMPUTATION_LIST: return parse_computation_list(parser);
    case ATTR_KIND_DIM_LABELS: return parse_dim_labels(parser);
    case ATTR_KIND_DOMAIN: return parse_domain(parser);
    case ATTR_KIND_FLOAT: return parse_float_value(parser);
    case ATTR_KIND_FRONTEND_ATTRIBUTES: return parse_frontend_attributes(parser);
    case ATTR_KIND_INSTRUCTION_LIST: return parse_instruction_list(parser);
    case ATTR_KIND_INT: return parse_int_value(parser);
    case ATTR_KIND_INT32: return parse_int32_value(parser);
    case ATTR_KIND_INT_LIST: return parse_int_list_value(parser);
    case ATTR_KIND_INT_LIST_LIST: return parse_int_list_list(parser, 0);
    case ATTR_KIND_INT_PAIR_LIST: return parse_int_list_list(parser, 2);
    case ATTR_KIND_LITERAL: return parse_shaped_literal(parser);
    case ATTR_KIND_METADATA: return parse_metadata_value(parser);
    case ATTR_KIND_ORIGIN: return parse_original_value(parser);
    case ATTR_KIND_PADDING: return parse_padding(parser);
    case ATTR_KIND_PRECISION_LIST: return parse_precision_list(parser);
    case ATTR_KIND_REPLICA_GROUPS: return parse_replica_groups(parser);
    case ATTR_KIND_RESULT_ACCURACY: return parse_result_accuracy(parser);
    case ATTR_KIND_SHAPE: return parse_shape_value(parser);
    case ATTR_KIND_SHAPE_LIST: return parse_shape_list(parser);
    case ATTR_KIND_SHARDING: return parse_sharding(parser);
    case ATTR_KIND_SLICE: return parse_slice(parser);
    case ATTR_KIND_SPARSITY: return parse_tensor_configs(parser, sparsity_fields, true);
    case ATTR_KIND_STATISTICS: return parse_statistics(parser);
    case ATTR_KIND_STRING: return parse_string_value(parser);
    case ATTR_KIND_STRING_OR_DICT: return parse_string_or_dict(parser);
    case ATTR_KIND_WINDOW: return parse_window(parser);
    default: return parse_enum(parser, kind);
  }
}
