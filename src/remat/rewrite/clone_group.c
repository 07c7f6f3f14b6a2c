#include "remat/rewrite/clone_group.h"

#include "analysis/flow/call_graph.h"

bool clone_group_may_tie(const Module *module, InstId id) {
  if (inst_get(module, id)->opcode == OPCODE_GET_TUPLE_ELEMENT) id = inst_operand(module, id, 0);
  Str target = inst_attr_string(module, id, ATTR_CUSTOM_CALL_TARGET);
  return !call_is_of_one_shard(module, id) && !str_begins_with(target, "xla.sdy.GlobalToLocal");
}

bool clone_group_has(const CloneGroups *groups, InstId id) {
  return id < groups->serials.len && groups->serials.data[id] == groups->num_groups;
}

static void make_room(IdVec *by_inst, uint32_t num_insts, Arena *arena) {
  if (by_inst->len >= num_insts) return;
  uint32_t missing = num_insts - by_inst->len;
  memset(vec_extend(arena, by_inst, missing), 0, missing * sizeof *by_inst->data);
}

static bool reads_group(const CloneGroups *groups, InstId id) {
  const Module *module = groups->rewrite->module;
  for (uint32_t k = 0; k < inst_get(module, id)->num_operands; k++) {
    if (clone_group_has(groups, inst_operand(module, id, k))) return true;
  }
  return false;
}

bool clone_group_reads(const CloneGroups *groups, InstId member) {
  const Module *module = groups->rewrite->module;
  for (uint32_t i = 0; i < inst_get(module, member)->users.len; i++) {
    if (clone_group_has(groups, inst_users(module, member)[i])) return true;
  }
  return false;
}

bool clone_group_is_cheap(const CloneGroups *groups, InstId member) {
  const Module *module = groups->rewrite->module;
  switch (inst_get(module, member)->opcode) {
    case OPCODE_IOTA: return groups->is_fused_later;
    case OPCODE_BROADCAST: {
      InstId operand = inst_operand(module, member, 0);
      bool is_scalar = shape_is_effective_scalar(inst_shape(module, operand));
      return groups->is_fused_later && is_scalar && !clone_group_has(groups, operand);
    }
    default: return false;
  }
}

bool clone_group_exports(const CloneGroups *groups, InstId member) {
  const Module *module = groups->rewrite->module;
  for (uint32_t i = 0; i < inst_get(module, member)->users.len; i++) {
    if (!clone_group_has(groups, inst_users(module, member)[i])) return true;
  }
  return inst_is_root(module, member);
}

/* Returns whether an instruction computes a value a second time. A copy that holds a value in
 * another layout does not, but the copy back to the first layout does. */
static bool is_second(const Rewrite *rewrite, InstId id) {
  InstId original = rewrite_value_source(rewrite, id);
  if (original == NO_ID) return false;
  bool is_copy = rewrite_original(rewrite, id) == NO_ID;
  return !is_copy || inst_operand(rewrite->module, id, 0) != original;
}

typedef enum Place { PLACE_MEMBER, PLACE_BEFORE, PLACE_OUTSIDE } Place;

/* Returns how the next instruction of the sequence relates to the group. */
static Place place_of(const CloneGroups *groups, InstId id) {
  const Module *module = groups->rewrite->module;
  const Instruction *inst = inst_get(module, id);
  if (groups->is_unfit && id < groups->num_insts && groups->is_unfit[id]) return PLACE_OUTSIDE;
  bool is_free = opcode_has((Opcode)inst->opcode, OPF_FREE), reads = reads_group(groups, id);
  if (is_free && !reads) return inst_has_control(module, id) ? PLACE_OUTSIDE : PLACE_BEFORE;
  bool is_helper = is_free && inst->flags & INST_REMAT;
  return is_helper || is_second(groups->rewrite, id) ? PLACE_MEMBER : PLACE_OUTSIDE;
}

/* Moves the last bitcasts from the members to `after`: no member reads them, so they need not be in
 * the group with their operands. */
static void split_bitcasts(CloneGroups *groups, CloneGroup *group) {
  const Module *module = groups->rewrite->module;
  uint32_t first = group->members.len;
  while (first > 0) {
    InstId id = group->members.data[first - 1];
    if (inst_get(module, id)->opcode != OPCODE_BITCAST || clone_group_reads(groups, id)) break;
    groups->serials.data[id] = 0;
    first--;
  }
  for (uint32_t i = first; i < group->members.len; i++) {
    *vec_push(groups->arena, &group->after) = group->members.data[i];
  }
  group->members.len = first;
}

static void list_operands(CloneGroups *groups, CloneGroup *group) {
  const Module *module = groups->rewrite->module;
  for (uint32_t i = 0; i < group->members.len; i++) {
    InstId id = group->members.data[i];
    for (uint32_t k = 0; k < inst_get(module, id)->num_operands; k++) {
      InstId operand = inst_operand(module, id, k);
      bool is_known = groups->listed_in.data[operand] == groups->num_groups;
      if (is_known || clone_group_has(groups, operand)) continue;
      groups->listed_in.data[operand] = groups->num_groups;
      *vec_push(groups->arena, &group->operands) = operand;
    }
  }
}

bool clone_group_at(CloneGroups *groups, Sequence sequence, SchedPos begin, CloneGroup *group) {
  const Module *module = groups->rewrite->module;
  *group = (CloneGroup){.comp = inst_get(module, sequence.ids[begin])->parent, .end = begin};
  groups->num_groups++;
  make_room(&groups->serials, module->insts.len, groups->arena);
  make_room(&groups->listed_in, module->insts.len, groups->arena);
  uint32_t num_before = 0; /* the number of those that stand before a member */
  for (SchedPos pos = begin; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    Place place = place_of(groups, id);
    if (place == PLACE_OUTSIDE) break;
    if (place == PLACE_BEFORE) {
      if (pos == begin) return false; /* the group begins with a member */
      *vec_push(groups->arena, &group->before) = id;
      continue;
    }
    groups->serials.data[id] = groups->num_groups;
    *vec_push(groups->arena, &group->members) = id;
    num_before = group->before.len;
    group->end = pos + 1;
  }
  group->before.len = num_before;
  if (group->members.len == 0) return false;
  split_bitcasts(groups, group);
  list_operands(groups, group);
  return true;
}
