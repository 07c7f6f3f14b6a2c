/* Parses the module as a whole:
 *
 *     text        := module | instruction
 *     module      := ('HloModule' name (',' attribute)* tables?)? computation+
 *     tables      := 'FileNames' … 'FunctionNames' … 'FileLocations' … 'StackFrames' …
 *     computation := 'ENTRY'? name signature? '{' instruction+ '}' (',' attribute)*
 *     signature   := '(' (name shape),… ')' '->' shape */
#include "ir/chars.h"
#include "text/parse.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "ir/names.h"
#include "text/parser.h"

/* ---- errors and tokens ---- */

static bool set_error(Parser *parser, uint32_t offset, uint32_t opener, const char *message) {
  if (!parser->error.message) {
    parser->error = (ParseError){.message = message, .offset = offset, .opener = opener};
  }
  return false;
}

static char *format_message(Parser *parser, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  char *message = arena_alloc(parser->tables, (size_t)length + 1);
  vsnprintf(message, (size_t)length + 1, format, args);
  return message;
}

bool parse_fail(Parser *parser, uint32_t offset, const char *format, ...) {
  if (parser->error.message) return false;
  va_list args;
  va_start(args, format);
  char *message = format_message(parser, format, args);
  va_end(args);
  return set_error(parser, offset, NO_OFFSET, message);
}

bool parse_fail_opened(Parser *parser, uint32_t offset, uint32_t opener, const char *format, ...) {
  if (parser->error.message) return false;
  va_list args;
  va_start(args, format);
  char *message = format_message(parser, format, args);
  va_end(args);
  return set_error(parser, offset, opener, message);
}

/* Returns the current token in the form for messages. */
static Str shown_token(const Parser *parser) {
  enum { SHOWN_LIMIT = 40 };
  const Token *token = tok(parser);
  const char *text = parser->lex.text + token->begin;
  uint32_t length = token->end - token->begin;
  if (length > SHOWN_LIMIT) {
    length = SHOWN_LIMIT;
    while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80)
      length--; /* does not cut a character */
  }
  return (Str){text, length};
}

/* Returns true if the current token begins a line that looks like an instruction or a computation,
 * or ends the body. Then the expected token is missing at the end of an earlier line. */
static bool is_next_line(const Parser *parser) {
  const Lexer *lexer = &parser->lex;
  bool is_word = at(parser, TOK_NAME) || at(parser, TOK_IDENT) || at(parser, TOK_KEYWORD);
  if (!is_word && !at(parser, TOK_RBRACE)) return false;
  uint32_t pos = tok(parser)->begin;
  while (pos > lexer->prev_end && char_is_blank(lexer->text[pos - 1]))
    pos--;
  if (lexer->prev_end == 0 || pos <= lexer->prev_end || lexer->text[pos - 1] != '\n') return false;
  switch (parse_line_start(lexer, pos).kind) {
    case LINE_OTHER: return false;
    case LINE_CLOSE: return parser->comp != NO_ID;
    default: return true;
  }
}

bool parse_expected(Parser *parser, const char *wanted) {
  const Token *token = tok(parser);
  Str shown = shown_token(parser);
  if (token->kind == TOK_ERROR) {
    if (!token->is_stray) return parse_fail(parser, token->begin, "%s", token->error);
    shown = (Str){parser->lex.text + token->begin, 1};
  }
  if (token->kind == TOK_EOF) {
    return parse_fail(parser, token->begin, "expected %s, but the text ends here", wanted);
  }
  if (is_next_line(parser)) {
    return parse_fail(parser, parser->lex.prev_end, "expected %s, but the line ends here", wanted);
  }
  return parse_fail(parser, token->begin, "expected %s, found '%.*s'", wanted, (int)shown.len,
                    shown.data);
}

bool parse_token(Parser *parser, TokKind kind, const char *where) {
  if (eat(parser, kind)) return true;
  return parse_expected(parser, arena_printf(parser->scratch, "%s %s", tok_kind_text(kind), where));
}

bool parse_close(Parser *parser, TokKind kind, uint32_t opener, const char *what) {
  if (eat(parser, kind)) return true;
  bool had_error = parser->error.message != NULL;
  parse_expected(parser,
                 arena_printf(parser->scratch, "%s to close %s", tok_kind_text(kind), what));
  if (!had_error && tok(parser)->kind != TOK_ERROR) parser->error.opener = opener;
  return false;
}

bool parse_enter(Parser *parser, const char *what) {
  if (++parser->depth <= MAX_NESTING) return true;
  return parse_fail(parser, tok(parser)->begin, "%s nested more than %d deep", what, MAX_NESTING);
}

bool parse_int(Parser *parser, int64_t *value) {
  if (!at(parser, TOK_INT)) return parse_expected(parser, "an integer");
  *value = tok(parser)->integer;
  lex_next(&parser->lex);
  return true;
}

bool parse_int32(Parser *parser, int64_t *value) {
  uint32_t place = tok(parser)->begin;
  if (!parse_int(parser, value)) return false;
  if (*value != (int32_t)*value) {
    return parse_fail(parser, place, "%" PRId64 " does not fit in 32 bits", *value);
  }
  return true;
}

bool parse_bool(Parser *parser, bool *value) {
  if (!tok_is_keyword(tok(parser), KW_TRUE) && !tok_is_keyword(tok(parser), KW_FALSE)) {
    static const char *const words[] = {"true", "false"};
    return parse_expected_word(parser, "true or false", words, 2);
  }
  *value = tok(parser)->value == KW_TRUE;
  lex_next(&parser->lex);
  return true;
}

bool parse_name(Parser *parser, Str *name) {
  if (!at(parser, TOK_IDENT) && !at(parser, TOK_NAME)) {
    bool is_word = at(parser, TOK_TYPE) || at(parser, TOK_KEYWORD) || at(parser, TOK_DIM_LABELS);
    uint32_t before = parser->lex.prev_end;
    bool lacks_value = before && parser->lex.text[before - 1] == '=' && is_next_line(parser);
    if (is_word && !lacks_value) {
      Str shown = shown_token(parser);
      return parse_fail(parser, tok(parser)->begin,
                        "expected a name; '%.*s' means something else unless it is written %%%.*s",
                        (int)shown.len, shown.data, (int)shown.len, shown.data);
    }
    if (at(parser, TOK_ATTR_NAME)) {
      Str word = tok_word(parser);
      return parse_fail(parser, tok(parser)->begin,
                        "'%.*s=' reads as an attribute: a name without '%%' needs a blank before "
                        "'='",
                        (int)word.len, word.data);
    }
    return parse_expected(parser, "a name");
  }
  *name = tok_word(parser);
  lex_next(&parser->lex);
  return true;
}

bool parse_string(Parser *parser, Span *text) {
  if (!at(parser, TOK_STRING)) return parse_expected(parser, "a string");
  *text = tok(parser)->word;
  lex_next(&parser->lex);
  return true;
}

bool parse_int_list(Parser *parser, TokKind open, TokKind close, TokKind separator) {
  uint32_t opener = tok(parser)->begin;
  if (!at(parser, open)) {
    return parse_expected(
        parser, arena_printf(parser->scratch, "%s before a list of integers", tok_kind_text(open)));
  }
  lex_next_int(&parser->lex);
  if (!at(parser, close)) {
    for (;;) {
      int64_t value = 0;
      if (!at(parser, TOK_INT) && !parse_check_closed(parser, close, opener, "the list")) {
        return false;
      }
      if (!parse_int(parser, &value)) return false;
      push_int(parser, value);
      if (!at(parser, separator)) break;
      lex_next_int(&parser->lex);
    }
  }
  return parse_close(parser, close, opener, "the list");
}

/* ---- computations ---- */

CompId parser_find_comp(const Parser *parser, Str name) {
  CompId id;
  for (IdProbe probe = id_table_probe(&parser->comp_names, hash_str(name));
       id_probe_next(&probe, &id);) {
    if (str_equal(comp_name(parser->module, id), name)) return id;
  }
  return NO_ID;
}

OpenComp parser_open_comp(Parser *parser, Str name, unsigned flags) {
  OpenComp open = {.outer = parser->comp, .first_inst = parser->comp_insts.len};
  open.id = module_add_comp(parser->module, name, parser->module->comps.len);
  comp_get(parser->module, open.id)->flags = flags;
  *vec_push(parser->arena, &parser->source->comps) = (CompSource){0};
  parser->comp = open.id;
  return open;
}

static IdList keep_ids(Parser *parser, const uint32_t *ids, uint32_t count) {
  IdList list = id_list_reserve(parser->module, count);
  if (count) memcpy(parser->module->ids.data + list.begin, ids, count * sizeof *ids);
  list.len = count;
  return list;
}

/* Collects the parameters by number. Their numbers must be 0…n-1, each once. */
static bool collect_params(Parser *parser, CompId id) {
  const Module *module = parser->module;
  if (parser_is_unknown_comp(parser, id)) return true;
  uint32_t count = 0;
  for (uint32_t i = 0; i < comp_num_insts(module, id); i++) {
    count += inst_get(module, comp_inst(module, id, i))->opcode == OPCODE_PARAMETER;
  }
  uint32_t *params = arena_array(parser->scratch, uint32_t, count);
  memset(params, 0xff, count * sizeof *params);
  for (uint32_t i = 0; i < comp_num_insts(module, id); i++) {
    InstId param = comp_inst(module, id, i);
    const Instruction *inst = inst_get(module, param);
    if (inst->opcode != OPCODE_PARAMETER) continue;
    uint32_t at_param = parser->source->insts.data[param].name;
    if (inst->index >= count) {
      return parse_fail(parser, at_param, "parameter %" PRId64 " of %u: the numbers have a gap",
                        inst->index, count);
    }
    if (params[inst->index] != NO_ID) {
      return parse_fail_opened(parser, at_param,
                               parser->source->insts.data[params[inst->index]].name,
                               "parameter %" PRId64 " is already defined", inst->index);
    }
    params[inst->index] = param;
  }
  comp_get(parser->module, id)->params = keep_ids(parser, params, count);
  return true;
}

/* Names are looked up only in their own computation. So one small table, which stays in the cache,
 * is used for all computations. */
static void forget_names(Parser *parser) {
  if (parser->name_slots_mask == parser->inst_names.mask) {
    id_table_clear_slots(&parser->inst_names, parser->name_slots.data);
  } else {
    id_table_clear(&parser->inst_names);
    parser->name_slots_mask = parser->inst_names.mask;
  }
  parser->name_slots.len = 0;
}

bool parser_close_comp(Parser *parser, OpenComp open, InstId root) {
  uint32_t count = parser->comp_insts.len - open.first_inst;
  const InstId *insts = parser->comp_insts.data + open.first_inst;
  Computation *comp = comp_get(parser->module, open.id);
  if (root == NO_ID && count) root = insts[count - 1]; /* all instructions may be unknown */
  comp->root = root;
  comp->insts = keep_ids(parser, insts, count);
  parser->comp_insts.len = open.first_inst;
  parser->comp = open.outer;
  if (parser->comp == NO_ID) forget_names(parser);
  return collect_params(parser, open.id);
}

static bool fail_open(Parser *parser, uint32_t opener, Str name) {
  const char *what = arena_printf(parser->scratch, "computation '%.*s'", (int)name.len, name.data);
  return parse_close(parser, TOK_RBRACE, opener, what);
}

/* If a computation begins where an instruction is expected, the previous computation lacks its
 * '}'. */
static void expect_close(Parser *parser, uint32_t begin, uint32_t opener, Str name) {
  if (!parse_begins_next(&parser->lex, begin, opener)) return;
  parser->error = (ParseError){0};
  lex_restart(&parser->lex, begin);
  fail_open(parser, opener, name);
}

bool parse_computation_body(Parser *parser, Str name, unsigned flags, CompId *id) {
  if (!parse_enter(parser, "computation")) return false;
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the instructions")) return false;
  if (at(parser, TOK_RBRACE)) {
    return parse_fail_opened(parser, tok(parser)->begin, opener,
                             "a computation has at least one "
                             "instruction");
  }
  if (name.len == 0) name = STR("_");
  if (!(flags & COMP_NESTED)) parser->body = opener;
  OpenComp open = parser_open_comp(parser, name, flags);
  CompSource source = {.text.begin = opener, .name = opener, .body = opener + 1};
  InstId root = NO_ID;
  do {
    uint32_t begin = tok(parser)->begin;
    if (!at(parser, TOK_EOF)) {
      if (parse_instruction(parser, &root)) continue;
      expect_close(parser, begin, opener, name);
    } else {
      fail_open(parser, opener, name);
    }
    if (!recover_in_body(parser, open.id, opener, begin, &root)) {
      parser->comp = open.outer;
      return false;
    }
  } while (!at(parser, TOK_RBRACE));
  source.close = tok(parser)->begin;
  source.tail = text_line_end(parser->lex.text, parser->lex.length, parser->lex.prev_end);
  source.num_insts = parser->comp_insts.len - open.first_inst;
  source.text.end = source.close + 1;
  parser->source->comps.data[open.id] = source;
  if (!parser_close_comp(parser, open, root)) return false;
  lex_next(&parser->lex);
  *id = open.id;
  parse_leave(parser);
  return true;
}

/* '(' (name shape),… ')' '->' shape
 *
 * Only the result is used. */
static bool parse_signature(Parser *parser, ShapeId *result, uint32_t *place) {
  uint32_t opener = tok(parser)->begin;
  lex_next(&parser->lex);
  if (!at(parser, TOK_RPAREN)) {
    do {
      Str name;
      ShapeId shape;
      if (!parse_name(parser, &name)) return false;
      if (at(parser, TOK_COLON)) {
        return parse_expected(parser,
                              "a shape; a parameter is written `name: shape` or `%name shape`");
      }
      if (!parse_shape(parser, &shape)) return false;
    } while (eat(parser, TOK_COMMA));
  }
  if (!parse_close(parser, TOK_RPAREN, opener, "the parameters") ||
      !parse_token(parser, TOK_ARROW, "before the result's shape")) {
    return false;
  }
  *place = tok(parser)->begin;
  return parse_shape(parser, result);
}

/* (',' (execution_thread= | backend_config=))* after '}' */
static bool parse_computation_attrs(Parser *parser, CompId id) {
  bool has_thread = false, has_config = false;
  while (eat(parser, TOK_COMMA)) {
    uint32_t place = tok(parser)->begin;
    if (!at(parser, TOK_ATTR_NAME)) return parse_expected(parser, "an attribute after ','");
    Str name = tok_word(parser);
    bool is_thread = str_is(name, "execution_thread");
    if (!is_thread && !str_is(name, "backend_config")) {
      return parse_fail(parser, place,
                        "a computation has no attribute '%.*s', only "
                        "execution_thread and backend_config",
                        (int)name.len, name.data);
    }
    if (is_thread ? has_thread : has_config) {
      return parse_fail(parser, place, "attribute '%.*s' is given twice", (int)name.len, name.data);
    }
    lex_next(&parser->lex);
    if (is_thread) {
      Span text = {0};
      if (!parse_string(parser, &text)) return false;
      comp_get(parser->module, id)->thread = module_span(parser->module, text);
      has_thread = true;
    } else {
      if (!parse_string_or_dict(parser)) return false;
      has_config = true;
    }
  }
  return true;
}

/* Fails because an instruction is found where a computation is expected. `before` is the end of the
 * previous computation. */
static bool fail_outside(Parser *parser, uint32_t place, uint32_t before) {
  bool has_end = parser->module->comps.len && parser->lex.text[before - 1] == '}';
  return parse_fail_opened(parser, place, has_end ? before - 1 : NO_OFFSET,
                           "this instruction is in no computation%s",
                           has_end ? ": a '}' has ended the last one" : "");
}

static bool check_result_shape(Parser *parser, CompId id, ShapeId declared, uint32_t place) {
  const Module *module = parser->module;
  if (declared == NO_ID || parser_is_unknown_comp(parser, id)) return true;
  InstId root = comp_get(module, id)->root;
  ShapeId actual = inst_get(module, root)->shape;
  if (shape_compatible(&module->shapes, actual, declared)) return true;
  bool goes_on = tok_is_keyword(tok(parser), KW_ROOT) || lex_peek(&parser->lex) == TOK_EQUAL;
  if (goes_on) return fail_outside(parser, tok(parser)->begin, parser->lex.prev_end);
  Str says = shape_text(&module->shapes, declared, false, parser->scratch);
  Str has = shape_text(&module->shapes, actual, false, parser->scratch);
  Str name = inst_name(module, root);
  uint32_t begin = parser->source->insts.data[root].text.begin;
  bool is_marked = memcmp(parser->lex.text + begin, "ROOT", 4) == 0;
  return parse_fail(parser, place, "the signature's result is %.*s, but the root '%.*s' is %.*s%s",
                    (int)says.len, says.data, (int)name.len, name.data, (int)has.len, has.data,
                    is_marked ? "" : "; as nothing is marked ROOT, the last instruction is it");
}

/* Fails because neither a signature nor a body follows the name of a computation. */
static bool fail_header(Parser *parser, Str name) {
  static const char *const words[] = {"ENTRY", "HloModule"};
  uint32_t place = (uint32_t)(name.data - parser->lex.text);
  if (at(parser, TOK_NAME) || at(parser, TOK_IDENT)) {
    const char *meant = parse_meant(parser, name, words, 2);
    if (*meant) {
      return parse_fail(parser, place, "unknown word '%.*s' before a name%s", (int)name.len,
                        name.data, meant);
    }
  }
  return parse_expected(parser, "'(' or '{' after the name of a computation");
}

static bool parse_computation(Parser *parser) {
  Module *module = parser->module;
  uint32_t begin = tok(parser)->begin;
  bool is_entry = tok_is_keyword(tok(parser), KW_ENTRY);
  if (is_entry) lex_next(&parser->lex);
  uint32_t place = tok(parser)->begin, shape_place = 0;
  Str name;
  uint32_t before = parser->lex.prev_end;
  if (tok_is_keyword(tok(parser), KW_ROOT)) return fail_outside(parser, place, before);
  if (tok_is_keyword(tok(parser), KW_HLO_MODULE)) {
    return parse_fail(parser, place, "another HloModule begins here; a text holds one");
  }
  bool is_name = at(parser, TOK_NAME) || at(parser, TOK_IDENT) || at(parser, TOK_ATTR_NAME) ||
                 at(parser, TOK_TYPE) || at(parser, TOK_KEYWORD) || at(parser, TOK_DIM_LABELS);
  if (!is_name && !is_entry) return parse_expected(parser, "a computation");
  if (!parse_name(parser, &name)) return false;
  CompId other = parser_find_comp(parser, name);
  if (other != NO_ID) {
    parse_fail_opened(parser, place, parser->source->comps.data[other].name,
                      "computation '%.*s' is already defined", (int)name.len, name.data);
    if (!parse_report(parser)) return false;
  }
  if (at(parser, TOK_EQUAL)) return fail_outside(parser, place, before);
  if (!at(parser, TOK_LPAREN) && !at(parser, TOK_LBRACE)) return fail_header(parser, name);
  ShapeId result = NO_ID;
  if (at(parser, TOK_LPAREN) && !parse_signature(parser, &result, &shape_place)) return false;
  CompId id;
  if (!parse_computation_body(parser, name, 0, &id) ||
      !check_result_shape(parser, id, result, shape_place) ||
      !parse_computation_attrs(parser, id)) {
    return false;
  }
  if (is_entry && module->entry != NO_ID) {
    return parse_fail_opened(parser, begin, parser->source->comps.data[module->entry].text.begin,
                             "a module has one ENTRY");
  }
  if (is_entry) module->entry = id;
  CompSource *source = &parser->source->comps.data[id];
  source->text = (Span){begin, parser->lex.prev_end};
  source->name = place;
  id_table_add(&parser->comp_names, parser->tables, hash_str(name), id);
  return true;
}

/* ---- work that needs the whole module ---- */

/* Builds the lists of users of all instructions, in the order of the text. Each list has exactly
 * the length that it needs. */
static void build_users(Parser *parser) {
  Module *module = parser->module;
  uint32_t num_insts = module->insts.len;
  InstId *last_user = arena_array(parser->scratch, InstId, num_insts);
  memset(last_user, 0xff, num_insts * sizeof *last_user);
  for (InstId id = 0; id < num_insts; id++) {
    for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
      InstId operand = inst_operand(module, id, i);
      if (last_user[operand] == id) continue;
      last_user[operand] = id;
      inst_get(module, operand)->users.len++;
    }
  }
  for (InstId id = 0; id < num_insts; id++) {
    IdList *users = &inst_get(module, id)->users;
    *users = id_list_reserve(module, users->len);
  }
  for (InstId id = 0; id < num_insts; id++) {
    for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
      IdList *users = &inst_get(module, inst_operand(module, id, i))->users;
      uint32_t *ids = module->ids.data + users->begin;
      if (users->len && ids[users->len - 1] == id) continue;
      ids[users->len++] = id;
    }
  }
}

/* A computation that an async instruction calls may only be called by async instructions. */
static bool check_async_callers(Parser *parser) {
  const Module *module = parser->module;
  uint8_t *kinds = arena_zarray(parser->scratch, uint8_t, module->comps.len);
  enum { BY_ASYNC = 1, BY_OTHER = 2 };
  InstId *caller = arena_array(parser->scratch, InstId, module->comps.len);
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    bool is_async = opcode_is_async((Opcode)inst->opcode);
    for (uint32_t i = 0; i < inst->num_callees; i++) {
      CompId callee = inst_callees(module, id)[i];
      kinds[callee] |= is_async ? BY_ASYNC : BY_OTHER;
      if (!is_async) caller[callee] = id;
    }
  }
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    if (kinds[comp] != (BY_ASYNC | BY_OTHER)) continue;
    Str name = comp_name(module, comp);
    return parse_fail(parser, parser->source->insts.data[caller[comp]].text.begin,
                      "'%.*s' is the computation of an async instruction: no other may call it",
                      (int)name.len, name.data);
  }
  return true;
}

static bool parse_module(Parser *parser) {
  ModuleHeader *header = &parser->source->header;
  header->is_present = tok_is_keyword(tok(parser), KW_HLO_MODULE);
  uint32_t begin = tok(parser)->begin;
  if (header->is_present && !parse_header(parser)) {
    if (!recover_at_computation(parser, begin, true)) return false;
    *header = (ModuleHeader){.is_present = true}; /* the header then needs no resolving */
    if (at(parser, TOK_EOF)) return false;
  }
  do {
    begin = tok(parser)->begin;
    if (!parse_computation(parser) && !recover_at_computation(parser, begin, false)) return false;
  } while (!at(parser, TOK_EOF));
  Module *module = parser->module;
  for (CompId id = module->comps.len; module->entry == NO_ID && id-- > 0;) {
    bool is_top = !(comp_get(module, id)->flags & (COMP_NESTED | COMP_IMPLIED));
    if (is_top) module->entry = id;
  }
  if (!header->is_present && module->entry != NO_ID) {
    Str name = comp_name(module, module->entry);
    char *text = arena_printf(parser->arena, "module_%.*s", (int)name.len, name.data);
    header->name = str_make(text, strlen(text));
  }
  return true;
}

/* In a text that is a single instruction, an operand may have a name that no instruction can have.
 * XLA's NameUniquer replaces the first of two leading underscores by an `a`, and appends a number
 * if the name is then in use twice. */
static void name_implied_params(Parser *parser, CompId comp) {
  Module *module = parser->module;
  NameSet names = {.arena = parser->arena};
  for (InstId id = 0; id < module->insts.len; id++) {
    Instruction *inst = inst_get(module, id);
    if (inst->parent != comp || !(inst->flags & INST_IMPLIED)) continue;
    Str name = inst_name(module, id);
    if (parse_is_reserved_name(name)) {
      char *text = arena_strndup(parser->arena, name.data, name.len);
      text[0] = 'a';
      name.data = text;
    }
    name = name_unique(&names, name);
    inst->name = name.data;
    inst->name_len = name.len;
  }
}

static bool parse_single_instruction(Parser *parser) {
  parser->is_single_instruction = true;
  parser->source->header.is_single_instruction = true;
  parser->source->header.is_scheduled = true;
  parser->source->header.name = STR("_");
  uint32_t begin = tok(parser)->begin;
  OpenComp open = parser_open_comp(parser, STR("_"), 0);
  InstId root = NO_ID, id;
  bool ok = parse_at_shape(parser)
                ? parse_instruction_rhs(parser, STR("_"), begin, begin, true, &id)
                : parse_instruction(parser, &root);
  if (!ok) return false;
  if (!at(parser, TOK_EOF)) {
    return parse_fail(parser, tok(parser)->begin,
                      "text goes on after a single instruction; a module begins with HloModule or "
                      "ENTRY, or with a computation's name and '{'");
  }
  parser->source->comps.data[open.id] = (CompSource){.text = {begin, parser->lex.prev_end},
                                                     .name = begin,
                                                     .body = begin,
                                                     .close = parser->lex.length};
  parser->module->entry = open.id;
  name_implied_params(parser, open.id);
  return parser_close_comp(parser, open, NO_ID);
}

static bool parse_text(Parser *parser) {
  lex_next(&parser->lex);
  if (at(parser, TOK_EOF)) return parse_fail(parser, 0, "the text holds no HLO");
  bool is_module = tok_is_keyword(tok(parser), KW_HLO_MODULE) ||
                   tok_is_keyword(tok(parser), KW_ENTRY) || lex_peek(&parser->lex) == TOK_LBRACE;
  if (!(is_module ? parse_module(parser) : parse_single_instruction(parser))) return false;
  if (!check_async_callers(parser)) return false;
  if (parser->num_errors == 0) build_users(parser);
  CompId entry = parser->module->entry;
  return entry == NO_ID || parser_is_unknown_comp(parser, entry) || parse_resolve_header(parser);
}

/* absl::CUnescape, for escapes that the lexer has checked. */
static uint32_t unescape(const char *text, uint32_t length, char *out) {
  static const char plain[] = "abfnrtv\\?'\"", meant[] = "\a\b\f\n\r\t\v\\?'\"";
  uint32_t n = 0;
  for (uint32_t i = 0; i < length;) {
    char c = text[i++];
    if (c != '\\' || i == length) {
      out[n++] = c;
      continue;
    }
    const char *found = strchr(plain, text[i]);
    if (found) {
      out[n++] = meant[found - plain];
      i++;
    } else {
      /* A numeric escape has no use in the text of a module outside of strings, so it is replaced
       * by a placeholder. */
      out[n++] = '_';
      i++;
    }
  }
  return n;
}

bool parse_quoted_module(Parser *parser, Span quoted, uint32_t place) {
  if (!parse_enter(parser, "recovery module")) return false;
  Str text = module_span(parser->module, quoted);
  char *plain = arena_alloc(parser->scratch, text.len + 1);
  uint32_t length = unescape(text.data, text.len, plain);
  Module *inner;
  rh_diags *diags = diags_new(arena_options(parser->arena));
  rh_status status = text_parse(plain, length, arena_options(parser->arena), &inner, diags);
  bool ok = status == RH_OK;
  if (!ok) {
    parse_fail(parser, place, "the recovery module does not parse: %s",
               rh_diags_get(diags, rh_diags_len(diags) - 1)->message);
  }
  module_free(inner);
  rh_diags_free(diags);
  parse_leave(parser);
  return ok;
}

/* Each instruction has an indented line of its own. The result is too high if there are further
 * indented lines, and is no more than what instructions of the least length come to. */
static uint32_t estimate_insts(const char *text, uint32_t length) {
  enum { MIN_TEXT = 24 };
  const char *end = text + length;
  uint32_t num_lines = 0;
  for (const char *at = text; at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL;) {
    at++;
    num_lines += at < end && *at == ' ';
  }
  return num_lines < length / MIN_TEXT ? num_lines : length / MIN_TEXT;
}

/* Reserves memory at the start, so that arrays need not be moved. */
static void reserve(Parser *parser, const char *text, uint32_t length) {
  enum { IDS = 6, OPERANDS = 2, ATTRS = 2, INTS = 3 }; /* averages per instruction in dumps */
  Module *module = parser->module;
  ModuleSource *source = parser->source;
  Arena *arena = parser->arena;
  uint32_t num_insts = estimate_insts(text, length);
  size_t bytes = sizeof *module->insts.data + IDS * sizeof *module->ids.data +
                 sizeof *source->insts.data + OPERANDS * sizeof *source->operand_offsets.data +
                 ATTRS * sizeof *source->attrs.data + INTS * sizeof *source->ints.data +
                 sizeof *source->metadata.data;
  arena_reserve(arena, num_insts * bytes);
  vec_reserve(arena, &module->insts, num_insts);
  vec_reserve(arena, &module->ids, num_insts * IDS);
  vec_reserve(arena, &source->insts, num_insts);
  vec_reserve(arena, &source->operand_offsets, num_insts * OPERANDS);
  vec_reserve(arena, &source->attrs, num_insts * ATTRS);
  vec_reserve(arena, &source->ints, num_insts * INTS);
  vec_reserve(arena, &source->metadata, num_insts);
}

rh_status text_parse_all(const char *text, size_t length, const ArenaOptions *memory,
                         uint32_t max_errors, Module **module, rh_diags *diags) {
  *module = NULL;
  if (length >= UINT32_MAX) {
    return diag_fail(diags, RH_ERR_INPUT, DIAG_ABOUT(RH_CODE_TOO_LARGE, NO_OFFSET),
                     "the text is larger than 4 GiB");
  }
  Parser parser = {.module = module_new(text, (uint32_t)length, memory),
                   .tables = arena_new(memory),
                   .scratch = arena_new(memory),
                   .diags = diags,
                   .max_errors = max_errors,
                   .comp = NO_ID};
  parser.arena = parser.module->arena;
  parser.source = parser.module->source;
  words_init(&parser.words, parser.tables);
  lexer_init(&parser.lex, text, (uint32_t)length, &parser.words);
  reserve(&parser, text, (uint32_t)length);
  (void)vec_extend(parser.tables, &parser.operands,
                   /* The arrays must not be NULL, because callers take the address of the first
                    * element. */
                   0);
  (void)vec_extend(parser.tables, &parser.callees, 0);
  (void)vec_extend(parser.tables, &parser.comp_insts, 0);
  bool ok = parse_text(&parser);
  if (parser.error.message) parse_report(&parser);
  if (ok && parser.num_errors == 0) {
    *module = parser.module;
  } else {
    module_free(parser.module);
  }
  arena_free(parser.tables);
  arena_free(parser.scratch);
  return *module ? RH_OK : RH_ERR_INPUT;
}

rh_status text_parse(const char *text, size_t length, const ArenaOptions *memory, Module **module,
                     rh_diags *diags) {
  return text_parse_all(text, length, memory, 1, module, diags);
}
