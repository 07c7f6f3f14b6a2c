/* Parses metadata, which gives the source position of an instruction. The form that XLA prints is
 * read without the lexer; any other form that XLA accepts is read token by token. */
#include <inttypes.h>

#include "ir/chars.h"
#include "text/parser.h"
#include "text/scan.h"

enum MetadataField {
  META_OP_NAME,
  META_STACK_FRAME_ID,
  META_OP_TYPE,
  META_SOURCE_FILE,
  META_SOURCE_LINE,
  META_SOURCE_END_LINE,
  META_SOURCE_COLUMN,
  META_SOURCE_END_COLUMN,
  META_PROFILE_TYPE,
  META_DEDUPLICATED_NAME,
  META_SCHEDULING_NAME,
  META_PAYLOAD,
  NUM_META,
};

static const char *const metadata_names[NUM_META] = {
    "op_name",      "stack_frame_id",    "op_type",         "source_file",
    "source_line",  "source_end_line",   "source_column",   "source_end_column",
    "profile_type", "deduplicated_name", "scheduling_name", "metadata_payload"};

static bool parse_profile_types(Parser *parser) {
  uint32_t place = tok(parser)->begin, before = parser->source->ints.len;
  if (!parse_int_list(parser, TOK_LBRACE, TOK_RBRACE, TOK_COMMA)) return false;
  for (uint32_t i = before; i < parser->source->ints.len; i++) {
    int64_t type = parser->source->ints.data[i];
    if (type < 0 || type > 3) {
      return parse_fail(parser, place, "profile type %" PRId64 " is not between 0 and 3", type);
    }
  }
  parser->source->ints.len = before;
  return true;
}

static bool parse_metadata_field(Parser *parser, enum MetadataField field, Metadata *metadata) {
  Span text;
  int64_t value;
  switch (field) {
    case META_OP_NAME: return parse_string(parser, &metadata->op_name);
    case META_OP_TYPE: return parse_string(parser, &metadata->op_type);
    case META_SOURCE_FILE: return parse_string(parser, &metadata->source_file);
    case META_DEDUPLICATED_NAME:
    case META_SCHEDULING_NAME:
    case META_PAYLOAD: return parse_string(parser, &text);
    case META_PROFILE_TYPE: return parse_profile_types(parser);
    default: break;
  }
  if (!parse_int32(parser, &value)) return false;
  if (field == META_SOURCE_LINE) metadata->source_line = (int32_t)value;
  if (field == META_STACK_FRAME_ID) metadata->stack_frame_id = (int32_t)value;
  return true;
}

/* ---- metadata as XLA prints it ----
 * Half of the bytes of most dumps are metadata: strings without escapes and short numbers, with one
 * blank between them. These functions return the offset after what they read. They return 0 if the
 * text has another form, which parse_metadata then reads. */

static uint32_t read_plain_string(const Lexer *lexer, uint32_t pos, Span *string) {
  if (pos >= lexer->length || lexer->text[pos] != '"') return 0;
  uint32_t end = scan_plain_string(lexer->text, pos + 1, lexer->length, '"');
  if (end >= lexer->length || lexer->text[end] != '"') return 0;
  *string = (Span){pos + 1, end};
  return end + 1;
}

static uint32_t read_plain_int(const Lexer *lexer, uint32_t pos, int32_t *value) {
  enum { SAFE_DIGITS = 9 };
  uint32_t end = pos;
  int32_t number = 0;
  for (; end < lexer->length && char_is_digit(lexer->text[end]); end++) {
    if (end - pos == SAFE_DIGITS) return 0;
    number = number * 10 + (lexer->text[end] - '0');
  }
  *value = number;
  return end > pos ? end : 0;
}

static uint32_t read_plain_field(const Lexer *lexer, uint32_t pos, Metadata *metadata,
                                 uint32_t *seen) {
  struct {
    const char *name;
    uint32_t len;
    Span *string;
    int32_t *number;
  } fields[] = {{"op_name=", 8, &metadata->op_name, NULL},
                {"stack_frame_id=", 15, NULL, &metadata->stack_frame_id},
                {"source_file=", 12, &metadata->source_file, NULL},
                {"source_line=", 12, NULL, &metadata->source_line},
                {"op_type=", 8, &metadata->op_type, NULL}};
  for (uint32_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    if (lexer->length - pos < fields[i].len ||
        memcmp(lexer->text + pos, fields[i].name, fields[i].len) != 0) {
      continue;
    }
    if (*seen & 1u << i) return 0;
    *seen |= 1u << i;
    pos += fields[i].len;
    return fields[i].string ? read_plain_string(lexer, pos, fields[i].string)
                            : read_plain_int(lexer, pos, fields[i].number);
  }
  return 0;
}

static uint32_t read_plain_metadata(const Lexer *lexer, Metadata *metadata) {
  uint32_t pos = lexer->tok.end, seen = 0;
  for (;;) {
    pos = read_plain_field(lexer, pos, metadata, &seen);
    if (!pos || pos >= lexer->length) return 0;
    char next = lexer->text[pos++];
    if (next == '}') return pos;
    if (next != ' ') return 0;
  }
}

/* '{' (','? name=value)* '}'
 *
 * Each name may occur once; the order is arbitrary. */
bool parse_metadata(Parser *parser, Metadata *metadata) {
  *metadata = (Metadata){0};
  uint32_t end = at(parser, TOK_LBRACE) ? read_plain_metadata(&parser->lex, metadata) : 0;
  if (end) {
    lex_skip_to(&parser->lex, end);
    return true;
  }
  *metadata = (Metadata){0};
  uint32_t opener = tok(parser)->begin, seen = 0;
  if (!parse_token(parser, TOK_LBRACE, "before the metadata")) return false;
  while (!at(parser, TOK_RBRACE)) {
    eat(parser, TOK_COMMA);
    uint32_t place = tok(parser)->begin;
    if (!at(parser, TOK_ATTR_NAME)) return parse_expected(parser, "a field of the metadata or '}'");
    Str name = tok_word(parser);
    uint32_t field = 0;
    while (field < NUM_META && !str_is(name, metadata_names[field]))
      field++;
    if (field == NUM_META) {
      return parse_fail(parser, place, "metadata has no field '%.*s'%s", (int)name.len, name.data,
                        parse_meant(parser, name, metadata_names, NUM_META));
    }
    if (seen & 1u << field) {
      return parse_fail(parser, place, "the metadata's %s is given twice", metadata_names[field]);
    }
    seen |= 1u << field;
    lex_next(&parser->lex);
    if (!parse_metadata_field(parser, field, metadata)) return false;
  }
  return parse_close(parser, TOK_RBRACE, opener, "the metadata");
}
