#include "analysis/flow/traverse.h"

enum { NEW, VISITING, VISITED };

typedef struct Walk {
  const Module *module;
  Arena *scratch;
  uint8_t *state; /* by InstId */
  VEC(InstId) stack;
  Sequence order;
} Walk;

static void push(Walk *walk, InstId id) {
  if (walk->state[id] != VISITED) *vec_push(walk->scratch, &walk->stack) = id;
}

static void walk_from(Walk *walk, InstId root) {
  const Module *module = walk->module;
  push(walk, root);
  while (walk->stack.len) {
    InstId id = walk->stack.data[walk->stack.len - 1];
    if (walk->state[id] != NEW) {
      walk->stack.len--;
      if (walk->state[id] != VISITED) walk->order.ids[walk->order.len++] = id;
      walk->state[id] = VISITED;
      continue;
    }
    walk->state[id] = VISITING;
    for (uint32_t i = inst_get(module, id)->num_operands; i-- > 0;) {
      push(walk, inst_operand(module, id, i));
    }
    IdList predecessors = inst_control(module, id)->predecessors;
    for (uint32_t i = 0; i < predecessors.len; i++)
      push(walk, id_list(module, predecessors)[i]);
  }
}

Sequence inst_post_order(const Module *module, CompId comp, uint8_t *visited, Arena *out,
                         Arena *scratch) {
  uint32_t num_insts = comp_num_insts(module, comp);
  Walk walk = {.module = module,
               .scratch = scratch,
               .state = visited,
               .order.ids = arena_array(out, InstId, num_insts)};
  ArenaMark mark = arena_mark(scratch);
  for (uint32_t i = 0; i < num_insts; i++) {
    InstId id = comp_inst(module, comp, i);
    if (inst_get(module, id)->users.len == 0) walk_from(&walk, id);
  }
  arena_reset(scratch, mark);
  return walk.order;
}

Sequence topological_order(const Module *module, const Schedule *schedule, CompId comp,
                           uint8_t *visited, Arena *out, Arena *scratch) {
  if (schedule && comp < schedule->num_comps && schedule->of[comp].len) return schedule->of[comp];
  return inst_post_order(module, comp, visited, out, scratch);
}
