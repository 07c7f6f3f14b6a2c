/* Adds to error messages what was probably meant, and where a missing token belongs. */
#include <inttypes.h>

#include "ir/chars.h"
#include "ir/suggest.h"
#include "text/damage.h"
#include "text/foreign.h"
#include "text/parser.h"

/* Explaining a name compares it with all other names and searches the text, so it is only done for
 * some errors. */
enum { MIN_SEARCHES = 4, MAX_SEARCHES = 100, SEARCHED_BYTES = 1 << 30 };

/* The number of errors for which the surrounding text is examined, which may be one long line. */
enum { MAX_LOOKS = 20 };

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

const char *parse_meant_type(Parser *parser, Str word, const char *const *types,
                             uint32_t num_types) {
  static const struct {
    const char *other, *ours; /* the prefixes of the digits */
  } names[] = {{"bfloat", "bf"}, {"float", "f"},  {"fp", "f"},      {"int", "s"},
               {"i", "s"},       {"uint", "u"},   {"ui", "u"},      {"complex", "c"},
               {"bool", "pred"}, {"half", "f16"}, {"double", "f64"}};
  uint32_t stem = 0;
  while (stem < word.len && !char_is_digit(word.data[stem]))
    stem++;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!str_is((Str){word.data, stem}, names[i].other)) continue;
    char *text = arena_printf(parser->scratch, "%s%.*s", names[i].ours, (int)(word.len - stem),
                              word.data + stem);
    if (strcmp(text, "s1") == 0) text = "pred";
    for (uint32_t type = 0; type < num_types; type++) {
      if (strcmp(text, types[type]) != 0) continue;
      return arena_printf(parser->scratch, "; did you mean '%s'?", text);
    }
  }
  return parse_meant(parser, word, types, num_types);
}

/* Returns true if `text` is `word` or begins with it, with `_` instead of `-`. */
static bool is_stem(const char *word, Str text) {
  uint32_t i = 0;
  for (; word[i]; i++) {
    if (i == text.len || (text.data[i] == '_' ? '-' : text.data[i]) != word[i]) return false;
  }
  return i == text.len || text.data[i] == '_' || text.data[i] == '-' || text.data[i] == '.';
}

const char *parse_meant_opcode(Parser *parser, Str word, const char *const *opcodes,
                               uint32_t num_opcodes) {
  for (uint32_t i = 0; i < word.len; i++) { /* `mhlo.add` */
    if (word.data[i] != '.' || i + 1 == word.len || char_is_digit(word.data[i + 1])) continue;
    word = (Str){word.data + i + 1, word.len - i - 1};
    i = 0;
  }
  const char *stem = "";
  for (uint32_t i = 0; i < num_opcodes; i++) { /* `dot_general`, `reduce_window_max` */
    if (is_stem(opcodes[i], word) && strlen(opcodes[i]) > strlen(stem)) stem = opcodes[i];
  }
  if (*stem) return arena_printf(parser->scratch, "; did you mean '%s'?", stem);
  return parse_meant(parser, word, opcodes, num_opcodes);
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

bool parse_check_closed(Parser *parser, TokKind close, uint32_t opener, const char *what) {
  uint32_t before = parser->lex.prev_end;
  bool is_attribute = at(parser, TOK_ATTR_NAME) && before && parser->lex.text[before - 1] == ',';
  if (!is_attribute) return true;
  Str name = tok_word(parser);
  return parse_fail_opened(parser, before - 1, opener,
                           "expected %s to close %s before the attribute '%.*s'",
                           tok_kind_text(close), what, (int)name.len, name.data);
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
  for (uint32_t i = parser->comp_insts.len; i-- > 0;) { /* the nearest of equally similar ones */
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

/* Returns true if a line begins with a name, ignoring ROOT and ENTRY. */
static bool begins_with_name(const Lexer *lexer, uint32_t pos, Str name) {
  static const char *const words[] = {"ROOT ", "ENTRY "};
  const char *p = lexer->text + pos, *end = lexer->text + lexer->length;
  while (p < end && *p == ' ')
    p++;
  for (int i = 0; i < 2; i++) {
    size_t length = strlen(words[i]);
    if ((size_t)(end - p) > length && memcmp(p, words[i], length) == 0) p += length;
  }
  if (p < end && (*p == '%' || *p == '$' || *p == '@')) p++;
  return (size_t)(end - p) >= name.len && memcmp(p, name.data, name.len) == 0;
}

/* Returns the line in (begin, end) that seems to define the name, either as an instruction of the
 * computation there or as a computation. */
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

/* Returns true if the line with `offset` is the instruction of this name. */
static bool is_own_name(const Parser *parser, uint32_t offset, Str name) {
  uint32_t begin = offset;
  while (begin > 0 && parser->lex.text[begin - 1] != '\n')
    begin--;
  LineStart line = parse_line_start(&parser->lex, begin);
  Str defined = {parser->lex.text + line.name.begin, line.name.end - line.name.begin};
  return line.kind == LINE_INSTRUCTION && str_equal(defined, name);
}

/* Returns true if the name was reported already; records it otherwise. */
static bool was_reported(Parser *parser, const ParseError *error) {
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

/* Returns true if the definition was skipped as part of something broken. */
static bool is_skipped(const Parser *parser, const ParseError *error) {
  if (parser->num_errors == 0) return false;
  uint32_t line = error->offset;
  while (line > 0 && parser->lex.text[line - 1] != '\n')
    line--;
  uint32_t begin = error->kind == NAME_OF_COMP ? 0 : parser->body;
  return find_definition(parser, error, begin, line) != NO_OFFSET;
}

/* Explains why a name is not defined before its use. */
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

/* ---- the text around the error ---- */

/* Describes a character beyond ASCII that is invisible or looks like another one. Returns NULL for
 * others. */
static const char *unseen_character(const char *p, const char *end) {
  static const struct {
    const char *bytes, *what;
  } characters[] = {
      {"\xc2\xa0", "a no-break space"},       {"\xe2\x80\x8b", "a blank without width"},
      {"\xe2\x80\x93", "a dash, not '-'"},    {"\xe2\x80\x94", "a dash, not '-'"},
      {"\xe2\x88\x92", "a minus, not '-'"},   {"\xe2\x80\x9c", "a quote, not '\"'"},
      {"\xe2\x80\x9d", "a quote, not '\"'"},  {"\xe2\x80\x98", "a quote, not \"'\""},
      {"\xe2\x80\x99", "a quote, not \"'\""}, {"\xef\xbb\xbf", "a byte order mark"}};
  for (size_t i = 0; i < sizeof characters / sizeof *characters; i++) {
    size_t len = strlen(characters[i].bytes);
    if ((size_t)(end - p) >= len && memcmp(p, characters[i].bytes, len) == 0) {
      return characters[i].what;
    }
  }
  return NULL;
}

/* Returns true if the text ends in the word at `offset`. */
static bool is_last_word(const Lexer *lexer, uint32_t offset) {
  if (offset >= lexer->length) return false;
  for (uint32_t i = offset; i < lexer->length; i++) {
    if (strchr(" \t\r\n()[]{}=,\"", lexer->text[i])) return false;
  }
  return true;
}

static bool begins_line(const Lexer *lexer, uint32_t pos) {
  while (pos > 0 && char_is_blank(lexer->text[pos - 1]))
    pos--;
  return pos == 0 || lexer->text[pos - 1] == '\n';
}

/* Returns true if the second line is an instruction. Then the first line is not a module by
 * itself. */
static bool is_inside_of_body(const Lexer *lexer) {
  const char *newline = memchr(lexer->text, '\n', lexer->length);
  if (!newline) return false;
  LineStart line = parse_line_start(lexer, (uint32_t)(newline - lexer->text) + 1);
  return line.kind == LINE_INSTRUCTION;
}

/* Adds what the text around an error shows, whatever the error is. */
static void look_around(Parser *parser, ParseError *error) {
  const Lexer *lexer = &parser->lex;
  if (error->offset >= lexer->length || parser->num_errors >= MAX_LOOKS) return;
  const char *p = lexer->text + error->offset;
  const char *seen = unseen_character(p, lexer->text + lexer->length);
  uint32_t column = damage_wrap_column((Str){lexer->text, lexer->length}, error->offset);
  if (seen) {
    error->message = arena_printf(parser->tables, "%s: this is %s", error->message, seen);
  } else if (column) {
    parser->max_errors = parser->num_errors + 1; /* the remaining errors are consequences */
    error->message = arena_printf(parser->tables, "%s (is the text wrapped at column %" PRIu32 "?)",
                                  error->message, column);
  } else if ((*p == '#' || *p == ';') && begins_line(lexer, error->offset)) {
    error->message = arena_printf(parser->tables, "%s (comments begin with //)", error->message);
  } else if (is_last_word(lexer, error->offset)) {
    error->message = arena_printf(parser->tables, "%s (the text ends here)", error->message);
  }
}

/* Describes what is wrong with the text as a whole. This is only examined after an error, because
 * XLA accepts some of these texts. */
static bool look_at_whole(Parser *parser, ParseError *error) {
  Str text = {parser->lex.text, parser->lex.length};
  const char *foreign =
      parser->num_errors ? NULL : foreign_format(text.data, text.len, error->offset);
  bool has_begun = parser->source->header.is_present || parser->num_errors ||
                   (parser->module->comps.len && !parser->is_single_instruction);
  Damage damage = {foreign, NO_OFFSET, NO_OFFSET};
  if (!foreign) damage = damage_find(text, error->offset, has_begun);
  if (!damage.message && parser->is_single_instruction && is_inside_of_body(&parser->lex)) {
    damage = (Damage){
        "the text begins in the middle of a computation: HloModule, ENTRY or the "
        "computation's name and '{' should stand first",
        0, NO_OFFSET};
  }
  if (!damage.message) return false;
  parser->max_errors = parser->num_errors + 1;
  *error =
      (ParseError){.message = damage.message, .offset = damage.offset, .opener = damage.opener};
  return true;
}

/* ---- the report ---- */

bool parse_report(Parser *parser) {
  ParseError error = parser->error;
  bool is_whole = look_at_whole(parser, &error);
  bool is_name = error.kind != NAME_OF_NOTHING;
  bool is_known = is_name && was_reported(parser, &error);
  bool may_look = is_name && !is_known && may_search(parser);
  if (is_known || (may_look && is_skipped(parser, &error))) {
    parser->error = (ParseError){0};
    return true;
  }
  if (may_look) explain_name(parser, &error);
  if (!is_whole) look_around(parser, &error);
  DiagPlace place = {error.offset, error.opener, is_name ? RH_CODE_UNDEFINED : RH_CODE_SYNTAX};
  diag_fail(parser->diags, RH_ERR_INPUT, place, "%s", error.message);
  parser->error = (ParseError){0};
  return ++parser->num_errors < parser->max_errors;
}
