/* The text of an instruction: all that it computes with except its operands. */
#include "analysis/flow/slice_note.h"
#include "ir/chars.h"
#include "remat/verify/verify_internal.h"

/* Appends the text without blanks and comments outside of strings, which do not matter. */
static void add_tokens(TextBuffer *text, Str value) {
  char quote = 0;
  for (uint32_t i = 0; i < value.len; i++) {
    char c = value.data[i];
    if (quote) {
      if (c == '\\' && i + 1 < value.len) text_put_char(text, value.data[i++]);
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '/' && i + 1 < value.len && value.data[i + 1] == '*') {
      while (i + 1 < value.len && !(value.data[i] == '*' && value.data[i + 1] == '/'))
        i++;
      i++;
      continue;
    } else if (char_is_space(c)) {
      continue;
    }
    text_put_char(text, value.data[i]);
  }
}

/* Appends attributes in the order of their ids, because their order in the text does not matter.
 * Names of computations are left out, because only what these compute matters. Channel ids are left
 * out, because recomputed collectives have new ones, and sizes of slices, which the shape has. What
 * a compiler has noted of where a slice begins is not the same for all that compute the slice, and
 * is looked at where it is evaluated (remat/verify/noted_slices.h). */
static void add_attributes(TextBuffer *text, const Module *module, InstId id) {
  AttrSlice attrs = inst_attrs(module, id);
  bool is_noted = slice_has_note(module, id);
  for (AttrId attr_id = 0; attr_id < NUM_ATTRS; attr_id++) {
    for (uint32_t i = 0; i < attrs.len; i++) {
      const Attr *attr = &attrs.data[i];
      if (attr->id != attr_id || attr->num_callees || attribute_is_annotation(attr_id)) continue;
      if (attr_id == ATTR_CHANNEL_ID || attr_id == ATTR_DYNAMIC_SLICE_SIZES) continue;
      if (attr_id == ATTR_BACKEND_CONFIG && is_noted) continue;
      text_put(text, ", ");
      text_put(text, attribute_info(attr_id)->text);
      text_put(text, "=");
      add_tokens(text, module_span(module, attr->text));
    }
  }
}

/* The text between the parentheses of an instruction without operands: a constant's value, the
 * number of an iota … */
static Str inner_text(const Module *module, InstId id) {
  InstId origin = inst_get(module, id)->origin;
  if (origin == NO_ID) return (Str){0};
  const InstSource *source = &module->source->insts.data[origin];
  if (source->text.end == 0 || inst_get(module, id)->num_operands) return (Str){0};
  return module_span(module, (Span){source->paren + 1, source->close});
}

void put_operation(TextBuffer *text, const Module *module, InstId id,
                   const Identities *identities) {
  const Instruction *inst = inst_get(module, id);
  text_put(text, opcode_text((Opcode)inst->opcode));
  text_put(text, "(");
  if (inst->flags & INST_ELIDED_LITERAL) {
    Str name = inst_name(module, id);
    if (identities) name = identity_of(identities, name);
    text_put(text, "...");
    text_put_str(text, name);
  } else {
    add_tokens(text, inner_text(module, id));
  }
  add_attributes(text, module, id);
}
