/* Writes the text in the layout of XLA's printer (HloModule::Print and
 * HloInstruction::PrintWithCanonicalNameMap in hlo_module.cc and hlo_instruction.cc), but with the
 * names, the order and the tokens of the source. XLA gives instructions new names when it parses,
 * which depend on the old names and their order. So XLA reads the same module from the result as
 * from the source.
 *
 * The structure is written from the graph: shapes, operands and called computations. Everything
 * else is copied from the text, token by token. The functions recurse into computations inside of
 * attributes and into nested operands; the parser limits the depth of both. */
#include "text/format.h"

#include <inttypes.h>

#include "text/format_internal.h"

/* If the text leaves a shape to be inferred, it is not written if it has more parts than this:
 * tuples of tuples can double in size with each line. */
enum { MAX_INFERRED_PARTS = 4096 };

Lexer format_lexer(const Formatter *formatter, uint32_t offset) {
  Lexer lexer;
  lexer_init(&lexer, formatter->source->text, formatter->source->length, &formatter->words);
  lexer.pos = offset;
  lex_next(&lexer);
  return lexer;
}

/* ---- names and shapes ---- */

/* Types and keywords are names only after `%`. */
static bool is_plain_name(const Formatter *formatter, Str name) {
  Lexer lexer;
  lexer_init(&lexer, name.data, name.len, &formatter->words);
  lex_next(&lexer);
  return lexer.tok.kind == TOK_IDENT && lexer.tok.end == name.len;
}

void format_bare_name(Formatter *formatter, Str name) {
  if (!is_plain_name(formatter, name)) write_text(formatter->out, "%");
  write_str(formatter->out, name);
}

void format_name(Formatter *formatter, Str name) {
  if (formatter->options->is_short) {
    format_bare_name(formatter, name);
  } else {
    write_text(formatter->out, "%");
    write_str(formatter->out, name);
  }
}

static Str name_of(const Formatter *formatter, InstId id) {
  Str new_name = formatter->new_names[id];
  return new_name.len ? new_name : inst_name(formatter->module, id);
}

void format_inst_name(Formatter *formatter, InstId id) {
  format_name(formatter, name_of(formatter, id));
}

void format_shape(Formatter *formatter, ShapeId shape, bool with_layout) {
  ArenaMark mark = arena_mark(formatter->scratch);
  write_str(formatter->out,
            shape_text(&formatter->module->shapes, shape, with_layout, formatter->scratch));
  arena_reset(formatter->scratch, mark);
}

static bool is_permutation(const Shape *shape, Arena *scratch) {
  bool *seen = arena_zarray(scratch, bool, shape->rank);
  for (uint32_t i = 0; i < shape->rank; i++) {
    int64_t dim = shape->minor_to_major[i];
    if (dim < 0 || dim >= shape->rank || seen[dim]) return false;
    seen[dim] = true;
  }
  return true;
}

bool format_is_writable(const Formatter *formatter, ShapeId id) {
  const ShapeTable *shapes = &formatter->module->shapes;
  uint32_t num_parts = shape_get(shapes, id)->num_parts;
  if (num_parts > MAX_INFERRED_PARTS) return false;
  ArenaMark mark = arena_mark(formatter->scratch);
  ShapeId *parts = arena_array(formatter->scratch, ShapeId, num_parts);
  shape_list_parts(shapes, id, parts);
  bool are_valid = true;
  for (uint32_t i = 0; i < num_parts && are_valid; i++) {
    const Shape *part = shape_get(shapes, parts[i]);
    bool has_order = !shape_is_tuple(part) && part->minor_to_major;
    are_valid = !has_order || is_permutation(part, formatter->scratch);
  }
  arena_reset(formatter->scratch, mark);
  return are_valid;
}

/* ---- instructions ---- */

/* Returns the token before `(`. `*is_first` is set to whether no shape precedes it. */
static Str opcode_in_text(const Formatter *formatter, InstId id, bool *is_first) {
  const InstSource *source = &formatter->source->insts.data[id];
  Lexer lexer = format_lexer(formatter, source->name);
  if (!(inst_get(formatter->module, id)->flags & INST_NESTED)) {
    lex_next(&lexer);
    if (lexer.tok.kind == TOK_EQUAL) lex_next(&lexer);
  }
  uint32_t first = lexer.tok.begin;
  Token opcode = lexer.tok;
  while (lexer.tok.begin < source->paren && lexer.tok.kind != TOK_ERROR) {
    opcode = lexer.tok;
    lex_next(&lexer);
  }
  *is_first = opcode.begin == first;
  return format_span(formatter, opcode.word);
}

static void write_shape_and_opcode(Formatter *formatter, InstId id) {
  const Instruction *inst = inst_get(formatter->module, id);
  bool has_text = !(inst->flags & (INST_COMPACT_GTE | INST_IMPLIED));
  bool is_writable = format_is_writable(formatter, inst->shape);
  Str opcode = STR("");
  bool is_inferred = (inst->flags & INST_COMPACT_GTE) != 0;
  if (has_text && (!is_writable || opcode_is_async((Opcode)inst->opcode))) {
    opcode = opcode_in_text(formatter, id, &is_inferred);
  }
  if (is_writable || !is_inferred) {
    format_shape(formatter, inst->shape, true);
    write_text(formatter->out, " ");
  }
  if (opcode.len) {
    write_str(formatter->out, opcode); /* may be an async form such as `add-start` */
  } else {
    write_text(formatter->out, opcode_text((Opcode)inst->opcode));
  }
}

static void write_arguments(Formatter *formatter, InstId id);

/* Writes `%a`, or the operand in another form: `%t#1`, `f32[] add(%a, %b)`. */
static void write_operand(Formatter *formatter, InstId id) {
  const Module *module = formatter->module;
  const Instruction *inst = inst_get(module, id);
  bool has_line =
      !formatter->is_inline[inst->parent] || !(inst->flags & (INST_COMPACT_GTE | INST_NESTED));
  if (has_line) {
    format_inst_name(formatter, id);
  } else if (inst->flags & INST_COMPACT_GTE) {
    write_operand(formatter, inst_operand(module, id, 0));
    write_format(formatter->out, "#%" PRId64, inst->index);
  } else {
    write_shape_and_opcode(formatter, id);
    write_arguments(formatter, id);
  }
}

/* Writes `(…)`. */
static void write_arguments(Formatter *formatter, InstId id) {
  const Module *module = formatter->module;
  const Instruction *inst = inst_get(module, id);
  Writer *out = formatter->out;
  write_text(out, "(");
  if (inst->opcode == OPCODE_PARAMETER) write_format(out, "%" PRId64, inst->index);
  if (inst->opcode == OPCODE_CONSTANT) {
    format_literal(formatter, inst->shape, formatter->source->insts.data[id].paren + 1);
  }
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    if (i) write_text(out, ", ");
    if (i && i % 5 == 0 && !formatter->options->is_short) write_format(out, "/*index=%u*/", i);
    write_operand(formatter, inst_operand(module, id, i));
  }
  write_text(out, ")");
}

static void write_indent(Formatter *formatter, uint32_t depth) {
  for (uint32_t i = 0; i < depth; i++)
    write_text(formatter->out, "  ");
}

static void write_inst(Formatter *formatter, InstId id, uint32_t depth) {
  const Module *module = formatter->module;
  const Instruction *inst = inst_get(module, id);
  write_indent(formatter, depth);
  if (inst_is_root(module, id)) write_text(formatter->out, "ROOT ");
  format_inst_name(formatter, id);
  write_text(formatter->out, " = ");
  write_shape_and_opcode(formatter, id);
  write_arguments(formatter, id);
  if (inst->flags & INST_COMPACT_GTE) {
    write_format(formatter->out, ", index=%" PRId64, inst->index);
  } else {
    format_attributes(formatter, id, depth);
  }
  write_text(formatter->out, "\n");
}

/* ---- names for instructions that have none in the text ---- */

typedef struct NameTable {
  Formatter *formatter;
  IdTable ids;
} NameTable;

static bool add_name(NameTable *table, InstId id) {
  Str name = name_of(table->formatter, id);
  uint64_t hash = hash_str(name);
  uint32_t other;
  for (IdProbe probe = id_table_probe(&table->ids, hash); id_probe_next(&probe, &other);) {
    if (str_equal(name_of(table->formatter, other), name)) return false;
  }
  id_table_add(&table->ids, table->formatter->scratch, hash, id);
  return true;
}

static uint32_t *count_of(uint32_t *num_anonymous, Opcode opcode) {
  return &num_anonymous[opcode];
}

/* Returns the name that XLA gives to the instruction: the element of `t#1` is t_1, and a nested add
 * is add.anon. */
static Str make_name(Formatter *formatter, InstId id, uint32_t *num_anonymous) {
  const Module *module = formatter->module;
  const Instruction *inst = inst_get(module, id);
  char *text;
  if (inst->flags & INST_COMPACT_GTE) {
    Str tuple = name_of(formatter, inst_operand(module, id, 0));
    text =
        arena_printf(formatter->tables, "%.*s_%" PRId64, (int)tuple.len, tuple.data, inst->index);
  } else {
    const char *opcode = opcode_text((Opcode)inst->opcode);
    uint32_t number = (*count_of(num_anonymous, (Opcode)inst->opcode))++;
    text = number ? arena_printf(formatter->tables, "%s.anon.%u", opcode, number)
                  : arena_printf(formatter->tables, "%s.anon", opcode);
  }
  return str_make(text, strlen(text));
}

/* If one of the names is in use, the operands are not named: another name would change the names
 * that XLA gives. */
void format_name_operands(Formatter *formatter, CompId id) {
  const Module *module = formatter->module;
  bool has_any = false;
  for (uint32_t i = 0; i < comp_num_insts(module, id); i++) {
    const Instruction *inst = inst_get(module, comp_inst(module, id, i));
    has_any |= (inst->flags & (INST_COMPACT_GTE | INST_NESTED)) != 0;
  }
  if (!has_any) return;
  ArenaMark mark = arena_mark(formatter->scratch);
  NameTable table = {.formatter = formatter};
  uint32_t *num_anonymous = arena_zarray(formatter->scratch, uint32_t, NUM_OPCODES);
  for (uint32_t i = 0; i < comp_num_insts(module, id); i++) {
    InstId inst = comp_inst(module, id, i);
    if (inst_get(module, inst)->flags & (INST_COMPACT_GTE | INST_NESTED)) {
      formatter->new_names[inst] = make_name(formatter, inst, num_anonymous);
    }
    formatter->is_inline[id] |= !add_name(&table, inst);
  }
  arena_reset(formatter->scratch, mark);
}

/* ---- computations ---- */

void format_body(Formatter *formatter, CompId id, uint32_t depth) {
  const Module *module = formatter->module;
  write_text(formatter->out, "{\n");
  for (uint32_t i = 0; i < comp_num_insts(module, id); i++) {
    InstId inst = comp_inst(module, id, i);
    bool has_line = !formatter->is_inline[id] ||
                    !(inst_get(module, inst)->flags & (INST_COMPACT_GTE | INST_NESTED));
    if (has_line) write_inst(formatter, inst, depth + 1);
  }
  write_indent(formatter, depth);
  write_text(formatter->out, "}");
}

/* Writes `(p: f32[2], q: s32[]) -> f32[2]`. */
static void write_signature(Formatter *formatter, CompId id) {
  const Module *module = formatter->module;
  const Computation *comp = comp_get(module, id);
  if (!format_is_writable(formatter, inst_get(module, comp->root)->shape)) return;
  write_text(formatter->out, "(");
  for (uint32_t i = 0; i < comp->params.len; i++) {
    InstId param = id_list(module, comp->params)[i];
    if (i) write_text(formatter->out, ", ");
    write_str(formatter->out, name_of(formatter, param));
    write_text(formatter->out, ": ");
    format_shape(formatter, inst_get(module, param)->shape, false);
  }
  write_text(formatter->out, ") -> ");
  format_shape(formatter, inst_get(module, comp->root)->shape, false);
  write_text(formatter->out, " ");
}

/* Writes the attributes after `}`: execution_thread, backend_config. */
static void write_computation_attrs(Formatter *formatter, CompId id) {
  const CompSource *source = &formatter->source->comps.data[id];
  if (formatter->source->header.is_single_instruction) return;
  Lexer lexer = format_lexer(formatter, source->close + 1);
  while (lexer.tok.kind == TOK_COMMA && lexer.tok.begin < source->text.end) {
    lex_next(&lexer);
    write_text(formatter->out, ", ");
    format_token(formatter, &lexer.tok);
    lex_next(&lexer);
    format_string_or_dict(formatter, &lexer);
  }
}

static void write_computation(Formatter *formatter, CompId id) {
  const Module *module = formatter->module;
  if (id == module->entry) write_text(formatter->out, "ENTRY ");
  format_name(formatter, comp_name(module, id));
  write_text(formatter->out, " ");
  format_name_operands(formatter, id); /* the operands may be parameters */
  if (!formatter->options->is_short) write_signature(formatter, id);
  format_body(formatter, id, 0);
  write_computation_attrs(formatter, id);
  write_text(formatter->out, "\n\n");
}

void text_format(const Module *module, const rh_format_options *options, Writer *out,
                 Arena *scratch) {
  Formatter formatter = {.module = module,
                         .source = module->source,
                         .options = options,
                         .out = out,
                         .scratch = scratch,
                         .tables = arena_new(arena_options(scratch))};
  words_init(&formatter.words, formatter.tables);
  /* The arena keeps this block. Without it, each reset would return all memory. */
  (void)arena_alloc(scratch, 1);
  formatter.new_names = arena_zarray(formatter.tables, Str, module->insts.len);
  formatter.is_inline = arena_zarray(formatter.tables, bool, module->comps.len);
  format_header(&formatter);
  for (CompId id = 0; id < module->comps.len; id++) {
    if (comp_get(module, id)->flags & (COMP_NESTED | COMP_IMPLIED)) continue;
    write_computation(&formatter, id);
  }
  arena_free(formatter.tables);
}
