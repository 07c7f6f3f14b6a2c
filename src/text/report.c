/* What is said of an error besides its message: what was meant, and where what is missing stands.
 */
#include "ir/suggest.h"
#include "text/foreign.h"
#include "text/parser.h"

/* What is to be said of a name takes a look at all others, and at the text: that is done a few
 * times. */
enum { MIN_SEARCHES = 4, MAX_SEARCHES = 100, SEARCHED_BYTES = 1 << 30 };

static bool may_search(Parser *parser) {
  uint32_t most = SEARCHED_BYTES / (parser->lex.length + 1);
  if (most < MIN_SEARCHES) most = MIN_SEARCHES;
  if (most > MAX_SEARCHES) most = MAX_SEARCHES;
  return parser->diags && parser->num_searches++ < most;
}

const char *parse_meant(Parser *parser, Str word, const char *const *words, uint32_t num_words) {
  if (parser->num_errors >= MAX_SEARCHES) return "";
  Suggestion suggestion = suggest_word(word);
  for (uint32_t i = 0; i < num_words; i++)
    suggest_offer(&suggestion, str_make(words[i], strlen(words[i])));
  if (suggestion.best.len == 0) return "";
  return arena_printf(parser->scratch, "; did you mean '%s'?", suggestion.best.data);
}

bool parse_expected_word(Parser *parser, const char *wanted, const char *const *words,
                         uint32_t num_words) {
  if (parser->error.message) return false;
  uint32_t place = tok(parser)->begin;
  bool is_word = tok(parser)->word.begin < tok(parser)->word.end && !at(parser, TOK_ERROR) &&
                 !at(parser, TOK_EOF);
  const char *meant = is_word ? parse_meant(parser, tok_word(parser), words, num_words) : "";
  parse_expected(parser, wanted);
  if (!*meant) return false;
  const char *message = parser->error.message;
  parser->error = (ParseError){0};
  return parse_fail(parser, place, "%s%s", message, meant);
}

bool parse_fail_name(Parser *parser, uint32_t offset, NameKind kind, const char *what, Str name) {
  if (parser->error.message) return false;
  parse_fail(parser, offset, "%s '%.*s' is not defined above", what, (int)name.len, name.data);
  parser->error.kind = kind;
  parser->error.name = name;
  return false;
}

/* ---- names ---- */

static Suggestion closest_inst(const Parser *parser, Str name) {
  Suggestion suggestion = suggest_name(name);
  for (uint32_t i = parser->comp_insts.len; i-- > 0;) { /* the nearest of equals */
    InstId id = parser->comp_insts.data[i];
    if (inst_get(parser->module, id)->parent != parser->comp) break;
    suggest_offer(&suggestion, inst_name(parser->module, id));
  }
  return suggestion;
}

static Suggestion closest_comp(const Parser *parser, Str name) {
  Suggestion suggestion = suggest_name(name);
  for (CompId id = parser->module->comps.len; id-- > 0;) {
    Str candidate = comp_name(parser->module, id);
    if (parser_find_comp(parser, candidate) == id) suggest_offer(&suggestion, candidate);
  }
  return suggestion;
}

/* Whether a line begins with a name, ROOT and ENTRY apart. */
static bool begins_with_name(const Lexer *lexer, uint32_t pos, Str name) {
  static const char *const words[] = {"ROOT ", "ENTRY "};
  const char *p = lexer->text + pos, *end = lexer->text + lexer->length;
  while (p < end && *p == ' ')
    p++;
  for (int i = 0; i < 2; i++) {
    size_t length = strlen(words[i]);
    if ((size_t)(end - p) > length && memcmp(p, words[i], length) == 0) p += length;
  }
  if (p < end && *p == '%') p++;
  return (size_t)(end - p) >= name.len && memcmp(p, name.data, name.len) == 0;
}

/* The line in (begin, end) that seems to define the name: an instruction of the computation there,
 * or a computation. */
static uint32_t find_definition(const Parser *parser, const ParseError *error, uint32_t begin,
                                uint32_t end) {
  const Lexer *lexer = &parser->lex;
  Str name = error->name;
  LineKind wanted = error->kind == NAME_OF_COMP ? LINE_COMPUTATION : LINE_INSTRUCTION;
  for (uint32_t pos = begin; pos < end;) {
    const char *newline = memchr(lexer->text + pos, '\n', end - pos);
    if (!newline) break;
    pos = (uint32_t)(newline - lexer->text) + 1;
    bool is_end = pos < lexer->length && lexer->text[pos] == '}';
    if (is_end && wanted == LINE_INSTRUCTION) break;
    if (!begins_with_name(lexer, pos, name)) continue;
    LineStart line = parse_line_start(lexer, pos);
    Str defined = {lexer->text + line.name.begin, line.name.end - line.name.begin};
    if (line.kind == wanted && str_equal(defined, name)) return line.offset;
  }
  return NO_OFFSET;
}

/* Whether the line that `offset` is in is the instruction of this name. */
static bool is_own_name(const Parser *parser, uint32_t offset, Str name) {
  uint32_t begin = offset;
  while (begin > 0 && parser->lex.text[begin - 1] != '\n')
    begin--;
  LineStart line = parse_line_start(&parser->lex, begin);
  Str defined = {parser->lex.text + line.name.begin, line.name.end - line.name.begin};
  return line.kind == LINE_INSTRUCTION && str_equal(defined, name);
}

/* Whether it has been told of; else it is noted that it has. */
static bool is_told(Parser *parser, const ParseError *error) {
  CompId scope = error->kind == NAME_OF_COMP ? NO_ID : parser->comp;
  for (uint32_t i = 0; i < parser->missing.len; i++) {
    const MissingName *missing = &parser->missing.data[i];
    if (missing->scope == scope && str_equal(missing->name, error->name)) return true;
  }
  if (parser->missing.len < MAX_SEARCHES) {
    *vec_push(parser->tables, &parser->missing) = (MissingName){scope, error->name};
  }
  return false;
}

/* Whether the definition was skipped with what is broken. */
static bool is_skipped(const Parser *parser, const ParseError *error) {
  if (parser->num_errors == 0) return false;
  uint32_t line = error->offset;
  while (line > 0 && parser->lex.text[line - 1] != '\n')
    line--;
  uint32_t begin = error->kind == NAME_OF_COMP ? 0 : parser->body;
  return find_definition(parser, error, begin, line) != NO_OFFSET;
}

/* More about a name that is not defined above. */
static void explain_name(Parser *parser, ParseError *error) {
  Str name = error->name;
  const char *why = NULL;
  if (error->kind == NAME_OF_COMP) {
    bool is_own = parser->comp != NO_ID && str_equal(comp_name(parser->module, parser->comp), name);
    if (is_own) why = "a computation cannot call itself";
  } else if (is_own_name(parser, error->offset, name)) {
    why = "an instruction cannot depend on itself";
  }
  if (!why) {
    error->opener = find_definition(parser, error, error->offset, parser->lex.length);
    if (error->opener != NO_OFFSET) why = "it is below";
  }
  if (why) {
    error->message = arena_printf(parser->tables, "%s: %s", error->message, why);
    return;
  }
  Suggestion meant =
      error->kind == NAME_OF_COMP ? closest_comp(parser, name) : closest_inst(parser, name);
  if (meant.best.len == 0) return;
  error->message = arena_printf(parser->tables, "%s; did you mean '%.*s'?", error->message,
                                (int)meant.best.len, meant.best.data);
}

/* ---- the report ---- */

bool parse_report(Parser *parser) {
  ParseError error = parser->error;
  /* What was meant for another program is told apart only now, as XLA would take some of it. */
  const char *foreign = parser->num_errors
                            ? NULL
                            : foreign_format(parser->lex.text, parser->lex.length, error.offset);
  if (foreign) {
    parser->max_errors = 1;
    error = (ParseError){.message = foreign, .offset = NO_OFFSET, .opener = NO_OFFSET};
  }
  bool is_name = error.kind != NAME_OF_NOTHING;
  bool is_known = is_name && is_told(parser, &error);
  bool may_look = is_name && !is_known && may_search(parser);
  if (is_known || (may_look && is_skipped(parser, &error))) {
    parser->error = (ParseError){0};
    return true;
  }
  if (may_look) explain_name(parser, &error);
  DiagPlace place = {error.offset, error.opener};
  diag_fail(parser->diags, RH_ERR_INPUT, place, "%s", error.message);
  parser->error = (ParseError){0};
  return ++parser->num_errors < parser->max_errors;
}
