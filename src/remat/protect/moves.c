/* Protection of moves: control dependencies that hold instructions at their new places. */
#include "remat/protect/protect.h"
#include "remat/rewrite/paths.h"

enum {
  /* a pair without a path of at most this length gets a control dependency */
  SHORT_PATH_STEPS = 64,
};

/* What takes no time may run at any time, and most clones wait for what is before them already: a
 * clone counts only where the whole order is held. */
static bool is_linked(const Module *module, InstId id, const bool *is_moved) {
  const Instruction *inst = inst_get(module, id);
  if (opcode_has((Opcode)inst->opcode, OPF_FREE)) return false;
  return !is_moved || is_moved[id] || !(inst->flags & INST_REMAT);
}

void protect_order(Rewrite *rewrite, const Schedule *schedule, const bool *is_moved,
                   Arena *scratch) {
  Module *module = rewrite->module;
  Arena *arena = arena_new(arena_options(scratch));
  Paths paths = paths_begin(module, schedule, SHORT_PATH_STEPS, arena);
  for (CompId comp = 0; comp < schedule->num_comps; comp++) {
    Sequence sequence = schedule->of[comp];
    InstId before = NO_ID;
    for (SchedPos pos = 0; pos < sequence.len; pos++) {
      InstId id = sequence.ids[pos];
      if (!is_linked(module, id, is_moved)) continue;
      bool is_held = before != NO_ID && (!is_moved || is_moved[before] || is_moved[id]);
      if (is_held && !must_follow(&paths, before, id)) module_add_control(module, before, id);
      before = id;
    }
  }
  arena_free(arena);
}
