#include "mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Str text_at(const Module *module, uint32_t begin, uint32_t end) {
  return (Str){module->source->text + begin, end - begin};
}

static uint32_t name_end(const Module *module, uint32_t begin) {
  const char *text = module->source->text;
  uint32_t end = begin;
  while (text[end] && !strchr(", )}\n", text[end]))
    end++;
  return end;
}

static Span operand_span(const Module *module, InstId id, uint32_t index) {
  const InstSource *source = &module->source->insts.data[id];
  uint32_t begin = module->source->operand_offsets.data[source->operand_offsets + index];
  return (Span){begin, name_end(module, begin)};
}

static bool set_text(Edit *edit, Span span, const char *format, Str name) {
  int len = snprintf(edit->room, sizeof edit->room, format, (int)name.len, name.data);
  edit->span = span;
  edit->text = edit->room;
  return len >= 0 && (size_t)len < sizeof edit->room;
}

/* ---- mutations ---- */

static bool retarget_operand(const Module *module, InstId id, uint64_t *state, Edit *edit) {
  const Instruction *inst = inst_get(module, id);
  if (inst->num_operands == 0) return false;
  uint32_t index = random_below(state, inst->num_operands);
  InstId old = inst_operand(module, id, index);
  InstId chosen = NO_ID;
  uint32_t count = 0;
  for (InstId other = 0; other < id; other++) {
    const Instruction *candidate = inst_get(module, other);
    if (candidate->parent != inst->parent || other == old) continue;
    if (candidate->shape != inst_get(module, old)->shape) continue;
    if (random_below(state, ++count) == 0) chosen = other;
  }
  if (chosen == NO_ID) return false;
  Span span = operand_span(module, id, index);
  bool has_percent = module->source->text[span.begin] == '%';
  return set_text(edit, span, has_percent ? "%%%.*s" : "%.*s", inst_name(module, chosen));
}

static bool swap_operands(const Module *module, InstId id, uint64_t *state, Edit *edit) {
  (void)state;
  if (inst_get(module, id)->num_operands < 2) return false;
  if (inst_operand(module, id, 0) == inst_operand(module, id, 1)) return false;
  Span a = operand_span(module, id, 0), b = operand_span(module, id, 1);
  Str first = text_at(module, a.begin, a.end), second = text_at(module, b.begin, b.end);
  Str between = text_at(module, a.end, b.begin);
  int len = snprintf(edit->room, sizeof edit->room, "%.*s%.*s%.*s", (int)second.len, second.data,
                     (int)between.len, between.data, (int)first.len, first.data);
  edit->span = (Span){a.begin, b.end};
  edit->text = edit->room;
  return len >= 0 && (size_t)len < sizeof edit->room;
}

static bool change_literal(const Module *module, InstId id, uint64_t *state, Edit *edit) {
  if (inst_get(module, id)->opcode != OPCODE_CONSTANT) return false;
  const InstSource *source = &module->source->insts.data[id];
  Span span = {source->paren + 1, source->close};
  Str old = text_at(module, span.begin, span.end);
  if (str_is(old, "true")) return set_text(edit, span, "%.*s", STR("false"));
  if (str_is(old, "false")) return set_text(edit, span, "%.*s", STR("true"));
  return set_text(edit, span, random_below(state, 2) ? "1%.*s" : "%.*s1", old);
}

static bool change_opcode(const Module *module, InstId id, uint64_t *state, Edit *edit) {
  static const char *const unary[] = {"negate", "exponential", "tanh", "abs", "log", "cosine"};
  static const char *const binary[] = {"add", "multiply", "subtract", "divide", "maximum"};
  const char *old = opcode_text((Opcode)inst_get(module, id)->opcode), *chosen = NULL;
  for (size_t i = 0; i < 6; i++) {
    if (strcmp(old, unary[i]) == 0) chosen = unary[(i + 1 + random_below(state, 5)) % 6];
  }
  for (size_t i = 0; i < 5; i++) {
    if (strcmp(old, binary[i]) == 0) chosen = binary[(i + 1 + random_below(state, 4)) % 5];
  }
  uint32_t paren = module->source->insts.data[id].paren, len = (uint32_t)strlen(old);
  if (!chosen || paren < len || memcmp(module->source->text + paren - len, old, len) != 0) {
    return false;
  }
  edit->span = (Span){paren - len, paren};
  edit->text = chosen;
  return true;
}

/* A digit of an attribute: dimensions, slices, targets, tuple indices … */
static bool change_attribute(const Module *module, InstId id, uint64_t *state, Edit *edit) {
  AttrSlice attrs = inst_attrs(module, id);
  if (attrs.len == 0) return false;
  const Attr *attr = &attrs.data[random_below(state, attrs.len)];
  bool is_note = attr->id == ATTR_METADATA || attr->id == ATTR_FRONTEND_ATTRIBUTES ||
                 attr->id == ATTR_CONTROL_PREDECESSORS;
  if (is_note || attr->num_callees) return false;
  for (uint32_t pos = attr->text.begin; pos < attr->text.end; pos++) {
    char c = module->source->text[pos];
    if (c < '0' || c > '9') continue;
    edit->room[0] = (char)('0' + (c - '0' + 1) % 10);
    edit->room[1] = '\0';
    edit->span = (Span){pos, pos + 1};
    edit->text = edit->room;
    return true;
  }
  Str value = text_at(module, attr->text.begin, attr->text.end);
  if (str_is(value, "GT")) return set_text(edit, attr->text, "%.*s", STR("LT"));
  return false;
}

static bool exchange_callees(const Module *module, InstId id, uint64_t *state, Edit *edit) {
  (void)state;
  const Instruction *inst = inst_get(module, id);
  const Attr *first = NULL, *second = NULL;
  AttrSlice attrs = inst_attrs(module, id);
  for (uint32_t i = 0; i < attrs.len; i++) {
    const Attr *attr = &attrs.data[i];
    if (attr->num_callees != 1) continue;
    if (first) second = attr;
    if (!first) first = attr;
  }
  if (!second || inst->opcode != OPCODE_CONDITIONAL) return false;
  Str a = module_span(module, first->text), b = module_span(module, second->text);
  Str between = text_at(module, first->text.end, second->text.begin);
  int len = snprintf(edit->room, sizeof edit->room, "%.*s%.*s%.*s", (int)b.len, b.data,
                     (int)between.len, between.data, (int)a.len, a.data);
  edit->span = (Span){first->text.begin, second->text.end};
  edit->text = edit->room;
  return len >= 0 && (size_t)len < sizeof edit->room;
}

/* The line of something that nobody reads. */
static bool drop_line(const Module *module, InstId id, uint64_t *state, Edit *edit) {
  (void)state;
  const Instruction *inst = inst_get(module, id);
  if (inst->users.len || inst_is_root(module, id) || inst_has_control(module, id)) return false;
  if (inst->opcode == OPCODE_PARAMETER) return false;
  edit->span = module->source->insts.data[id].text;
  edit->text = "";
  return true;
}

static bool repeat_line(const Module *module, InstId id, uint64_t *state, Edit *edit) {
  (void)state;
  const InstSource *source = &module->source->insts.data[id];
  if (inst_get(module, id)->opcode == OPCODE_PARAMETER || inst_is_root(module, id)) return false;
  Str rest = text_at(module, source->name, source->text.end);
  if (rest.len > 150) return false;
  edit->span = (Span){source->text.end, source->text.end};
  edit->text = edit->room;
  snprintf(edit->room, sizeof edit->room, "\n  again.%.*s", (int)(rest.len - (rest.data[0] == '%')),
           rest.data + (rest.data[0] == '%'));
  return true;
}

static bool drop_predecessors(const Module *module, InstId id, uint64_t *state, Edit *edit) {
  (void)state;
  const Attr *attr = inst_attr(module, id, ATTR_CONTROL_PREDECESSORS);
  if (!attr) return false;
  uint32_t begin = attr->text.begin;
  while (module->source->text[begin] != ',')
    begin--;
  edit->span = (Span){begin, attr->text.end};
  edit->text = "";
  return true;
}

/* Side effects that change places: an instruction goes behind the next one, which does not read it.
 */
static bool exchange_lines(const Module *module, InstId id, uint64_t *state, Edit *edit) {
  (void)state;
  static const Opcode effects[] = {OPCODE_RNG, OPCODE_INFEED, OPCODE_OUTFEED, OPCODE_CUSTOM_CALL};
  bool is_effect = false;
  for (size_t i = 0; i < 4; i++)
    is_effect |= inst_get(module, id)->opcode == effects[i];
  InstId next = id + 1;
  if (!is_effect || next >= module->insts.len) return false;
  if (inst_get(module, next)->parent != inst_get(module, id)->parent) return false;
  const InstSource *a = &module->source->insts.data[id], *b = &module->source->insts.data[next];
  if (a->text.end == 0 || b->text.end == 0 || b->text.begin < a->text.end) return false;
  if (inst_is_root(module, id) || inst_is_root(module, next)) return false;
  Str first = module_span(module, a->text), second = module_span(module, b->text);
  Str between = text_at(module, a->text.end, b->text.begin);
  int len = snprintf(edit->room, sizeof edit->room, "%.*s%.*s%.*s", (int)second.len, second.data,
                     (int)between.len, between.data, (int)first.len, first.data);
  edit->span = (Span){a->text.begin, b->text.end};
  edit->text = edit->room;
  return len >= 0 && (size_t)len < sizeof edit->room;
}

const Mutation mutations[NUM_MUTATION_KINDS] = {
    {"another operand", retarget_operand, false},
    {"operands exchanged", swap_operands, false},
    {"another literal", change_literal, false},
    {"another opcode", change_opcode, false},
    {"another attribute", change_attribute, false},
    {"branches exchanged", exchange_callees, false},
    {"a line less", drop_line, false},
    {"a line twice", repeat_line, false},
    {"no control predecessors", drop_predecessors, true},
    {"side effects exchanged", exchange_lines, false},
};

Text mutate_text(Text text, const Edit *edit) {
  size_t len = strlen(edit->text), tail = text.length - edit->span.end;
  Text changed = {.length = edit->span.begin + len + tail};
  changed.data = malloc(changed.length + 1);
  memcpy(changed.data, text.data, edit->span.begin);
  memcpy(changed.data + edit->span.begin, edit->text, len);
  memcpy(changed.data + edit->span.begin + len, text.data + edit->span.end, tail);
  changed.data[changed.length] = '\0';
  return changed;
}
