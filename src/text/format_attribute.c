/* Writes the attributes of an instruction in the order in which XLA prints them. */
#include <inttypes.h>

#include "text/attribute_callees.h"
#include "text/attribute_rules.h"
#include "text/format_internal.h"

/* ---- values that XLA does not print, and values that it adds ---- */

/* Returns the opcode whose attributes an instruction has. For an async form such as `add-start`
 * that is the wrapped opcode. */
static Opcode opcode_of(const Module *module, InstId id) {
  InstId implied = inst_implied_by(module, id);
  return (Opcode)inst_get(module, implied == NO_ID ? id : implied)->opcode;
}

/* Comparison::DefaultComparisonType. */
static bool is_default_comparison(const Module *module, InstId id, int64_t word) {
  enum { TYPE_FLOAT, TYPE_TOTALORDER, TYPE_SIGNED, TYPE_UNSIGNED };
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode != OPCODE_COMPARE) return false;
  const Shape *shape = inst_shape(module, inst_operand(module, id, 0));
  switch (type_info(shape->type)->class) {
    case TYPE_CLASS_FLOAT:
    case TYPE_CLASS_COMPLEX: return word == TYPE_FLOAT;
    case TYPE_CLASS_SINT: return word == TYPE_SIGNED;
    case TYPE_CLASS_PRED:
    case TYPE_CLASS_UINT: return word == TYPE_UNSIGNED;
    default: return false;
  }
}

static bool are_all_default_precision(const Module *module, const Attr *attr) {
  bool all = true;
  for (uint32_t i = 0; i < attr->num_ints; i++)
    all &= module->source->ints.data[attr->ints + i] == 0;
  return all;
}

/* Returns true for values that XLA does not print because they are the default. */
static bool is_default(const Module *module, InstId id, const Attr *attr) {
  int64_t value = attr->num_ints ? module->source->ints.data[attr->ints] : 0;
  switch (attr->id) {
    case ATTR_API_VERSION:
    case ATTR_CONSTRAIN_LAYOUT:
    case ATTR_CONVOLUTION_KIND:
    case ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT:
    case ATTR_INDICES_ARE_SORTED:
    case ATTR_IS_COMPOSITE:
    case ATTR_IS_HOST_TRANSFER:
    case ATTR_IS_REVERSE:
    case ATTR_LEFT_SIDE:
    case ATTR_LOWER:
    case ATTR_SCHEDULE:
    case ATTR_UNIQUE_INDICES:
    case ATTR_UNIT_DIAGONAL:
    case ATTR_USE_GLOBAL_DEVICE_IDS: return value == 0;
    /* All that are named may be elements that the text itself leaves out. */
    case ATTR_CONTROL_PREDECESSORS: return inst_control(module, id)->predecessors.len == 0;
    case ATTR_IS_STABLE: return value == 0 && opcode_of(module, id) == OPCODE_SORT;
    case ATTR_BATCH_GROUP_COUNT:
    case ATTR_FEATURE_GROUP_COUNT: return value == 1;
    case ATTR_INFERRED_DIMENSION: return value == -1;
    case ATTR_INPUT_BATCHING_DIMS:
    case ATTR_LHS_BATCH_DIMS:
    case ATTR_OPERAND_BATCHING_DIMS:
    case ATTR_RHS_BATCH_DIMS:
    case ATTR_SCATTER_INDICES_BATCHING_DIMS:
    case ATTR_START_INDICES_BATCHING_DIMS:
    case ATTR_WINDOW: return attr->num_ints == 0;
    case ATTR_OPERAND_PRECISION: return are_all_default_precision(module, attr);
    case ATTR_TYPE: return is_default_comparison(module, id, value);
    default: return false;
  }
}

/* Returns what XLA prints for an attribute that the text lacks, or NULL if it prints nothing.
 * Attributes that only new versions print, such as is_stable of topk, are not added to dumps of
 * older versions. */
static const char *implied_value(Opcode opcode, AttrId attr) {
  switch (attr) {
    case ATTR_REPLICA_GROUPS:
    case ATTR_LHS_CONTRACTING_DIMS:
    case ATTR_RHS_CONTRACTING_DIMS: return "{}";
    case ATTR_DIMENSIONS: return opcode == OPCODE_BROADCAST ? "{}" : NULL;
    case ATTR_HAS_DYNAMIC_ROOT:
    case ATTR_IS_ASSOCIATIVE: return "false";
    case ATTR_LARGEST: return "true";
    default: return NULL;
  }
}

/* ---- order ---- */

/* These are written before and after the attributes of the opcode
 * (HloInstruction::PrintWithCanonicalNameMap). */
static const uint8_t sugar_order[] = {ATTR_ASYNC_EXECUTION_THREAD, ATTR_OUTPUT_TO_OPERAND_ALIASING};
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

enum {
  RANK_OWN = sizeof sugar_order,
  RANK_COMMON = RANK_OWN + NUM_ATTRS,
};

static uint32_t rank_of(const AttrRule *rules, AttrId attr) {
  for (uint32_t i = 0; i < sizeof common_order; i++) {
    if (common_order[i] == attr) return RANK_COMMON + i;
  }
  for (uint32_t i = 0; rules[i].attr >= 0; i++) {
    if (rules[i].attr == (int)attr) return RANK_OWN + i;
  }
  return attr == sugar_order[0] ? 0 : 1;
}

/* An attribute that is to be written. */
typedef struct Entry {
  const Attr *attr;    /* NULL = not in the text */
  const char *implied; /* the value if the text has none */
  AttrId id;
  uint32_t rank;
} Entry;

typedef struct EntryList {
  VEC(Entry) list;
} EntryList;

static void add_entry(Arena *scratch, EntryList *entries, Entry entry) {
  uint32_t at = entries->list.len;
  *vec_push(scratch, &entries->list) = entry;
  Entry *data = entries->list.data;
  for (; at > 0 && data[at - 1].rank > entry.rank; at--)
    data[at] = data[at - 1];
  data[at] = entry;
}

static bool names_computations(const Attr *attr) {
  uint8_t kind = attribute_info((AttrId)attr->id)->kind;
  return kind == ATTR_KIND_COMPUTATION || kind == ATTR_KIND_COMPUTATION_LIST;
}

static bool has_nested_callee(const Module *module, InstId id) {
  AttrSlice attrs = inst_attrs(module, id);
  for (uint32_t i = 0; i < attrs.len; i++) {
    const Attr *attr = &attrs.data[i];
    for (uint32_t k = 0; k < attr->num_callees; k++) {
      CompId callee = attribute_callees(module, id, attr)[k];
      if (comp_get(module, callee)->flags & COMP_NESTED) return true;
    }
  }
  return false;
}

/* Computations whose bodies are inside attributes keep the order of the text, because XLA derives
 * their names from it. The attributes with such computations are sorted into the places that these
 * attributes have. */
static void restore_callee_order(const Module *module, InstId id, EntryList *entries) {
  if (!has_nested_callee(module, id)) return;
  const Attr *next = inst_attrs(module, id).data;
  for (uint32_t i = 0; i < entries->list.len; i++) {
    Entry *entry = &entries->list.data[i];
    if (!entry->attr || !names_computations(entry->attr)) continue;
    while (!names_computations(next))
      next++;
    *entry = (Entry){.attr = next, .id = (AttrId)next->id};
    next++;
  }
}

static EntryList list_attrs(Formatter *formatter, InstId id) {
  const Module *module = formatter->module;
  AttrSlice attrs = inst_attrs(module, id);
  Opcode opcode = opcode_of(module, id);
  const AttrRule *rules = attribute_rules(opcode);
  EntryList entries = {0};
  for (uint32_t i = 0; rules[i].attr >= 0; i++) {
    AttrId attr = (AttrId)rules[i].attr;
    const char *implied = implied_value(opcode, attr);
    if (!implied || inst_attr(module, id, attr)) continue;
    add_entry(formatter->scratch, &entries, (Entry){NULL, implied, attr, RANK_OWN + i});
  }
  for (uint32_t i = 0; i < attrs.len; i++) {
    const Attr *attr = &attrs.data[i];
    if (is_default(module, id, attr)) continue;
    Entry entry = {attr, NULL, (AttrId)attr->id, rank_of(rules, (AttrId)attr->id)};
    add_entry(formatter->scratch, &entries, entry);
  }
  restore_callee_order(module, id, &entries);
  return entries;
}

/* Returns true for `to_apply` of a custom call, which XLA prints as called_computations. */
static bool is_called_by_custom_call(const Module *module, InstId id, const Attr *attr) {
  return attr->id == ATTR_TO_APPLY && opcode_of(module, id) == OPCODE_CUSTOM_CALL;
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

/* Writes one field of a window, ` name=1x2`, if a dimension has another value than `usual`. */
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

/* Writes `{[0:4], [0:8:2]}`, with the strides if one of them is not 1. */
static void write_slice(Formatter *formatter, const Attr *attr) {
  enum { SLICE_INTS = 3 };
  const int64_t *dims = formatter->source->ints.data + attr->ints;
  uint32_t rank = attr->num_ints / SLICE_INTS;
  bool has_strides = false;
  for (uint32_t i = 0; i < rank; i++)
    has_strides |= dims[i * SLICE_INTS + 2] != 1;
  write_text(formatter->out, "{");
  for (uint32_t i = 0; i < rank; i++, dims += SLICE_INTS) {
    write_format(formatter->out, i ? ", [%" PRId64 ":%" PRId64 : "[%" PRId64 ":%" PRId64, dims[0],
                 dims[1]);
    if (has_strides) write_format(formatter->out, ":%" PRId64, dims[2]);
    write_text(formatter->out, "]");
  }
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
    case ATTR_KIND_SLICE: write_slice(formatter, attr); return;
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
  if (inst_get(formatter->module, id)->flags & INST_IMPLIED) return;
  ArenaMark mark = arena_mark(formatter->scratch);
  EntryList entries = list_attrs(formatter, id);
  for (uint32_t i = 0; i < entries.list.len; i++) {
    Entry entry = entries.list.data[i];
    if (entry.id == ATTR_METADATA) {
      Lexer lexer = format_lexer(formatter, entry.attr->text.begin);
      format_metadata(formatter, &lexer, ", metadata=");
      continue;
    }
    if (entry.attr && is_called_by_custom_call(formatter->module, id, entry.attr)) {
      entry.id = ATTR_CALLED_COMPUTATIONS;
    }
    write_format(formatter->out, ", %s=", attribute_info(entry.id)->text);
    if (entry.attr) {
      write_value(formatter, id, entry.attr, depth);
    } else {
      write_text(formatter->out, entry.implied);
    }
  }
  arena_reset(formatter->scratch, mark);
}
