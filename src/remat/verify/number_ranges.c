#include "remat/verify/number_ranges.h"

static void make_room(NumberRanges *ranges, ValueNumber value) {
  while (ranges->facts.len <= value) {
    *vec_push(ranges->arena, &ranges->facts) = (RangeFact){.range = UNKNOWN_RANGE};
    *vec_push(ranges->arena, &ranges->converted) = NO_ID;
  }
}

/* A range for a value to which both ranges apply. */
static ValueRange narrower(ValueRange a, ValueRange b) {
  if (!range_is_known(a)) return b;
  if (!range_is_known(b)) return a;
  ValueRange both = {a.low > b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
  return range_is_known(both) ? both : a; /* the intersection is empty: the value has no elements */
}

void number_ranges_note(NumberRanges *ranges, RangeFacts *facts, InstId id, ValueNumber value,
                        const ValueNumber *args) {
  const Instruction *inst = inst_get(facts->module, id);
  ArenaMark mark = arena_mark(facts->scratch);
  RangeFact *operands = arena_array(facts->scratch, RangeFact, inst->num_operands);
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    make_room(ranges, args[i]);
    operands[i] = ranges->facts.data[args[i]];
  }
  RangeFact made = range_fact_of(facts, id, operands);
  arena_reset(facts->scratch, mark);
  make_room(ranges, value);
  RangeFact *known = &ranges->facts.data[value];
  known->range = narrower(known->range, made.range);
  if (!known->elements) known->elements = made.elements;
  if (inst->opcode == OPCODE_CONVERT) ranges->converted.data[value] = args[0];
}

static bool is_integer(ElementType type) {
  uint8_t class = type_info(type)->class;
  return class == TYPE_CLASS_SINT || class == TYPE_CLASS_UINT;
}

ValueNumber number_ranges_undo(const NumberRanges *ranges, const Numbering *numbering,
                               ElementType type, ValueNumber arg) {
  ValueNumber source = arg < ranges->converted.len ? ranges->converted.data[arg] : NO_ID;
  if (source == NO_ID) return NO_ID;
  ElementType through =
      (ElementType)shape_get(&numbering->shapes, numbered_node(numbering, arg)->shape)->type;
  const Shape *shape = shape_get(&numbering->shapes, numbered_node(numbering, source)->shape);
  ValueRange range = ranges->facts.data[source].range, room = range_of_type(through);
  bool is_exact = is_integer(through) && shape->type == type && range_is_known(range) &&
                  range_is_known(room) && range_contains(room, range);
  return is_exact ? source : NO_ID;
}

bool module_has_narrowing(const Module *module) {
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->opcode != OPCODE_CONVERT || inst->flags & INST_DEAD) continue;
    ElementType to = (ElementType)inst_shape(module, id)->type;
    ElementType from = (ElementType)inst_shape(module, inst_operand(module, id, 0))->type;
    if (is_integer(to) && type_info(to)->bits < type_info(from)->bits) return true;
  }
  return false;
}
