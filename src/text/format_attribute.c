/* The attributes of an instruction in the order in which XLA prints them. */
#include <inttypes.h>

#include "text/attribute_callees.h"
#include "text/attribute_rules.h"
#include "text/format_internal.h"

/* ---- order ---- */

enum { RANK_SUGAR = 100, RANK_COMMON = 200 };

/* Behind those of the opcode (HloInstruction::PrintExtraAttributes and PrintWithCanonicalNameMap).
 */
static const uint8_t common_order[] = {
    ATTR_PARAMETER_REPLICATION,
    ATTR_SHARDING,
    ATTR_FRONTEND_ATTRIBUTES,
    ATTR_CONTROL_PREDECESSORS,
    ATTR_STATISTICS,
    ATTR_RESULT_ACCURACY,
    ATTR_ORIGIN,
    ATTR_METADATA,
    ATTR_BACKEND_CONFIG,
};

static uint32_t rank_of(const AttrRule *rules, AttrId attr) {
  for (uint32_t i = 0; i < sizeof common_order; i++) {
    if (common_order[i] == attr) return RANK_COMMON + i;
  }
  for (uint32_t i = 0; rules[i].attr >= 0; i++) {
    if (rules[i].attr == (int)attr) return i;
  }
  return RANK_SUGAR;
}

/* The rules that an instruction was parsed by: of the wrapped opcode where it is sugar for a start.
 */
static const AttrRule *rules_of(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode == OPCODE_ASYNC_START && inst->num_callees == 1) {
    const Computation *callee = comp_get(module, inst_callees(module, id)[0]);
    if (callee->flags & COMP_IMPLIED) {
      return attribute_rules((Opcode)inst_get(module, callee->root)->opcode);
    }
  }
  return attribute_rules((Opcode)inst->opcode);
}

/* `to_apply` of a custom call, which XLA prints as called_computations. */
static bool is_called_by_custom_call(const Module *module, InstId id, const Attr *attr) {
  return attr->id == ATTR_TO_APPLY && rules_of(module, id) == attribute_rules(OPCODE_CUSTOM_CALL);
}

static bool names_computations(const Attr *attr) {
  uint8_t kind = attribute_info((AttrId)attr->id)->kind;
  return kind == ATTR_KIND_COMPUTATION || kind == ATTR_KIND_COMPUTATION_LIST;
}

static bool has_nested_callee(const Module *module, InstId id, const Attr *attr) {
  const CompId *callees = attribute_callees(module, id, attr);
  for (uint32_t i = 0; i < attr->num_callees; i++) {
    if (comp_get(module, callees[i])->flags & COMP_NESTED) return true;
  }
  return false;
}

/* Computations that are written out where they are named keep the order of the text: XLA names them
 * by it. Only the places of these attributes are sorted then. */
static void restore_callee_order(const Module *module, InstId id, const Attr **sorted) {
  const Instruction *inst = inst_get(module, id);
  const Attr *attrs = module->source->attrs.data + inst->attrs;
  bool has_nested = false;
  for (uint32_t i = 0; i < inst->num_attrs; i++) {
    has_nested |= names_computations(&attrs[i]) && has_nested_callee(module, id, &attrs[i]);
  }
  if (!has_nested) return;
  uint32_t next = 0;
  for (uint32_t i = 0; i < inst->num_attrs; i++) {
    if (!names_computations(sorted[i])) continue;
    while (!names_computations(&attrs[next]))
      next++;
    sorted[i] = &attrs[next++];
  }
}

static const Attr **sort_attrs(Formatter *formatter, InstId id) {
  const Module *module = formatter->module;
  const Instruction *inst = inst_get(module, id);
  const AttrRule *rules = rules_of(module, id);
  const Attr **sorted = arena_array(formatter->scratch, const Attr *, inst->num_attrs);
  uint32_t *ranks = arena_array(formatter->scratch, uint32_t, inst->num_attrs);
  for (uint32_t i = 0; i < inst->num_attrs; i++) {
    const Attr *attr = &module->source->attrs.data[inst->attrs + i];
    uint32_t rank = rank_of(rules, (AttrId)attr->id), at = i;
    for (; at > 0 && ranks[at - 1] > rank; at--) {
      ranks[at] = ranks[at - 1];
      sorted[at] = sorted[at - 1];
    }
    ranks[at] = rank;
    sorted[at] = attr;
  }
  restore_callee_order(module, id, sorted);
  return sorted;
}

/* ---- values ---- */

static void write_callees(Formatter *formatter, InstId id, const Attr *attr, uint32_t depth) {
  const Module *module = formatter->module;
  const CompId *callees = attribute_callees(module, id, attr);
  bool is_list = attribute_info((AttrId)attr->id)->kind == ATTR_KIND_COMPUTATION_LIST ||
                 is_called_by_custom_call(module, id, attr);
  if (is_list) write_text(formatter->out, "{");
  for (uint32_t i = 0; i < attr->num_callees; i++) {
    if (i) write_text(formatter->out, ", ");
    if (comp_get(module, callees[i])->flags & COMP_NESTED) {
      format_name_operands(formatter, callees[i]);
      format_body(formatter, callees[i], depth);
    } else {
      format_name(formatter, comp_name(module, callees[i]));
    }
  }
  if (is_list) write_text(formatter->out, "}");
}

static void write_predecessors(Formatter *formatter, InstId id) {
  IdList list = inst_control(formatter->module, id)->predecessors;
  write_text(formatter->out, "{");
  for (uint32_t i = 0; i < list.len; i++) {
    if (i) write_text(formatter->out, ", ");
    format_inst_name(formatter, id_list(formatter->module, list)[i]);
  }
  write_text(formatter->out, "}");
}

static void write_words(Formatter *formatter, const Attr *attr, AttrKind kind) {
  bool ignores_case;
  const char *const *words = attribute_enum_words(kind, &ignores_case);
  for (uint32_t i = 0; i < attr->num_ints; i++) {
    if (i) write_text(formatter->out, ",");
    write_text(formatter->out, words[formatter->source->ints.data[attr->ints + i]]);
  }
}

static void write_shapes(Formatter *formatter, const Attr *attr) {
  for (uint32_t i = 0; i < attr->num_ints; i++) {
    if (i) write_text(formatter->out, ", ");
    format_shape(formatter, (ShapeId)formatter->source->ints.data[attr->ints + i], true);
  }
}

/* One field of a window, ` name=1x2`, if a dimension has another value than `usual`. */
static void write_window_field(Formatter *formatter, const Attr *attr, const char *name,
                               uint32_t field, int64_t usual) {
  enum { WINDOW_INTS = 7 };
  const int64_t *dims = formatter->source->ints.data + attr->ints;
  uint32_t rank = attr->num_ints / WINDOW_INTS;
  bool is_pad = field == 2, is_usual = true;
  for (uint32_t i = 0; i < rank; i++) {
    is_usual &= dims[i * WINDOW_INTS + field] == usual;
    if (is_pad) is_usual &= dims[i * WINDOW_INTS + field + 1] == usual;
  }
  if (field && is_usual) return;
  write_format(formatter->out, field ? " %s=" : "%s=", name);
  for (uint32_t i = 0; i < rank; i++) {
    if (i) write_text(formatter->out, "x");
    write_format(formatter->out, "%" PRId64, dims[i * WINDOW_INTS + field]);
    if (is_pad) write_format(formatter->out, "_%" PRId64, dims[i * WINDOW_INTS + field + 1]);
  }
}

/* window_util::ToString. */
static void write_window(Formatter *formatter, const Attr *attr) {
  write_text(formatter->out, "{");
  write_window_field(formatter, attr, "size", 0, 0);
  write_window_field(formatter, attr, "stride", 1, 1);
  write_window_field(formatter, attr, "pad", 2, 0);
  write_window_field(formatter, attr, "lhs_dilate", 4, 1);
  write_window_field(formatter, attr, "rhs_dilate", 5, 1);
  write_window_field(formatter, attr, "rhs_reversal", 6, 0);
  write_text(formatter->out, "}");
}

static void write_value(Formatter *formatter, InstId id, const Attr *attr, uint32_t depth) {
  AttrKind kind = attribute_info((AttrId)attr->id)->kind;
  Writer *out = formatter->out;
  switch (kind) {
    case ATTR_KIND_COMPUTATION:
    case ATTR_KIND_COMPUTATION_LIST: write_callees(formatter, id, attr, depth); return;
    case ATTR_KIND_INSTRUCTION_LIST: write_predecessors(formatter, id); return;
    case ATTR_KIND_FRONTEND_ATTRIBUTES:
      format_frontend_attributes(formatter, attr->text.begin);
      return;
    case ATTR_KIND_STRING_OR_DICT: {
      Lexer lexer = format_lexer(formatter, attr->text.begin);
      format_string_or_dict(formatter, &lexer);
      return;
    }
    case ATTR_KIND_LITERAL: format_shaped_literal(formatter, attr->text.begin); return;
    case ATTR_KIND_WINDOW: write_window(formatter, attr); return;
    case ATTR_KIND_SHAPE: write_shapes(formatter, attr); return;
    case ATTR_KIND_SHAPE_LIST:
      write_text(out, "{");
      write_shapes(formatter, attr);
      write_text(out, "}");
      return;
    case ATTR_KIND_PRECISION_LIST:
      write_text(out, "{");
      write_words(formatter, attr, ATTR_KIND_PRECISION);
      write_text(out, "}");
      return;
    case ATTR_KIND_SLICE:
    case ATTR_KIND_ALIASING: format_tokens(formatter, attr->text, COMMA_OUTER); return;
    case ATTR_KIND_ORIGIN: format_tokens(formatter, attr->text, COMMA_PARENS); return;
    case ATTR_KIND_SHARDING:
    case ATTR_KIND_DOMAIN: format_tokens(formatter, attr->text, COMMA_SHARDING); return;
    default: break;
  }
  if (kind >= ATTR_KIND_API_VERSION) {
    write_words(formatter, attr, kind);
  } else {
    format_tokens(formatter, attr->text, COMMA_TIGHT);
  }
}

void format_attributes(Formatter *formatter, InstId id, uint32_t depth) {
  const Instruction *inst = inst_get(formatter->module, id);
  if (inst->num_attrs == 0 || inst->flags & INST_IMPLIED) return;
  ArenaMark mark = arena_mark(formatter->scratch);
  const Attr **attrs = sort_attrs(formatter, id);
  for (uint32_t i = 0; i < inst->num_attrs; i++) {
    if (attrs[i]->id == ATTR_METADATA) {
      Lexer lexer = format_lexer(formatter, attrs[i]->text.begin);
      format_metadata(formatter, &lexer, ", metadata=");
      continue;
    }
    AttrId name = (AttrId)attrs[i]->id;
    if (is_called_by_custom_call(formatter->module, id, attrs[i])) name = ATTR_CALLED_COMPUTATIONS;
    write_format(formatter->out, ", %s=", attribute_info(name)->text);
    write_value(formatter, id, attrs[i], depth);
  }
  arena_reset(formatter->scratch, mark);
}
