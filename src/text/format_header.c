/* Writes everything before the first computation: comments, the HloModule line, and the tables of
 * source locations. */
#include <inttypes.h>

#include "ir/chars.h"
#include "text/format_internal.h"
#include "text/header_attrs.h"

/* ---- comments ---- */

/* Writes the lines before the first token, without trailing blanks. */
static void write_leading_comments(Formatter *formatter) {
  const char *text = formatter->source->text;
  uint32_t end = format_lexer(formatter, 0).tok.begin;
  bool had_blank_line = false, had_text = false;
  for (uint32_t begin = 0; begin < end;) {
    uint32_t line_end = begin;
    while (line_end < end && text[line_end] != '\n' && text[line_end] != '\r')
      line_end++;
    uint32_t next = line_end + 1;
    if (next < end && text[line_end] == '\r' && text[next] == '\n') next++;
    uint32_t trimmed = line_end;
    while (trimmed > begin && char_is_blank(text[trimmed - 1]))
      trimmed--;
    if (trimmed == begin) {
      had_blank_line = true;
    } else {
      if (had_blank_line && had_text) write_text(formatter->out, "\n");
      write_bytes(formatter->out, text + begin, trimmed - begin);
      write_text(formatter->out, "\n");
      had_blank_line = false;
      had_text = true;
    }
    begin = next;
  }
  if (had_blank_line && had_text) write_text(formatter->out, "\n");
}

/* ---- the HloModule line ---- */

static void skip_frontend_attributes(Lexer *lexer) {
  lex_next(lexer);
  while (lexer->tok.kind == TOK_ATTR_NAME || lexer->tok.kind == TOK_COMMA) {
    if (lexer->tok.kind == TOK_COMMA) lex_next(lexer);
    lex_next(lexer); /* moves to the value */
    if (lexer->tok.kind == TOK_LBRACE) lex_json_dict(lexer);
    lex_next(lexer);
  }
  lex_next(lexer);
}

/* Finds the values. Returns the offset after the last one. */
static uint32_t read_header(const Formatter *formatter, Span values[NUM_HEADER_ATTRS]) {
  memset(values, 0, NUM_HEADER_ATTRS * sizeof *values);
  Lexer lexer = format_lexer(formatter, formatter->source->header.attrs_offset);
  uint32_t end = formatter->source->header.attrs_offset;
  while (lexer.tok.kind == TOK_COMMA) {
    lex_next(&lexer);
    Str name = format_span(formatter, lexer.tok.word);
    uint32_t attr = 0;
    while (attr + 1 < NUM_HEADER_ATTRS && !str_is(name, header_names[attr]))
      attr++;
    lex_next(&lexer);
    uint32_t begin = lexer.tok.begin;
    if (attr == HEADER_FRONTEND_ATTRIBUTES) {
      skip_frontend_attributes(&lexer);
    } else if (attr == HEADER_BACKEND_CONFIG && lexer.tok.kind == TOK_LBRACE) {
      lex_json_dict(&lexer);
      lex_next(&lexer);
    } else if (lexer.tok.kind == TOK_LBRACE) {
      format_skip_braces(&lexer);
    } else {
      lex_next(&lexer);
    }
    end = lexer.prev_end;
    values[attr] = (Span){begin, end};
  }
  return end;
}

/* Writes `{ {0}: (0, {}, may-alias), … }` or `{ (1, {}), … }`. */
static void write_aliases(Formatter *formatter, Span value, bool with_kind) {
  Lexer lexer = format_lexer(formatter, value.begin);
  lex_next(&lexer);
  write_text(formatter->out, "{");
  bool is_first = true;
  while (lexer.tok.kind == TOK_LBRACE || lexer.tok.kind == TOK_LPAREN) {
    uint32_t begin = lexer.tok.begin;
    bool has_kind = false;
    while (lexer.tok.kind != TOK_RPAREN && lexer.tok.begin < value.end) {
      lex_next(&lexer);
      has_kind |= lexer.tok.kind == TOK_IDENT || lexer.tok.kind == TOK_NAME;
    }
    write_text(formatter->out, is_first ? " " : ", ");
    format_tokens(formatter, (Span){begin, lexer.tok.begin}, COMMA_PARENS);
    write_text(formatter->out, with_kind && !has_kind ? ", may-alias)" : ")");
    is_first = false;
    lex_next(&lexer);
    if (lexer.tok.kind == TOK_COMMA) lex_next(&lexer);
  }
  write_text(formatter->out, " }");
}

/* Writes a module that is quoted in a string. Its line ends are kept. */
static void write_quoted_module(Formatter *formatter, const Token *token) {
  Str text = format_span(formatter, (Span){token->begin, token->end});
  for (uint32_t i = 0; i < text.len; i++) {
    bool is_pair = text.data[i] == '\r' && i + 1 < text.len && text.data[i + 1] == '\n';
    if (!is_pair) write_bytes(formatter->out, text.data + i, 1);
  }
}

/* Writes one row per line: `{"a"} : {"b"},` and the module that recovers the value. */
static void write_recovery_table(Formatter *formatter, Span value) {
  Lexer lexer = format_lexer(formatter, value.begin);
  write_text(formatter->out, "{\n");
  lex_next(&lexer);
  while (lexer.tok.kind == TOK_LBRACE) {
    for (int side = 0; side < 2; side++) {
      uint32_t begin = lexer.tok.begin;
      format_skip_braces(&lexer);
      write_text(formatter->out, side ? " : " : "  ");
      format_tokens(formatter, (Span){begin, lexer.prev_end}, COMMA_TIGHT);
      if (side == 0) lex_next(&lexer); /* ':' */
    }
    if (lexer.tok.kind == TOK_COMMA) {
      lex_next(&lexer);
      write_text(formatter->out, ",\n  ");
      write_quoted_module(formatter, &lexer.tok);
      lex_next(&lexer);
    }
    write_text(formatter->out, "\n");
  }
  write_text(formatter->out, "}\n");
}

/* Writes one row per line: `{"a"}:({callback_id=1}),` */
static void write_debug_attributes(Formatter *formatter, Span value) {
  Lexer lexer = format_lexer(formatter, value.begin);
  write_text(formatter->out, "{");
  lex_next(&lexer);
  bool is_first = true;
  while (lexer.tok.kind == TOK_LBRACE) {
    uint32_t begin = lexer.tok.begin;
    format_skip_braces(&lexer);
    write_text(formatter->out, is_first ? "\n  " : ",\n  ");
    format_tokens(formatter, (Span){begin, lexer.prev_end}, COMMA_TIGHT);
    lex_next(&lexer); /* ':' */
    begin = lexer.tok.begin;
    if (lexer.tok.kind == TOK_LBRACE) {
      format_skip_braces(&lexer);
    } else {
      while (lexer.tok.kind != TOK_RPAREN && lexer.tok.begin < value.end)
        lex_next(&lexer);
      lex_next(&lexer);
    }
    write_text(formatter->out, ":");
    format_tokens(formatter, (Span){begin, lexer.prev_end}, COMMA_TIGHT);
    is_first = false;
    if (lexer.tok.kind == TOK_COMMA) lex_next(&lexer);
  }
  write_text(formatter->out, "\n}");
}

/* If the entry computation has an invalid layout, XLA's header has another one. */
static bool can_say_layout(const Formatter *formatter, const Computation *entry) {
  const Module *module = formatter->module;
  bool can = format_is_writable(formatter, inst_get(module, entry->root)->shape);
  for (uint32_t i = 0; i < entry->params.len; i++) {
    InstId param = id_list(module, entry->params)[i];
    can &= format_is_writable(formatter, inst_get(module, param)->shape);
  }
  return can;
}

/* XLA derives the entry layout from the entry computation if the text has none. */
static void write_entry_layout(Formatter *formatter) {
  const Module *module = formatter->module;
  const ModuleHeader *header = &module->source->header;
  const Computation *entry = comp_get(module, module->entry);
  ShapeId result =
      header->has_entry_layout ? header->entry_result : inst_get(module, entry->root)->shape;
  if (!header->has_entry_layout && !can_say_layout(formatter, entry)) return;
  uint32_t num_params = header->has_entry_layout ? header->entry_params.len : entry->params.len;
  write_text(formatter->out, ", entry_computation_layout={(");
  for (uint32_t i = 0; i < num_params; i++) {
    if (i) write_text(formatter->out, ", ");
    if (i && i % 5 == 0) write_format(formatter->out, "/*index=%u*/", i);
    ShapeId param = header->has_entry_layout
                        ? header->entry_params.data[i]
                        : inst_get(module, id_list(module, entry->params)[i])->shape;
    format_shape(formatter, param, true);
  }
  write_text(formatter->out, ")->");
  format_shape(formatter, result, true);
  write_text(formatter->out, "}");
}

/* Returns true for values that are the default, which are not written. */
static bool is_default_value(const Formatter *formatter, HeaderAttr attr, Span value) {
  Str text = format_span(formatter, value);
  switch (attr) {
    case HEADER_IS_SCHEDULED:
    case HEADER_ALIAS_PASSTHROUGH_PARAMS:
    case HEADER_ALLOW_TO_PARAMETERS:
    case HEADER_ALLOW_TO_OUTPUT: return str_is(text, "false");
    case HEADER_REPLICA_COUNT:
    case HEADER_NUM_PARTITIONS: return str_is(text, "1");
    default: return false;
  }
}

static void write_header_value(Formatter *formatter, HeaderAttr attr, Span value) {
  switch (attr) {
    case HEADER_INPUT_OUTPUT_ALIAS:
    case HEADER_BUFFER_DONOR:
      write_aliases(formatter, value, attr == HEADER_INPUT_OUTPUT_ALIAS);
      return;
    case HEADER_FRONTEND_ATTRIBUTES: format_frontend_attributes(formatter, value.begin); return;
    case HEADER_BACKEND_CONFIG: {
      Lexer lexer = format_lexer(formatter, value.begin);
      format_string_or_dict(formatter, &lexer);
      return;
    }
    case HEADER_ORIGIN_RECOVERY_TABLE: write_recovery_table(formatter, value); return;
    case HEADER_DEBUG_ATTRIBUTES: write_debug_attributes(formatter, value); return;
    default: format_tokens(formatter, value, COMMA_TIGHT); return;
  }
}

static void write_header_attrs(Formatter *formatter, const Span values[NUM_HEADER_ATTRS]) {
  for (HeaderAttr attr = 0; attr < NUM_HEADER_ATTRS; attr++) {
    bool is_single = formatter->source->header.is_single_instruction;
    if (attr == HEADER_ENTRY_COMPUTATION_LAYOUT) {
      write_entry_layout(formatter);
    } else if (attr == HEADER_IS_SCHEDULED && is_single) {
      write_text(formatter->out, ", is_scheduled=true");
    } else if (values[attr].end && !is_default_value(formatter, attr, values[attr])) {
      write_text(formatter->out, attr == HEADER_DEBUG_ATTRIBUTES ? ",\n" : ", ");
      write_format(formatter->out, "%s=", header_names[attr]);
      write_header_value(formatter, attr, values[attr]);
    }
  }
}

/* ---- tables ---- */

/* Writes `{a=1 b=2}` with the fields in XLA's order. */
static void write_fields(Formatter *formatter, Lexer *lexer, const char *const *names) {
  enum { MAX_FIELDS = 6 };
  int64_t values[MAX_FIELDS] = {0};
  lex_next(lexer);
  while (lexer->tok.kind == TOK_ATTR_NAME || lexer->tok.kind == TOK_COMMA) {
    if (lexer->tok.kind == TOK_COMMA) lex_next(lexer);
    Str name = format_span(formatter, lexer->tok.word);
    uint32_t field = 0;
    while (names[field + 1] && !str_is(name, names[field]))
      field++;
    lex_next(lexer);
    values[field] = lexer->tok.integer;
    lex_next(lexer);
  }
  lex_next(lexer); /* '}' */
  for (uint32_t field = 0; names[field]; field++) {
    write_format(formatter->out, field ? " %s=%" PRId64 : "{%s=%" PRId64, names[field],
                 values[field]);
  }
  write_text(formatter->out, "}");
}

static bool has_tables(const ModuleSource *source) {
  return source->file_names.len || source->function_names.len || source->file_locations.len ||
         source->stack_frames.len;
}

/* Rows are numbered by their position, whatever numbers the text has, as in XLA. */
static void write_tables(Formatter *formatter, uint32_t offset) {
  static const char *const location[] = {"file_name_id", "function_name_id", "line", "end_line",
                                         "column",       "end_column",       NULL};
  static const char *const frame[] = {"file_location_id", "parent_frame_id", NULL};
  const rh_format_options *options = formatter->options;
  if (options->omit_metadata || options->omit_locations || !has_tables(formatter->source)) return;
  Lexer lexer = format_lexer(formatter, offset);
  while (lexer.tok.kind == TOK_KEYWORD && lexer.tok.value >= KW_FILE_NAMES &&
         lexer.tok.value <= KW_STACK_FRAMES) {
    bool is_frames = lexer.tok.value == KW_STACK_FRAMES;
    write_text(formatter->out, "\n");
    format_token(formatter, &lexer.tok);
    write_text(formatter->out, "\n");
    lex_next(&lexer);
    for (uint32_t row = 1; lexer.tok.kind == TOK_INT; row++) {
      write_format(formatter->out, "%u", row);
      lex_next(&lexer);
      bool is_string = lexer.tok.kind == TOK_STRING;
      if (is_string || lexer.tok.kind == TOK_LBRACE) write_text(formatter->out, " ");
      if (is_string) {
        format_token(formatter, &lexer.tok);
        lex_next(&lexer);
      } else if (lexer.tok.kind == TOK_LBRACE) {
        write_fields(formatter, &lexer, is_frames ? frame : location);
      }
      write_text(formatter->out, "\n");
    }
  }
  write_text(formatter->out, "\n");
}

void format_header(Formatter *formatter) {
  const ModuleHeader *header = &formatter->source->header;
  write_leading_comments(formatter);
  Span values[NUM_HEADER_ATTRS] = {0};
  uint32_t end = header->is_present ? read_header(formatter, values) : 0;
  write_text(formatter->out, "HloModule ");
  format_bare_name(formatter, header->name);
  write_header_attrs(formatter, values);
  write_text(formatter->out, "\n");
  if (header->is_present) write_tables(formatter, end);
  write_text(formatter->out, "\n");
}
