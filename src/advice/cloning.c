#include "advice/cloning.h"

#include "analysis/memory/remat_memory.h"
#include "remat/rewrite/dce.h"

void cloning_copy(Cloning *cloning, const Advisor *advisor) {
  Arena *arena = arena_new(arena_options(advisor->scratch));
  rh_module *made = advisor_copy(advisor);
  *cloning = (Cloning){.made = made, .rewrite = rewrite_begin(made->module), .arena = arena};
}

void cloning_choose(Cloning *cloning, const Advisor *advisor, CompId comp, SchedPos forward_end) {
  Arena *arena = cloning->arena, *scratch = advisor->scratch;
  rh_module *made = cloning->made;
  Module *module = made->module;
  cloning->legality = (Legality){.module = module,
                                 .effects = side_effects_build(module, arena, scratch),
                                 .allow_collectives = true,
                                 .allow_custom_calls = true, /* a program's operations as well */
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

void cloning_begin(Cloning *cloning, const Advisor *advisor, CompId comp, SchedPos forward_end) {
  cloning_copy(cloning, advisor);
  cloning_choose(cloning, advisor, comp, forward_end);
}

static InstId add_holder(Rewrite *rewrite, InstId value, InstId reader) {
  Module *module = rewrite->module;
  ElementType type = (ElementType)inst_shape(module, value)->type;
  InstSpec spec = {.opcode = OPCODE_SLICE,
                   .shape = inst_get(module, value)->shape,
                   .operands = &value,
                   .num_operands = 1};
  InstId helper = rewrite_add_helper(rewrite, inst_get(module, reader)->parent, spec);
  inst_get(module, helper)->shape = rewrite_scalar(rewrite, type);
  return helper;
}

InstId cloning_hold(Rewrite *rewrite, InstId value, InstId reader) {
  InstId helper = add_holder(rewrite, value, reader);
  module_add_control(rewrite->module, reader, helper);
  return helper;
}

InstId cloning_hold_until(Rewrite *rewrite, InstId value, InstId reader) {
  InstId helper = add_holder(rewrite, value, reader);
  module_add_control(rewrite->module, helper, reader);
  return helper;
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
