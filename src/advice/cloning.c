#include "advice/cloning.h"

#include "analysis/memory/remat_memory.h"
#include "remat/rewrite/dce.h"

void cloning_begin(Cloning *cloning, const Advisor *advisor, CompId comp, SchedPos forward_end) {
  Arena *arena = arena_new(arena_options(advisor->scratch)), *scratch = advisor->scratch;
  rh_module *made = advisor_copy(advisor);
  Module *module = made->module;
  *cloning = (Cloning){.made = made, .rewrite = rewrite_begin(module), .arena = arena};
  cloning->legality = (Legality){.module = module,
                                 .effects = side_effects_build(module, arena, scratch),
                                 .allow_collectives = true,
                                 .any_rounding = true,
                                 .is_kept = arena_zarray(arena, bool, module->insts.len),
                                 .num_kept = module->insts.len};
  cloning->job = (RematJob){
      .rewrite = &cloning->rewrite, .schedule = &made->schedule, .legality = &cloning->legality};
  cloning->points_to = points_to_build(module, arena, scratch);
  RematMemory memory = remat_memory(module, &made->schedule, arena, scratch);
  cloning->choice = checkpoint_choice_begin(&cloning->job, &cloning->points_to, comp, forward_end,
                                            memory.of[comp].bytes_at, arena, scratch);
}

void cloning_drop_dead(Cloning *cloning, Arena *scratch) {
  rh_module *made = cloning->made;
  dce_run(&cloning->rewrite, scratch);
  dce_update_schedule(made->module, &made->schedule, made->arena);
}

rh_module *cloning_end(Cloning *cloning, bool has_clones) {
  rh_module *made = cloning->made;
  if (!has_clones) {
    rh_module_free(made);
    made = NULL;
  }
  arena_free(cloning->arena);
  return made;
}
