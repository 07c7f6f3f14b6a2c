/* Instructions:
 *
 *     instruction := ROOT? name '=' rhs
 *     rhs         := shape? opcode '(' operands ')' (',' attribute)*
 *     operands    := (operand (',' operand)*)?
 *     operand     := shape? name ('#' int)* | shape? opcode '(' operands ')'
 *     attribute   := name '=' value */
#include <inttypes.h>

#include "ir/suggest.h"
#include "text/attribute_rules.h"
#include "text/parser.h"

/* ---- names ---- */

/* Names are unique only within their computation. */
static uint64_t name_key(CompId comp, Str name) {
  return hash_name(HASH_SEED + comp, name);
}

InstId parser_find_inst(const Parser *parser, Str name) {
  InstId id;
  for (IdProbe probe = id_table_probe(&parser->inst_names, name_key(parser->comp, name));
       id_probe_next(&probe, &id);) {
    const Instruction *inst = inst_get(parser->module, id);
    if (inst->parent == parser->comp && inst->name_len == name.len &&
        bytes_equal(inst->name, name.data, name.len)) {
      return id;
    }
  }
  return NO_ID;
}

/* A computation that is this large probably has most of the instructions that are still to come. So
 * its table gets room for them at once, and does not grow through all sizes. */
static void reserve_names(Parser *parser) {
  enum { LARGE_COMP = 1 << 14 };
  if (parser->comp_insts.len != LARGE_COMP) return;
  uint32_t num_expected = parser->module->insts.cap - parser->module->insts.len;
  id_table_reserve(&parser->inst_names, parser->tables, parser->inst_names.len + num_expected);
}

InstId parser_add_inst(Parser *parser, const NewInst *new) {
  Module *module = parser->module;
  InstId id = module->insts.len;
  uint32_t operands = module->ids.len;
  uint32_t first = parser->operands.len - new->num_operands;
  uint32_t *room = vec_extend(parser->arena, &module->ids, new->num_operands);
  uint32_t *offsets =
      vec_extend(parser->arena, &parser->source->operand_offsets, new->num_operands);
  if (new->num_operands) {
    memcpy(room, parser->operands.data + first, new->num_operands * sizeof *room);
    memcpy(offsets, parser->operand_offsets.data + first, new->num_operands * sizeof *offsets);
  }
  parser->operands.len = parser->operand_offsets.len = first;

  uint32_t callees = module->ids.len;
  room = vec_extend(parser->arena, &module->ids, new->num_callees);
  if (new->num_callees) {
    memcpy(room, parser->callees.data + new->first_callee, new->num_callees * sizeof *room);
  }
  *vec_push(parser->arena, &module->insts) = (Instruction){.name = new->name.data,
                                                           .name_len = new->name.len,
                                                           .opcode = (uint16_t) new->opcode,
                                                           .flags = (uint16_t) new->flags,
                                                           .shape = new->shape,
                                                           .parent = parser->comp,
                                                           .origin = id,
                                                           .operands = operands,
                                                           .num_operands = new->num_operands,
                                                           .callees = callees,
                                                           .num_callees = new->num_callees,
                                                           .index = new->index};
  InstSource *source = vec_push(parser->arena, &parser->source->insts);
  *source = new->source;
  source->operand_offsets = parser->source->operand_offsets.len - new->num_operands;
  *vec_push(parser->tables, &parser->comp_insts) = id;
  reserve_names(parser);
  *vec_push(parser->tables, &parser->name_slots) =
      id_table_add(&parser->inst_names, parser->tables, name_key(parser->comp, new->name), id);
  return id;
}

void parser_push_operand(Parser *parser, InstId operand, uint32_t offset) {
  *vec_push(parser->tables, &parser->operands) = operand;
  *vec_push(parser->tables, &parser->operand_offsets) = offset;
}

/* ---- operands ---- */

/* If the text is a single instruction, each operand that it names becomes a parameter. */
static InstId add_missing_param(Parser *parser, Str name, ShapeId shape) {
  if (name.len == 0) {
    char *text = arena_printf(parser->arena, "_%u", parser->num_created_params);
    name = str_make(text, strlen(text));
    for (uint32_t i = 1; parser_find_inst(parser, name) != NO_ID; i++) {
      text = arena_printf(parser->arena, "_%u.%u", parser->num_created_params, i);
      name = str_make(text, strlen(text));
    }
  }
  return parser_add_inst(parser, &(NewInst){.name = name,
                                            .opcode = OPCODE_PARAMETER,
                                            .shape = shape,
                                            .index = parser->num_created_params++,
                                            .flags = INST_IMPLIED});
}

static InstId find_operand(Parser *parser, Str name, ShapeId shape, uint32_t place) {
  InstId id = name.len ? parser_find_inst(parser, name) : NO_ID;
  if (id == NO_ID && parser->is_single_instruction && parser->comp == 0) {
    if (shape == NO_ID) {
      parse_fail(parser, place, "operand '%.*s' of a single instruction needs a shape",
                 (int)name.len, name.data);
      return NO_ID;
    }
    return add_missing_param(parser, name, shape);
  }
  if (id == NO_ID) parse_fail_name(parser, place, NAME_OF_INST, "operand", name);
  return id;
}

static bool check_operand_shape(Parser *parser, InstId id, ShapeId declared, uint32_t place) {
  const ShapeTable *shapes = &parser->module->shapes;
  ShapeId actual = inst_get(parser->module, id)->shape;
  if (declared == NO_ID || shape_compatible(shapes, actual, declared)) return true;
  if (parser_is_unknown(parser, id)) return true;
  Str name = inst_name(parser->module, id);
  Str has = shape_text(shapes, actual, false, parser->tables);
  Str says = shape_text(shapes, declared, false, parser->tables);
  return parse_fail(parser, place, "operand is declared %.*s, but '%.*s' is %.*s", (int)says.len,
                    says.data, (int)name.len, name.data, (int)has.len, has.data);
}

/* Returns the get-tuple-element that XLA makes for `x#1`. All operands with the same text share
 * it. */
static InstId compact_element(Parser *parser, InstId tuple, int64_t index, uint32_t place) {
  if (parser_is_unknown(parser, tuple)) return tuple;
  const Shape *shape = inst_shape(parser->module, tuple);
  Str base = inst_name(parser->module, tuple);
  if (!shape_is_tuple(shape)) {
    parse_fail(parser, place, "'%.*s' is no tuple: '#%" PRId64 "' has nothing to take from",
               (int)base.len, base.data, index);
    return NO_ID;
  }
  if (index < 0 || index >= shape->rank) {
    parse_fail(parser, place, "'%.*s' has %u elements, '#%" PRId64 "' is none of them",
               (int)base.len, base.data, shape->rank, index);
    return NO_ID;
  }
  ArenaMark mark = arena_mark(parser->arena);
  char *text = arena_printf(parser->arena, "%.*s#%" PRId64, (int)base.len, base.data, index);
  Str name = str_make(text, strlen(text));
  InstId known = parser_find_inst(parser, name);
  if (known != NO_ID) {
    arena_reset(parser->arena, mark);
    return known;
  }
  parser->source->uses_compact_gte = true;
  parser_push_operand(parser, tuple, place);
  return parser_add_inst(parser, &(NewInst){.name = name,
                                            .opcode = OPCODE_GET_TUPLE_ELEMENT,
                                            .shape = shape->elements[index],
                                            .num_operands = 1,
                                            .index = index,
                                            .flags = INST_COMPACT_GTE});
}

/* shape? name ('#' int)*
 *
 * A ',' or ')' must follow. */
static bool parse_named_operand(Parser *parser, uint32_t opener) {
  ShapeId shape = NO_ID;
  if (parse_at_shape(parser) && !parse_shape(parser, &shape)) return false;
  uint32_t place = tok(parser)->begin;
  Str name = {0};
  bool may_lack_name = shape != NO_ID && parser->is_single_instruction && parser->comp == 0;
  if (at(parser, TOK_IDENT) || at(parser, TOK_NAME)) {
    parse_name(parser, &name);
  } else if (!may_lack_name) {
    return parse_check_closed(parser, TOK_RPAREN, opener, "the operands") &&
           parse_expected(parser, "an operand");
  }
  bool is_compact = at(parser, TOK_HASH);
  InstId id = NO_ID;
  if (!is_compact) {
    id = find_operand(parser, name, shape, place);
    if (id == NO_ID || !check_operand_shape(parser, id, shape, place)) return false;
  } else {
    /* XLA reads all indices before it looks up the name. */
    Lexer first = parser->lex;
    int64_t index;
    while (eat(parser, TOK_HASH)) {
      if (!parse_int(parser, &index)) return false;
    }
    id = find_operand(parser, name, NO_ID, place);
    Lexer after_operand = parser->lex;
    for (parser->lex = first; id != NO_ID && eat(parser, TOK_HASH);) {
      uint32_t number = tok(parser)->begin;
      parse_int(parser, &index);
      id = compact_element(parser, id, index, number);
    }
    parser->lex = after_operand;
    if (id == NO_ID || !check_operand_shape(parser, id, shape, place)) return false;
  }
  if (!at(parser, TOK_COMMA) && !at(parser, TOK_RPAREN)) {
    parse_expected(parser, "',' or ')' after an operand");
    if (!at(parser, TOK_ERROR)) parser->error.opener = opener;
    return false;
  }
  parser_push_operand(parser, id, place);
  return true;
}

/* Nearly all operands consist only of the name of an instruction that is defined. */
static bool parse_plain_operand(Parser *parser) {
  const Token *token = tok(parser);
  if (token->kind != TOK_NAME && token->kind != TOK_IDENT) return false;
  char next = parser->lex.pos < parser->lex.length ? parser->lex.text[parser->lex.pos] : '\0';
  if (next != ',' && next != ')') return false;
  InstId id = parser_find_inst(parser, tok_word(parser));
  if (id == NO_ID) return false;
  parser_push_operand(parser, id, token->begin);
  lex_next(&parser->lex);
  return true;
}

/* `x(` and `x[` are not names of operands. */
static bool is_followed_by_bracket(const Parser *parser, const ParseError *error) {
  const Lexer *lexer = &parser->lex;
  uint32_t end = (uint32_t)(error->name.data - lexer->text) + error->name.len;
  return end < lexer->length && (lexer->text[end] == '(' || lexer->text[end] == '[');
}

/* Reads one operand. If it is neither a name nor a nested instruction, XLA only records the error
 * and continues where the second attempt stopped. If a ',' or ')' is there, the operand is dropped.
 * So the result true does not mean that an operand was added; in that case `*noted` holds the
 * error. */
static bool parse_operand(Parser *parser, uint32_t opener, ParseError *noted) {
  if (parse_plain_operand(parser)) return true;
  Lexer begin = parser->lex;
  uint32_t place = begin.tok.begin;
  uint32_t num_operands = parser->operands.len, depth = parser->depth;
  ParseError before = parser->error;
  parser->error = (ParseError){0};
  if (parse_named_operand(parser, opener)) {
    parser->error = before;
    return true;
  }
  ParseError as_name = parser->error;
  parser->operands.len = parser->operand_offsets.len = num_operands;
  parser->error = (ParseError){0};
  parser->lex = begin;
  InstId nested;
  if (parse_instruction_rhs(parser, (Str){0}, place, place, false, &nested)) {
    parser->error = before;
    parser_push_operand(parser, nested, place);
    return true;
  }
  parser->operands.len = parser->operand_offsets.len = num_operands;
  /* The attempt that read more of the text has the better message. */
  ParseError as_inst = parser->error;
  bool is_opcode_or_type = as_name.kind != NAME_OF_NOTHING && as_name.offset == as_inst.offset &&
                           is_followed_by_bracket(parser, &as_name);
  bool name_is_better =
      !is_opcode_or_type && (as_name.offset >= as_inst.offset || as_inst.offset == place);
  parser->error = before;
  if (!noted->message) *noted = name_is_better ? as_name : as_inst;
  if (parser->depth > MAX_NESTING) return false;
  parser->depth = depth;
  return at(parser, TOK_COMMA) || at(parser, TOK_RPAREN);
}

/* '(' operands ')'
 *
 * Pushes the operands on the operand stack. */
static bool parse_operands(Parser *parser, ParseError *noted) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_enter(parser, "operands")) return false;
  if (!parse_token(parser, TOK_LPAREN, "before the operands")) return false;
  if (!at(parser, TOK_RPAREN)) {
    do {
      if (!parse_operand(parser, opener, noted)) {
        if (!parser->error.message) parser->error = *noted;
        return false;
      }
    } while (eat(parser, TOK_COMMA));
  }
  parse_leave(parser);
  return parse_close(parser, TOK_RPAREN, opener, "the operands");
}

/* ---- attributes ---- */

typedef struct AttrSet {
  uint32_t first;                       /* index in parser->attrs */
  uint32_t first_callee;                /* index in parser->callees */
  uint64_t seen[(NUM_ATTRS + 63) / 64]; /* bits by the first row of each text */
} AttrSet;

static bool is_seen(const AttrSet *set, AttrId name) {
  return set->seen[name / 64] >> (name % 64) & 1;
}

/* Returns the row of an attribute that applies to this opcode, because rows with different kinds of
 * values can have the same text. */
static const AttrRule *find_rule(const Parser *parser, const AttrRule *rules, AttrId name) {
  for (; rules->attr >= 0; rules++) {
    if (parser->words.attr_name[rules->attr] == name) return rules;
  }
  return NULL;
}

static bool fail_unknown_attr(Parser *parser, const AttrRule *const *rules, Str name, Opcode opcode,
                              uint32_t place) {
  const char *known[NUM_ATTRS];
  uint32_t num_own = 0;
  const char *own = "";
  for (int list = 0; list < 2; list++) {
    for (const AttrRule *rule = rules[list]; rule && rule->attr >= 0; rule++) {
      known[num_own] = attribute_info((AttrId)rule->attr)->text;
      own = arena_printf(parser->scratch, "%s%s%s", own, num_own ? ", " : "; its own are ",
                         known[num_own]);
      num_own++;
    }
  }
  uint32_t num_known = num_own;
  for (AttrId attr = 0; attr < NUM_ATTRS; attr++) {
    if (attribute_is_common(attr)) known[num_known++] = attribute_info(attr)->text;
  }
  const char *meant = parse_meant(parser, name, known, num_known);
  return parse_fail(parser, place, "%s has no attribute '%.*s'%s", opcode_text(opcode),
                    (int)name.len, name.data, *meant ? meant : own);
}

static bool is_attribute(const Token *token) {
  return token->known && token->known->attr != NUM_ATTRS;
}

/* Fails because no `name=` follows ','. The text may have `name =` or `name:` instead. */
static bool fail_attribute(Parser *parser, Str name) {
  const Word *word = words_find(&parser->words, name, hash_str(name));
  bool is_word = at(parser, TOK_IDENT) || at(parser, TOK_NAME);
  if (!is_word || !word || word->attr == NUM_ATTRS) {
    return parse_expected(parser, "an attribute after ','");
  }
  uint32_t end = (uint32_t)(name.data - parser->lex.text) + name.len;
  return parse_fail(parser, end, "expected '=' and a value directly after '%.*s'", (int)name.len,
                    name.data);
}

/* Reads one `name=value` of an instruction with these rules. `rules[1]` may be NULL. */
static bool parse_attribute(Parser *parser, const AttrRule *const *rules, Opcode opcode,
                            AttrSet *set) {
  uint32_t place = tok(parser)->begin;
  Str name = tok_word(parser);
  if (!at(parser, TOK_ATTR_NAME)) return fail_attribute(parser, name);
  const Word *word = tok(parser)->known;
  if (!word || word->attr == NUM_ATTRS) {
    return fail_unknown_attr(parser, rules, name, opcode, place);
  }
  AttrId first_row = (AttrId)word->attr, attr = first_row;
  if (!attribute_is_common(first_row)) {
    const AttrRule *rule = find_rule(parser, rules[0], first_row);
    if (!rule && rules[1]) rule = find_rule(parser, rules[1], first_row);
    if (!rule) return fail_unknown_attr(parser, rules, name, opcode, place);
    attr = (AttrId)rule->attr;
  }
  if (is_seen(set, first_row)) {
    return parse_fail(parser, place, "attribute '%.*s' is given twice", (int)name.len, name.data);
  }
  set->seen[first_row / 64] |= UINT64_C(1) << (first_row % 64);
  lex_next(&parser->lex);

  uint32_t value = tok(parser)->begin, ints = parser->source->ints.len;
  uint32_t callees = parser->callees.len;
  if (!parse_attribute_value(parser, attr)) return false;
  *vec_push(parser->tables, &parser->attrs) = (Attr){.id = (uint16_t)attr,
                                                     .num_callees = parser->callees.len - callees,
                                                     .text = {value, parser->lex.prev_end},
                                                     .ints = ints,
                                                     .num_ints = parser->source->ints.len - ints};
  return true;
}

static bool parse_attributes(Parser *parser, const AttrRule *const *rules, Opcode opcode,
                             bool is_allowed, AttrSet *set) {
  uint32_t place = parser->lex.prev_end;
  while (is_allowed && eat(parser, TOK_COMMA)) {
    if (!parse_attribute(parser, rules, opcode, set)) return false;
  }
  for (int list = 0; list < 2 && rules[list]; list++) {
    for (const AttrRule *rule = rules[list]; rule->attr >= 0; rule++) {
      if (!rule->is_required) continue;
      if (is_seen(set, (AttrId)parser->words.attr_name[rule->attr])) continue;
      return parse_fail(parser, place, "%s lacks the attribute '%s'%s", opcode_text(opcode),
                        attribute_info((AttrId)rule->attr)->text,
                        is_allowed ? "" : ", which a nested instruction cannot carry");
    }
  }
  return true;
}

/* XLA has its own order of called computations (body before condition); the text may have any
 * order. */
static void order_callees(Parser *parser, const AttrSet *set) {
  uint32_t num_callees = parser->callees.len - set->first_callee;
  if (num_callees != 2) return;
  CompId *callees = parser->callees.data + set->first_callee;
  for (uint32_t i = set->first; i < parser->attrs.len; i++) {
    AttrId attr = (AttrId)parser->attrs.data[i].id;
    if (attr == ATTR_BODY || attr == ATTR_TRUE_COMPUTATION || attr == ATTR_SELECT) return;
    if (attr == ATTR_CONDITION || attr == ATTR_FALSE_COMPUTATION || attr == ATTR_SCATTER) {
      CompId first = callees[0];
      callees[0] = callees[1];
      callees[1] = first;
      return;
    }
  }
}

/* ---- the right-hand side ---- */

static bool has_native_async(Opcode opcode) {
  switch (opcode) {
    case OPCODE_ALL_GATHER:
    case OPCODE_ALL_REDUCE:
    case OPCODE_COLLECTIVE_PERMUTE:
    case OPCODE_COPY:
    case OPCODE_RECV:
    case OPCODE_SEND: return true;
    default: return false;
  }
}

typedef struct AsyncSuffix {
  const char *text;
  uint32_t len;
  Opcode opcode;
} AsyncSuffix;

/* Splits off the suffix `-start`, `-update` or `-done`. */
static bool split_async(Str text, AsyncSuffix *suffix) {
  static const AsyncSuffix suffixes[] = {{"-start", 6, OPCODE_ASYNC_START},
                                         {"-update", 7, OPCODE_ASYNC_UPDATE},
                                         {"-done", 5, OPCODE_ASYNC_DONE}};
  for (size_t i = 0; i < 3; i++) {
    *suffix = suffixes[i];
    if (text.len > suffix->len &&
        memcmp(text.data + text.len - suffix->len, suffix->text, suffix->len) == 0) {
      return true;
    }
  }
  return false;
}

/* Returns the name that was probably meant by `negat-start`. Some opcodes do not have all three
 * forms. */
static const char *meant_async(Parser *parser, Str text, AsyncSuffix suffix,
                               const char *const *opcodes) {
  Str wrapped = {text.data, text.len - suffix.len};
  const Word *word = words_find(&parser->words, wrapped, hash_str(wrapped));
  if (word && word->opcode != NUM_OPCODES) {
    return arena_printf(parser->scratch, ": %s has no '%s'", opcode_text((Opcode)word->opcode),
                        suffix.text);
  }
  Suggestion meant = suggest_word(wrapped);
  for (uint32_t i = 0; i < NUM_OPCODES; i++)
    suggest_offer(&meant, str_make(opcodes[i], strlen(opcodes[i])));
  if (meant.best.len == 0) return "";
  return arena_printf(parser->scratch, "; did you mean '%s%s'?", meant.best.data, suffix.text);
}

static bool fail_unknown_opcode(Parser *parser, Str text) {
  if (lex_peek(&parser->lex) == TOK_LBRACKET) return parse_fail_type(parser);
  const char *known[NUM_OPCODES];
  for (unsigned opcode = 0; opcode < NUM_OPCODES; opcode++)
    known[opcode] = opcode_text((Opcode)opcode);
  const char *meant = parse_meant_opcode(parser, text, known, NUM_OPCODES);
  AsyncSuffix suffix;
  if (split_async(text, &suffix)) meant = meant_async(parser, text, suffix, known);
  return parse_fail(parser, tok(parser)->begin, "unknown opcode '%.*s'%s", (int)text.len, text.data,
                    meant);
}

static bool parse_opcode(Parser *parser, OpcodeText *result) {
  if (!at(parser, TOK_IDENT)) {
    return parse_expected(parser, at(parser, TOK_COMMA)
                                      ? "an opcode (a tuple's shape stands in parentheses)"
                                      : "an opcode");
  }
  Str text = tok_word(parser);
  result->place = tok(parser)->begin;
  result->wrapped = NUM_OPCODES;
  const Word *word = tok(parser)->known;
  if (word && word->opcode != NUM_OPCODES) {
    result->opcode = (Opcode)word->opcode;
    lex_next(&parser->lex);
    return true;
  }
  AsyncSuffix suffix;
  if (split_async(text, &suffix)) {
    Str wrapped = {text.data, text.len - suffix.len};
    word = words_find(&parser->words, wrapped, hash_str(wrapped));
    if (word && word->opcode != NUM_OPCODES && !has_native_async((Opcode)word->opcode)) {
      result->opcode = suffix.opcode;
      result->wrapped = (Opcode)word->opcode;
      lex_next(&parser->lex);
      return true;
    }
  }
  return fail_unknown_opcode(parser, text);
}

/* '(' int ')' */
static bool parse_parameter_number(Parser *parser, int64_t *number) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LPAREN, "before the parameter's number")) return false;
  uint32_t place = tok(parser)->begin;
  if (!parse_int(parser, number)) return false;
  if (*number < 0) return parse_fail(parser, place, "parameter numbers begin at 0");
  return parse_close(parser, TOK_RPAREN, opener, "the parameter's number");
}

/* '(' literal ')' */
static bool parse_constant(Parser *parser, ShapeId shape, unsigned *flags) {
  uint32_t opener = tok(parser)->begin;
  bool is_elided = false;
  if (!parse_token(parser, TOK_LPAREN, "before the literal") ||
      !parse_literal(parser, shape, &is_elided) ||
      !parse_close(parser, TOK_RPAREN, opener, "the literal")) {
    return false;
  }
  if (is_elided) {
    *flags |= INST_ELIDED_LITERAL;
    parser->source->num_elided_literals++;
  }
  return true;
}

static int64_t attr_int(const Parser *parser, const AttrSet *set, AttrId id, int64_t fallback) {
  for (uint32_t i = set->first; i < parser->attrs.len; i++) {
    const Attr *attr = &parser->attrs.data[i];
    if (attr->id == id && attr->num_ints) return parser->source->ints.data[attr->ints];
  }
  return fallback;
}

static bool has_attr(const Parser *parser, const AttrSet *set, AttrId id) {
  for (uint32_t i = set->first; i < parser->attrs.len; i++) {
    if (parser->attrs.data[i].id == id) return true;
  }
  return false;
}

static void note_attrs(const Parser *parser, const AttrSet *set, NewInst *new) {
  if (new->opcode == OPCODE_GET_TUPLE_ELEMENT) new->index = attr_int(parser, set, ATTR_INDEX, 0);
  if (opcode_has(new->opcode, OPF_CHANNEL) && has_attr(parser, set, ATTR_CHANNEL_ID)) {
    new->index = attr_int(parser, set, ATTR_CHANNEL_ID, 0);
    new->flags |= INST_HAS_CHANNEL;
  }
  if (attr_int(parser, set, ATTR_CONSTRAIN_LAYOUT, 0)) new->flags |= INST_CONSTRAINS_LAYOUT;
  if (attr_int(parser, set, ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, 0)) {
    new->flags |= INST_CALL_SIDE_EFFECT;
  }
}

/* Moves the attributes of one instruction from the stack to their final, contiguous place. They
 * were on the stack because computations inside them have attributes of their own. */
static void keep_attrs(Parser *parser, const AttrSet *set, NewInst *new) {
  uint32_t count = parser->attrs.len - set->first;
  new->source.attrs = parser->source->attrs.len;
  new->source.num_attrs = count;
  Attr *kept = vec_extend(parser->arena, &parser->source->attrs, count);
  if (count) memcpy(kept, parser->attrs.data + set->first, count * sizeof *kept);
  parser->attrs.len = set->first;
}

/* Nested instructions have no name in the text. XLA names them `add.anon`, made unique. */
static Str anonymous_name(Parser *parser, Opcode opcode) {
  const char *text = opcode_text(opcode);
  for (uint32_t number = parser->num_anonymous;; number++) {
    char *name = number ? arena_printf(parser->arena, "%s.anon.%u", text, number)
                        : arena_printf(parser->arena, "%s.anon", text);
    Str str = str_make(name, strlen(name));
    if (parser_find_inst(parser, str) != NO_ID) continue;
    parser->num_anonymous = number + 1;
    return str;
  }
}

static void add_predecessors(Parser *parser, InstId id, uint32_t first) {
  for (uint32_t i = first; i < parser->predecessors.len; i++) {
    module_add_control(parser->module, parser->predecessors.data[i], id);
  }
  parser->predecessors.len = first;
  inst_get(parser->module, id)->flags &= (uint16_t)~INST_CHANGED;
}

typedef struct RhsText {
  OpcodeText op;
  bool has_shape;
  bool is_unknown; /* the shape would be inferred from something unknown */
  ShapeId shape;
  uint32_t paren, close;
} RhsText;

static bool parse_arguments(Parser *parser, RhsText *rhs, NewInst *new, ParseError *noted) {
  rhs->paren = tok(parser)->begin;
  bool ok;
  switch (rhs->op.opcode) {
    case OPCODE_PARAMETER: ok = parse_parameter_number(parser, &new->index); break;
    case OPCODE_CONSTANT: ok = parse_constant(parser, rhs->shape, &new->flags); break;
    default: ok = parse_operands(parser, noted); break;
  }
  rhs->close = parser->lex.prev_end - 1;
  return ok;
}

/* Returns true for opcodes that may have another shape than the written one, or whose users are
 * checked against more than the shape. */
static bool replaces_shape(Opcode opcode) {
  switch (opcode) {
    case OPCODE_ADD_DEPENDENCY:
    case OPCODE_ASYNC_START:
    case OPCODE_ASYNC_UPDATE:
    case OPCODE_INFEED:
    case OPCODE_RECV:
    case OPCODE_RECV_DONE:
    case OPCODE_SEND: return true;
    default: return false;
  }
}

/* XLA:GPU's text of a collective that an async-start wraps is `all-gather-start(p)`, too, which is
 * an opcode as well; the operands' shapes are then a tuple within the shape. A tuple of results
 * leaves open what is meant: the opcode has that with several operands. */
static void read_start_as_wrapped(const Parser *parser, RhsText *rhs) {
  Opcode opcode = rhs->op.opcode;
  bool is_reduce = opcode == OPCODE_ALL_REDUCE_START;
  if (!is_reduce && opcode != OPCODE_ALL_GATHER_START && opcode != OPCODE_COLLECTIVE_PERMUTE_START)
    return;
  const ShapeTable *shapes = &parser->module->shapes;
  const Shape *shape = rhs->has_shape ? shape_get(shapes, rhs->shape) : NULL;
  if (!shape || !shape_is_tuple(shape) || shape->rank < 2) return;
  bool is_state = shape_is_tuple(shape_get(shapes, shape->elements[0])) &&
                  (is_reduce || !shape_is_tuple(shape_get(shapes, shape->elements[1])));
  if (!is_state) return;
  rhs->op = (OpcodeText){
      .opcode = OPCODE_ASYNC_START, .wrapped = opcode_begun(opcode), .place = rhs->op.place};
}

/* The end of such a collective. */
static void read_done_as_wrapped(const Parser *parser, RhsText *rhs, uint32_t first_operand) {
  Opcode wrapped;
  switch (rhs->op.opcode) {
    case OPCODE_ALL_GATHER_DONE: wrapped = OPCODE_ALL_GATHER; break;
    case OPCODE_ALL_REDUCE_DONE: wrapped = OPCODE_ALL_REDUCE; break;
    case OPCODE_COLLECTIVE_PERMUTE_DONE: wrapped = OPCODE_COLLECTIVE_PERMUTE; break;
    default: return;
  }
  if (parser->operands.len == first_operand) return;
  InstId start = parser->operands.data[first_operand];
  if (inst_get(parser->module, start)->opcode != OPCODE_ASYNC_START) return;
  rhs->op = (OpcodeText){.opcode = OPCODE_ASYNC_DONE, .wrapped = wrapped, .place = rhs->op.place};
}

/* Reads the rest of rhs after the opcode. */
static bool parse_rhs_tail(Parser *parser, RhsText *rhs, NewInst *new, bool with_attributes,
                           CompId *wrapper) {
  const OpcodeText *op = &rhs->op;
  uint32_t first_operand = parser->operands.len;
  ParseError noted = {0};
  if (!parse_arguments(parser, rhs, new, &noted)) return false;
  new->num_operands = parser->operands.len - first_operand;
  read_done_as_wrapped(parser, rhs, first_operand);
  new->opcode = op->opcode;

  AttrSet set = {.first = parser->attrs.len, .first_callee = parser->callees.len};
  bool is_sugar = op->wrapped != NUM_OPCODES;
  bool makes_wrapper = is_sugar && op->opcode == OPCODE_ASYNC_START;
  /* Async forms such as `add-start` accept the attributes of the wrapped opcode, but not `calls`,
   * because they imply the called computation. */
  static const AttrRule sugar_rules[] = {
      {ATTR_ASYNC_EXECUTION_THREAD, false}, {ATTR_OUTPUT_TO_OPERAND_ALIASING, false}, {-1, false}};
  const AttrRule *rules[2] = {attribute_rules(op->opcode), NULL};
  if (makes_wrapper) {
    rules[0] = attribute_rules(op->wrapped);
    rules[1] = sugar_rules;
  } else if (is_sugar) {
    rules[0] = sugar_rules;
  }
  if (!parse_attributes(parser, rules, is_sugar ? op->wrapped : op->opcode, with_attributes,
                        &set)) {
    return false;
  }
  order_callees(parser, &set);
  new->first_callee = set.first_callee;
  new->num_callees = parser->callees.len - set.first_callee;
  note_attrs(parser, &set, new);
  keep_attrs(parser, &set, new);

  Candidate candidate = {.opcode = op->opcode,
                         .has_shape = rhs->has_shape,
                         .shape = rhs->shape,
                         .operands = parser->operands.data + first_operand,
                         .num_operands = new->num_operands,
                         .attrs = parser->source->attrs.data + new->source.attrs,
                         .num_attrs = new->source.num_attrs,
                         .callees = parser->callees.data + new->first_callee,
                         .num_callees = new->num_callees,
                         .wrapped = op->wrapped,
                         .offset = op->place};
  if (parser->num_errors && parser_depends_on_unknown(parser, &candidate)) {
    rhs->is_unknown = !rhs->has_shape || replaces_shape(op->opcode);
    if (!rhs->has_shape) new->shape = parser_unknown_shape(parser);
    return true;
  }
  if (!parse_check_opcode(parser, &candidate)) {
    /* A dropped operand is the more likely cause of a wrong operand count. */
    if (noted.message) parser->error = noted;
    return false;
  }
  new->shape = candidate.shape;
  if (noted.message) {
    diag_warn(parser->diags, DIAG_AT(noted.offset), "operand dropped, as XLA does: %s",
              noted.message);
  }
  if (opcode_gives_async_state(op->opcode) &&
      !parse_async_check_shape(parser, new->shape, op->place)) {
    return false;
  }
  if (makes_wrapper) return parse_async_wrapper(parser, op, new, wrapper);
  return !is_sugar || parse_async_follow(parser, &candidate);
}

/* XLA names an instruction after the ones that it adds for the operands. They begin at `first`. */
static bool check_operand_names(Parser *parser, InstId first, Str name, uint32_t place) {
  const Module *module = parser->module;
  for (InstId id = first; id < module->insts.len; id++) {
    if (inst_get(module, id)->parent != parser->comp || !str_equal(inst_name(module, id), name)) {
      continue;
    }
    return parse_fail(parser, place, "instruction '%.*s' has the name of one of its operands",
                      (int)name.len, name.data);
  }
  return true;
}

bool parse_instruction_rhs(Parser *parser, Str name, uint32_t begin, uint32_t name_offset,
                           bool with_attributes, InstId *id) {
  if (!parse_enter(parser, "instruction")) return false;
  uint32_t lead = parser->lead;
  RhsText rhs = {.has_shape = parse_at_shape(parser), .shape = NO_ID};
  if (rhs.has_shape && !parse_shape(parser, &rhs.shape)) return false;
  if (!parse_opcode(parser, &rhs.op)) return false;
  read_start_as_wrapped(parser, &rhs);
  Opcode opcode = rhs.op.opcode;
  if (!rhs.has_shape && !opcode_has(opcode, OPF_INFER)) {
    return parse_fail(parser, rhs.op.place, "%s needs its shape written before it",
                      opcode_text(opcode));
  }
  NewInst new = {.opcode = opcode, .shape = rhs.shape};
  uint32_t first_callee = parser->callees.len, first_predecessor = parser->predecessors.len;
  CompId wrapper = NO_ID;
  InstId first = parser->module->insts.len;
  if (!parse_rhs_tail(parser, &rhs, &new, with_attributes, &wrapper)) return false;
  if (wrapper != NO_ID) { /* the computations in the attributes belong to the wrapped instruction */
    parser->callees.len = first_callee;
    *vec_push(parser->tables, &parser->callees) = wrapper;
    new.first_callee = first_callee;
    new.num_callees = 1;
  }
  bool is_nested = name.len == 0;
  if (!is_nested && !check_operand_names(parser, first, name, name_offset)) return false;
  new.name = is_nested ? anonymous_name(parser, opcode) : name;
  if (is_nested) new.flags |= INST_NESTED;
  new.source.lead = lead;
  new.source.text = (Span){begin, parser->lex.prev_end};
  new.source.name = name_offset;
  new.source.paren = rhs.paren;
  new.source.close = rhs.close;
  *id = parser_add_inst(parser, &new);
  if (opcode == OPCODE_ASYNC_UPDATE) parse_async_note_update(parser, *id);
  if (rhs.is_unknown) parser_mark_unknown(parser, *id);
  parser->callees.len = first_callee;
  if (parser->predecessors.len > first_predecessor) {
    add_predecessors(parser, *id, first_predecessor);
  }
  parse_leave(parser);
  return true;
}

bool parse_is_reserved_name(Str name) {
  return name.len >= 2 && name.data[0] == '_' && name.data[1] == '_' &&
         !(name.len >= 6 && memcmp(name.data, "__xla_", 6) == 0);
}

/* XLA would rename the instruction, and reports that as an error. */
static bool check_inst_name(Parser *parser, Str name, uint64_t name_hash, uint32_t place) {
  const Word *word = words_find(&parser->words, name, name_hash);
  bool is_type = word && word->type != NUM_TYPES;
  if (is_type || parse_is_reserved_name(name)) {
    return parse_fail(parser, place, "'%.*s' cannot be the name of an instruction: %s",
                      (int)name.len, name.data,
                      is_type ? "it is an element type" : "names with '__' are reserved");
  }
  InstId other = parser_find_inst(parser, name);
  if (other == NO_ID) return true;
  return parse_fail_opened(parser, place, parser->source->insts.data[other].name,
                           "instruction '%.*s' is already defined", (int)name.len, name.data);
}

/* Fails because the text begins with something other than a name. */
static bool fail_start(Parser *parser, bool is_root) {
  Str name = tok_word(parser);
  switch (tok(parser)->kind) {
    case TOK_ATTR_NAME:
      if (!is_attribute(tok(parser))) break;
      return parse_fail(parser, tok(parser)->begin, "expected ',' before the attribute '%.*s'",
                        (int)name.len, name.data);
    case TOK_TYPE:
    case TOK_KEYWORD:
    case TOK_DIM_LABELS: break;
    default:
      return parse_expected(parser, is_root                         ? "a name after ROOT"
                                    : parser->is_single_instruction ? "HloModule, ENTRY or a name"
                                                                    : "an instruction or '}'");
  }
  return parse_name(parser, &name);
}

static bool is_one_of(Str name, const char *const *words, int num_words) {
  for (int i = 0; i < num_words; i++) {
    if (str_is(name, words[i])) return true;
  }
  return false;
}

/* Fails because no '=' follows a name. */
static bool fail_name(Parser *parser, Str name, uint32_t place) {
  static const char *const words[] = {"ROOT", "ENTRY", "HloModule"};
  const char *meant = "";
  if (at(parser, TOK_NAME) || at(parser, TOK_IDENT)) meant = parse_meant(parser, name, words, 3);
  if (parser->lex.text[parser->lex.prev_end - 1] == ':' && is_one_of(name, words, 3)) {
    return parse_fail(parser, parser->lex.prev_end - 1, "expected a name after %.*s, found ':'",
                      (int)name.len, name.data);
  }
  if (*meant) {
    return parse_fail(parser, place, "unknown word '%.*s' before a name%s", (int)name.len,
                      name.data, meant);
  }
  return parse_token(parser, TOK_EQUAL, "after the name of an instruction");
}

bool parse_instruction(Parser *parser, InstId *root) {
  parser->lead = text_line_end(parser->lex.text, parser->lex.length, parser->lex.prev_end);
  uint32_t begin = tok(parser)->begin;
  bool is_root = tok_is_keyword(tok(parser), KW_ROOT);
  if (is_root) lex_next(&parser->lex);
  uint32_t place = tok(parser)->begin;
  uint64_t name_hash = tok(parser)->hash;
  if (!at(parser, TOK_NAME) && !at(parser, TOK_IDENT)) return fail_start(parser, is_root);
  Str name = tok_word(parser);
  lex_next(&parser->lex);
  if (parser->lex.text[place] == '%') parser->source->uses_percent = true;
  if (!at(parser, TOK_EQUAL)) return fail_name(parser, name, place);
  lex_next(&parser->lex);
  if (is_root && *root != NO_ID) {
    return parse_fail_opened(parser, begin, parser->source->insts.data[*root].text.begin,
                             "a computation has one ROOT");
  }
  InstId id;
  if (!check_inst_name(parser, name, name_hash, place) ||
      !parse_instruction_rhs(parser, name, begin, place, true, &id)) {
    return false;
  }
  if (is_root) *root = id;
  return true;
}
