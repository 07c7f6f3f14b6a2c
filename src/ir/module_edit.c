/* Changes to a module's graph. The lists of users keep XLA's order, because schedules depend on it:
 * a new user is appended, and a removed user is replaced by the last one
 * (HloInstruction::Users). */
#include <assert.h>

#include "ir/module.h"

IdList id_list_reserve(Module *module, uint32_t capacity) {
  if (capacity == 0) return (IdList){0};
  uint32_t begin = module->ids.len + 1;
  *vec_extend(module->arena, &module->ids, 1 + capacity) = capacity;
  return (IdList){.begin = begin};
}

void id_list_push(Module *module, IdList *list, uint32_t id) {
  uint32_t capacity = list->begin ? module->ids.data[list->begin - 1] : 0;
  if (list->len == capacity) {
    if (capacity && list->begin + capacity == module->ids.len) {
      (void)vec_extend(module->arena, &module->ids, capacity);
      module->ids.data[list->begin - 1] = capacity * 2;
    } else {
      IdList moved = id_list_reserve(module, capacity ? capacity * 2 : 2);
      uint32_t *ids = module->ids.data;
      if (capacity) memcpy(ids + moved.begin, ids + list->begin, capacity * sizeof *ids);
      list->begin = moved.begin;
    }
  }
  module->ids.data[list->begin + list->len++] = id;
}

void comp_push_param(Module *module, CompId comp, InstId param) {
  IdList params = comp_get(module, comp)->params;
  id_list_push(module, &params, param);
  comp_get(module, comp)->params = params;
}

static uint32_t *find_id(const Module *module, IdList list, uint32_t id) {
  uint32_t *ids = module->ids.data + list.begin;
  for (uint32_t i = 0; i < list.len; i++) {
    if (ids[i] == id) return &ids[i];
  }
  return NULL;
}

bool id_list_remove(Module *module, IdList *list, uint32_t id) {
  uint32_t *found = find_id(module, *list, id);
  if (!found) return false;
  uint32_t *end = module->ids.data + list->begin + list->len;
  memmove(found, found + 1, (size_t)(end - found - 1) * sizeof *found);
  list->len--;
  return true;
}

static void add_user(Module *module, InstId operand, InstId user) {
  IdList users = inst_get(module, operand)->users;
  id_list_push(module, &users, user);
  inst_get(module, operand)->users = users;
}

void module_remove_user(Module *module, InstId operand, InstId user) {
  Instruction *inst = inst_get(module, operand);
  uint32_t *found = find_id(module, inst->users, user);
  assert(found && "an operand knows its users");
  *found = module->ids.data[inst->users.begin + inst->users.len - 1];
  inst->users.len--;
}

/* Registers a new instruction as a user of all its operands, once for each of them. */
static void register_operands(Module *module, InstId id) {
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    IdList users = inst_get(module, operand)->users;
    /* Nothing else registers in between, so the last user of a repeated operand is already `id`. */
    if (users.len && module->ids.data[users.begin + users.len - 1] == id) continue;
    add_user(module, operand, id);
  }
}

static InstId append_inst(Module *module, CompId comp, const Instruction *inst) {
  InstId id = module->insts.len;
  *vec_push(module->arena, &module->insts) = *inst;
  IdList insts = comp_get(module, comp)->insts;
  id_list_push(module, &insts, id);
  comp_get(module, comp)->insts = insts;
  register_operands(module, id);
  return id;
}

InstId module_add_inst(Module *module, CompId comp, const InstSpec *spec) {
  uint32_t operands = module->ids.len;
  uint32_t *room = vec_extend(module->arena, &module->ids, spec->num_operands);
  if (spec->num_operands) memcpy(room, spec->operands, spec->num_operands * sizeof *room);
  uint32_t callees = module->ids.len;
  room = vec_extend(module->arena, &module->ids, spec->num_callees);
  if (spec->num_callees) memcpy(room, spec->callees, spec->num_callees * sizeof *room);
  return append_inst(module, comp,
                     &(Instruction){.name = spec->name.data,
                                    .name_len = spec->name.len,
                                    .opcode = (uint16_t)spec->opcode,
                                    .flags = (uint16_t)spec->flags,
                                    .shape = spec->shape,
                                    .parent = comp,
                                    .origin = NO_ID,
                                    .operands = operands,
                                    .num_operands = spec->num_operands,
                                    .callees = callees,
                                    .num_callees = spec->num_callees,
                                    .index = spec->index});
}

static uint32_t copy_ids(Module *module, uint32_t from, uint32_t count) {
  uint32_t to = module->ids.len;
  uint32_t *room = vec_extend(module->arena, &module->ids, count);
  if (count) memcpy(room, module->ids.data + from, count * sizeof *room);
  return to;
}

InstId module_clone_inst(Module *module, InstId original, Str name, CompId comp,
                         const InstId *operands) {
  Instruction clone = *inst_get(module, original);
  clone.name = name.data;
  clone.name_len = name.len;
  clone.parent = comp;
  clone.operands = copy_ids(module, clone.operands, clone.num_operands);
  if (operands && clone.num_operands) {
    memcpy(module->ids.data + clone.operands, operands, clone.num_operands * sizeof *operands);
  }
  clone.callees = copy_ids(module, clone.callees, clone.num_callees);
  clone.users = (IdList){0};
  clone.control = 0;
  clone.flags = (uint16_t)((clone.flags & ~(unsigned)INST_NESTED) | INST_CHANGED);
  return append_inst(module, comp, &clone);
}

void module_set_operand(Module *module, InstId user, uint32_t index, InstId operand) {
  Instruction *inst = inst_get(module, user);
  InstId old = module->ids.data[inst->operands + index];
  if (old == operand) return;
  bool is_known_user = inst_count_operand(module, user, operand) > 0;
  module->ids.data[inst->operands + index] = operand;
  inst->flags |= INST_CHANGED;
  if (inst_count_operand(module, user, old) == 0) module_remove_user(module, old, user);
  if (!is_known_user) add_user(module, operand, user);
}

void module_append_operand(Module *module, InstId user, InstId operand) {
  bool is_known_user = inst_count_operand(module, user, operand) > 0;
  uint32_t old = inst_get(module, user)->operands, count = inst_get(module, user)->num_operands;
  uint32_t operands = copy_ids(module, old, count);
  *vec_push(module->arena, &module->ids) = operand;
  Instruction *inst = inst_get(module, user);
  inst->operands = operands;
  inst->num_operands = count + 1;
  inst->flags |= INST_CHANGED | INST_NEW_OPERANDS;
  if (!is_known_user) add_user(module, operand, user);
}

void module_keep_operands(Module *module, InstId id, const bool *keep) {
  Instruction *inst = inst_get(module, id);
  InstId *operands = module->ids.data + inst->operands;
  uint32_t kept = 0, all = inst->num_operands;
  for (uint32_t i = 0; i < all; i++) {
    if (keep[i]) {
      operands[kept++] = operands[i];
      continue;
    }
    InstId dropped = operands[i];
    bool is_read_elsewhere = false;
    for (uint32_t k = 0; k < kept; k++)
      is_read_elsewhere |= operands[k] == dropped;
    for (uint32_t k = i + 1; k < all; k++)
      is_read_elsewhere |= operands[k] == dropped;
    if (!is_read_elsewhere) module_remove_user(module, dropped, id);
  }
  inst->num_operands = kept;
  inst->flags |= INST_CHANGED | INST_NEW_OPERANDS;
}

/* Returns the element of Module.control that belongs to this instruction alone. */
static uint32_t own_control(Module *module, InstId id) {
  if (inst_get(module, id)->control == 0) {
    inst_get(module, id)->control = module->control.len;
    *vec_push(module->arena, &module->control) = (ControlDeps){0};
  }
  return inst_get(module, id)->control;
}

/* An edge is in the lists of both instructions, so the shorter list is searched. */
static bool has_control(const Module *module, InstId predecessor, InstId successor) {
  IdList successors = inst_control(module, predecessor)->successors;
  IdList predecessors = inst_control(module, successor)->predecessors;
  if (successors.len < predecessors.len) return find_id(module, successors, successor);
  return find_id(module, predecessors, predecessor);
}

void module_add_control(Module *module, InstId predecessor, InstId successor) {
  if (has_control(module, predecessor, successor)) return;
  uint32_t control = own_control(module, successor); /* this call may move the array */
  IdList list = module->control.data[control].predecessors;
  id_list_push(module, &list, predecessor);
  module->control.data[control].predecessors = list;

  control = own_control(module, predecessor);
  list = module->control.data[control].successors;
  id_list_push(module, &list, successor);
  module->control.data[control].successors = list;
  inst_get(module, successor)->flags |= INST_CHANGED;
}

void module_drop_control_predecessors(Module *module, InstId id) {
  IdList own = inst_control(module, id)->predecessors;
  if (own.len == 0) return;
  for (uint32_t i = 0; i < own.len; i++) {
    InstId other = id_list(module, own)[i];
    id_list_remove(module, &module->control.data[inst_get(module, other)->control].successors, id);
  }
  module->control.data[inst_get(module, id)->control].predecessors = (IdList){0};
  inst_get(module, id)->flags |= INST_CHANGED;
}

void module_drop_control(Module *module, InstId id) {
  if (inst_get(module, id)->control == 0) return;
  module_drop_control_predecessors(module, id);
  ControlDeps own = *inst_control(module, id);
  for (uint32_t i = 0; i < own.successors.len; i++) {
    InstId other = id_list(module, own.successors)[i];
    id_list_remove(module, &module->control.data[inst_get(module, other)->control].predecessors,
                   id);
    inst_get(module, other)->flags |= INST_CHANGED;
  }
  module->control.data[inst_get(module, id)->control] = (ControlDeps){0};
  inst_get(module, id)->flags |= INST_CHANGED;
}

void module_copy_control(Module *module, InstId from, InstId to) {
  ControlDeps deps = *inst_control(module, from);
  for (uint32_t i = 0; i < deps.predecessors.len; i++) {
    module_add_control(module, id_list(module, deps.predecessors)[i], to);
  }
  for (uint32_t i = 0; i < deps.successors.len; i++) {
    module_add_control(module, to, id_list(module, deps.successors)[i]);
  }
}

void module_move_control_successors(Module *module, InstId from, InstId to) {
  IdList moved = inst_control(module, from)->successors;
  if (moved.len == 0) return;
  uint32_t old = own_control(module, from), new = own_control(module, to);
  module->control.data[old].successors = (IdList){0};
  for (uint32_t i = 0; i < moved.len; i++) {
    InstId successor = id_list(module, moved)[i];
    IdList *predecessors = &module->control.data[inst_get(module, successor)->control].predecessors;
    inst_get(module, successor)->flags |= INST_CHANGED;
    if (has_control(module, to, successor)) {
      id_list_remove(module, predecessors, from);
      continue;
    }
    *find_id(module, *predecessors, from) = to;
    id_list_push(module, &module->control.data[new].successors, successor);
  }
}

void module_remove_inst(Module *module, InstId id) {
  assert(inst_get(module, id)->users.len == 0 && "only what nobody reads can go");
  module_drop_control(module, id);
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    if (find_id(module, inst_get(module, operand)->users, id))
      module_remove_user(module, operand, id);
  }
  inst_get(module, id)->flags |= INST_DEAD;
}

void module_sweep_comp(Module *module, CompId comp) {
  IdList *insts = &comp_get(module, comp)->insts;
  uint32_t *ids = module->ids.data + insts->begin;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < insts->len; i++) {
    if (!(inst_get(module, ids[i])->flags & INST_DEAD)) ids[kept++] = ids[i];
  }
  insts->len = kept;
}

void module_set_callee(Module *module, InstId id, uint32_t index, CompId callee) {
  Instruction *inst = inst_get(module, id);
  if (module->ids.data[inst->callees + index] == callee) return;
  module->ids.data[inst->callees + index] = callee;
  inst->flags |= INST_CHANGED;
}

CompId module_add_comp(Module *module, Str name, CompId origin) {
  CompId id = module->comps.len;
  *vec_push(module->arena, &module->comps) = (Computation){.name = name.data,
                                                           .name_len = name.len,
                                                           .origin = origin,
                                                           .root = NO_ID,
                                                           .thread = STR("main")};
  return id;
}
