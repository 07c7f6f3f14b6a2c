/* Parses the HloModule line and the tables of source locations after it. */
#include "text/header_attrs.h"
#include "text/parser.h"

/* Indices of parameters and outputs in the header are kept in the module's integers until the entry
 * computation is known: {index length, index…} of the output, parameter number, {index length,
 * index…}, kind. */
static bool parse_header_index(Parser *parser, uint32_t *count_at) {
  *count_at = parser->source->ints.len;
  push_int(parser, 0);
  if (!parse_shape_index(parser)) return false;
  parser->source->ints.data[*count_at] = (int64_t)(parser->source->ints.len - *count_at - 1);
  return true;
}

/* '(' param ',' index
 *
 * If the number is missing, XLA reads an uninitialized value. */
static bool parse_header_param(Parser *parser, int64_t *param, uint32_t *index) {
  if (!parse_token(parser, TOK_LPAREN, "before the parameter")) return false;
  *param = 0;
  if (at(parser, TOK_INT)) {
    uint32_t place = tok(parser)->begin;
    parse_int(parser, param);
    if (*param < 0) return parse_fail(parser, place, "parameter numbers begin at 0");
  } else {
    diag_warn(parser->diags, DIAG_AT(tok(parser)->begin),
              "the parameter's number is missing; XLA overlooks it");
  }
  return parse_token(parser, TOK_COMMA, "after the parameter's number") &&
         parse_header_index(parser, index);
}

/* '{' (index ':' '(' param ',' index (',' kind)? ')' ','?)* '}' */
static bool parse_input_output_alias(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the aliases")) return false;
  while (!at(parser, TOK_RBRACE)) {
    OutputAlias alias = {.offset = tok(parser)->begin};
    uint32_t pair;
    if (!parse_header_index(parser, &alias.output_part) ||
        !parse_token(parser, TOK_COLON, "after the output's index")) {
      return false;
    }
    pair = tok(parser)->begin;
    if (!parse_header_param(parser, &alias.param, &alias.param_part)) return false;
    if (eat(parser, TOK_COMMA)) {
      bool is_name = at(parser, TOK_IDENT) || at(parser, TOK_NAME);
      alias.is_must_alias = is_name && str_is(tok_word(parser), "must-alias");
      if (!is_name || (!alias.is_must_alias && !str_is(tok_word(parser), "may-alias"))) {
        static const char *const kinds[] = {"may-alias", "must-alias"};
        return parse_expected_word(parser, "may-alias or must-alias", kinds, 2);
      }
      lex_next(&parser->lex);
    }
    if (!parse_close(parser, TOK_RPAREN, pair, "the parameter")) return false;
    *vec_push(parser->arena, &parser->source->header.aliases) = alias;
    if (!eat(parser, TOK_COMMA)) break;
  }
  return parse_close(parser, TOK_RBRACE, opener, "the aliases");
}

/* '{' ('(' param ',' index ')' ','?)* '}' */
static bool parse_buffer_donor(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the buffer donors")) return false;
  while (!at(parser, TOK_RBRACE)) {
    uint32_t pair = tok(parser)->begin;
    BufferDonor donor = {.offset = pair};
    if (!parse_header_param(parser, &donor.param, &donor.param_part) ||
        !parse_close(parser, TOK_RPAREN, pair, "the buffer donor")) {
      return false;
    }
    *vec_push(parser->arena, &parser->source->header.donors) = donor;
    if (!eat(parser, TOK_COMMA)) break;
  }
  return parse_close(parser, TOK_RBRACE, opener, "the buffer donors");
}

/* '{' '(' (shape ','?)* ')' '->' shape '}' */
static bool parse_entry_layout(Parser *parser) {
  ModuleHeader *header = &parser->source->header;
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the entry's layout")) return false;
  uint32_t paren = tok(parser)->begin;
  if (!parse_token(parser, TOK_LPAREN, "before the parameters' shapes")) return false;
  while (!at(parser, TOK_RPAREN)) {
    ShapeId shape;
    if (!parse_shape(parser, &shape)) return false;
    *vec_push(parser->arena, &header->entry_params) = shape;
    if (!eat(parser, TOK_COMMA)) break;
  }
  header->has_entry_layout = true;
  header->entry_layout_offset = opener;
  return parse_close(parser, TOK_RPAREN, paren, "the parameters' shapes") &&
         parse_token(parser, TOK_ARROW, "before the result's shape") &&
         parse_shape(parser, &header->entry_result) &&
         parse_close(parser, TOK_RBRACE, opener, "the entry's layout");
}

/* true | false | '{' (true | false),… '}' */
static bool parse_bools(Parser *parser) {
  bool value;
  if (!at(parser, TOK_LBRACE)) return parse_bool(parser, &value);
  uint32_t opener = tok(parser)->begin;
  lex_next(&parser->lex);
  if (!at(parser, TOK_RBRACE)) {
    do {
      if (!parse_bool(parser, &value)) return false;
    } while (eat(parser, TOK_COMMA));
  }
  return parse_close(parser, TOK_RBRACE, opener, "the list");
}

/* '{' (array ':' array (',' "module text")?)* '}'
 *
 * The quoted text must be a valid module as well. */
static bool parse_origin_recovery_table(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the recovery table")) return false;
  while (!at(parser, TOK_RBRACE)) {
    if (!parse_original_array(parser) ||
        !parse_token(parser, TOK_COLON, "between the original arrays") ||
        !parse_original_array(parser)) {
      return false;
    }
    if (!eat(parser, TOK_COMMA)) continue;
    uint32_t place = tok(parser)->begin;
    Span quoted;
    if (!parse_string(parser, &quoted)) return false;
    if (!parse_quoted_module(parser, quoted, place)) return false;
  }
  return parse_close(parser, TOK_RBRACE, opener, "the recovery table");
}

/* '{' (log_mode= | callback_id= | op_id= | partitioned=),… '}' */
static bool parse_debug_entry(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the debug attributes")) return false;
  do {
    Str name = tok_word(parser);
    bool is_attr = at(parser, TOK_ATTR_NAME);
    lex_next(&parser->lex);
    int64_t number;
    bool flag;
    if (is_attr && str_is(name, "log_mode")) {
      bool is_name = at(parser, TOK_IDENT) || at(parser, TOK_NAME);
      Str mode = tok_word(parser);
      if (!is_name || (!str_is(mode, "default") && !str_is(mode, "fusion_debugger"))) {
        return parse_expected(parser, "default or fusion_debugger");
      }
      lex_next(&parser->lex);
    } else if (is_attr && (str_is(name, "callback_id") || str_is(name, "op_id"))) {
      if (!parse_int(parser, &number)) return false;
    } else if (is_attr && str_is(name, "partitioned")) {
      if (!parse_bool(parser, &flag)) return false;
    } else {
      return parse_expected(parser, "log_mode=, callback_id=, op_id= or partitioned=");
    }
  } while (eat(parser, TOK_COMMA));
  return parse_close(parser, TOK_RBRACE, opener, "the debug attributes");
}

/* '{' (array ':' (entry | '(' entry,… ')')),… '}' */
static bool parse_debug_attributes(Parser *parser) {
  uint32_t opener = tok(parser)->begin;
  if (!parse_token(parser, TOK_LBRACE, "before the debug attributes")) return false;
  if (!at(parser, TOK_RBRACE)) {
    do {
      if (!parse_original_array(parser) ||
          !parse_token(parser, TOK_COLON, "after the original array")) {
        return false;
      }
      uint32_t paren = tok(parser)->begin;
      if (!eat(parser, TOK_LPAREN)) {
        if (!parse_debug_entry(parser)) return false;
        continue;
      }
      if (!at(parser, TOK_RPAREN)) {
        do {
          if (!parse_debug_entry(parser)) return false;
        } while (eat(parser, TOK_COMMA));
      }
      if (!parse_close(parser, TOK_RPAREN, paren, "the list of debug attributes")) return false;
    } while (eat(parser, TOK_COMMA));
  }
  return parse_close(parser, TOK_RBRACE, opener, "the debug attributes");
}

static bool parse_header_value(Parser *parser, HeaderAttr attr) {
  ModuleHeader *header = &parser->source->header;
  uint32_t begin = tok(parser)->begin;
  switch (attr) {
    case HEADER_IS_SCHEDULED:
      if (!parse_bool(parser, &header->is_scheduled)) return false;
      header->is_scheduled_value = (Span){begin, parser->lex.prev_end};
      return true;
    case HEADER_INPUT_OUTPUT_ALIAS: return parse_input_output_alias(parser);
    case HEADER_BUFFER_DONOR: return parse_buffer_donor(parser);
    case HEADER_ALIAS_PASSTHROUGH_PARAMS:
      return parse_bool(parser, &header->alias_passthrough_params);
    case HEADER_ENTRY_COMPUTATION_LAYOUT: return parse_entry_layout(parser);
    case HEADER_ALLOW_TO_PARAMETERS:
    case HEADER_ALLOW_TO_OUTPUT: return parse_bools(parser);
    case HEADER_REPLICA_COUNT: return parse_int(parser, &header->replica_count);
    case HEADER_NUM_PARTITIONS: return parse_int(parser, &header->num_partitions);
    case HEADER_FRONTEND_ATTRIBUTES:
      if (!parse_frontend_attributes(parser)) return false;
      header->frontend_attributes = (Span){begin, parser->lex.prev_end};
      return true;
    case HEADER_ORIGIN_RECOVERY_TABLE: return parse_origin_recovery_table(parser);
    case HEADER_DEBUG_ATTRIBUTES: return parse_debug_attributes(parser);
    case HEADER_BACKEND_CONFIG: return parse_string_or_dict(parser);
    case NUM_HEADER_ATTRS: break;
  }
  return false;
}

static bool parse_header_attr(Parser *parser, uint32_t *seen) {
  uint32_t place = tok(parser)->begin;
  if (!at(parser, TOK_ATTR_NAME)) return parse_expected(parser, "an attribute after ','");
  Str name = tok_word(parser);
  uint32_t attr = 0;
  while (attr < NUM_HEADER_ATTRS && !str_is(name, header_names[attr]))
    attr++;
  if (attr == NUM_HEADER_ATTRS) {
    return parse_fail(parser, place, "a module has no attribute '%.*s'%s", (int)name.len, name.data,
                      parse_meant(parser, name, header_names, NUM_HEADER_ATTRS));
  }
  if (*seen & 1u << attr) {
    return parse_fail(parser, place, "attribute '%.*s' is given twice", (int)name.len, name.data);
  }
  *seen |= 1u << attr;
  lex_next(&parser->lex);
  return parse_header_value(parser, (HeaderAttr)attr);
}

/* ---- tables of source locations ---- */

/* (int string?)*
 *
 * XLA only records an error if a string is missing. */
static bool parse_string_table(Parser *parser, bool is_files) {
  ModuleSource *source = parser->source;
  while (eat(parser, TOK_INT)) {
    uint32_t place = tok(parser)->begin;
    bool is_missing = at(parser, TOK_INT) || at(parser, TOK_KEYWORD);
    Span text = {place, place};
    if (is_missing) {
      diag_warn(parser->diags, DIAG_AT(place),
                "expected a string; XLA overlooks that it is missing");
    } else if (!parse_string(parser, &text)) {
      return false;
    }
    if (is_files) {
      *vec_push(parser->arena, &source->file_names) = text;
    } else {
      *vec_push(parser->arena, &source->function_names) = text;
    }
  }
  return true;
}

/* '{' (','? name=int32)* '}' with each of the names once */
static bool parse_int_fields(Parser *parser, const char *const *names, int count, int64_t *values) {
  uint32_t opener = tok(parser)->begin, seen = 0;
  if (!parse_token(parser, TOK_LBRACE, "before the fields")) return false;
  while (!at(parser, TOK_RBRACE)) {
    eat(parser, TOK_COMMA);
    uint32_t place = tok(parser)->begin;
    if (!at(parser, TOK_ATTR_NAME)) return parse_expected(parser, "a field or '}'");
    Str name = tok_word(parser);
    int field = 0;
    while (field < count && !str_is(name, names[field]))
      field++;
    if (field == count) {
      return parse_fail(parser, place, "there is no field '%.*s' here%s", (int)name.len, name.data,
                        parse_meant(parser, name, names, (uint32_t)count));
    }
    if (seen & 1u << field) return parse_fail(parser, place, "%s is given twice", names[field]);
    seen |= 1u << field;
    lex_next(&parser->lex);
    if (!parse_int32(parser, &values[field])) return false;
  }
  for (int field = 0; field < count; field++) {
    if (!(seen & 1u << field)) return parse_fail(parser, opener, "%s is missing", names[field]);
  }
  return parse_close(parser, TOK_RBRACE, opener, "the fields");
}

static bool parse_stack_tables(Parser *parser) {
  static const char *const location_fields[] = {"file_name_id", "function_name_id", "line",
                                                "end_line",     "column",           "end_column"};
  static const char *const frame_fields[] = {"file_location_id", "parent_frame_id"};
  static const struct {
    Keyword keyword;
    const char *name;
  } titles[] = {{KW_FUNCTION_NAMES, "FunctionNames"},
                {KW_FILE_LOCATIONS, "FileLocations"},
                {KW_STACK_FRAMES, "StackFrames"}};
  if (!tok_is_keyword(tok(parser), KW_FILE_NAMES)) return true;
  lex_next(&parser->lex);
  if (!parse_string_table(parser, true)) return false;
  for (int table = 0; table < 3; table++) {
    if (!tok_is_keyword(tok(parser), titles[table].keyword)) {
      return parse_expected(parser, titles[table].name);
    }
    lex_next(&parser->lex);
    if (table == 0) {
      if (!parse_string_table(parser, false)) return false;
      continue;
    }
    for (uint32_t begin = tok(parser)->begin; eat(parser, TOK_INT); begin = tok(parser)->begin) {
      int64_t values[6];
      if (table == 1) {
        if (!parse_int_fields(parser, location_fields, 6, values)) return false;
        *vec_push(parser->arena, &parser->source->file_locations) =
            (FileLocation){.file_name_id = (int32_t)values[0],
                           .function_name_id = (int32_t)values[1],
                           .line = (int32_t)values[2],
                           .end_line = (int32_t)values[3],
                           .offset = begin};
      } else {
        if (!parse_int_fields(parser, frame_fields, 2, values)) return false;
        /* The text numbers parents from 2 on; 1 means none. */
        *vec_push(parser->arena, &parser->source->stack_frames) =
            (StackFrame){.file_location_id = (int32_t)values[0],
                         .parent_frame_id = (int32_t)(values[1] - 1),
                         .offset = begin};
      }
    }
  }
  return true;
}

bool parse_header(Parser *parser) {
  ModuleHeader *header = &parser->source->header;
  lex_next(&parser->lex);
  uint32_t name_end = tok(parser)->end;
  if (at(parser, TOK_COMMA)) return parse_expected(parser, "the module's name");
  if (!parse_name(parser, &header->name)) return false;
  header->attrs_offset = name_end;
  uint32_t seen = 0;
  while (eat(parser, TOK_COMMA)) {
    if (!parse_header_attr(parser, &seen)) return false;
  }
  if (at(parser, TOK_ATTR_NAME)) {
    Str name = tok_word(parser);
    return parse_fail(parser, tok(parser)->begin, "expected ',' before the attribute '%.*s'",
                      (int)name.len, name.data);
  }
  return parse_stack_tables(parser);
}

/* Returns the part that a counted index in the module's integers refers to. */
static uint32_t part_of(const Parser *parser, ShapeId shape, uint32_t index) {
  const int64_t *ints = parser->source->ints.data + index;
  return shape_index_part(&parser->module->shapes, shape, ints + 1, (uint32_t)ints[0]);
}

static uint32_t param_part_of(const Parser *parser, int64_t param, uint32_t index) {
  const Module *module = parser->module;
  const Computation *entry = comp_get(module, module->entry);
  if (param < 0 || param >= entry->params.len) return NO_ID;
  InstId id = id_list(module, entry->params)[param];
  return part_of(parser, inst_get(module, id)->shape, index);
}

bool parse_resolve_header(Parser *parser) {
  const Module *module = parser->module;
  ModuleHeader *header = &parser->source->header;
  InstId root_id = comp_get(module, module->entry)->root;
  const Instruction *root = inst_get(module, root_id);
  for (uint32_t i = 0; i < header->aliases.len; i++) {
    OutputAlias *alias = &header->aliases.data[i];
    alias->output_part = part_of(parser, root->shape, alias->output_part);
    alias->param_part = param_part_of(parser, alias->param, alias->param_part);
    if (alias->output_part == NO_ID) {
      Str shape = shape_text(&module->shapes, root->shape, false, parser->tables);
      return parse_fail_opened(
          parser, alias->offset, parser->source->insts.data[root_id].name,
          "input_output_alias names an output that the entry does not have: its root is %.*s",
          (int)shape.len, shape.data);
    }
  }
  for (uint32_t i = 0; i < header->donors.len; i++) {
    BufferDonor *donor = &header->donors.data[i];
    donor->param_part = param_part_of(parser, donor->param, donor->param_part);
  }
  return true;
}
