#include "analysis/loop/stack_view.h"

uint32_t stack_dim_of(const Module *module, ShapeId stack, uint32_t dim, InstId id) {
  uint32_t found = dim;
  if (inst_get(module, id)->opcode == OPCODE_BITCAST)
    (void)shape_dim_in_view(shape_get(&module->shapes, stack), dim, inst_shape(module, id), &found);
  return found;
}

bool stack_cut_is_part(const Module *module, InstId id, uint32_t dim) {
  const Shape *array = inst_shape(module, inst_operand(module, id, 0));
  const Shape *slice = inst_shape(module, id);
  bool is_part = false;
  for (uint32_t i = 0; i < array->rank; i++)
    is_part |= i != dim && slice->dims[i] != array->dims[i];
  return is_part;
}

uint32_t stack_only_operand(const Module *module, InstId id, InstId value) {
  if (inst_count_operand(module, id, value) != 1) return NO_ID;
  uint32_t operand = 0;
  while (inst_operand(module, id, operand) != value)
    operand++;
  return operand;
}

/* Adds an instruction that reads a view. */
static bool add_reader(const Module *module, const CallGraph *graph, StackView view, InstId reader,
                       StackViews *views, Arena *out) {
  uint32_t operand = stack_only_operand(module, reader, view.inst);
  if (operand == NO_ID) return false;
  StackView next = view;
  next.inst = reader;
  switch (inst_get(module, reader)->opcode) {
    case OPCODE_BITCAST:
      next.is_view = true;
      if (!shape_dim_in_view(inst_shape(module, view.inst), view.dim, inst_shape(module, reader),
                             &next.dim))
        return false;
      break;
    case OPCODE_DYNAMIC_SLICE:
      next.is_cut = true;
      if (operand != 0) return false;
      break;
    case OPCODE_FUSION: {
      CompId comp = inst_callees(module, reader)[0];
      if (graph && only_caller_of(graph, comp) != reader) return false;
      next.inst = id_list(module, comp_get(module, comp)->params)[operand];
      break;
    }
    default: return false;
  }
  *vec_push(out, views) = next;
  return true;
}

bool stack_views_find(const Module *module, const CallGraph *graph, InstId fusion, uint32_t operand,
                      uint32_t dim, StackViews *views, Arena *out) {
  CompId comp = inst_callees(module, fusion)[0];
  if (graph && only_caller_of(graph, comp) != fusion) return false;
  uint32_t first = views->len;
  InstId param = id_list(module, comp_get(module, comp)->params)[operand];
  *vec_push(out, views) = (StackView){.inst = param, .dim = dim};
  for (uint32_t next = first; next < views->len; next++) {
    StackView view = views->data[next];
    if (view.is_cut) continue;
    IdList users = inst_get(module, view.inst)->users;
    if (inst_is_root(module, view.inst)) return false;
    for (uint32_t i = 0; i < users.len; i++) {
      if (!add_reader(module, graph, view, id_list(module, users)[i], views, out)) return false;
    }
  }
  return true;
}
