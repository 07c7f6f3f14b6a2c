#include "remat/rewrite/rewrite.h"

#include <inttypes.h>
#include <stdio.h>

#include "analysis/flow/traverse.h"

Rewrite rewrite_begin(Module *module) {
  Rewrite rewrite = {.module = module,
                     .inst_names = names_of_insts(module, module->arena),
                     .comp_names = names_of_comps(module, module->arena),
                     .written = written_shapes_find(module, module->arena),
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

void rewrite_free_names(Rewrite *rewrite) {
  rewrite->inst_names = names_of_insts(rewrite->module, rewrite->module->arena);
  rewrite->comp_names = names_of_comps(rewrite->module, rewrite->module->arena);
}

static void release_module(void *module) {
  module_free(module);
}

Rewrite rewrite_begin_copy(Module *module, Arena *out) {
  void **owned = arena_own(out, release_module);
  Rewrite rewrite = rewrite_begin(module_copy(module));
  *owned = rewrite.module;
  return rewrite;
}

ShapeId rewrite_scalar(Rewrite *rewrite, ElementType type) {
  return written_scalar(&rewrite->written, &rewrite->module->shapes, type);
}

/* ---- compact get-tuple-elements: `x#1` is named by its operand ---- */

static Str compact_name(Rewrite *rewrite, InstId tuple, int64_t index) {
  Str base = inst_name(rewrite->module, tuple);
  char *text = arena_alloc(rewrite->module->arena, base.len + 24);
  memcpy(text, base.data, base.len);
  int len = snprintf(text + base.len, 24, "#%" PRId64, index);
  return str_make(text, base.len + (size_t)len);
}

/* To be called after `id` got another name or operand: renames the compact get-tuple-elements that
 * read it, directly or through others, and marks their users as changed. */
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

void rewrite_set_shape(Rewrite *rewrite, InstId id, ShapeId shape) {
  Module *module = rewrite->module;
  inst_get(module, id)->shape = shape;
  inst_get(module, id)->flags |= INST_CHANGED | INST_NEW_SHAPE;
  for (uint32_t i = 0; i < inst_get(module, id)->users.len; i++)
    inst_get(module, inst_users(module, id)[i])->flags |= INST_CHANGED | INST_NEW_OPERANDS;
}

void rewrite_rename(Rewrite *rewrite, InstId id, Str name) {
  Module *module = rewrite->module;
  Instruction *inst = inst_get(module, id);
  inst->name = name.data;
  inst->name_len = name.len;
  inst->flags |= INST_CHANGED;
  for (uint32_t i = 0; i < inst->users.len; i++) {
    InstId user = inst_users(module, id)[i];
    inst_get(module, user)->flags |= INST_CHANGED;
    rename_compact(rewrite, user);
  }
}

void rewrite_write_out(Rewrite *rewrite, InstId id, Str name) {
  inst_get(rewrite->module, id)->flags &= (uint16_t)~INST_COMPACT_GTE;
  rewrite_rename(rewrite, id, name);
}

static void write_out(Rewrite *rewrite, InstId id) {
  rewrite_write_out(rewrite, id, name_unique(&rewrite->inst_names, STR("get-tuple-element")));
}

/* `x#1` denotes only one get-tuple-element: among the users of a tuple, the one that was made first
 * stays compact, and the others get lines of their own. */
static void write_out_duplicates(Rewrite *rewrite, InstId tuple, Arena *scratch) {
  Module *module = rewrite->module;
  ArenaMark mark = arena_mark(scratch);
  uint32_t num_elements = inst_shape(module, tuple)->rank;
  InstId *first = arena_array(scratch, InstId, num_elements);
  if (num_elements) memset(first, 0xff, num_elements * sizeof *first);
  IdList users = inst_get(module, tuple)->users;
  for (uint32_t i = 0; i < users.len; i++) {
    InstId user = id_list(module, users)[i];
    const Instruction *inst = inst_get(module, user);
    bool is_compact = inst->flags & INST_COMPACT_GTE;
    if (is_compact && user < first[inst->index]) first[inst->index] = user;
  }
  for (uint32_t i = 0; i < users.len; i++) {
    InstId user = id_list(module, users)[i];
    const Instruction *inst = inst_get(module, user);
    if (inst->flags & INST_COMPACT_GTE && first[inst->index] != user) write_out(rewrite, user);
  }
  arena_reset(scratch, mark);
}

void rewrite_write_out_elements(Rewrite *rewrite, Arena *scratch) {
  Module *module = rewrite->module;
  if (!module->source->uses_compact_gte) return;
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->flags & INST_DEAD) continue;
    bool is_named = inst_is_root(module, id) || inst_has_control(module, id);
    if (inst->flags & INST_COMPACT_GTE && is_named) write_out(rewrite, id);
    if (shape_is_tuple(inst_shape(module, id)) && inst->users.len > 1) {
      write_out_duplicates(rewrite, id, scratch);
    }
  }
}

int64_t rewrite_fusion_kind(const Module *module, InstId fusion) {
  if (inst_get(module, fusion)->origin == NO_ID) return FUSION_LOOP;
  return inst_attr_int(module, fusion, ATTR_FUSION_KIND, FUSION_CUSTOM);
}

void rewrite_replace_all_uses(Rewrite *rewrite, InstId old, InstId new_operand, Arena *scratch) {
  Module *module = rewrite->module;
  ArenaMark mark = arena_mark(scratch);
  IdSpan users = inst_copy_users(module, old, scratch);
  for (uint32_t i = 0; i < users.len; i++) {
    for (uint32_t k = 0; k < inst_get(module, users.ids[i])->num_operands; k++) {
      if (inst_operand(module, users.ids[i], k) != old) continue;
      rewrite_set_operand(rewrite, users.ids[i], k, new_operand);
    }
  }
  Computation *comp = comp_get(module, inst_get(module, old)->parent);
  if (comp->root == old) comp->root = new_operand;
  arena_reset(scratch, mark);
}

/* ---- clones ---- */

static void map_inst(Rewrite *rewrite, InstMap *map, InstId from, InstId to) {
  while (map->len <= from)
    *vec_push(rewrite->module->arena, map) = NO_ID;
  map->data[from] = to;
}

/* A fused computation belongs to its fusion: XLA rejects a module in which two fusions call the
 * same one. */
static bool owns_callees(const Instruction *inst) {
  return inst->opcode == OPCODE_FUSION;
}

static Str clone_name(Rewrite *rewrite, InstId original, const char *suffix, Arena *scratch) {
  return name_unique(&rewrite->inst_names,
                     name_with_suffix(inst_name(rewrite->module, original), suffix, scratch));
}

/* The state of copying. `owners` are the copied instructions that still call the same computations
 * as their originals, but must have their own. */
typedef struct CopyWork {
  Rewrite *rewrite;
  VEC(InstId) owners;
  Arena *scratch;
} CopyWork;

/* Returns the name for a copy that reads `operands`. */
static Str copy_name(CopyWork *work, InstId original, const InstId *operands, const char *suffix) {
  Rewrite *rewrite = work->rewrite;
  const Instruction *inst = inst_get(rewrite->module, original);
  if (inst->flags & INST_COMPACT_GTE) return compact_name(rewrite, operands[0], inst->index);
  Str name = inst_name(rewrite->module, original);
  if (!suffix && !name_is_ambiguous(&rewrite->inst_names, name)) return name;
  return clone_name(rewrite, original, suffix ? suffix : "inlined", work->scratch);
}

/* Gives a copy of a collective a channel of its own. */
static void copy_channel(Rewrite *rewrite, InstId copy) {
  Instruction *inst = inst_get(rewrite->module, copy);
  if (inst->flags & INST_HAS_CHANNEL) inst->index = rewrite->next_channel_id++;
}

/* Copies one instruction into `comp`. `image` must be set for its operands. */
static void copy_inst(CopyWork *work, InstId id, CompId comp, const char *suffix) {
  Rewrite *rewrite = work->rewrite;
  Module *module = rewrite->module;
  uint32_t num_operands = inst_get(module, id)->num_operands;
  InstId *operands = arena_array(work->scratch, InstId, num_operands);
  for (uint32_t k = 0; k < num_operands; k++) {
    operands[k] = rewrite->image.data[inst_operand(module, id, k)];
  }
  Str name = copy_name(work, id, operands, suffix);
  InstId copy = module_clone_inst(module, id, name, comp, operands);
  rewrite->image.data[id] = copy;
  map_inst(rewrite, &rewrite->inner_of, copy, id);
  copy_channel(rewrite, copy);
  if (owns_callees(inst_get(module, id)) && suffix) {
    *vec_push(work->scratch, &work->owners) = copy;
  }
}

/* Makes `image` long enough for all instructions. */
static void make_room_for_images(Rewrite *rewrite) {
  if (rewrite->image.len < rewrite->module->insts.len) {
    uint32_t missing = rewrite->module->insts.len - rewrite->image.len;
    (void)vec_extend(rewrite->module->arena, &rewrite->image, missing);
  }
}

static void copy_control(Rewrite *rewrite, Sequence order) {
  Module *module = rewrite->module;
  for (uint32_t i = 0; i < order.len; i++) {
    IdList before = inst_control(module, order.ids[i])->predecessors;
    for (uint32_t k = 0; k < before.len; k++) {
      module_add_control(module, rewrite->image.data[id_list(module, before)[k]],
                         rewrite->image.data[order.ids[i]]);
    }
  }
}

/* Returns the instructions of a computation in an order in which operands come before users. The
 * computation's own list need not have such an order after inlining. The array stays valid while
 * instructions are added. */
static Sequence copy_order(Rewrite *rewrite, CompId comp, const Schedule *schedule, Arena *out) {
  Module *module = rewrite->module;
  if (schedule && comp >= schedule->num_comps) { /* a copy, made in such an order */
    uint32_t len = comp_num_insts(module, comp);
    Sequence order = {.ids = arena_array(out, InstId, len), .len = len};
    if (len)
      memcpy(order.ids, id_list(module, comp_get(module, comp)->insts), len * sizeof(InstId));
    return order;
  }
  if (rewrite->visited.len < module->insts.len) {
    uint32_t missing = module->insts.len - rewrite->visited.len;
    (void)vec_extend(module->arena, &rewrite->visited, missing);
  }
  return topological_order(module, schedule, comp, rewrite->visited.data, out, out);
}

static void copy_params(const Rewrite *rewrite, CompId original, CompId copy) {
  Module *module = rewrite->module;
  for (uint32_t i = 0; i < comp_get(module, original)->params.len; i++) {
    InstId param = id_list(module, comp_get(module, original)->params)[i];
    comp_push_param(module, copy, rewrite->image.data[param]);
  }
}

static CompId copy_computation(CopyWork *work, CompId original, const Schedule *schedule) {
  Rewrite *rewrite = work->rewrite;
  Module *module = rewrite->module;
  Str wanted = name_with_suffix(comp_name(module, original), "clone", work->scratch);
  CompId copy = module_add_comp(module, name_unique(&rewrite->comp_names, wanted),
                                comp_get(module, original)->origin);
  comp_get(module, copy)->thread = comp_get(module, original)->thread;
  comp_get(module, copy)->flags = comp_get(module, original)->flags;
  make_room_for_images(rewrite);
  Sequence order = copy_order(rewrite, original, schedule, work->scratch);
  for (uint32_t i = 0; i < order.len; i++) {
    InstId id = order.ids[i];
    copy_inst(work, id, copy, "clone");
    if (inst_get(module, id)->flags & INST_NESTED) {
      inst_get(module, rewrite->image.data[id])->flags |= INST_NESTED;
    }
  }
  copy_params(rewrite, original, copy);
  copy_control(rewrite, order);
  comp_get(module, copy)->root = rewrite->image.data[comp_get(module, original)->root];
  return copy;
}

/* Gives the copied instructions their own computations. The instructions of these computations may
 * again be fusions. */
static void copy_owned(CopyWork *work) {
  Module *module = work->rewrite->module;
  while (work->owners.len) {
    InstId owner = work->owners.data[--work->owners.len];
    for (uint32_t i = 0; i < inst_get(module, owner)->num_callees; i++) {
      CompId callee = copy_computation(work, inst_callees(module, owner)[i], NULL);
      module_set_callee(module, owner, i, callee);
    }
  }
}

CompId rewrite_clone_computation(Rewrite *rewrite, CompId original, const Schedule *schedule,
                                 Arena *scratch) {
  CopyWork work = {.rewrite = rewrite, .scratch = scratch};
  ArenaMark mark = arena_mark(scratch);
  CompId copy = copy_computation(&work, original, schedule);
  copy_owned(&work);
  arena_reset(scratch, mark);
  return copy;
}

InstId rewrite_copy_expression(Rewrite *rewrite, CompId from, CompId to, Arena *scratch) {
  CopyWork work = {.rewrite = rewrite, .scratch = scratch};
  make_room_for_images(rewrite);
  Sequence order = copy_order(rewrite, from, NULL, scratch);
  for (uint32_t i = 0; i < order.len; i++)
    copy_inst(&work, order.ids[i], to, "fused");
  copy_owned(&work);
  return rewrite->image.data[comp_get(rewrite->module, from)->root];
}

void rewrite_order_expression(Rewrite *rewrite, CompId comp, Arena *scratch) {
  Module *module = rewrite->module;
  Sequence order = copy_order(rewrite, comp, NULL, scratch);
  IdList insts = comp_get(module, comp)->insts;
  /* What is not needed for the root, such as a parameter that nothing reads, comes first. */
  bool *is_listed = arena_zarray(scratch, bool, module->insts.len);
  InstId *all = arena_array(scratch, InstId, insts.len);
  uint32_t count = 0;
  for (uint32_t i = 0; i < order.len; i++)
    is_listed[order.ids[i]] = true;
  for (uint32_t i = 0; i < insts.len; i++) {
    InstId id = id_list(module, insts)[i];
    if (!is_listed[id]) all[count++] = id;
  }
  for (uint32_t i = 0; i < order.len; i++)
    all[count++] = order.ids[i];
  if (count) memcpy(module->ids.data + insts.begin, all, count * sizeof *all);
  comp_get(module, comp)->flags |= COMP_NEW_SIGNATURE;
}

void rewrite_mark_clone(Rewrite *rewrite, InstId copy) {
  inst_get(rewrite->module, copy)->flags |= INST_REMAT;
  if (copy < rewrite->inner_of.len && rewrite->inner_of.data[copy] != NO_ID)
    map_inst(rewrite, &rewrite->cloned_from, copy, rewrite->inner_of.data[copy]);
}

void rewrite_set_callee_original(Rewrite *rewrite, InstId id, InstId of_callee) {
  map_inst(rewrite, &rewrite->callee_original, id, rewrite_callee_original(rewrite, of_callee));
}

/* Gives a clone what it must not share with its original. */
static void finish_clone(CopyWork *work, InstId clone, InstId original) {
  Rewrite *rewrite = work->rewrite;
  Module *module = rewrite->module;
  inst_get(module, clone)->flags |= INST_REMAT;
  map_inst(rewrite, &rewrite->cloned_from, clone, original);
  copy_channel(rewrite, clone);
  if (owns_callees(inst_get(module, clone))) *vec_push(work->scratch, &work->owners) = clone;
  copy_owned(work);
}

InstId rewrite_clone(Rewrite *rewrite, InstId original, Arena *scratch) {
  Module *module = rewrite->module;
  CopyWork work = {.rewrite = rewrite, .scratch = scratch};
  ArenaMark mark = arena_mark(scratch);
  InstId clone;
  if (inst_get(module, original)->flags & INST_COMPACT_GTE) {
    /* Any reader of the text would take a second `x#1` for the first one. */
    clone = rewrite_add_get_tuple_element(rewrite, inst_operand(module, original, 0),
                                          inst_get(module, original)->index);
  } else {
    Str name = clone_name(rewrite, original, "remat", scratch);
    clone = module_clone_inst(module, original, name, inst_get(module, original)->parent, NULL);
  }
  finish_clone(&work, clone, original);
  arena_reset(scratch, mark);
  return clone;
}

/* Gives a clone its own copies of all computations that it calls, and these of all that they call
 * in turn. `num_old` is the number of computations before the clone was made. */
static void copy_callees(CopyWork *work, InstId clone, uint32_t num_old, const Schedule *schedule) {
  Module *module = work->rewrite->module;
  VEC(InstId) callers = {0};
  *vec_push(work->scratch, &callers) = clone;
  while (callers.len) {
    InstId caller = callers.data[--callers.len];
    for (uint32_t i = 0; i < inst_get(module, caller)->num_callees; i++) {
      CompId callee = inst_callees(module, caller)[i];
      if (callee < num_old) {
        callee = copy_computation(work, callee, schedule);
        module_set_callee(module, caller, i, callee);
        copy_owned(work);
      }
      for (uint32_t k = 0; k < comp_num_insts(module, callee); k++)
        *vec_push(work->scratch, &callers) = comp_inst(module, callee, k);
    }
  }
}

CompId rewrite_clone_sequence(Rewrite *rewrite, CompId original, const Schedule *schedule,
                              Arena *scratch) {
  CopyWork work = {.rewrite = rewrite, .scratch = scratch};
  ArenaMark mark = arena_mark(scratch);
  uint32_t num_old = rewrite->module->comps.len;
  CompId copy = copy_computation(&work, original, schedule);
  copy_owned(&work);
  for (uint32_t i = 0; i < comp_num_insts(rewrite->module, copy); i++)
    copy_callees(&work, comp_inst(rewrite->module, copy, i), num_old, schedule);
  arena_reset(scratch, mark);
  return copy;
}

InstId rewrite_clone_into(Rewrite *rewrite, InstId original, CompId comp, const InstId *operands,
                          const Schedule *schedule, Arena *scratch) {
  Module *module = rewrite->module;
  if (inst_get(module, original)->opcode == OPCODE_GET_TUPLE_ELEMENT)
    return rewrite_add_get_tuple_element(rewrite, operands[0], inst_get(module, original)->index);
  CopyWork work = {.rewrite = rewrite, .scratch = scratch};
  ArenaMark mark = arena_mark(scratch);
  uint32_t num_old = module->comps.len;
  Str name = clone_name(rewrite, original, "remat", scratch);
  InstId clone = module_clone_inst(module, original, name, comp, operands);
  inst_get(module, clone)->flags |= INST_NEW_OPERANDS;
  if (inst_get(module, original)->num_operands == 0)
    inst_get(module, clone)->flags &= (uint16_t)~INST_NEW_OPERANDS; /* a literal stays */
  finish_clone(&work, clone, original);
  copy_callees(&work, clone, num_old, schedule);
  arena_reset(scratch, mark);
  return clone;
}

InstId rewrite_repeat(Rewrite *rewrite, InstId original, const Schedule *schedule, Arena *scratch) {
  const Module *module = rewrite->module;
  if (!inst_runs_callees(module, original)) return rewrite_clone(rewrite, original, scratch);
  ArenaMark mark = arena_mark(scratch);
  uint32_t count = inst_get(module, original)->num_operands;
  InstId *operands = arena_array(scratch, InstId, count);
  if (count) memcpy(operands, inst_operands(module, original), count * sizeof *operands);
  CompId comp = inst_get(module, original)->parent;
  InstId clone = rewrite_clone_into(rewrite, original, comp, operands, schedule, scratch);
  arena_reset(scratch, mark);
  return clone;
}

InstId rewrite_move(Rewrite *rewrite, InstId id, CompId comp, const InstId *operands) {
  Str name = inst_name(rewrite->module, id);
  InstId moved = module_clone_inst(rewrite->module, id, name, comp, operands);
  bool is_clone = rewrite_original(rewrite, id) != NO_ID;
  if (is_clone) map_inst(rewrite, &rewrite->cloned_from, moved, rewrite_original(rewrite, id));
  bool is_copy = !is_clone && rewrite_value_source(rewrite, id) != NO_ID;
  if (is_copy) map_inst(rewrite, &rewrite->copied_from, moved, rewrite_value_source(rewrite, id));
  return moved;
}

void rewrite_set_callee(Rewrite *rewrite, InstId caller, uint32_t index, CompId callee,
                        Arena *scratch) {
  Module *module = rewrite->module;
  CompId old = inst_callees(module, caller)[index];
  module_set_callee(module, caller, index, callee);
  if (inst_get(module, caller)->opcode != OPCODE_ASYNC_START) return;
  ArenaMark mark = arena_mark(scratch);
  VEC(InstId) chain = {0};
  *vec_push(scratch, &chain) = caller;
  while (chain.len) {
    InstId id = chain.data[--chain.len];
    for (uint32_t i = 0; i < inst_get(module, id)->users.len; i++) {
      InstId user = inst_users(module, id)[i];
      if (!opcode_takes_async_state((Opcode)inst_get(module, user)->opcode)) continue;
      *vec_push(scratch, &chain) = user;
      if (inst_get(module, user)->num_callees == 1 && inst_callees(module, user)[0] == old) {
        module_set_callee(module, user, 0, callee);
      }
    }
  }
  arena_reset(scratch, mark);
}

/* ---- inlining ---- */

/* Transfers the control dependencies of a call to its copies: they run after the call's
 * predecessors and before its successors. */
static void inherit_control(Rewrite *rewrite, InstId call, NewInsts copies, InstId result) {
  Module *module = rewrite->module;
  ControlDeps deps = *inst_control(module, call);
  for (uint32_t i = 0; i < deps.predecessors.len; i++) { /* even if nothing is copied */
    for (uint32_t k = 0; k < deps.successors.len; k++) {
      module_add_control(module, id_list(module, deps.predecessors)[i],
                         id_list(module, deps.successors)[k]);
    }
  }
  /* The result can be an operand of the call, which is older than the copies. */
  for (uint32_t k = 0; result < copies.begin && k < deps.successors.len; k++) {
    module_add_control(module, result, id_list(module, deps.successors)[k]);
  }
  for (InstId id = copies.begin; id < copies.end; id++) {
    bool is_source = inst_control(module, id)->predecessors.len == 0;
    for (uint32_t k = 0; k < inst_get(module, id)->num_operands; k++) {
      is_source &= inst_operand(module, id, k) < copies.begin;
    }
    for (uint32_t k = 0; is_source && k < deps.predecessors.len; k++) {
      module_add_control(module, id_list(module, deps.predecessors)[k], id);
    }
    bool is_sink = inst_get(module, id)->users.len == 0 || id == result;
    for (uint32_t k = 0; is_sink && k < deps.successors.len; k++) {
      module_add_control(module, id, id_list(module, deps.successors)[k]);
    }
  }
}

/* Copies what a call, or the start of an asynchronous operation, runs. Returns the result. */
static InstId copy_callee(CopyWork *work, InstId call, const Schedule *schedule, const char *suffix,
                          NewInsts *copies) {
  Rewrite *rewrite = work->rewrite;
  Module *module = rewrite->module;
  CompId callee = inst_callees(module, call)[0], caller = inst_get(module, call)->parent;
  make_room_for_images(rewrite);
  Sequence order = copy_order(rewrite, callee, schedule, work->scratch);
  *copies = (NewInsts){.begin = module->insts.len};
  for (uint32_t i = 0; i < order.len; i++) {
    const Instruction *inst = inst_get(module, order.ids[i]);
    if (inst->opcode == OPCODE_PARAMETER) {
      rewrite->image.data[order.ids[i]] = inst_operand(module, call, (uint32_t)inst->index);
    } else {
      copy_inst(work, order.ids[i], caller, suffix);
    }
  }
  copies->end = module->insts.len;
  copy_control(rewrite, order);
  return rewrite->image.data[comp_get(module, callee)->root];
}

NewInsts rewrite_inline(Rewrite *rewrite, InstId call, const Schedule *schedule, const char *suffix,
                        Arena *scratch) {
  CopyWork work = {.rewrite = rewrite, .scratch = scratch};
  ArenaMark mark = arena_mark(scratch);
  NewInsts copies;
  InstId result = copy_callee(&work, call, schedule, suffix, &copies);
  rewrite_replace_all_uses(rewrite, call, result, scratch);
  inherit_control(rewrite, call, copies, result);
  module_remove_inst(rewrite->module, call);
  copy_owned(&work);
  arena_reset(scratch, mark);
  return copies;
}

NewInsts rewrite_unwrap(Rewrite *rewrite, InstId start, InstId done, const Schedule *schedule,
                        Arena *scratch) {
  Module *module = rewrite->module;
  CopyWork work = {.rewrite = rewrite, .scratch = scratch};
  ArenaMark mark = arena_mark(scratch);
  NewInsts copies;
  InstId result = copy_callee(&work, start, schedule, NULL, &copies);
  for (InstId id = copies.begin; id < copies.end; id++)
    inst_get(module, id)->flags &= (uint16_t)~INST_IMPLIED;
  rewrite_replace_all_uses(rewrite, done, result, scratch);
  ControlDeps deps = *inst_control(module, start);
  for (uint32_t i = 0; i < deps.predecessors.len; i++)
    module_add_control(module, id_list(module, deps.predecessors)[i], result);
  module_move_control_successors(module, start, result);
  module_move_control_successors(module, done, result);
  module_remove_inst(module, done);
  module_remove_inst(module, start);
  rewrite_rename(rewrite, result, inst_name(module, done));
  copy_owned(&work);
  arena_reset(scratch, mark);
  return copies;
}

/* ---- helpers ---- */

InstId rewrite_add_helper(Rewrite *rewrite, CompId comp, InstSpec spec) {
  Module *module = rewrite->module;
  Str opcode = str_make(opcode_text(spec.opcode), strlen(opcode_text(spec.opcode)));
  spec.name = name_unique(&rewrite->inst_names, name_with_suffix(opcode, "remat", module->arena));
  spec.flags |= INST_REMAT;
  return module_add_inst(module, comp, &spec);
}

InstId rewrite_add_get_tuple_element(Rewrite *rewrite, InstId tuple, int64_t index) {
  ShapeId shape = inst_shape(rewrite->module, tuple)->elements[index];
  return rewrite_add_element(rewrite, tuple, index, shape);
}

InstId rewrite_add_element(Rewrite *rewrite, InstId tuple, int64_t index, ShapeId shape) {
  Module *module = rewrite->module;
  bool is_compact = module->source->uses_compact_gte;
  Str name = is_compact ? compact_name(rewrite, tuple, index)
                        : name_unique(&rewrite->inst_names, STR("gte.remat"));
  InstSpec spec = {.opcode = OPCODE_GET_TUPLE_ELEMENT,
                   .name = name,
                   .shape = shape,
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

/* Adds an instruction that copies an original instruction, or copies another one with the same
 * value. */
static InstId add_copying(Rewrite *rewrite, const InstSpec *spec, InstId original) {
  Module *module = rewrite->module;
  InstId copy = module_add_inst(module, inst_get(module, original)->parent, spec);
  map_inst(rewrite, &rewrite->copied_from, copy, original);
  return copy;
}

InstId rewrite_add_copy(Rewrite *rewrite, InstId operand, ShapeId shape, InstId original,
                        const char *suffix, Arena *scratch) {
  Module *module = rewrite->module;
  ArenaMark mark = arena_mark(scratch);
  bool is_compact = inst_get(module, original)->flags & INST_COMPACT_GTE;
  Str base = is_compact ? STR("get-tuple-element") : inst_name(module, original);
  const char *name = arena_printf(scratch, "%.*s.%s", (int)base.len, base.data, suffix);
  bool is_converted = inst_shape(module, operand)->type != shape_get(&module->shapes, shape)->type;
  InstSpec spec = {.opcode = is_converted ? OPCODE_CONVERT : OPCODE_COPY,
                   .name = name_unique(&rewrite->inst_names, str_make(name, strlen(name))),
                   .shape = shape,
                   .operands = &operand,
                   .num_operands = 1,
                   .flags = INST_REMAT};
  InstId copy = add_copying(rewrite, &spec, original);
  arena_reset(scratch, mark);
  return copy;
}

InstId rewrite_add_copy_start(Rewrite *rewrite, InstId operand, ShapeId to, InstId original) {
  ShapeTable *shapes = &rewrite->module->shapes;
  const ShapeId elements[] = {to, inst_get(rewrite->module, operand)->shape,
                              written_context(&rewrite->written, shapes)};
  InstSpec spec = {.opcode = OPCODE_COPY_START,
                   .name = name_unique(&rewrite->inst_names, STR("copy-start")),
                   .shape = shape_tuple(shapes, elements, sizeof elements / sizeof *elements),
                   .operands = &operand,
                   .num_operands = 1,
                   .flags = INST_REMAT};
  return add_copying(rewrite, &spec, original);
}

InstId rewrite_add_copy_done(Rewrite *rewrite, InstId start, InstId original) {
  InstSpec spec = {.opcode = OPCODE_COPY_DONE,
                   .name = name_unique(&rewrite->inst_names, STR("copy-done")),
                   .shape = inst_shape(rewrite->module, start)->elements[0],
                   .operands = &start,
                   .num_operands = 1,
                   .flags = INST_REMAT};
  return add_copying(rewrite, &spec, original);
}
