#include "ir/schedule.h"

Schedule schedule_new(const Module *module, Arena *out) {
  return (Schedule){.of = arena_zarray(out, Sequence, module->comps.len),
                    .num_comps = module->comps.len};
}

static Sequence copy_ids(const InstId *ids, uint32_t len, Arena *out) {
  Sequence sequence = {.ids = arena_array(out, InstId, len), .len = len};
  if (len) memcpy(sequence.ids, ids, len * sizeof *ids);
  return sequence;
}

Schedule schedule_in_text_order(const Module *module, Arena *out) {
  Schedule schedule = schedule_new(module, out);
  for (CompId id = 0; id < module->comps.len; id++) {
    const Computation *comp = comp_get(module, id);
    if (comp->flags & COMP_DEAD) continue;
    schedule.of[id] = copy_ids(id_list(module, comp->insts), comp->insts.len, out);
  }
  return schedule;
}

Schedule schedule_copy(const Schedule *schedule, const Module *module, Arena *out) {
  Schedule copy = schedule_new(module, out);
  for (CompId id = 0; id < schedule->num_comps; id++) {
    copy.of[id] = copy_ids(schedule->of[id].ids, schedule->of[id].len, out);
  }
  return copy;
}

bool schedule_is_valid(const Module *module, const Schedule *schedule, InstId *bad,
                       Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  bool *is_placed = arena_zarray(scratch, bool, module->insts.len);
  bool ok = true;
  for (CompId comp = 0; ok && comp < schedule->num_comps; comp++) {
    Sequence sequence = schedule->of[comp];
    if (sequence.len == 0) continue;
    for (uint32_t i = 0; ok && i < sequence.len; i++) {
      *bad = sequence.ids[i];
      const Instruction *inst = inst_get(module, *bad);
      ok = inst->parent == comp && !is_placed[*bad] && !(inst->flags & INST_DEAD);
      for (uint32_t k = 0; ok && k < inst->num_operands; k++) {
        ok = is_placed[inst_operand(module, *bad, k)];
      }
      IdList before = inst_control(module, *bad)->predecessors;
      for (uint32_t k = 0; ok && k < before.len; k++)
        ok = is_placed[id_list(module, before)[k]];
      is_placed[*bad] = true;
    }
    for (uint32_t i = 0; ok && i < comp_num_insts(module, comp); i++) {
      *bad = comp_inst(module, comp, i);
      ok = is_placed[*bad] || (inst_get(module, *bad)->flags & INST_DEAD);
    }
  }
  arena_reset(scratch, mark);
  return ok;
}
