#include "analysis/flow/placed.h"

#include "analysis/flow/call_graph.h"

bool module_is_placed(const Module *module) {
  if (!module->backend.target->has_spaces) return false;
  for (ShapeId id = 0; id < module->shapes.shapes.len; id++) {
    const Shape *shape = shape_get(&module->shapes, id);
    if (!shape_is_tuple(shape) && shape_memory_space(shape) == VMEM_SPACE) return true;
  }
  return false;
}

static bool is_elsewhere(const Module *module, InstId id) {
  ShapeId shape = inst_get(module, id)->shape;
  for (uint32_t part = 0; part < inst_shape(module, id)->num_parts; part++) {
    const Shape *of_part = shape_get(&module->shapes, shape_part(&module->shapes, shape, part));
    if (target_memory_space(module->backend.target, of_part) != DEVICE_MEMORY_SPACE) return true;
  }
  return false;
}

bool inst_reaches_other_memory(const Module *module, InstId id) {
  if (!module->backend.target->has_spaces) return false;
  if (is_elsewhere(module, id)) return true;
  if (inst_get(module, id)->opcode == OPCODE_GET_TUPLE_ELEMENT) return false;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    if (is_elsewhere(module, inst_operand(module, id, i))) return true;
  }
  return false;
}

/* A computation without callers is in no call graph, and nothing asks for it. */
PlacedInsts placed_build(const Module *module, Arena *out, Arena *scratch) {
  PlacedInsts placed = {.num_comps = module->comps.len};
  if (!module_is_placed(module)) return placed;
  bool *of_comp = arena_zarray(out, bool, module->comps.len);
  placed.of_comp = of_comp;
  ArenaMark mark = arena_mark(scratch);
  Arena *inner = arena_new(arena_options(scratch));
  CallGraph graph = call_graph_build(module, scratch, inner);
  for (uint32_t i = 0; i < graph.num_reachable; i++) {
    CompId comp = graph.post_order[i];
    for (uint32_t k = 0; !of_comp[comp] && k < comp_num_insts(module, comp); k++)
      of_comp[comp] = inst_is_placed(module, &placed, comp_inst(module, comp, k));
  }
  arena_free(inner);
  arena_reset(scratch, mark);
  return placed;
}

bool inst_is_placed(const Module *module, const PlacedInsts *placed, InstId id) {
  if (!placed->of_comp) return false;
  if (inst_reaches_other_memory(module, id)) return true;
  const Instruction *inst = inst_get(module, id);
  for (uint32_t i = 0; i < inst->num_callees; i++) {
    CompId callee = inst_callees(module, id)[i];
    if (callee >= placed->num_comps) callee = comp_get(module, callee)->origin;
    if (placed->of_comp[callee]) return true;
  }
  return false;
}
