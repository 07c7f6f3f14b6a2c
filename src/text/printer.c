/* Prints a module by copying pieces of its source. The text of a computation is divided into one
 * part per instruction (see text_line_end). The parts are written in the requested order, so an
 * unchanged module is printed as its own text. In a changed instruction only the changed tokens are
 * replaced. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "ir/chars.h"
#include "ir/hash.h"
#include "text/attribute_callees.h"
#include "text/lexer.h"
#include "text/print.h"

typedef struct Printer {
  const Module *module;
  const Schedule *schedule;
  Writer *out;
  Arena *scratch;
  const char *newline;   /* the line end of the text: "\n" or "\r\n" */
  bool *is_comp_changed; /* by CompId */
  bool *has_new_callees; /* by CompId: it calls a computation that has no source, or a copy */
  bool *is_written;      /* by CompId, for copies: they have been written */
  CompId current;        /* the computation with a source that is being written */
} Printer;

static const InstSource *source_of(const Printer *printer, InstId id) {
  InstId origin = inst_get(printer->module, id)->origin;
  if (origin == NO_ID || inst_get(printer->module, origin)->flags & INST_IMPLIED) return NULL;
  const InstSource *source = &printer->module->source->insts.data[origin];
  return source->text.end ? source : NULL;
}

static const CompSource *comp_source_of(const Printer *printer, CompId id) {
  return &printer->module->source->comps.data[comp_get(printer->module, id)->origin];
}

static void write_span(Printer *printer, uint32_t begin, uint32_t end) {
  if (end > begin) write_bytes(printer->out, printer->module->source->text + begin, end - begin);
}

static uint32_t line_end(const Printer *printer, uint32_t pos) {
  const ModuleSource *source = printer->module->source;
  return text_line_end(source->text, source->length, pos);
}

static Sequence order_of(const Printer *printer, CompId id) {
  if (printer->schedule && id < printer->schedule->num_comps && printer->schedule->of[id].len) {
    return printer->schedule->of[id];
  }
  const Computation *comp = comp_get(printer->module, id);
  return (Sequence){.ids = printer->module->ids.data + comp->insts.begin, .len = comp->insts.len};
}

/* Some instructions have no line of their own. */
static bool has_line(const Printer *printer, InstId id, bool splits_nested) {
  const Instruction *inst = inst_get(printer->module, id);
  if (inst->flags & (INST_COMPACT_GTE | INST_IMPLIED | INST_DEAD)) return false;
  return splits_nested || !(inst->flags & INST_NESTED);
}

/* ---- changes ---- */

static bool has_changed_callee(const Printer *printer, InstId id) {
  const Instruction *inst = inst_get(printer->module, id);
  for (uint32_t i = 0; i < inst->num_callees; i++) {
    CompId callee = inst_callees(printer->module, id)[i];
    unsigned flags = comp_get(printer->module, callee)->flags;
    if (flags & (COMP_NESTED | COMP_IMPLIED) && printer->is_comp_changed[callee]) return true;
  }
  return false;
}

static bool is_inst_changed(const Printer *printer, InstId id) {
  const Instruction *inst = inst_get(printer->module, id);
  return inst->flags & INST_CHANGED || inst->origin != id || has_changed_callee(printer, id);
}

/* Returns true if the text has ROOT before the instruction. */
static bool is_marked_root(const Printer *printer, InstId id) {
  const InstSource *source = source_of(printer, id);
  return source && source->text.begin != source->name;
}

static bool compute_comp_changed(const Printer *printer, CompId id) {
  const Computation *comp = comp_get(printer->module, id);
  if (comp->origin != id || comp->flags & COMP_CHANGED_NAME) return true;
  Sequence order = order_of(printer, id);
  if (order.len != printer->module->source->comps.data[id].num_insts &&
      !(comp->flags & COMP_IMPLIED)) {
    return true;
  }
  InstId last = 0;
  for (uint32_t i = 0; i < order.len; i++) {
    InstId inst = order.ids[i];
    if (inst < last || is_inst_changed(printer, inst)) return true;
    if (is_marked_root(printer, inst) && inst != comp->root) return true;
    last = inst;
  }
  /* If none is marked, the last instruction is the root. */
  return order.len > 0 && comp->root != last && !is_marked_root(printer, comp->root);
}

/* ---- one instruction ---- */

/* Copies the source up to an offset, or skips it. */
typedef struct Copier {
  Printer *printer;
  uint32_t pos;
} Copier;

static void copy_to(Copier *copier, uint32_t end) {
  write_span(copier->printer, copier->pos, end);
  if (end > copier->pos) copier->pos = end;
}

static void write_inst_name(Printer *printer, InstId id, bool with_percent) {
  if (with_percent) write_text(printer->out, "%");
  write_str(printer->out, inst_name(printer->module, id));
}

static void write_comp_name(Printer *printer, CompId id, bool with_percent) {
  if (with_percent) write_text(printer->out, "%");
  write_str(printer->out, comp_name(printer->module, id));
}

static bool has_percent_at(const Printer *printer, uint32_t offset) {
  return printer->module->source->text[offset] == '%';
}

/* Returns the end of the name at `offset`, which may begin with `%`. */
static uint32_t name_end(const Printer *printer, uint32_t offset) {
  const ModuleSource *source = printer->module->source;
  Lexer lexer;
  lexer_init(&lexer, source->text, source->length, NULL);
  lexer.pos = offset;
  lex_next(&lexer);
  return lexer.tok.word.end;
}

/* Returns the offset of the ',' or ')' after the name or the nested instruction at `offset`. */
static uint32_t operand_end(const Printer *printer, uint32_t offset) {
  const ModuleSource *source = printer->module->source;
  Lexer lexer;
  lexer_init(&lexer, source->text, source->length, NULL);
  lexer.pos = offset;
  uint32_t depth = 0, end = offset;
  for (;;) {
    lex_next(&lexer);
    TokKind kind = lexer.tok.kind;
    if (kind == TOK_EOF || kind == TOK_ERROR) return end;
    if (depth == 0 && (kind == TOK_COMMA || kind == TOK_RPAREN)) return end;
    if (kind == TOK_LPAREN || kind == TOK_LBRACE || kind == TOK_LBRACKET) depth++;
    if (kind == TOK_RPAREN || kind == TOK_RBRACE || kind == TOK_RBRACKET) depth--;
    end = lexer.tok.end;
  }
}

static bool text_is(const Printer *printer, uint32_t begin, uint32_t end, Str name) {
  return str_equal((Str){printer->module->source->text + begin, end - begin}, name);
}

/* Writes `a, b` without shapes. */
static void write_operand_names(Printer *printer, InstId id) {
  for (uint32_t i = 0; i < inst_get(printer->module, id)->num_operands; i++) {
    if (i) write_text(printer->out, ", ");
    write_inst_name(printer, inst_operand(printer->module, id, i),
                    printer->module->source->uses_percent);
  }
}

static void write_operands(Copier *copier, InstId id, const InstSource *source) {
  Printer *printer = copier->printer;
  const Module *module = printer->module;
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode == OPCODE_PARAMETER && inst->flags & INST_NEW_INDEX) {
    copy_to(copier, source->paren + 1);
    write_format(printer->out, "%" PRId64, inst->index);
    copier->pos = source->close;
    return;
  }
  if (inst->flags & INST_NEW_OPERANDS) {
    copy_to(copier, source->paren + 1);
    write_operand_names(printer, id);
    copier->pos = source->close;
    return;
  }
  const uint32_t *offsets = module->source->operand_offsets.data + source->operand_offsets;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    uint32_t end = operand_end(printer, offsets[i]);
    bool is_name = has_percent_at(printer, offsets[i]);
    if (text_is(printer, offsets[i] + is_name, end, inst_name(module, operand))) continue;
    copy_to(copier, offsets[i]);
    write_inst_name(printer, operand, is_name || module->source->uses_percent);
    copier->pos = end;
  }
}

static void write_computation(Printer *printer, CompId id);

/* Returns true if a value names its computations by the names that they have now. */
static bool names_callees(const Printer *printer, const Attr *attr, const CompId *callees) {
  const Module *module = printer->module;
  if (attr->num_callees != 1) return false; /* lists are always written anew */
  if (comp_get(module, callees[0])->flags & COMP_NESTED) {
    return !printer->is_comp_changed[callees[0]];
  }
  bool has_percent = has_percent_at(printer, attr->text.begin);
  return text_is(printer, attr->text.begin + has_percent, attr->text.end,
                 comp_name(module, callees[0]));
}

/* Copies a value that names computations. Writes it anew if one of them has another name or another
 * body. */
static void write_callees(Copier *copier, InstId id, const Attr *attr) {
  Printer *printer = copier->printer;
  const Module *module = printer->module;
  const CompId *callees = attribute_callees(module, id, attr);
  if (names_callees(printer, attr, callees)) return;
  copy_to(copier, attr->text.begin);
  bool is_list = attribute_info((AttrId)attr->id)->kind == ATTR_KIND_COMPUTATION_LIST;
  if (is_list) write_text(printer->out, "{");
  for (uint32_t i = 0; i < attr->num_callees; i++) {
    if (i) write_text(printer->out, ", ");
    if (comp_get(module, callees[i])->flags & COMP_NESTED) {
      write_computation(printer, callees[i]);
    } else {
      write_comp_name(printer, callees[i], module->source->uses_percent);
    }
  }
  if (is_list) write_text(printer->out, "}");
  copier->pos = attr->text.end;
}

static void write_predecessors(Printer *printer, InstId id) {
  const Module *module = printer->module;
  IdList list = inst_control(module, id)->predecessors;
  write_text(printer->out, "{");
  for (uint32_t i = 0; i < list.len; i++) {
    if (i) write_text(printer->out, ", ");
    write_inst_name(printer, id_list(module, list)[i], module->source->uses_percent);
  }
  write_text(printer->out, "}");
}

/* Copies the backend_config of a loop up to the index of the counter in the state, and writes its
 * new index: known_induction_variable":{"tuple_index":"0"}. */
static void write_counter_index(Copier *copier, InstId id, const Attr *attr) {
  static const char before[] = "known_induction_variable";
  const char *text = copier->printer->module->source->text;
  uint32_t pos = attr->text.begin, end = attr->text.end;
  while (pos + sizeof before < end && memcmp(text + pos, before, sizeof before - 1) != 0)
    pos++;
  while (pos < end && !char_is_digit(text[pos]))
    pos++;
  copy_to(copier, pos);
  write_format(copier->printer->out, "%" PRId64, inst_get(copier->printer->module, id)->index);
  while (pos < end && char_is_digit(text[pos]))
    pos++;
  copier->pos = pos;
}

static void write_attrs(Copier *copier, InstId id, const InstSource *source) {
  Printer *printer = copier->printer;
  const Module *module = printer->module;
  const Instruction *inst = inst_get(module, id);
  uint32_t num_predecessors = inst_control(module, id)->predecessors.len;
  bool has_predecessors = false;
  AttrSlice attrs = inst_attrs(module, id);
  for (uint32_t i = 0; i < attrs.len; i++) {
    const Attr *attr = &attrs.data[i];
    if (attr->num_callees) write_callees(copier, id, attr);
    if (attr->id == ATTR_CONTROL_PREDECESSORS) {
      has_predecessors = true;
      copy_to(copier,
              num_predecessors ? attr->text.begin : source_attr_begin(module->source, attr));
      if (num_predecessors) write_predecessors(printer, id);
      copier->pos = attr->text.end;
    }
    if (attr->id == ATTR_BACKEND_CONFIG && inst->flags & INST_STALE_CONFIG) {
      copy_to(copier, source_attr_begin(module->source, attr));
      copier->pos = attr->text.end;
    } else if (attr->id == ATTR_BACKEND_CONFIG && inst->flags & INST_NEW_INDEX) {
      write_counter_index(copier, id, attr);
    }
    bool is_index = attr->id == ATTR_CHANNEL_ID ? (inst->flags & INST_HAS_CHANNEL) != 0
                                                : attr->id == ATTR_INDEX;
    if (is_index && module->source->ints.data[attr->ints] != inst->index) {
      copy_to(copier, attr->text.begin);
      write_format(printer->out, "%" PRId64, inst->index);
      copier->pos = attr->text.end;
    }
  }
  copy_to(copier, source->text.end);
  if (num_predecessors && !has_predecessors) {
    write_text(printer->out, ", control-predecessors=");
    write_predecessors(printer, id);
  }
}

/* Writes `constant(0)` of any type. */
static void write_new_literal(Printer *printer, InstId id) {
  const Instruction *inst = inst_get(printer->module, id);
  switch (type_info((ElementType)inst_shape(printer->module, id)->type)->class) {
    case TYPE_CLASS_PRED: write_text(printer->out, inst->index ? "true" : "false"); break;
    case TYPE_CLASS_COMPLEX: write_format(printer->out, "(%" PRId64 ", 0)", inst->index); break;
    default: write_format(printer->out, "%" PRId64, inst->index); break;
  }
}

/* Writes a slice that begins at 0 in each dimension and has the size of the result. */
static void write_new_slice(Printer *printer, InstId id) {
  const Shape *shape = inst_shape(printer->module, id);
  write_text(printer->out, ", slice={");
  for (uint32_t i = 0; i < shape->rank; i++) {
    write_format(printer->out, "%s[0:%" PRId64 "]", i ? ", " : "", shape->dims[i]);
  }
  write_text(printer->out, "}");
}

static void write_new_slice_sizes(Printer *printer, InstId id) {
  const Shape *shape = inst_shape(printer->module, id);
  write_text(printer->out, ", dynamic_slice_sizes={");
  for (uint32_t i = 0; i < shape->rank; i++)
    write_format(printer->out, "%s%" PRId64, i ? "," : "", shape->dims[i]);
  write_text(printer->out, "}");
}

static void write_new_attrs(Printer *printer, InstId id) {
  const Module *module = printer->module;
  const Instruction *inst = inst_get(module, id);
  bool ignores_case;
  switch (inst->opcode) {
    case OPCODE_GET_TUPLE_ELEMENT:
      write_format(printer->out, ", index=%" PRId64, inst->index);
      break;
    case OPCODE_BROADCAST: write_text(printer->out, ", dimensions={}"); break; /* of a scalar */
    case OPCODE_SLICE: write_new_slice(printer, id); break;
    case OPCODE_DYNAMIC_SLICE: write_new_slice_sizes(printer, id); break;
    case OPCODE_FUSION:
      write_text(printer->out, ", kind=kLoop, calls=");
      write_comp_name(printer, inst_callees(module, id)[0], module->source->uses_percent);
      break;
    case OPCODE_COMPARE:
      write_format(
          printer->out, ", direction=%s",
          attribute_enum_words(ATTR_KIND_COMPARISON_DIRECTION, &ignores_case)[inst->index]);
      break;
    case OPCODE_WHILE:
      write_text(printer->out, ", condition=");
      write_comp_name(printer, inst_callees(module, id)[1], module->source->uses_percent);
      write_text(printer->out, ", body=");
      write_comp_name(printer, inst_callees(module, id)[0], module->source->uses_percent);
      if (module->backend.target->has_trip_counts)
        write_format(printer->out,
                     ", backend_config={\"known_trip_count\":{\"n\":\"%" PRId64 "\"}}",
                     inst->index);
      break;
    case OPCODE_CONDITIONAL:
      write_text(printer->out, ", true_computation=");
      write_comp_name(printer, inst_callees(module, id)[0], module->source->uses_percent);
      write_text(printer->out, ", false_computation=");
      write_comp_name(printer, inst_callees(module, id)[1], module->source->uses_percent);
      break;
    default: break;
  }
}

/* Writes an instruction that has no source, from the graph alone. */
static void write_new_inst(Printer *printer, InstId id) {
  const Module *module = printer->module;
  const Instruction *inst = inst_get(module, id);
  bool percent = module->source->uses_percent;
  if (inst_is_root(module, id)) write_text(printer->out, "ROOT ");
  write_inst_name(printer, id, percent);
  write_text(printer->out, " = ");
  write_str(printer->out, shape_text(&module->shapes, inst->shape, true, printer->scratch));
  write_format(printer->out, " %s(", opcode_text((Opcode)inst->opcode));
  write_operand_names(printer, id);
  if (inst->opcode == OPCODE_PARAMETER) write_format(printer->out, "%" PRId64, inst->index);
  if (inst->opcode == OPCODE_CONSTANT) write_new_literal(printer, id);
  write_text(printer->out, ")");
  write_new_attrs(printer, id);
  if (inst_control(module, id)->predecessors.len) {
    write_text(printer->out, ", control-predecessors=");
    write_predecessors(printer, id);
  }
}

/* Returns where the opcode before the operands begins. */
static uint32_t opcode_begin(const Printer *printer, InstId id, const InstSource *source) {
  const char *opcode = opcode_text((Opcode)inst_get(printer->module, id)->opcode);
  size_t len = strlen(opcode);
  uint32_t pos = source->paren;
  while (memcmp(printer->module->source->text + pos, opcode, len) != 0)
    pos--;
  return pos;
}

static void write_changed_inst(Printer *printer, InstId id, const InstSource *source,
                               bool needs_root) {
  const Module *module = printer->module;
  Copier copier = {.printer = printer, .pos = source->name};
  bool is_nested = inst_get(module, inst_get(module, id)->origin)->flags & INST_NESTED;
  bool has_root = source->text.begin != source->name;
  if (inst_is_root(module, id) && (has_root || needs_root)) write_text(printer->out, "ROOT ");
  if (is_nested) { /* `multiply(a, b)` gets its own line and so a name */
    write_inst_name(printer, id, module->source->uses_percent);
    write_text(printer->out, " = ");
  } else {
    write_inst_name(printer, id, has_percent_at(printer, source->name));
    copier.pos = name_end(printer, source->name);
    if (inst_get(module, id)->flags & INST_NEW_SHAPE) {
      write_text(printer->out, " = ");
      write_str(printer->out,
                shape_text(&module->shapes, inst_get(module, id)->shape, true, printer->scratch));
      write_text(printer->out, " ");
      copier.pos = opcode_begin(printer, id, source);
    }
  }
  write_operands(&copier, id, source);
  copy_to(&copier, source->close);
  write_attrs(&copier, id, source);
}

/* ---- computations ---- */

/* Returns true if the root must be marked with ROOT because it is not printed last. */
static bool root_needs_mark(const Printer *printer, CompId id, Sequence order, bool splits_nested) {
  for (uint32_t i = order.len; i-- > 0;) {
    if (!has_line(printer, order.ids[i], splits_nested)) continue;
    return order.ids[i] != comp_get(printer->module, id)->root;
  }
  return false;
}

typedef struct BodyPrinter {
  Printer *printer;
  bool splits_nested;
  bool needs_root;
  uint32_t next_lead; /* if the next part begins here, copying of the source continues */
} BodyPrinter;

static void begin_line(Printer *printer) {
  if (printer->out->last != '\n') write_text(printer->out, printer->newline);
}

static void write_line(BodyPrinter *body, InstId id) {
  Printer *printer = body->printer;
  const InstSource *source = source_of(printer, id);
  const Instruction *inst = inst_get(printer->module, id);
  bool owns_text = source && inst->origin == id && !(inst->flags & INST_NESTED);
  if (!owns_text) { /* a clone, an inlined instruction, or an instruction without text */
    begin_line(printer);
    write_text(printer->out, "  ");
    if (source) {
      write_changed_inst(printer, id, source, body->needs_root);
    } else {
      write_new_inst(printer, id);
    }
    write_text(printer->out, printer->newline);
    body->next_lead = UINT32_MAX;
    return;
  }
  uint32_t end = line_end(printer, source->text.end);
  if (source->lead != body->next_lead) begin_line(printer);
  write_span(printer, source->lead, source->text.begin);
  bool gains_root =
      body->needs_root && inst_is_root(printer->module, id) && source->text.begin == source->name;
  bool loses_root = source->text.begin != source->name && !inst_is_root(printer->module, id);
  if (is_inst_changed(printer, id) || body->splits_nested || gains_root || loses_root) {
    write_changed_inst(printer, id, source, body->needs_root);
  } else {
    write_span(printer, source->text.begin, source->text.end);
  }
  write_span(printer, source->text.end, end);
  body->next_lead = end;
}

static bool has_nested(const Printer *printer, Sequence order) {
  for (uint32_t i = 0; i < order.len; i++) {
    if (inst_get(printer->module, order.ids[i])->flags & INST_NESTED) return true;
  }
  return false;
}

/* Writes a computation that has no source. XLA infers its signature. */
static void write_new_comp(Printer *printer, CompId id) {
  const Module *module = printer->module;
  write_comp_name(printer, id, module->source->uses_percent);
  write_format(printer->out, " {%s", printer->newline);
  Sequence order = order_of(printer, id);
  BodyPrinter body = {.printer = printer, .next_lead = UINT32_MAX, .splits_nested = true};
  body.needs_root = true;
  for (uint32_t i = 0; i < order.len; i++) {
    if (has_line(printer, order.ids[i], true)) write_line(&body, order.ids[i]);
  }
  write_format(printer->out, "}%s%s", printer->newline, printer->newline);
}

static void write_computation(Printer *printer, CompId id) {
  const Module *module = printer->module;
  const Computation *comp = comp_get(module, id);
  const CompSource *source = comp_source_of(printer, id);
  if (!printer->is_comp_changed[id]) {
    write_span(printer, source->text.begin, source->text.end);
    return;
  }
  Sequence order = order_of(printer, id);
  BodyPrinter body = {.printer = printer, .next_lead = line_end(printer, source->body)};
  body.splits_nested = has_nested(printer, order);
  body.needs_root = root_needs_mark(printer, id, order, body.splits_nested);

  if (comp->flags & COMP_NESTED) {
    write_span(printer, source->text.begin, body.next_lead);
  } else {
    Copier copier = {.printer = printer, .pos = source->text.begin};
    bool has_new_name = comp->origin != id || comp->flags & COMP_CHANGED_NAME;
    if (has_new_name || comp->flags & COMP_NEW_SIGNATURE) {
      /* A copy of the entry computation is not the entry. */
      if (id == module->entry) copy_to(&copier, source->name);
      write_comp_name(printer, id, has_percent_at(printer, source->name));
      copier.pos = name_end(printer, source->name);
      if (comp->flags & COMP_NEW_SIGNATURE) { /* XLA infers the signature if there is none */
        write_text(printer->out, " {");
        copier.pos = source->body;
      }
    }
    copy_to(&copier, body.next_lead);
  }
  for (uint32_t i = 0; i < order.len; i++) {
    if (has_line(printer, order.ids[i], body.splits_nested)) write_line(&body, order.ids[i]);
  }
  if (body.next_lead != source->tail) begin_line(printer);
  write_span(printer, source->tail, source->text.end);
}

/* ---- the module ---- */

static void write_header(Printer *printer, PrintOrder order, uint32_t end) {
  const ModuleSource *source = printer->module->source;
  const ModuleHeader *header = &source->header;
  bool is_scheduled = order == PRINT_AS_READ ? header->is_scheduled : order == PRINT_SCHEDULED;
  Copier copier = {.printer = printer};
  if (is_scheduled != header->is_scheduled) {
    if (!header->is_present) {
      write_text(printer->out, "HloModule ");
      write_str(printer->out, header->name);
      write_text(printer->out, ", is_scheduled=true");
      write_text(printer->out, printer->newline);
      write_text(printer->out, printer->newline);
    } else if (header->is_scheduled_value.end) {
      copy_to(&copier, header->is_scheduled_value.begin);
      write_text(printer->out, is_scheduled ? "true" : "false");
      copier.pos = header->is_scheduled_value.end;
    } else {
      copy_to(&copier, header->attrs_offset);
      write_text(printer->out, ", is_scheduled=true");
      /* `HloModule m:ENTRY …`: nothing need follow the name, but a separator must follow the
       * attribute. */
      bool is_apart = copier.pos < end && memchr(" \t\r\n,/", source->text[copier.pos], 6) != NULL;
      if (!is_apart) write_text(printer->out, printer->newline);
    }
  }
  copy_to(&copier, end);
}

/* Whether a computation must be written before its caller, because it is not written otherwise
 * until then: it has no source, or it is a copy and its original comes later. */
static bool is_due(const Printer *printer, CompId id) {
  const Computation *comp = comp_get(printer->module, id);
  if (printer->is_written[id] || comp->flags & (COMP_NESTED | COMP_IMPLIED | COMP_DEAD))
    return false;
  return comp->origin == NO_ID || (comp->origin != id && comp->origin >= printer->current);
}

static void write_one(Printer *printer, CompId id) {
  printer->is_written[id] = true;
  if (comp_get(printer->module, id)->origin == NO_ID) {
    write_new_comp(printer, id);
    return;
  }
  write_computation(printer, id);
  begin_line(printer);
  write_text(printer->out, printer->newline);
}

/* Writes the computations that must come before their caller, which is written next, and before
 * these those that they call in turn. */
static void write_new_callees(Printer *printer, CompId caller) {
  const Module *module = printer->module;
  if (!printer->has_new_callees[caller]) return;
  ArenaMark mark = arena_mark(printer->scratch);
  typedef struct Visit {
    CompId comp;
    bool is_left;
  } Visit;
  VEC(Visit) visits = {0};
  *vec_push(printer->scratch, &visits) = (Visit){.comp = caller};
  while (visits.len) {
    Visit *visit = &visits.data[visits.len - 1];
    CompId comp = visit->comp;
    if (visit->is_left) {
      visits.len--;
      if (comp != caller && !printer->is_written[comp]) write_one(printer, comp);
      continue;
    }
    visit->is_left = true;
    if (!printer->has_new_callees[comp]) continue;
    Sequence order = order_of(printer, comp);
    for (uint32_t i = order.len; i-- > 0;) { /* they are written from the last to the first */
      for (uint32_t k = inst_get(module, order.ids[i])->num_callees; k-- > 0;) {
        CompId callee = inst_callees(module, order.ids[i])[k];
        if (is_due(printer, callee)) *vec_push(printer->scratch, &visits) = (Visit){.comp = callee};
      }
    }
  }
  arena_reset(printer->scratch, mark);
}

/* Writes the copies of a computation after it. Their callers come after both. */
static void write_copies(Printer *printer, const CompId *next_copy, CompId id) {
  for (CompId copy = next_copy[id]; copy != NO_ID; copy = next_copy[copy]) {
    if (printer->is_written[copy]) continue;
    begin_line(printer);
    write_text(printer->out, printer->newline);
    write_new_callees(printer, copy);
    printer->is_written[copy] = true;
    write_computation(printer, copy);
  }
}

/* Returns, for each computation that was read, the list of its copies, in the order of their
 * ids. */
static CompId *chain_copies(const Printer *printer) {
  const Module *module = printer->module;
  CompId *next = arena_array(printer->scratch, CompId, module->comps.len);
  CompId *last = arena_array(printer->scratch, CompId, module->comps.len);
  for (CompId id = 0; id < module->comps.len; id++) {
    const Computation *comp = comp_get(module, id);
    next[id] = NO_ID;
    last[id] = id;
    if (comp->origin == id || comp->origin == NO_ID) continue;
    if (comp->flags & (COMP_DEAD | COMP_NESTED | COMP_IMPLIED)) continue;
    next[last[comp->origin]] = id;
    last[comp->origin] = id;
  }
  return next;
}

static const char *newline_of(const ModuleSource *source) {
  const char *newline = memchr(source->text, '\n', source->length);
  return newline && newline > source->text && newline[-1] == '\r' ? "\r\n" : "\n";
}

static Printer printer_make(const Module *module, const Schedule *schedule, Writer *out,
                            Arena *scratch) {
  Printer printer = {.module = module,
                     .schedule = schedule,
                     .out = out,
                     .scratch = scratch,
                     .newline = newline_of(module->source),
                     .is_comp_changed = arena_zarray(scratch, bool, module->comps.len),
                     .has_new_callees = arena_zarray(scratch, bool, module->comps.len),
                     .is_written = arena_zarray(scratch, bool, module->comps.len)};
  /* Nested computations have larger ids than the computations that contain them. */
  for (CompId id = module->comps.len; id-- > 0;) {
    printer.is_comp_changed[id] = compute_comp_changed(&printer, id);
  }
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->flags & INST_DEAD) continue;
    for (uint32_t i = 0; i < inst->num_callees; i++) {
      CompId callee = inst_callees(module, id)[i];
      if (comp_get(module, callee)->origin != callee) printer.has_new_callees[inst->parent] = true;
    }
  }
  return printer;
}

void text_print(const Module *module, const Schedule *schedule, PrintOrder order, Writer *out,
                Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  const ModuleSource *source = module->source;
  if (source->header.is_single_instruction) {
    write_bytes(out, source->text, source->length);
    return;
  }
  Printer printer = printer_make(module, schedule, out, scratch);
  CompId *next_copy = chain_copies(&printer);
  uint32_t pos = 0;
  bool is_first = true;
  for (CompId id = 0; id < source->comps.len; id++) {
    const Computation *comp = comp_get(module, id);
    if (comp->flags & (COMP_NESTED | COMP_IMPLIED)) continue;
    const CompSource *text = &source->comps.data[id];
    if (is_first) write_header(&printer, order, text->text.begin);
    if (!(comp->flags & COMP_DEAD)) {
      if (!is_first) write_span(&printer, pos, text->text.begin);
      printer.current = id;
      write_new_callees(&printer, id);
      write_computation(&printer, id);
    }
    printer.current = id + 1;
    write_copies(&printer, next_copy, id);
    pos = text->text.end;
    is_first = false;
  }
  write_span(&printer, pos, source->length);
  arena_reset(scratch, mark);
}

static int mix_in(void *context, const char *data, size_t length) {
  uint64_t *hash = context;
  for (size_t i = 0; i < length; i++)
    *hash = hash_mix(*hash, (unsigned char)data[i]);
  return 0;
}

uint64_t text_hash(const Module *module, const Schedule *schedule, Arena *scratch) {
  uint64_t hash = HASH_SEED;
  ArenaMark mark = arena_mark(scratch);
  Writer *writer = arena_alloc(scratch, sizeof *writer);
  writer_init(writer, mix_in, &hash);
  text_print(module, schedule, PRINT_SCHEDULED, writer, scratch);
  (void)writer_finish(writer);
  arena_reset(scratch, mark);
  return hash;
}
