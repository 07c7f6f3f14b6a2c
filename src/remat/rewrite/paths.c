#include "remat/rewrite/paths.h"

Paths paths_begin(const Module *module, const Schedule *schedule, uint32_t max_steps,
                  Arena *arena) {
  Paths paths = {.module = module,
                 .positions = arena_zarray(arena, SchedPos, module->insts.len),
                 .visited_in = arena_zarray(arena, uint32_t, module->insts.len),
                 .max_steps = max_steps,
                 .arena = arena};
  for (CompId comp = 0; comp < schedule->num_comps; comp++) {
    for (SchedPos pos = 0; pos < schedule->of[comp].len; pos++)
      paths.positions[schedule->of[comp].ids[pos]] = pos;
  }
  return paths;
}

static void push(Paths *paths, InstId id, SchedPos not_before) {
  if (paths->positions[id] < not_before || paths->visited_in[id] == paths->search) return;
  paths->visited_in[id] = paths->search;
  *vec_push(paths->arena, &paths->work) = id;
}

static bool follows_directly(const Module *module, InstId earlier, InstId later) {
  IdList after = inst_control(module, earlier)->successors;
  for (uint32_t i = 0; i < after.len; i++) {
    if (id_list(module, after)[i] == later) return true;
  }
  return inst_count_operand(module, later, earlier) > 0;
}

bool must_follow(Paths *paths, InstId earlier, InstId later) {
  const Module *module = paths->module;
  if (follows_directly(module, earlier, later)) return true;
  SchedPos not_before = paths->positions[earlier];
  paths->search++;
  paths->work.len = 0;
  push(paths, later, not_before);
  for (uint32_t next = 0; next < paths->work.len && next < paths->max_steps; next++) {
    InstId id = paths->work.data[next];
    if (id == earlier) return true;
    IdList before = inst_control(module, id)->predecessors;
    for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++)
      push(paths, inst_operand(module, id, i), not_before);
    for (uint32_t i = 0; i < before.len; i++)
      push(paths, id_list(module, before)[i], not_before);
  }
  return false;
}
