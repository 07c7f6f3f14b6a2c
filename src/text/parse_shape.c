/* Parses shapes and layouts.
 *
 *     shape  := type '[' dims ']' layout? | '(' (shape,…)? ')' | 'b(' shape ')'
 *     dims   := (int | '<=' int | '?'),…
 *     layout := '{' int,… (':' D(…)? T(…)+? L(n)? #(type)? *(type)? E(n)? S(n)? SC(d:i,…)+?
 *               M(n)?)? '}'
 *
 * XLA reads the suffixes of a layout with functions whose failures it only records. Whether the
 * text is accepted depends on what follows. This parser does the same; see `noted`. */
#include "ir/chars.h"
#include "text/parser.h"

#include <inttypes.h>

#include "ir/bytes.h"

/* A module has few different array shapes, which are repeated often. So the text of a shape, up to
 * `]` or to the `}` of a plain layout, is looked up before it is parsed. Returns the end of that
 * text, or 0 if the shape has another form. */
static uint32_t simple_array_end(const Parser *parser) {
  const char *text = parser->lex.text;
  uint32_t pos = tok(parser)->end, length = parser->lex.length;
  if (pos >= length || text[pos] != '[') return 0;
  for (pos++; pos < length && text[pos] != ']'; pos++) {
    if (!char_is_digit(text[pos]) && text[pos] != ',') return 0;
  }
  if (pos >= length) return 0;
  pos++;
  if (pos < length && text[pos] == '{') {
    pos++;
    if (pos >= length || !char_is_digit(text[pos])) return 0;
    while (pos < length && text[pos] != '}') {
      if ((text[pos] < '0' || text[pos] > '9') && text[pos] != ',') return 0;
      pos++;
    }
    return pos < length ? pos + 1 : 0;
  }
  /* The full parser reads a layout that follows blanks or a comment. */
  if (pos < length && (char_is_space(text[pos]) || text[pos] == '/')) {
    uint32_t next = pos;
    while (next < length && char_is_space(text[next]))
      next++;
    if (next < length && (text[next] == '{' || text[next] == '/')) return 0;
  }
  return pos;
}

static ShapeId find_shape_text(const Parser *parser, Str text, uint64_t hash) {
  uint32_t index;
  for (IdProbe probe = id_table_probe(&parser->shape_texts, hash); id_probe_next(&probe, &index);) {
    if (str_equal(parser->shape_text_keys.data[index], text)) {
      return parser->shape_text_ids.data[index];
    }
  }
  return NO_ID;
}

static void remember_shape_text(Parser *parser, Str text, uint64_t hash, ShapeId shape) {
  id_table_add(&parser->shape_texts, parser->tables, hash, parser->shape_text_keys.len);
  *vec_push(parser->tables, &parser->shape_text_keys) = text;
  *vec_push(parser->tables, &parser->shape_text_ids) = shape;
}

typedef struct Ints {
  VEC(int64_t) list;
} Ints;

static bool parse_dims(Parser *parser, Ints *dims, Ints *dynamic) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACKET, "after the element type")) return false;
  while (!at(parser, TOK_RBRACKET)) {
    bool is_dynamic = at(parser, TOK_QUESTION) || at(parser, TOK_LESS_EQUAL);
    int64_t dim = UNBOUNDED_DIM;
    if (!eat(parser, TOK_QUESTION)) {
      eat(parser, TOK_LESS_EQUAL);
      uint32_t place = tok(parser)->begin;
      if (!parse_int(parser, &dim)) return false;
      if (dim < 0 && !(is_dynamic && dim == UNBOUNDED_DIM)) {
        return parse_fail(parser, place, "dimension %" PRId64 " is negative", dim);
      }
    }
    *vec_push(parser->scratch, &dims->list) = dim;
    *vec_push(parser->scratch, &dynamic->list) = is_dynamic;
    if (!eat(parser, TOK_COMMA)) break;
    if (at(parser, TOK_RBRACKET)) return parse_expected(parser, "a dimension after ','");
  }
  return parse_close(parser, TOK_RBRACKET, opener, "the dimensions");
}

static bool parse_dim_level_types(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LPAREN, "after D")) return false;
  while (!at(parser, TOK_RPAREN)) {
    Str word = tok_word(parser);
    if (!at(parser, TOK_IDENT) || word.len != 1 || !strchr("DCSH", word.data[0])) {
      return parse_expected(parser, "a dimension level type (D, C, S or H)");
    }
    lex_next(&parser->lex);
    eat(parser, TOK_PLUS);
    eat(parser, TOK_TILDE);
    if (!eat(parser, TOK_COMMA)) break;
    if (at(parser, TOK_RPAREN)) return parse_expected(parser, "a dimension level type");
  }
  return parse_close(parser, TOK_RPAREN, opener, "the dimension level types");
}

/* tiles = ('(' (int | '*' | 'd'),… ')')+
 *
 * Stores the rank and the dimensions of each tile. */
static bool parse_tiles(Parser *parser, Ints *tiles) {
  do {
    uint32_t opener = tok(parser)->begin;
    uint32_t rank_at = tiles->list.len;
    *vec_push(parser->scratch, &tiles->list) = 0;
    if (!parse_token(parser, TOK_LPAREN, "after T")) return false;
    bool is_empty = at(parser, TOK_RPAREN);
    while (!is_empty) {
      int64_t dim = at(parser, TOK_ASTERISK) ? COMBINED_TILE_DIM : DYNAMIC_TILE_DIM;
      if (at(parser, TOK_ASTERISK) || at_ident(parser, "d")) {
        lex_next(&parser->lex);
      } else {
        uint32_t place = tok(parser)->begin;
        if (!parse_int(parser, &dim)) return false;
        if (dim < 0 && !tile_dim_is_valid(dim)) {
          /* XLA terminates here, so recording the error is not enough. */
          parser->depth = MAX_NESTING + 1;
          return parse_fail(parser, place, "tile dimension %" PRId64 " is negative", dim);
        }
      }
      *vec_push(parser->scratch, &tiles->list) = dim;
      tiles->list.data[rank_at]++;
      if (!eat(parser, TOK_COMMA)) break;
    }
    if (!parse_close(parser, TOK_RPAREN, opener, "the tile")) return false;
  } while (at(parser, TOK_LPAREN));
  return true;
}

/* '(' int ')' */
static bool parse_layout_int(Parser *parser, int64_t *value) {
  uint32_t opener = tok(parser)->begin;
  return parse_token(parser, TOK_LPAREN, "in a layout") && parse_int(parser, value) &&
         parse_close(parser, TOK_RPAREN, opener, "the value");
}

/* '(' unsigned type ')'
 *
 * Every step is tried even after a failure, as in XLA. */
static void parse_layout_type(Parser *parser, int64_t *type) {
  uint32_t opener = tok(parser)->begin;
  parse_token(parser, TOK_LPAREN, "in a layout");
  if (at(parser, TOK_TYPE)) {
    ElementType element = tok(parser)->value;
    uint32_t place = tok(parser)->begin;
    lex_next(&parser->lex);
    *type = (int64_t)element + 1;
    if (type_info(element)->class != TYPE_CLASS_UINT) {
      parse_fail(parser, place, "an unsigned integer type is expected");
    }
  } else {
    parse_expected(parser, "an unsigned integer type");
  }
  parse_close(parser, TOK_RPAREN, opener, "the type");
}

/* split_configs = ('(' dimension ':' int,… ')')+ */
static bool parse_split_configs(Parser *parser, Ints *splits) {
  do {
    uint32_t opener = tok(parser)->begin;
    int64_t dimension, index;
    if (!parse_token(parser, TOK_LPAREN, "after SC") || !parse_int(parser, &dimension)) {
      return false;
    }
    *vec_push(parser->scratch, &splits->list) = dimension;
    uint32_t count_at = splits->list.len;
    *vec_push(parser->scratch, &splits->list) = 0;
    if (!parse_token(parser, TOK_COLON, "after the split dimension")) return false;
    bool is_empty = at(parser, TOK_RPAREN);
    while (!is_empty) {
      if (!parse_int(parser, &index)) return false;
      *vec_push(parser->scratch, &splits->list) = index;
      splits->list.data[count_at]++;
      if (!eat(parser, TOK_COMMA)) break;
    }
    if (!parse_close(parser, TOK_RPAREN, opener, "the split indices")) return false;
  } while (at(parser, TOK_LPAREN));
  return true;
}

typedef struct LayoutText {
  Ints order;
  Ints tiles;
  Ints splits;
  LayoutExtras extras;
  bool has_order;
} LayoutText;

static void parse_layout_suffixes(Parser *parser, LayoutText *layout) {
  LayoutExtras *extras = &layout->extras;
  if (at_ident(parser, "D")) {
    lex_next(&parser->lex);
    parse_dim_level_types(parser);
  }
  if (at_ident(parser, "T")) {
    lex_next(&parser->lex);
    parse_tiles(parser, &layout->tiles);
  }
  if (at_ident(parser, "L")) {
    lex_next(&parser->lex);
    parse_layout_int(parser, &extras->tail_padding);
  }
  if (eat(parser, TOK_HASH)) parse_layout_type(parser, &extras->index_type);
  if (eat(parser, TOK_ASTERISK)) parse_layout_type(parser, &extras->pointer_type);
  if (at_ident(parser, "E")) {
    lex_next(&parser->lex);
    parse_layout_int(parser, &extras->element_bits);
  }
  if (at_ident(parser, "S")) {
    lex_next(&parser->lex);
    parse_layout_int(parser, &extras->memory_space);
  }
  if (at_ident(parser, "SC")) {
    lex_next(&parser->lex);
    parse_split_configs(parser, &layout->splits);
  }
  if (at_ident(parser, "P")) {
    parse_fail(parser, tok(parser)->begin,
               "physical shapes P(…) belong to sparse arrays, which "
               "HLO no longer has");
    return;
  }
  if (at_ident(parser, "M")) {
    lex_next(&parser->lex);
    parse_layout_int(parser, &extras->metadata_prefix);
  }
}

/* Failures inside the suffixes are recorded; the layout is still accepted if its '}' is there. */
static bool parse_layout(Parser *parser, LayoutText *layout) {
  uint32_t opener = tok(parser)->begin;
  lex_next(&parser->lex);
  while (at(parser, TOK_INT)) {
    *vec_push(parser->scratch, &layout->order.list) = tok(parser)->integer;
    layout->has_order = true;
    lex_next(&parser->lex);
    if (!eat(parser, TOK_COMMA)) break;
    if (!at(parser, TOK_INT)) return parse_expected(parser, "a dimension number after ','");
  }
  ParseError before = parser->error;
  parser->error = (ParseError){0};
  uint32_t depth = parser->depth;
  if (eat(parser, TOK_COLON)) parse_layout_suffixes(parser, layout);
  ParseError noted = parser->error;
  parser->error = before;
  bool is_fatal = parser->depth != depth || at_ident(parser, "P");
  parser->depth = depth;
  if (is_fatal || (noted.message && !at(parser, TOK_RBRACE))) {
    return parse_fail_opened(parser, noted.offset, noted.opener, "%s", noted.message);
  }
  bool is_letter = at(parser, TOK_IDENT) && tok_word(parser).len <= 2;
  bool has_suffix = is_letter || at(parser, TOK_HASH) || at(parser, TOK_ASTERISK);
  if (!parse_close(
          parser, TOK_RBRACE, opener,
          has_suffix ? "the layout, whose suffixes come as D T L # * E S SC M" : "the layout")) {
    return false;
  }
  if (noted.message) {
    diag_warn(parser->diags, DIAG_AT(noted.offset), "%s; XLA overlooks it", noted.message);
  }
  if (layout->extras.tail_padding <= 0) { /* XLA terminates here */
    return parse_fail(parser, opener, "L(%" PRId64 ") is not a tail padding",
                      layout->extras.tail_padding);
  }
  return true;
}

static bool parse_array(Parser *parser, ShapeId *shape) {
  ArenaMark mark = arena_mark(parser->scratch);
  Ints dims = {0}, dynamic = {0};
  uint32_t begin = tok(parser)->begin;
  ElementType type = tok(parser)->value;
  lex_next(&parser->lex);
  bool ok = parse_dims(parser, &dims, &dynamic);
  uint32_t rank = dims.list.len;
  if (ok && rank && (type == TYPE_TOKEN || type == TYPE_OPAQUE)) {
    ok = parse_fail(parser, begin, "%s has no dimensions", type_info(type)->text);
  }
  LayoutText layout = {.extras.tail_padding = 1};
  bool has_layout = false;
  if (ok && at(parser, TOK_LBRACE)) {
    TokKind next = lex_peek(&parser->lex);
    has_layout = next == TOK_INT || next == TOK_COLON;
  }
  if (has_layout) {
    uint32_t place = tok(parser)->begin;
    ok = parse_layout(parser, &layout);
    uint32_t num_order = layout.order.list.len;
    /* Since 2026 the order may be omitted if a memory space is given. */
    bool may_omit = !layout.has_order && layout.extras.memory_space != 0;
    if (ok && num_order != rank && !may_omit) {
      ok = parse_fail(parser, place, "the shape has %u dimension%s but its layout orders %u", rank,
                      rank == 1 ? "" : "s", num_order);
    }
  }
  if (ok) {
    layout.extras.tile_words = layout.tiles.list.data;
    layout.extras.num_tile_words = layout.tiles.list.len;
    layout.extras.split_words = layout.splits.list.data;
    layout.extras.num_split_words = layout.splits.list.len;
    *shape =
        shape_array(&parser->module->shapes,
                    &(ArraySpec){.type = type,
                                 .rank = rank,
                                 .dims = dims.list.data,
                                 .dynamic = dynamic.list.data,
                                 .minor_to_major = layout.has_order ? layout.order.list.data : NULL,
                                 .extras = has_layout ? &layout.extras : NULL});
  }
  arena_reset(parser->scratch, mark);
  return ok;
}

/* '(' (shape,…)? ')'
 *
 * The elements are validated. Shapes outside of tuples are not. */
static bool parse_tuple_shape(Parser *parser, ShapeId *shape) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_enter(parser, "shape")) return false;
  ArenaMark mark = arena_mark(parser->scratch);
  VEC(ShapeId) elements = {0};
  lex_next(&parser->lex);
  bool ok = true;
  if (!at(parser, TOK_RPAREN)) {
    do {
      ShapeId element = NO_ID;
      uint32_t place = tok(parser)->begin;
      ok = parse_shape(parser, &element);
      const char *why;
      if (ok && !parse_array_is_valid(shape_get(&parser->module->shapes, element), &why)) {
        ok = parse_fail(parser, place, "%s", why);
      }
      if (ok) *vec_push(parser->scratch, &elements) = element;
    } while (ok && eat(parser, TOK_COMMA));
  }
  if (ok) {
    *shape = shape_tuple(&parser->module->shapes, elements.data, elements.len);
    if (*shape == NO_ID) {
      ok = parse_fail(parser, opener, "tuple shape has more than %d parts", MAX_SHAPE_PARTS);
    }
  }
  arena_reset(parser->scratch, mark);
  parse_leave(parser);
  return ok && parse_close(parser, TOK_RPAREN, opener, "the tuple shape");
}

static bool order_is_permutation(const Shape *shape) {
  for (uint32_t i = 0; shape->minor_to_major && i < shape->rank; i++) {
    int64_t dim = shape->minor_to_major[i];
    if (dim < 0 || dim >= shape->rank) return false;
    for (uint32_t k = 0; k < i; k++) {
      if (shape->minor_to_major[k] == dim) return false;
    }
  }
  return true;
}

static bool splits_are_valid(const Shape *shape) {
  const LayoutExtras *extras = shape->extras;
  for (uint32_t i = 0; i < extras->num_split_words;) {
    int64_t physical = extras->split_words[i], count = extras->split_words[i + 1];
    if (physical < 0 || physical >= shape->rank) return false;
    for (uint32_t k = 0; k < i; k += 2 + (uint32_t)extras->split_words[k + 1]) {
      if (extras->split_words[k] == physical) return false;
    }
    /* minor_to_major[rank-1-p] is the logical dimension of physical dimension p. */
    uint32_t minor = shape->rank - 1 - (uint32_t)physical;
    int64_t logical = shape_minor_dim(shape, minor);
    int64_t last = 0;
    for (uint32_t k = i + 2; k < i + 2 + (uint32_t)count; k++) {
      if (extras->split_words[k] <= last || extras->split_words[k] >= shape->dims[logical]) {
        return false;
      }
      last = extras->split_words[k];
    }
    i += 2 + (uint32_t)count;
  }
  return true;
}

/* Makes the checks of ShapeUtil::ValidateShapeWithOptionalLayout for one element. Tuples were
 * checked when they were made. */
bool parse_array_is_valid(const Shape *shape, const char **why) {
  if (!shape_is_array(shape) && shape->kind != SHAPE_BUFFER) return true;
  const LayoutExtras *extras = shape->extras;
  *why = NULL;
  int64_t product = 1;
  for (uint32_t i = 0; i < shape->rank && !*why; i++) {
    if (shape->dims[i] != UNBOUNDED_DIM && !mul_bytes(product, shape->dims[i], &product)) {
      *why = "the size of the shape overflows 64 bits";
    }
  }
  int64_t bytes;
  if (!*why && !mul_bytes(product, (type_info(shape->type)->bits + 7) / 8, &bytes)) {
    *why = "the size of the shape overflows 64 bits";
  } else if (!order_is_permutation(shape)) {
    *why = "the layout's order is not a permutation of the dimensions";
  }
  if (*why || !extras) return !*why;
  if (extras->index_type || extras->pointer_type) {
    *why = "index and pointer types belong to sparse arrays, which HLO no longer has";
  }
  for (uint32_t i = 0; i < extras->num_tile_words;) {
    int64_t rank = extras->tile_words[i++];
    if (rank == 0) *why = "the layout has an empty tile";
    for (int64_t k = 0; k < rank; k++, i++) {
      if (!tile_dim_is_valid(extras->tile_words[i])) {
        *why = "a tile dimension is not positive";
      }
    }
  }
  if (extras->element_bits < 0) *why = "the element size is negative";
  if (!*why && !splits_are_valid(shape)) *why = "the layout's split points do not fit its shape";
  return !*why;
}

static bool parse_buffer(Parser *parser, ShapeId *shape) {
  lex_next(&parser->lex);
  uint32_t opener = tok(parser)->begin;
  lex_next(&parser->lex);
  if (!parse_enter(parser, "shape")) return false;
  uint32_t place = tok(parser)->begin;
  ShapeId array;
  bool ok = parse_shape(parser, &array);
  parse_leave(parser);
  if (!ok) return false;
  const Shape *element = shape_get(&parser->module->shapes, array);
  if (!shape_is_array(element)) {
    return parse_fail(parser, place, "b(…) holds an array shape only");
  }
  ArraySpec spec = shape_spec(element);
  spec.is_buffer = true;
  *shape = shape_array(&parser->module->shapes, &spec);
  return parse_close(parser, TOK_RPAREN, opener, "the buffer shape");
}

bool parse_at_shape(const Parser *parser) {
  return at(parser, TOK_TYPE) || at(parser, TOK_LPAREN) ||
         (at_ident(parser, "b") && lex_peek(&parser->lex) == TOK_LPAREN);
}

bool parse_fail_type(Parser *parser) {
  Str word = tok_word(parser);
  const char *known[NUM_TYPES];
  for (unsigned type = 0; type < NUM_TYPES; type++)
    known[type] = type_info((ElementType)type)->text;
  return parse_fail(parser, tok(parser)->begin, "unknown element type '%.*s'%s", (int)word.len,
                    word.data, parse_meant_type(parser, word, known, NUM_TYPES));
}

bool parse_shape(Parser *parser, ShapeId *shape) {
  if (at(parser, TOK_LPAREN)) return parse_tuple_shape(parser, shape);
  if (at_ident(parser, "b") && lex_peek(&parser->lex) == TOK_LPAREN) {
    return parse_buffer(parser, shape);
  }
  if (!at(parser, TOK_TYPE)) {
    bool is_type = at(parser, TOK_IDENT) && lex_peek(&parser->lex) == TOK_LBRACKET;
    return is_type ? parse_fail_type(parser) : parse_expected(parser, "a shape");
  }

  uint32_t begin = tok(parser)->begin, simple_end = simple_array_end(parser);
  Str text = {parser->lex.text + begin, simple_end - begin};
  uint64_t hash = 0;
  if (simple_end) {
    hash = hash_str(text);
    *shape = find_shape_text(parser, text, hash);
    if (*shape != NO_ID) {
      lex_skip_to(&parser->lex, simple_end);
      return true;
    }
  }
  if (!parse_array(parser, shape)) return false;
  if (simple_end && parser->lex.prev_end == simple_end) {
    remember_shape_text(parser, text, hash, *shape);
  }
  return true;
}
