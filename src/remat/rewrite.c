#include "remat/rewrite.h"

#include <inttypes.h>
#include <stdio.h>

Rewrite rewrite_begin(Module *module) {
  Rewrite rewrite = {.module = module,
                     .inst_names = names_of_insts(module, module->arena),
                     .comp_names = names_of_comps(module, module->arena),
                     .next_channel_id = 1};
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->flags & INST_HAS_CHANNEL && inst->index >= rewrite.next_channel_id &&
        inst->index < INT64_MAX) {
      rewrite.next_channel_id = inst->index + 1;
    }
  }
  return rewrite;
}

/* ---- compact get-tuple-elements: `x#1` is named by its operand ---- */

static Str compact_name(Rewrite *rewrite, InstId tuple, int64_t index) {
  Str base = inst_name(rewrite->module, tuple);
  char *text = arena_alloc(rewrite->module->arena, base.len + 24);
  memcpy(text, base.data, base.len);
  int len = snprintf(text + base.len, 24, "#%" PRId64, index);
  return str_make(text, base.len + (size_t)len);
}

/* After `id` got another name or operand: the names of compact get-tuple-elements on top of it follow,
 * and whoever reads those is written anew. */
static void rename_compact(Rewrite *rewrite, InstId id) {
  Module *module = rewrite->module;
  VEC(InstId) work = {0};
  *vec_push(module->arena, &work) = id;
  while (work.len) {
    InstId gte = work.data[--work.len];
    Instruction *inst = inst_get(module, gte);
    if (!(inst->flags & INST_COMPACT_GTE)) continue;
    Str name = compact_name(rewrite, inst_operand(module, gte, 0), inst->index);
    inst->name = name.data;
    inst->name_len = name.len;
    for (uint32_t i = 0; i < inst->users.len; i++) {
      InstId user = inst_users(module, gte)[i];
      inst_get(module, user)->flags |= INST_CHANGED;
      *vec_push(module->arena, &work) = user;
    }
  }
}

void rewrite_set_operand(Rewrite *rewrite, InstId user, uint32_t index, InstId operand) {
  module_set_operand(rewrite->module, user, index, operand);
  if (inst_get(rewrite->module, user)->flags & INST_COMPACT_GTE) rename_compact(rewrite, user);
}

void rewrite_set_tuple_index(Rewrite *rewrite, InstId gte, int64_t index) {
  Instruction *inst = inst_get(rewrite->module, gte);
  if (inst->index == index) return;
  inst->index = index;
  inst->flags |= INST_CHANGED;
  rename_compact(rewrite, gte);
}

void rewrite_replace_all_uses(Rewrite *rewrite, InstId old, InstId new_operand, Arena *scratch) {
  Module *module = rewrite->module;
  ArenaMark mark = arena_mark(scratch);
  uint32_t num_users = inst_get(module, old)->users.len;
  InstId *users = arena_array(scratch, InstId, num_users);
  if (num_users) memcpy(users, inst_users(module, old), num_users * sizeof *users);
  for (uint32_t i = 0; i < num_users; i++) {
    for (uint32_t k = 0; k < inst_get(module, users[i])->num_operands; k++) {
      if (inst_operand(module, users[i], k) != old) continue;
      rewrite_set_operand(rewrite, users[i], k, new_operand);
    }
  }
  Computation *comp = comp_get(module, inst_get(module, old)->parent);
  if (comp->root == old) comp->root = new_operand;
  arena_reset(scratch, mark);
}

/* ---- clones ---- */

/* A fused computation belongs to its fusion: XLA refuses two fusions with the same one. */
static bool owns_callees(const Instruction *inst) {
  return inst->opcode == OPCODE_FUSION;
}

static Str clone_name(Rewrite *rewrite, InstId original, const char *suffix, Arena *scratch) {
  return name_unique(&rewrite->inst_names,
                     name_with_suffix(inst_name(rewrite->module, original), suffix, scratch));
}

/* Clones one computation, the instructions' callees still shared, and lists its instructions that need
 * callees of their own in `owners`. */
typedef struct CloneWork {
  Rewrite *rewrite;
  VEC(InstId) owners;
  Arena *scratch;
} CloneWork;

static CompId clone_computation(CloneWork *work, CompId original) {
  Rewrite *rewrite = work->rewrite;
  Module *module = rewrite->module;
  ArenaMark mark = arena_mark(work->scratch);
  Str wanted = name_with_suffix(comp_name(module, original), "clone", work->scratch);
  CompId clone = module_add_comp(module, name_unique(&rewrite->comp_names, wanted),
                                 comp_get(module, original)->origin);
  comp_get(module, clone)->thread = comp_get(module, original)->thread;
  comp_get(module, clone)->flags = comp_get(module, original)->flags;
  uint32_t num_insts = comp_num_insts(module, original);
  if (rewrite->clone_of.len < module->insts.len + num_insts) {
    (void)vec_extend(module->arena, &rewrite->clone_of,
                     module->insts.len + num_insts - rewrite->clone_of.len);
  }
  for (uint32_t i = 0; i < num_insts; i++) {
    InstId id = comp_inst(module, original, i);
    uint32_t num_operands = inst_get(module, id)->num_operands;
    InstId *operands = arena_array(work->scratch, InstId, num_operands);
    for (uint32_t k = 0; k < num_operands; k++) {
      operands[k] = rewrite->clone_of.data[inst_operand(module, id, k)];
    }
    const Instruction *inst = inst_get(module, id);
    Str name = inst->flags & INST_COMPACT_GTE ? compact_name(rewrite, operands[0], inst->index)
                                              : clone_name(rewrite, id, "clone", work->scratch);
    InstId copy = module_clone_inst(module, id, name, clone, operands);
    if (inst_get(module, id)->flags & INST_NESTED) inst_get(module, copy)->flags |= INST_NESTED;
    rewrite->clone_of.data[id] = copy;
    if (inst_get(module, id)->opcode == OPCODE_PARAMETER) {
      IdList params = comp_get(module, clone)->params;
      id_list_push(module, &params, copy);
      comp_get(module, clone)->params = params;
    }
    if (owns_callees(inst_get(module, id))) *vec_push(module->arena, &work->owners) = copy;
  }
  for (uint32_t i = 0; i < num_insts; i++) {
    InstId id = comp_inst(module, original, i);
    IdList before = inst_control(module, id)->predecessors;
    for (uint32_t k = 0; k < before.len; k++) {
      module_add_control(module, rewrite->clone_of.data[id_list(module, before)[k]],
                         rewrite->clone_of.data[id]);
    }
  }
  comp_get(module, clone)->root = rewrite->clone_of.data[comp_get(module, original)->root];
  arena_reset(work->scratch, mark);
  return clone;
}

InstId rewrite_clone(Rewrite *rewrite, InstId original, Arena *scratch) {
  Module *module = rewrite->module;
  CloneWork work = {.rewrite = rewrite, .scratch = scratch};
  ArenaMark mark = arena_mark(scratch);
  InstId clone;
  if (inst_get(module, original)->flags & INST_COMPACT_GTE) {
    /* A second `x#1` would be the first one to whoever reads the text. */
    clone = rewrite_add_get_tuple_element(rewrite, inst_operand(module, original, 0),
                                          inst_get(module, original)->index);
  } else {
    Str name = clone_name(rewrite, original, "remat", scratch);
    clone = module_clone_inst(module, original, name, inst_get(module, original)->parent, NULL);
  }
  inst_get(module, clone)->flags |= INST_REMAT;
  if (inst_get(module, clone)->flags & INST_HAS_CHANNEL) {
    inst_get(module, clone)->index = rewrite->next_channel_id++;
  }
  if (owns_callees(inst_get(module, clone))) *vec_push(module->arena, &work.owners) = clone;
  while (work.owners.len) { /* what a cloned fusion holds may be fusions in turn */
    InstId owner = work.owners.data[--work.owners.len];
    for (uint32_t i = 0; i < inst_get(module, owner)->num_callees; i++) {
      CompId callee = clone_computation(&work, inst_callees(module, owner)[i]);
      module_set_callee(module, owner, i, callee);
    }
  }
  arena_reset(scratch, mark);
  return clone;
}

/* ---- helpers ---- */

InstId rewrite_add_get_tuple_element(Rewrite *rewrite, InstId tuple, int64_t index) {
  Module *module = rewrite->module;
  bool is_compact = module->source->uses_compact_gte;
  Str name = is_compact ? compact_name(rewrite, tuple, index)
                        : name_unique(&rewrite->inst_names, STR("gte.remat"));
  InstSpec spec = {.opcode = OPCODE_GET_TUPLE_ELEMENT,
                   .name = name,
                   .shape = inst_shape(module, tuple)->elements[index],
                   .operands = &tuple,
                   .num_operands = 1,
                   .index = index,
                   .flags = INST_REMAT | (is_compact ? INST_COMPACT_GTE : 0u)};
  return module_add_inst(module, inst_get(module, tuple)->parent, &spec);
}

InstId rewrite_add_bitcast(Rewrite *rewrite, InstId operand, ShapeId shape) {
  InstSpec spec = {.opcode = OPCODE_BITCAST,
                   .name = name_unique(&rewrite->inst_names, STR("bitcast.remat")),
                   .shape = shape,
                   .operands = &operand,
                   .num_operands = 1,
                   .flags = INST_REMAT};
  return module_add_inst(rewrite->module, inst_get(rewrite->module, operand)->parent, &spec);
}
