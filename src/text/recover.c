/* Continues after an error, so that one run reports all errors. A broken instruction or computation
 * counts as defined, but nothing is known of it, and nothing that depends on it is checked. So no
 * error is reported that only follows from another one.
 *
 * The place to continue is searched for in the bytes, because the tokens may be wrong: after a
 * missing quote, the inside and the outside of all later strings are exchanged. Instructions and
 * computations begin lines in dumps, so the parser continues at the next line that looks like one.
 * In a text without lines it continues at the next sequence of tokens after the error that looks
 * like one. */
#include "ir/chars.h"
#include "text/parser.h"

/* ---- unknown instructions and computations ---- */

static void mark(Parser *parser, IdFlags *flags, uint32_t id) {
  while (flags->len <= id)
    *vec_push(parser->tables, flags) = false;
  flags->data[id] = true;
}

void parser_mark_unknown(Parser *parser, InstId id) {
  mark(parser, &parser->unknown_insts, id);
  mark(parser, &parser->unknown_comps, inst_get(parser->module, id)->parent);
}

ShapeId parser_unknown_shape(Parser *parser) {
  return shape_tuple(&parser->module->shapes, NULL, 0);
}

bool parser_depends_on_unknown(const Parser *parser, const Candidate *candidate) {
  for (uint32_t i = 0; i < candidate->num_operands; i++) {
    if (parser_is_unknown(parser, candidate->operands[i])) return true;
  }
  for (uint32_t i = 0; i < candidate->num_callees; i++) {
    if (parser_is_unknown_comp(parser, candidate->callees[i])) return true;
  }
  return false;
}

/* ---- recognizing lines ---- */

static bool is_in(char c, const char *set) {
  return c != '\0' && strchr(set, c) != NULL;
}

static uint32_t skip_blanks(const Lexer *lexer, uint32_t pos) {
  while (pos < lexer->length && char_is_blank(lexer->text[pos]))
    pos++;
  return pos;
}

/* Skips anything that may be meant as a word, including wrong characters. */
static uint32_t skip_word(const Lexer *lexer, uint32_t pos) {
  while (pos < lexer->length && !is_in(lexer->text[pos], " \t\r\n=,(){}[]\"'"))
    pos++;
  return pos;
}

static bool word_is(const Lexer *lexer, Span word, const char *text) {
  return str_is((Str){lexer->text + word.begin, word.end - word.begin}, text);
}

static bool is_followed_by(const Lexer *lexer, uint32_t pos, char c) {
  pos = skip_blanks(lexer, pos);
  return pos < lexer->length && lexer->text[pos] == c;
}

static bool line_has_arrow(const Lexer *lexer, uint32_t pos) {
  for (; pos + 1 < lexer->length && lexer->text[pos] != '\n'; pos++) {
    if (lexer->text[pos] == '-' && lexer->text[pos + 1] == '>') return true;
  }
  return false;
}

/* Judges a line by O(1) words. A possible signature counts as one word. */
static LineStart guess_start(const Lexer *lexer, uint32_t pos) {
  LineStart line = {.offset = skip_blanks(lexer, pos)};
  line.indent = line.offset - pos;
  if (line.offset >= lexer->length) return line;
  if (lexer->text[line.offset] == '}') line.kind = LINE_CLOSE;
  Span word = {line.offset, skip_word(lexer, line.offset)};
  if (word.begin == word.end) return line;
  bool is_entry = word_is(lexer, word, "ENTRY"), is_root = word_is(lexer, word, "ROOT");
  uint32_t next = skip_blanks(lexer, word.end);
  if (is_entry || is_root) {
    word = (Span){next, skip_word(lexer, next)};
    next = skip_blanks(lexer, word.end);
  }
  line.name = word;
  if (word.begin < word.end && is_in(lexer->text[word.begin], "%$@")) line.name.begin++;
  char c = next < lexer->length ? lexer->text[next] : '\0';
  char first = word.begin < word.end ? lexer->text[word.begin] : '\0';
  bool has_number = char_is_digit(first);
  bool is_attribute = next == word.end && line.name.begin == word.begin; /* `name=value` */
  if (is_entry) {
    line.kind = LINE_COMPUTATION;
  } else if (c == '=' && word.begin < word.end && !is_attribute) {
    line.kind = LINE_INSTRUCTION;
  } else if (!is_root && !has_number && (c == '(' || (c == '{' && next > word.end))) {
    line.kind = LINE_COMPUTATION;
  }
  return line;
}

LineStart parse_line_start(const Lexer *lexer, uint32_t pos) {
  LineStart line = guess_start(lexer, pos);
  bool has_signature = line.kind == LINE_COMPUTATION && is_followed_by(lexer, line.name.end, '(');
  if (has_signature && !line_has_arrow(lexer, line.name.end)) line.kind = LINE_OTHER;
  return line;
}

/* ---- finding the next instruction or computation ---- */

static bool is_escape(const Lexer *lexer, uint32_t pos) {
  return lexer->text[pos] == '\\' && pos + 1 < lexer->length && lexer->text[pos + 1] != '\n';
}

/* Returns the offset after a string or comment at `pos`. If it is not closed on its line, it ends
 * with the line. Returns `pos` if there is neither. */
static uint32_t skip_opaque(const Lexer *lexer, uint32_t pos) {
  const char *text = lexer->text;
  char quote = text[pos];
  uint32_t end = pos + 1;
  if (quote == '"' || quote == '\'') {
    while (end < lexer->length && text[end] != '\n' && text[end] != quote)
      end += is_escape(lexer, end) ? 2 : 1;
    return end < lexer->length && text[end] == quote ? end + 1 : end;
  }
  if (quote != '/' || end >= lexer->length || (text[end] != '/' && text[end] != '*')) return pos;
  bool is_block = text[end] == '*';
  for (end++; end < lexer->length && text[end] != '\n'; end++) {
    if (is_block && text[end] == '*' && end + 1 < lexer->length && text[end + 1] == '/') {
      return end + 2;
    }
  }
  return end;
}

static uint32_t indent_of(const Lexer *lexer, uint32_t pos) {
  uint32_t begin = pos;
  while (begin > 0 && lexer->text[begin - 1] != '\n')
    begin--;
  return skip_blanks(lexer, begin) - begin;
}

/* Returns true if a line belongs to the body that opens at `opener`, or ends it. After a brace that
 * is not closed the following lines seem to be nested; then their indentation shows that they are
 * not. */
static bool is_level(const Lexer *lexer, LineStart line, uint32_t depth, uint32_t begin,
                     uint32_t opener) {
  switch (line.kind) {
    case LINE_OTHER: return false;
    case LINE_INSTRUCTION: return depth == 0 || line.indent <= indent_of(lexer, begin);
    case LINE_CLOSE: return depth == 0 || line.indent <= indent_of(lexer, opener);
    case LINE_COMPUTATION: return line.indent <= indent_of(lexer, opener);
  }
  return false;
}

/* Recognizes a computation in the middle of a line: one without a signature, or the entry. */
static bool begins_here(const Lexer *lexer, uint32_t pos) {
  LineStart start = guess_start(lexer, pos);
  if (start.kind != LINE_COMPUTATION) return false;
  bool is_entry = word_is(lexer, (Span){pos, skip_word(lexer, pos)}, "ENTRY");
  return is_entry || !is_followed_by(lexer, start.name.end, '(');
}

bool parse_begins_next(const Lexer *lexer, uint32_t pos, uint32_t opener) {
  LineStart line = parse_line_start(lexer, pos);
  return line.kind == LINE_COMPUTATION && indent_of(lexer, pos) <= indent_of(lexer, opener);
}

/* Returns true if the '}' at `pos` ends the computation, and is not an extra '}' in an instruction.
 * It does if the line ends there or continues with another computation, and no instruction
 * follows. */
static bool is_end_of_body(const Lexer *lexer, uint32_t pos) {
  uint32_t next = skip_blanks(lexer, pos + 1);
  if (next >= lexer->length) return true;
  if (lexer->text[next] == ',' || lexer->text[next] == '\r') return true;
  if (lexer->text[next] == '\n') return guess_start(lexer, next + 1).kind != LINE_INSTRUCTION;
  return begins_here(lexer, next);
}

/* Returns what follows the instruction that begins at `begin` and has an error at `error`. */
static LineStart find_in_body(const Lexer *lexer, uint32_t begin, uint32_t error, uint32_t opener) {
  uint32_t depth = 0, own_name = guess_start(lexer, begin).name.end;
  for (uint32_t pos = begin; pos < lexer->length;) {
    char c = lexer->text[pos];
    bool is_behind = pos > begin && pos >= error && pos >= own_name && depth == 0;
    if (c == '\n') {
      LineStart line = parse_line_start(lexer, pos + 1);
      if (is_level(lexer, line, depth, begin, opener)) return line;
    } else if (c == '}' && is_behind && is_end_of_body(lexer, pos)) {
      return (LineStart){.kind = LINE_CLOSE, .offset = pos};
    } else if (is_behind && !char_is_blank(c) && char_is_blank(lexer->text[pos - 1])) {
      LineStart inst = guess_start(lexer, pos);
      bool is_name = c < '0' || c > '9';
      if (inst.kind == LINE_INSTRUCTION && is_name) return inst;
    }
    if (c == '{') depth++;
    if (c == '}' && depth > 0) depth--;
    uint32_t end = skip_opaque(lexer, pos);
    pos = end > pos ? end : pos + 1;
  }
  return (LineStart){.offset = lexer->length};
}

/* Returns where the next computation begins after the one at `begin`, which has an error at
 * `error`. */
static uint32_t find_computation(const Lexer *lexer, uint32_t begin, uint32_t error) {
  uint32_t depth = 0;
  bool is_closed = false; /* the next computation follows a '}' */
  for (uint32_t pos = begin; pos < lexer->length;) {
    char c = lexer->text[pos];
    if (c == '\n') {
      LineStart line = parse_line_start(lexer, pos + 1);
      bool is_outer = line.kind == LINE_COMPUTATION && line.indent <= indent_of(lexer, begin);
      if (is_outer) return line.offset;
    } else if (pos > begin && pos >= error && depth == 0 && char_is_blank(lexer->text[pos - 1])) {
      bool is_entry = word_is(lexer, (Span){pos, skip_word(lexer, pos)}, "ENTRY");
      if ((is_closed || is_entry) && begins_here(lexer, pos)) return pos;
    }
    if (c == '{') depth++;
    if (c == '}' && depth > 0) depth--;
    if (!char_is_blank(c)) is_closed = c == '}';
    uint32_t end = skip_opaque(lexer, pos);
    pos = end > pos ? end : pos + 1;
  }
  return lexer->length;
}

/* ---- strings and dicts that extend over lines ---- */

/* Compilers write a string on one line. If a string that continues on the next line precedes the
 * error at `error`, its quote is probably missing and the error is a consequence. */
static void blame_string(Parser *parser, uint32_t begin) {
  ParseError *error = &parser->error;
  Lexer lexer = parser->lex;
  lex_restart(&lexer, begin);
  while (lexer.tok.kind != TOK_EOF && lexer.tok.kind != TOK_ERROR &&
         lexer.tok.begin < error->offset) {
    Token string = lexer.tok;
    lex_next(&lexer);
    uint32_t length = string.end - string.begin;
    if (string.kind != TOK_STRING || !memchr(lexer.text + string.begin, '\n', length)) continue;
    error->message = arena_printf(
        parser->tables, "the string is not closed on its line; after it: %s", error->message);
    error->opener = error->offset;
    error->offset = string.begin;
    return;
  }
}

/* Returns true if a value that spans several lines contains lines that look like lines of the
 * body. */
static bool swallows_lines(const Lexer *lexer, Span value, uint32_t inst, uint32_t opener) {
  for (uint32_t pos = value.begin; pos < value.end; pos++) {
    if (lexer->text[pos] != '\n') continue;
    if (is_level(lexer, parse_line_start(lexer, pos + 1), 1, inst, opener)) return true;
  }
  return false;
}

/* A JSON dict that lacks a '}' ends at a later one, and the error is only found after that. Returns
 * where the instruction with such a dict begins, or `begin` if there is none. */
static uint32_t blame_dict(Parser *parser, CompId comp, uint32_t opener, uint32_t begin) {
  enum { MAX_BLAMED = 100 }; /* number of errors for which the dicts are searched */
  InstId last =
      parser->comp_insts.len ? parser->comp_insts.data[parser->comp_insts.len - 1] : NO_ID;
  bool may_look = parser->num_errors < MAX_BLAMED && last != NO_ID;
  if (!may_look || parser_is_unknown(parser, last)) return begin;
  if (inst_get(parser->module, last)->parent != comp) return begin;
  AttrSlice attrs = inst_attrs(parser->module, last);
  uint32_t own = parser->source->insts.data[last].text.begin;
  for (uint32_t i = 0; i < attrs.len; i++) {
    const Attr *attr = &attrs.data[i];
    if (attribute_info((AttrId)attr->id)->kind != ATTR_KIND_STRING_OR_DICT) continue;
    if (!swallows_lines(&parser->lex, attr->text, own, opener)) continue;
    parser->error = (ParseError){.message = "the JSON dict is not closed on its line",
                                 .offset = attr->text.begin,
                                 .opener = NO_OFFSET};
    return own;
  }
  return begin;
}

/* ---- continuing ---- */

/* Returns true if nothing can follow the error: an unterminated comment includes the rest of the
 * text, and another module is not part of this one. */
static bool is_last(const Parser *parser) {
  const Lexer *lexer = &parser->lex;
  uint32_t pos = parser->error.offset;
  bool is_comment =
      pos + 1 < lexer->length && lexer->text[pos] == '/' && lexer->text[pos + 1] == '*';
  return is_comment || (tok_is_keyword(tok(parser), KW_HLO_MODULE) && tok(parser)->begin == pos);
}

/* Removes everything that is unfinished, down to the level of a body's instructions. */
static void drop_unfinished(Parser *parser, CompId comp, uint32_t depth) {
  parser->operands.len = parser->operand_offsets.len = 0;
  parser->callees.len = parser->predecessors.len = parser->attrs.len = 0;
  while (parser->comp_insts.len) {
    InstId last = parser->comp_insts.data[parser->comp_insts.len - 1];
    if (inst_get(parser->module, last)->parent == comp) break;
    parser->comp_insts.len--;
  }
  parser->comp = comp;
  parser->depth = depth;
}

/* Defines the name of the broken instruction, so that its uses cause no errors. */
static void define_unknown_inst(Parser *parser, uint32_t begin, InstId *root) {
  lex_restart(&parser->lex, begin);
  bool is_root = tok_is_keyword(tok(parser), KW_ROOT);
  if (is_root) lex_next(&parser->lex);
  if (!at(parser, TOK_NAME) && !at(parser, TOK_IDENT) && !at(parser, TOK_ATTR_NAME)) return;
  Str name = tok_word(parser);
  InstId id = parser_find_inst(parser, name);
  if (id == NO_ID) {
    id = parser_add_inst(
        parser, &(NewInst){.name = name,
                           .opcode = OPCODE_TUPLE,
                           .shape = parser_unknown_shape(parser),
                           .source = {.text = {begin, begin}, .name = tok(parser)->begin}});
  }
  parser_mark_unknown(parser, id);
  if (is_root && *root == NO_ID) *root = id;
}

bool recover_in_body(Parser *parser, CompId comp, uint32_t opener, uint32_t begin, InstId *root) {
  enum { BODY_DEPTH = 1 };
  bool is_nested = comp_get(parser->module, comp)->flags & COMP_NESTED;
  if (is_nested || parser->is_single_instruction) return false;
  bool is_end = is_last(parser);
  begin = blame_dict(parser, comp, opener, begin);
  uint32_t error = parser->error.offset;
  blame_string(parser, begin);
  if (!parse_report(parser)) return false;
  mark(parser, &parser->unknown_comps, comp);
  drop_unfinished(parser, comp, BODY_DEPTH);
  LineStart next = {.kind = LINE_COMPUTATION, .offset = begin};
  if (!parse_begins_next(&parser->lex, begin, opener)) {
    define_unknown_inst(parser, begin, root);
    next = find_in_body(&parser->lex, begin, error, opener);
  }
  lex_restart(&parser->lex, is_end ? parser->lex.length : next.offset);
  return !is_end && (next.kind == LINE_INSTRUCTION || next.kind == LINE_CLOSE);
}

static void define_unknown_comp(Parser *parser, uint32_t begin) {
  Lexer before = parser->lex;
  lex_restart(&parser->lex, begin);
  bool is_entry = tok_is_keyword(tok(parser), KW_ENTRY);
  if (is_entry) lex_next(&parser->lex);
  Str name = tok_word(parser);
  bool has_name = at(parser, TOK_NAME) || at(parser, TOK_IDENT);
  CompId id = has_name ? parser_find_comp(parser, name) : NO_ID;
  if (has_name && id == NO_ID) {
    id = parser_open_comp(parser, name, 0).id;
    parser->source->comps.data[id] =
        (CompSource){.text = {begin, begin}, .name = tok(parser)->begin};
    id_table_add(&parser->comp_names, parser->tables, hash_str(name), id);
    parser->comp = NO_ID;
  }
  if (has_name) mark(parser, &parser->unknown_comps, id);
  if (is_entry && parser->module->entry == NO_ID) parser->module->entry = id;
  parser->lex = before;
}

bool recover_at_computation(Parser *parser, uint32_t begin, bool is_header) {
  if (parser->error.message) {
    uint32_t error = parser->error.offset;
    bool is_end = is_last(parser);
    if (!parse_report(parser)) return false;
    uint32_t next = find_computation(&parser->lex, begin, error);
    lex_restart(&parser->lex, is_end ? parser->lex.length : next);
  } else if (parser->num_errors >= parser->max_errors) {
    return false;
  }
  drop_unfinished(parser, NO_ID, 0);
  if (!is_header) define_unknown_comp(parser, begin);
  return true;
}
