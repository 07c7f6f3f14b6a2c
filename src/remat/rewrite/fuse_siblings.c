#include "remat/rewrite/fuse_siblings.h"

#include "remat/rewrite/dce.h"
#include "remat/rewrite/fuse.h"
#include "remat/rewrite/terms.h"

/* Copies what `other` computes into the computation of the leader. Returns the result there. */
static InstId take_over(Rewrite *rewrite, InstId leader, InstId other, Arena *scratch) {
  Module *module = rewrite->module;
  CompId from = inst_callees(module, other)[0], to = inst_callees(module, leader)[0];
  InstId result = rewrite_copy_expression(rewrite, from, to, scratch);
  uint32_t num_params = comp_get(module, from)->params.len;
  InstId *images = arena_array(scratch, InstId, num_params);
  for (uint32_t i = 0; i < num_params; i++)
    images[i] = rewrite->image.data[id_list(module, comp_get(module, from)->params)[i]];
  for (uint32_t i = 0; i < num_params; i++) {
    InstId own = fuse_find_param(rewrite, leader, inst_operand(module, other, i));
    rewrite_replace_all_uses(rewrite, images[i], own, scratch);
    module_remove_inst(module, images[i]);
  }
  return result;
}

/* Lets what is computed twice in an expression be computed once. */
static void merge_equal(Rewrite *rewrite, CompId comp, Arena *scratch) {
  Module *module = rewrite->module;
  uint32_t count = comp_num_insts(module, comp);
  ExprTerms terms = {.module = module, .arena = scratch};
  uint32_t *number = arena_array(scratch, uint32_t, module->insts.len);
  InstId *first = arena_array(scratch, InstId, count); /* by number: there are no more than insts */
  memset(first, 0xff, count * sizeof *first);
  for (uint32_t i = 0; i < count; i++) {
    InstId id = comp_inst(module, comp, i);
    bool is_compared =
        inst_get(module, id)->opcode != OPCODE_PARAMETER && !inst_is_root(module, id);
    uint32_t found = is_compared ? expr_inner(&terms, number, id) : NO_ID;
    number[id] = found == NO_ID ? expr_leaf(&terms, id) : found;
    if (found == NO_ID || found >= count) continue;
    bool is_known = first[found] != NO_ID &&
                    inst_get(module, first[found])->shape == inst_get(module, id)->shape;
    if (is_known) rewrite_replace_all_uses(rewrite, id, first[found], scratch);
    if (first[found] == NO_ID) first[found] = id;
  }
}

/* Makes the values the results of a fusion that had one. */
static void set_results(Rewrite *rewrite, InstId fusion, const IdVec *results, Arena *scratch) {
  Module *module = rewrite->module;
  CompId comp = inst_callees(module, fusion)[0];
  ShapeId *shapes = arena_array(scratch, ShapeId, results->len);
  for (uint32_t i = 0; i < results->len; i++)
    shapes[i] = inst_get(module, results->data[i])->shape;
  ShapeId shape = shape_tuple(&module->shapes, shapes, results->len);
  comp_get(module, comp)->root = rewrite_add_helper(rewrite, comp,
                                                    (InstSpec){.opcode = OPCODE_TUPLE,
                                                               .shape = shape,
                                                               .operands = results->data,
                                                               .num_operands = results->len});
  rewrite_set_shape(rewrite, fusion, shape);
  inst_get(module, fusion)->flags |= INST_CHANGED | INST_NEW_OPERANDS | INST_NEW_SHAPE;
  comp_get(module, comp)->flags |= COMP_NEW_SIGNATURE;
}

/* Gives those that read a fusion that had one result an element of the leader, which may be the
 * fusion itself. */
static InstId read_element(Rewrite *rewrite, InstId leader, InstId fusion, uint32_t index,
                           ShapeId shape, Arena *scratch) {
  Module *module = rewrite->module;
  IdVec users = {0};
  for (uint32_t i = 0; i < inst_get(module, fusion)->users.len; i++)
    *vec_push(scratch, &users) = inst_users(module, fusion)[i];
  InstId element = rewrite_add_element(rewrite, leader, index, shape);
  for (uint32_t i = 0; i < users.len; i++) {
    InstId user = users.data[i];
    for (uint32_t k = 0; k < inst_get(module, user)->num_operands; k++) {
      if (inst_operand(module, user, k) == fusion) rewrite_set_operand(rewrite, user, k, element);
    }
  }
  return element;
}

void fuse_siblings(Rewrite *rewrite, InstId leader, const IdVec *others, IdVec *elements,
                   Arena *out, Arena *scratch) {
  Module *module = rewrite->module;
  CompId comp = inst_callees(module, leader)[0];
  Arena *arena = arena_new(arena_options(scratch));
  IdVec results = {0};
  *vec_push(arena, &results) = comp_get(module, comp)->root;
  for (uint32_t i = 0; i < others->len; i++)
    *vec_push(arena, &results) = take_over(rewrite, leader, others->data[i], arena);
  for (uint32_t i = 0; i < results.len; i++) {
    InstId fusion = i ? others->data[i - 1] : leader;
    ShapeId shape = inst_get(module, fusion)->shape;
    *vec_push(out, elements) = read_element(rewrite, leader, fusion, i, shape, arena);
    if (i) module_remove_inst(module, fusion);
  }
  set_results(rewrite, leader, &results, arena);
  module_sweep_comp(module, comp);
  module_sweep_comp(module, inst_get(module, leader)->parent);
  rewrite_order_expression(rewrite, comp, arena);
  merge_equal(rewrite, comp, arena);
  dce_trim_fusion(rewrite, leader, comp_get(module, comp)->root, arena);
  arena_free(arena);
}
