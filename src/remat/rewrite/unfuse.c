#include "remat/rewrite/unfuse.h"

#include "analysis/flow/alias.h"
#include "analysis/flow/call_graph.h"
#include "analysis/flow/copy_stage.h"
#include "remat/rewrite/expand.h"

bool unfuse_is_wanted(const Module *module, InstId id, unsigned kinds) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode != OPCODE_FUSION || inst->flags & INST_DEAD) return false;
  switch (inst_attr_int(module, id, ATTR_FUSION_KIND, FUSION_CUSTOM)) {
    case FUSION_LOOP: return kinds & UNFUSE_LOOP;
    case FUSION_INPUT: return kinds & UNFUSE_INPUT;
    case FUSION_OUTPUT: return kinds & UNFUSE_OUTPUT;
    default: return false;
  }
}

/* Returns whether a fusion returns one of its parameters; it then makes a copy. */
static bool returns_parameter(const Module *module, CompId comp) {
  InstId root = comp_get(module, comp)->root;
  if (inst_get(module, root)->opcode == OPCODE_PARAMETER) return true;
  if (inst_get(module, root)->opcode != OPCODE_TUPLE) return false;
  for (uint32_t i = 0; i < inst_get(module, root)->num_operands; i++) {
    InstId operand = inst_operand(module, root, i);
    while (opcode_only_passes_on((Opcode)inst_get(module, operand)->opcode) &&
           inst_get(module, operand)->num_operands)
      operand = inst_operand(module, operand, 0);
    if (inst_get(module, operand)->opcode == OPCODE_PARAMETER) return true;
  }
  return false;
}

/* By CompId: whether the computation, or one that it calls, returns a parameter or contains an
 * instruction that works in place. */
static bool *find_in_place(const Module *module, const CallGraph *graph, Arena *out) {
  bool *is_in_place = arena_zarray(out, bool, module->comps.len);
  for (uint32_t i = 0; i < graph->num_reachable; i++) { /* callees first */
    CompId comp = graph->post_order[i];
    is_in_place[comp] = returns_parameter(module, comp);
    for (uint32_t k = 0; k < comp_num_insts(module, comp) && !is_in_place[comp]; k++) {
      InstId id = comp_inst(module, comp, k);
      InPlacePairs pairs = {0};
      in_place_pairs(module, id, &pairs, out);
      is_in_place[comp] = pairs.list.len > 0;
      for (uint32_t c = 0; c < inst_get(module, id)->num_callees; c++)
        is_in_place[comp] |= is_in_place[inst_callees(module, id)[c]];
    }
  }
  return is_in_place;
}

typedef struct Opening {
  const Module *module;
  unsigned kinds;
  /* By CompId; NULL = XLA still inserts copies. A fusion reads and writes element by element. When
   * its instructions run one after the other, one may overwrite what another has still to read. */
  const bool *is_in_place;
} Opening;

static bool is_opened(const Opening *opening, InstId id) {
  if (!unfuse_is_wanted(opening->module, id, opening->kinds)) return false;
  return !opening->is_in_place || !opening->is_in_place[inst_callees(opening->module, id)[0]];
}

/* By CompId: whether the computation is a part of a fusion that is kept. Such a fusion is kept as
 * it is, with the fusions in it. */
static bool *find_kept(const Opening *opening, const CallGraph *graph, Arena *out) {
  const Module *module = opening->module;
  bool *is_kept = arena_zarray(out, bool, module->comps.len);
  for (uint32_t i = graph->num_reachable; i-- > 0;) { /* callers first */
    CompId comp = graph->post_order[i];
    IdSpan callers = callers_of(graph, comp);
    for (uint32_t k = 0; k < callers.len; k++) {
      const Instruction *caller = inst_get(module, callers.ids[k]);
      bool is_fused = caller->opcode == OPCODE_FUSION && !is_opened(opening, callers.ids[k]);
      is_kept[comp] |= is_fused || is_kept[caller->parent];
    }
  }
  return is_kept;
}

uint32_t unfuse(Rewrite *rewrite, Schedule *schedule, unsigned kinds, Arena *out, Arena *scratch) {
  Module *module = rewrite->module;
  Arena *arena = arena_new(arena_options(scratch));
  CallGraph graph = call_graph_build(module, arena, scratch);
  Expansions expansions = expansions_begin(module, arena);
  Opening opening = {.module = module, .kinds = kinds};
  if (kinds & UNFUSE_ALL && copies_are_inserted(module))
    opening.is_in_place = find_in_place(module, &graph, arena);
  const bool *is_kept = find_kept(&opening, &graph, arena);
  uint32_t num_fusions = 0;
  for (uint32_t i = 0; i < graph.num_reachable; i++) { /* fusions inside of fusions first */
    CompId comp = graph.post_order[i];
    if (is_kept[comp] || comp_is_started(module, &graph, comp)) continue;
    uint32_t num_insts = comp_num_insts(module, comp);
    for (uint32_t k = 0; k < num_insts; k++) {
      InstId fusion = comp_inst(module, comp, k);
      if (!is_opened(&opening, fusion)) continue;
      bool is_only = only_caller_of(&graph, inst_callees(module, fusion)[0]) != NO_ID;
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
