#include "analysis/flow/side_effect.h"

#include "analysis/flow/call_graph.h"

/* A channel connects instructions of different programs, unless all devices run the same program.
 * This is XLA's ChannelIdSensitive, as far as the text allows. */
static bool uses_channel(const Module *module, InstId id) {
  return inst_get(module, id)->flags & INST_HAS_CHANNEL &&
         module->source->header.num_partitions == 1;
}

bool inst_has_own_side_effect(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (opcode_info((Opcode)inst->opcode)->flags & OPF_SIDE_EFFECT) return true;
  switch (inst->opcode) {
    case OPCODE_ALL_TO_ALL:
    case OPCODE_ALL_GATHER:
    case OPCODE_ALL_REDUCE:
    case OPCODE_REDUCE_SCATTER:
      return inst->flags & INST_CONSTRAINS_LAYOUT || uses_channel(module, id);
    case OPCODE_COLLECTIVE_PERMUTE: return uses_channel(module, id);
    case OPCODE_CUSTOM_CALL: return inst->flags & INST_CALL_SIDE_EFFECT;
    default: return false;
  }
}

/* Whether the instruction is one of the two halves of a collective. XLA says that they have side
 * effects, so that nothing removes one half; the result is as much a function of the operands as
 * that of the whole. */
static bool is_half_of_collective(Opcode opcode) {
  switch (opcode) {
    case OPCODE_ALL_GATHER_START:
    case OPCODE_ALL_GATHER_DONE:
    case OPCODE_ALL_REDUCE_START:
    case OPCODE_ALL_REDUCE_DONE:
    case OPCODE_COLLECTIVE_PERMUTE_START:
    case OPCODE_COLLECTIVE_PERMUTE_DONE: return true;
    default: return false;
  }
}

bool inst_has_own_counted_effect(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  if (opcode == OPCODE_COLLECTIVE_PERMUTE || is_half_of_collective(opcode) ||
      opcode_info(opcode)->flags & OPF_COLLECTIVE)
    return false;
  return inst_has_own_side_effect(module, id);
}

/* Callers come before what they call. */
static const bool *find_alone(const Module *module, const CallGraph *graph, Arena *out) {
  bool *is_alone = arena_zarray(out, bool, module->comps.len);
  for (uint32_t i = graph->num_reachable; i-- > 0;) {
    CompId comp = graph->post_order[i];
    for (uint32_t k = 0; k < comp_num_insts(module, comp); k++) {
      InstId id = comp_inst(module, comp, k);
      if (inst_get(module, id)->num_callees == 0) continue;
      bool is_inside = is_alone[comp] || call_is_compiled_alone(module, id);
      for (uint32_t c = 0; is_inside && c < inst_get(module, id)->num_callees; c++)
        is_alone[inst_callees(module, id)[c]] = true;
    }
  }
  return is_alone;
}

/* A computation without callers, such as one that was cloned, is in no call graph. It is marked as
 * having side effects, which does not matter because the mark is never read. */
SideEffects side_effects_build(const Module *module, Arena *out, Arena *scratch) {
  bool *of_comp = arena_array(out, bool, module->comps.len);
  bool *are_counted = arena_array(out, bool, module->comps.len);
  memset(of_comp, true, module->comps.len * sizeof *of_comp);
  memset(are_counted, true, module->comps.len * sizeof *are_counted);
  SideEffects effects = {
      .of_comp = of_comp, .are_counted = are_counted, .num_comps = module->comps.len};
  ArenaMark mark = arena_mark(scratch);
  Arena *inner = arena_new(arena_options(scratch));
  CallGraph graph = call_graph_build(module, scratch, inner);
  for (uint32_t i = 0; i < graph.num_reachable; i++) {
    CompId comp = graph.post_order[i];
    bool has_effect = false, is_counted = false;
    for (uint32_t k = 0; !is_counted && k < comp_num_insts(module, comp); k++) {
      InstId id = comp_inst(module, comp, k);
      has_effect |= inst_has_side_effect(module, &effects, id);
      is_counted |= inst_has_counted_effect(module, &effects, id);
    }
    of_comp[comp] = has_effect;
    are_counted[comp] = is_counted;
  }
  effects.is_alone = find_alone(module, &graph, out);
  arena_free(inner);
  arena_reset(scratch, mark);
  return effects;
}

bool inst_is_compiled_alone(const Module *module, const SideEffects *effects, InstId id) {
  CompId comp = inst_get(module, id)->parent;
  if (comp >= effects->num_comps) comp = comp_get(module, comp)->origin;
  return comp < effects->num_comps && effects->is_alone[comp];
}

static bool is_of_callee(const Module *module, const SideEffects *effects, const bool *of_comp,
                         InstId id) {
  const Instruction *inst = inst_get(module, id);
  for (uint32_t i = 0; i < inst->num_callees; i++) {
    CompId callee = inst_callees(module, id)[i];
    if (callee >= effects->num_comps) callee = comp_get(module, callee)->origin;
    if (of_comp[callee]) return true;
  }
  return false;
}

bool inst_has_side_effect(const Module *module, const SideEffects *effects, InstId id) {
  return inst_has_own_side_effect(module, id) ||
         is_of_callee(module, effects, effects->of_comp, id);
}

bool inst_has_counted_effect(const Module *module, const SideEffects *effects, InstId id) {
  return inst_has_own_counted_effect(module, id) ||
         is_of_callee(module, effects, effects->are_counted, id);
}

bool inst_keeps_sequence(const Module *module, const SideEffects *effects, InstId id) {
  bool is_collective = opcode_info((Opcode)inst_get(module, id)->opcode)->flags & OPF_COLLECTIVE;
  return is_collective || inst_has_side_effect(module, effects, id);
}
