#include "analysis/call_graph.h"
#include "remat/expand.h"
#include "remat/prepare.h"

static bool is_wanted(const Module *module, InstId id, unsigned kinds) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode != OPCODE_FUSION || inst->flags & INST_DEAD) return false;
  switch (inst_attr_int(module, id, ATTR_FUSION_KIND, FUSION_CUSTOM)) {
    case FUSION_LOOP: return kinds & UNFUSE_LOOP;
    case FUSION_INPUT: return kinds & UNFUSE_INPUT;
    case FUSION_OUTPUT: return kinds & UNFUSE_OUTPUT;
    default: return false;
  }
}

uint32_t unfuse(Rewrite *rewrite, Schedule *schedule, unsigned kinds, Arena *out, Arena *scratch) {
  Module *module = rewrite->module;
  Arena *arena = arena_new(arena_options(scratch));
  CallGraph graph = call_graph_build(module, arena, scratch);
  Expansions expansions = expansions_begin(module, arena);
  uint32_t num_fusions = 0;
  for (uint32_t i = 0; i < graph.num_reachable; i++) { /* fusions inside of fusions first */
    CompId comp = graph.post_order[i];
    uint32_t num_insts = comp_num_insts(module, comp);
    for (uint32_t k = 0; k < num_insts; k++) {
      InstId fusion = comp_inst(module, comp, k);
      if (!is_wanted(module, fusion, kinds)) continue;
      CompId callee = inst_callees(module, fusion)[0];
      bool is_only = graph.first_caller[callee + 1] - graph.first_caller[callee] == 1;
      NewInsts copies = rewrite_inline(rewrite, fusion, NULL, is_only ? NULL : "unfused", scratch);
      expansions_add(&expansions, fusion, copies);
      num_fusions++;
    }
    module_sweep_comp(module, comp);
    expansions_apply(&expansions, module, comp, schedule, out);
  }
  arena_free(arena);
  return num_fusions;
}
