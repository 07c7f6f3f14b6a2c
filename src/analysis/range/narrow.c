#include "analysis/range/narrow.h"

#include "analysis/flow/call_graph.h"
#include "analysis/range/range_facts.h"

ElementType narrow_type(ElementType type, ValueRange range) {
  static const uint8_t candidates[] = {TYPE_U8, TYPE_S8, TYPE_U16, TYPE_S16, TYPE_U32, TYPE_S32};
  if (!range_is_known(range)) return type;
  for (size_t i = 0; i < sizeof candidates; i++) {
    ElementType narrow = (ElementType)candidates[i];
    if (type_info(narrow)->bits >= type_info(type)->bits) break;
    if (range_contains(range_of_type(narrow), range)) return narrow;
  }
  return type;
}

static ShapeId narrow_shape(Module *module, InstId id, ValueRange range) {
  ShapeId own = inst_get(module, id)->shape;
  const Shape *shape = inst_shape(module, id);
  const LayoutExtras *extras = shape->extras;
  if (!shape_is_array(shape) || (extras && (extras->num_tile_words || extras->element_bits))) {
    return own;
  }
  ElementType type = narrow_type((ElementType)shape->type, range);
  if (type == shape->type) return own;
  ArraySpec spec = shape_spec(shape);
  spec.type = type;
  return shape_array(&module->shapes, &spec);
}

/* Parameters of the computation may have any value of their types. */
static void narrow_comp(Module *module, CompId comp, RangeFacts *facts, ShapeId *shapes) {
  Arena *scratch = facts->scratch;
  ArenaMark mark = arena_mark(scratch);
  Sequence order = range_facts_order(facts, comp);
  RangeFact *values = arena_array(scratch, RangeFact, order.len);
  for (uint32_t i = 0; i < order.len; i++) {
    InstId id = order.ids[i];
    uint32_t num_operands = inst_get(module, id)->num_operands;
    ArenaMark of_inst = arena_mark(scratch);
    RangeFact *operands = arena_array(scratch, RangeFact, num_operands);
    for (uint32_t k = 0; k < num_operands; k++)
      operands[k] = values[facts->place[inst_operand(module, id, k)]];
    values[i] = range_fact_of(facts, id, operands);
    arena_reset(scratch, of_inst);
    shapes[id] = narrow_shape(module, id, values[i].range);
  }
  arena_reset(scratch, mark);
}

ShapeId *narrow_shapes(Module *module, Arena *out, Arena *scratch) {
  ShapeId *shapes = arena_array(out, ShapeId, module->insts.len);
  for (InstId id = 0; id < module->insts.len; id++)
    shapes[id] = inst_get(module, id)->shape;
  Arena *arena = arena_new(arena_options(scratch));
  RangeFacts facts = range_facts_begin(module, arena, scratch);
  CallGraph graph = call_graph_build(module, arena, scratch);
  for (uint32_t i = 0; i < graph.num_reachable; i++) {
    CompId comp = graph.post_order[i];
    if (comp_is_sequential(&graph, comp)) narrow_comp(module, comp, &facts, shapes);
  }
  arena_free(arena);
  return shapes;
}
