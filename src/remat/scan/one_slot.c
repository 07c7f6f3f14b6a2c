#include "remat/scan/one_slot.h"

/* ---- form ---- */

static uint32_t num_results(const Module *module, InstId root) {
  bool is_tuple = inst_get(module, root)->opcode == OPCODE_TUPLE;
  return is_tuple ? inst_get(module, root)->num_operands : 1;
}

static InstId result_of(const Module *module, InstId root, uint32_t index) {
  return inst_get(module, root)->opcode == OPCODE_TUPLE ? inst_operand(module, root, index) : root;
}

/* Whether a result is a stack, a parameter, into which a slice is written. */
static bool is_write(const Module *module, InstId id) {
  if (inst_get(module, id)->opcode != OPCODE_DYNAMIC_UPDATE_SLICE) return false;
  return inst_get(module, inst_operand(module, id, 0))->opcode == OPCODE_PARAMETER;
}

static bool is_only_a_result(const Module *module, InstId id, InstId root) {
  uint32_t num_users = inst_get(module, id)->users.len;
  if (id == root) return num_users == 0;
  return num_users == 1 && inst_users(module, id)[0] == root &&
         inst_count_operand(module, root, id) == 1;
}

bool one_slot_is_array(const Module *module, InstId param) {
  if (inst_get(module, param)->users.len != 1) return false;
  InstId user = inst_users(module, param)[0];
  if (!is_write(module, user) || inst_count_operand(module, user, param) != 1) return false;
  return inst_operand(module, user, 0) == param &&
         is_only_a_result(module, user, comp_get(module, inst_get(module, user)->parent)->root);
}

/* The value that a slice has, under whatever shape. */
static InstId without_bitcasts(const Module *module, InstId id) {
  while (inst_get(module, id)->opcode == OPCODE_BITCAST)
    id = inst_operand(module, id, 0);
  return id;
}

uint32_t one_slot_result(const Module *module, CompId comp, InstId inner) {
  InstId root = comp_get(module, comp)->root;
  uint32_t found = NO_ID;
  for (uint32_t i = 0; i < num_results(module, root); i++) {
    InstId result = result_of(module, root, i);
    InstId value = result;
    if (is_write(module, result)) {
      if (!one_slot_is_array(module, inst_operand(module, result, 0))) return NO_ID;
      value = inst_operand(module, result, 1);
    }
    if (without_bitcasts(module, value) == without_bitcasts(module, inner)) found = i;
  }
  return found;
}

/* ---- rewrite ---- */

InstId one_slot_array(Maker *maker, InstId param, CompId comp, uint32_t position) {
  const Module *module = maker->module;
  InstId update = inst_operand(module, inst_users(module, param)[0], 1);
  return maker_zeros(maker, comp, inst_get(module, update)->shape, position);
}

static void shrink_writes(Maker *maker, CompId comp) {
  Module *module = maker->module;
  InstId root = comp_get(module, comp)->root;
  for (uint32_t i = 0; i < num_results(module, root); i++) {
    InstId result = result_of(module, root, i);
    if (!is_write(module, result)) continue;
    ShapeId slot = inst_get(module, inst_operand(module, result, 1))->shape;
    rewrite_set_shape(maker->rewrite, inst_operand(module, result, 0), slot);
    rewrite_set_shape(maker->rewrite, result, slot);
  }
  if (inst_get(module, root)->opcode != OPCODE_TUPLE) return;
  uint32_t count = num_results(module, root);
  ShapeId *elements = arena_array(maker->arena, ShapeId, count);
  for (uint32_t i = 0; i < count; i++)
    elements[i] = inst_get(module, inst_operand(module, root, i))->shape;
  rewrite_set_shape(maker->rewrite, root, shape_tuple(&module->shapes, elements, count));
}

InstId one_slot_shrink(Maker *maker, InstId clone, uint32_t result, ShapeId shape,
                       uint32_t position) {
  Module *module = maker->module;
  CompId comp = inst_callees(module, clone)[0];
  shrink_writes(maker, comp);
  InstId root = comp_get(module, comp)->root;
  rewrite_set_shape(maker->rewrite, clone, inst_get(module, root)->shape);
  inst_get(module, clone)->flags |= INST_NEW_OPERANDS;
  comp_get(module, comp)->flags |= COMP_NEW_SIGNATURE;
  InstId value = clone;
  if (inst_get(module, root)->opcode == OPCODE_TUPLE)
    value = maker_element(maker, clone, result, position);
  return maker_as_shape(maker, value, shape, position);
}
