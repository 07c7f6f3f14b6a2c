/* Bytes that a fusion accesses: its outputs, its constants, and what it reads of each parameter,
 * which is less than the whole if the parameter is sliced, and more if several users read it
 * separately. Source: HloCostAnalysis::HandleFusion and the functions that it calls. */
#include "analysis/cost/cost_internal.h"

static Opcode opcode_of(const Module *module, InstId id) {
  return (Opcode)inst_get(module, id)->opcode;
}

static bool is_array_or_buffer(const Shape *shape) {
  return shape_is_array(shape) || shape->kind == SHAPE_BUFFER;
}

/* Bytes written of an array that `from` computes. A dynamic-update-slice works in place, so it
 * writes only its update. */
static int64_t written_bytes(const Module *module, InstId from, const Shape *shape) {
  if (!is_array_or_buffer(shape)) return 0;
  if (opcode_of(module, from) == OPCODE_DYNAMIC_UPDATE_SLICE) {
    return cost_operand_bytes(module, from, 1);
  }
  return cost_shape_bytes(shape);
}

/* XLA looks into the root tuple, but not deeper: all bytes of arrays in nested tuples count. */
static int64_t output_bytes(const Module *module, InstId fusion, InstId root) {
  const ShapeTable *shapes = &module->shapes;
  ShapeId id = inst_get(module, fusion)->shape;
  const Shape *shape = shape_get(shapes, id);
  if (!shape_is_tuple(shape)) return written_bytes(module, root, shape);
  bool has_elements = opcode_of(module, root) == OPCODE_TUPLE &&
                      inst_get(module, root)->num_operands == shape->rank;
  int64_t bytes = 0;
  for (uint32_t i = 0; i < shape->rank; i++) {
    InstId from = has_elements ? inst_operand(module, root, i) : root;
    const Shape *element = shape_get(shapes, shape->elements[i]);
    bytes = saturating_add(bytes, written_bytes(module, from, element));
    for (uint32_t part = 1; part < element->num_parts; part++) {
      const Shape *inner = shape_get(shapes, shape_part(shapes, shape->elements[i], part));
      bytes = saturating_add(bytes, written_bytes(module, root, inner));
    }
  }
  return bytes;
}

/* Bytes of the constants. A constant of one element is part of the code. */
static int64_t constant_bytes(const Module *module, CompId comp) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId id = comp_inst(module, comp, i);
    const Shape *shape = inst_shape(module, id);
    if (opcode_of(module, id) == OPCODE_CONSTANT && cost_elements(shape) > 1) {
      bytes = saturating_add(bytes, cost_shape_bytes(shape));
    }
  }
  return bytes;
}

/* Bytes read by one user. Users that read the whole value share one read; `*is_read` is true when
 * it has been counted. */
static int64_t bytes_through(const Module *module, InstId value, InstId user, bool *is_read) {
  switch (opcode_of(module, user)) {
    case OPCODE_SLICE: return cost_shape_bytes(inst_shape(module, user));
    case OPCODE_DYNAMIC_SLICE:
      if (inst_operand(module, user, 0) == value) return cost_shape_bytes(inst_shape(module, user));
      break;
    case OPCODE_DYNAMIC_UPDATE_SLICE:
      if (inst_operand(module, user, 0) == value) return 0; /* works in place */
      break;
    default: break;
  }
  if (*is_read) return 0;
  *is_read = true;
  return cost_shape_bytes(inst_shape(module, value));
}

static bool is_slicing(Opcode opcode) {
  return opcode == OPCODE_SLICE || opcode == OPCODE_DYNAMIC_SLICE ||
         opcode == OPCODE_DYNAMIC_UPDATE_SLICE;
}

/* Whether the root of the fused computation is the parameter, or has it as its first operand.
 * Slices of the nested fusion's result then count as slices of the parameter. */
static bool is_simple_fusion(const Module *module, CompId comp, InstId param) {
  InstId root = comp_get(module, comp)->root;
  return inst_get(module, root)->num_operands == 0 || inst_operand(module, root, 0) == param;
}

/* Bytes read by a nested fusion through its operand `index`. */
static int64_t bytes_through_fusion(const Module *module, const CostTable *table, InstId fusion,
                                    uint32_t index) {
  if (inst_get(module, fusion)->num_callees == 0) return 0;
  CompId comp = inst_callees(module, fusion)[0];
  if (index >= comp_get(module, comp)->params.len) return 0;
  InstId param = id_list(module, comp_get(module, comp)->params)[index];
  bool is_simple = is_simple_fusion(module, comp, param);
  bool is_read = false;
  int64_t bytes = 0;
  for (uint32_t i = 0; i < inst_get(module, fusion)->users.len; i++) {
    InstId user = inst_users(module, fusion)[i];
    if (is_simple && is_slicing(opcode_of(module, user))) {
      bytes = saturating_add(bytes, bytes_through(module, fusion, user, &is_read));
    } else if (!is_read) {
      is_read = true;
      InstId known = cost_known_inst(module, table, param);
      bytes = saturating_add(bytes, known == NO_ID ? 0 : table->param_reads[known]);
    }
  }
  return bytes;
}

int64_t cost_param_read_bytes(const Module *module, const CostTable *table, InstId param) {
  int64_t bytes = 0;
  bool is_read = false;
  for (uint32_t i = 0; i < inst_get(module, param)->users.len; i++) {
    InstId user = inst_users(module, param)[i];
    int64_t more = 0;
    switch (opcode_of(module, user)) {
      case OPCODE_FUSION:
        for (uint32_t k = 0; k < inst_get(module, user)->num_operands; k++) {
          if (inst_operand(module, user, k) != param) continue;
          more = saturating_add(more, bytes_through_fusion(module, table, user, k));
        }
        break;
      case OPCODE_BROADCAST:
      case OPCODE_RESHAPE: more = cost_shape_bytes(inst_shape(module, param)); break;
      default: more = bytes_through(module, param, user, &is_read); break;
    }
    bytes = saturating_add(bytes, more);
  }
  return bytes;
}

/* The user of the tuple that is its get-tuple-element of this index; the tuple itself if there is
 * none. */
static InstId find_element(const Module *module, InstId tuple, uint32_t index) {
  for (uint32_t i = 0; i < inst_get(module, tuple)->users.len; i++) {
    InstId user = inst_users(module, tuple)[i];
    const Instruction *inst = inst_get(module, user);
    if (inst->opcode == OPCODE_GET_TUPLE_ELEMENT && inst->index == index) return user;
  }
  return tuple;
}

/* Bytes read of a tuple parameter: those read through each leaf's get-tuple-element. A leaf without
 * one counts as a read of the innermost enclosing tuple that has one, as in XLA. */
static int64_t tuple_param_bytes(const Module *module, const CostTable *table, InstId param,
                                 Arena *scratch) {
  const ShapeTable *shapes = &module->shapes;
  ShapeId id = inst_get(module, param)->shape;
  uint32_t num_parts = shape_get(shapes, id)->num_parts;
  ArenaMark mark = arena_mark(scratch);
  ShapeId *parts = arena_array(scratch, ShapeId, num_parts);
  InstId *taken = arena_array(scratch, InstId, num_parts); /* by part: the instruction */
  shape_list_parts(shapes, id, parts);
  taken[0] = param;
  int64_t bytes = 0;
  for (uint32_t part = 0; part < num_parts; part++) {
    const Shape *shape = shape_get(shapes, parts[part]);
    if (!shape_is_tuple(shape)) {
      bytes = saturating_add(bytes, cost_param_read_bytes(module, table, taken[part]));
      continue;
    }
    for (uint32_t i = 0; i < shape->rank; i++) {
      taken[part + shape->element_offsets[i]] = find_element(module, taken[part], i);
    }
  }
  arena_reset(scratch, mark);
  return bytes;
}

int64_t cost_fusion_bytes(const Module *module, const CostTable *table, InstId id, Arena *scratch) {
  CompId comp = inst_callees(module, id)[0];
  const Computation *fused = comp_get(module, comp);
  int64_t bytes = output_bytes(module, id, fused->root);
  bytes = saturating_add(bytes, constant_bytes(module, comp));
  for (uint32_t i = 0; i < fused->params.len; i++) {
    InstId param = id_list(module, fused->params)[i];
    int64_t read;
    if (shape_is_tuple(inst_shape(module, param))) {
      read = tuple_param_bytes(module, table, param, scratch);
    } else if (param < table->num_insts) {
      read = table->param_reads[param];
    } else {
      read = cost_param_read_bytes(module, table, param);
    }
    bytes = saturating_add(bytes, read);
  }
  return bytes;
}
