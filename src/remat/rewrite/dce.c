#include "remat/rewrite/dce.h"

#include "analysis/flow/call_graph.h"
#include "analysis/flow/rounding.h"

typedef struct Dce {
  Rewrite *rewrite;
  Module *module;
  SideEffects effects;
  const bool *rounds_alike; /* by InstId: see dce_run_proven(); NULL = nothing is known */
  Arena *scratch;
} Dce;

/* ---- dead instructions ---- */

/* XLA's partitioner needs these custom calls (hlo_dce.cc, CanRemoveInstruction). */
static bool is_needed_sharding(const Module *module, InstId id) {
  if (inst_get(module, id)->opcode != OPCODE_CUSTOM_CALL ||
      inst_get(module, id)->num_operands == 0 ||
      !str_is(inst_attr_string(module, id, ATTR_CUSTOM_CALL_TARGET), "Sharding")) {
    return false;
  }
  InstId operand = inst_operand(module, id, 0);
  return inst_is_root(module, operand) || inst_get(module, operand)->opcode == OPCODE_PARAMETER ||
         inst_get(module, operand)->users.len != 1;
}

/* Whether something waits for the instruction, or it for something, so that it must stay. */
static bool is_tied(const Rewrite *rewrite, InstId id) {
  return inst_has_control(rewrite->module, id) && !rewrite->drops_control;
}

static bool is_removable(const Dce *dce, InstId id) {
  const Instruction *inst = inst_get(dce->module, id);
  return !(inst->flags & INST_DEAD) && inst->users.len == 0 && !is_tied(dce->rewrite, id) &&
         inst->opcode != OPCODE_PARAMETER && !inst_is_root(dce->module, id) &&
         !inst_has_side_effect(dce->module, &dce->effects, id) &&
         !is_needed_sharding(dce->module, id);
}

static bool remove_dead_insts(Dce *dce, CompId comp) {
  Module *module = dce->module;
  ArenaMark mark = arena_mark(dce->scratch);
  VEC(InstId) work = {0};
  bool has_removed = false;
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    if (!is_removable(dce, comp_inst(module, comp, i))) continue;
    *vec_push(dce->scratch, &work) = comp_inst(module, comp, i);
    while (work.len) {
      InstId id = work.data[--work.len];
      if (!is_removable(dce, id)) continue; /* it was an operand twice, and is removed already */
      module_remove_inst(module, id);
      has_removed = true;
      for (uint32_t k = 0; k < inst_get(module, id)->num_operands; k++) {
        *vec_push(dce->scratch, &work) = inst_operand(module, id, k);
      }
    }
  }
  if (has_removed) module_sweep_comp(module, comp);
  arena_reset(dce->scratch, mark);
  return has_removed;
}

/* ---- multi-output fusions ---- */

/* Marks the results of a fusion that have users. Returns false when a user of the fusion is not a
 * get-tuple-element, because it may then use all results. */
static bool mark_taken(const Dce *dce, InstId fusion, InstId tuple, bool *is_taken) {
  const Module *module = dce->module;
  IdList users = inst_get(module, fusion)->users;
  for (uint32_t i = 0; i < users.len; i++) {
    const Instruction *user = inst_get(module, id_list(module, users)[i]);
    if (user->opcode != OPCODE_GET_TUPLE_ELEMENT) return false;
    is_taken[user->index] = true;
  }
  for (uint32_t i = 0; i < inst_get(module, tuple)->num_operands; i++) {
    is_taken[i] |= inst_has_side_effect(module, &dce->effects, inst_operand(module, tuple, i));
  }
  return users.len > 0;
}

static bool may_shrink(const Rewrite *rewrite, InstId fusion) {
  const Module *module = rewrite->module;
  InstId tuple = comp_get(module, inst_callees(module, fusion)[0])->root;
  return inst_get(module, tuple)->opcode == OPCODE_TUPLE && !inst_is_root(module, fusion) &&
         inst_get(module, tuple)->users.len == 0 && !is_tied(rewrite, fusion) &&
         !inst_attr(module, tuple, ATTR_SHARDING) && !inst_attr(module, fusion, ATTR_SHARDING) &&
         !inst_attr(module, fusion, ATTR_OUTPUT_TO_OPERAND_ALIASING) &&
         inst_attr_int(module, fusion, ATTR_FUSION_KIND, FUSION_CUSTOM) != FUSION_CUSTOM;
}

bool dce_may_drop_results(const Rewrite *rewrite, const SideEffects *effects, InstId fusion) {
  const Module *module = rewrite->module;
  if (inst_get(module, fusion)->opcode != OPCODE_FUSION ||
      !fusion_bundles_results(module, fusion) || !may_shrink(rewrite, fusion) ||
      inst_has_side_effect(module, effects, fusion))
    return false;
  for (uint32_t i = 0; i < inst_get(module, fusion)->users.len; i++) {
    InstId user = inst_users(module, fusion)[i];
    if (inst_get(module, user)->opcode != OPCODE_GET_TUPLE_ELEMENT || is_tied(rewrite, user))
      return false;
  }
  return true;
}

/* Whether the results that are taken round alike without the others. */
static bool are_separable(const Dce *dce, InstId fusion, InstId tuple, const bool *is_taken) {
  const Module *module = dce->module;
  if (dce->rewrite->any_rounding || (dce->rounds_alike && dce->rounds_alike[fusion])) return true;
  uint32_t count = inst_get(module, tuple)->num_operands, num_taken = 0;
  InstId *taken = arena_array(dce->scratch, InstId, count);
  for (uint32_t i = 0; i < count; i++) {
    if (is_taken[i]) taken[num_taken++] = inst_operand(module, tuple, i);
  }
  return rounding_is_separable(module, fusion, taken, num_taken, dce->scratch);
}

/* Returns whether a get-tuple-element of the fusion has control predecessors. It may have to wait
 * for an instruction that reads another element, and the fusion itself cannot wait for that. */
static bool has_waiting_element(const Module *module, InstId fusion) {
  for (uint32_t i = 0; i < inst_get(module, fusion)->users.len; i++) {
    if (inst_control(module, inst_users(module, fusion)[i])->predecessors.len) return true;
  }
  return false;
}

/* Removes the get-tuple-elements of a fusion that is no longer a tuple, because only one result is
 * left. The list of the fusion's users is copied first, because the users of the elements become
 * users of the fusion. */
static void bypass_get_tuple_elements(Dce *dce, InstId fusion) {
  Module *module = dce->module;
  IdSpan gtes = inst_copy_users(module, fusion, dce->scratch);
  for (uint32_t g = 0; g < gtes.len; g++) {
    InstId gte = gtes.ids[g];
    rewrite_replace_all_uses(dce->rewrite, gte, fusion, dce->scratch);
    module_move_control_successors(module, gte, fusion);
    module_remove_inst(module, gte);
  }
  module_sweep_comp(module, inst_get(module, fusion)->parent);
}

/* Removes the parameters that have no users in the fused computation, the operands for them,
 * and operands beyond the last parameter. The other parameters are renumbered. */
static void drop_unread_params(Dce *dce, InstId fusion, CompId comp) {
  Module *module = dce->module;
  IdList *params = &comp_get(module, comp)->params;
  bool *keep = arena_zarray(dce->scratch, bool, inst_get(module, fusion)->num_operands);
  uint32_t kept = 0, all = params->len;
  for (uint32_t i = 0; i < all; i++) {
    InstId param = id_list(module, *params)[i];
    keep[i] = inst_get(module, param)->users.len || inst_is_root(module, param) ||
              inst_has_control(module, param);
    if (!keep[i]) {
      module_remove_inst(module, param);
      continue;
    }
    if (kept != i) {
      inst_get(module, param)->index = kept;
      inst_get(module, param)->flags |= INST_CHANGED | INST_NEW_INDEX;
    }
    module->ids.data[params->begin + kept++] = param;
  }
  if (kept == all) return;
  params->len = kept;
  module_keep_operands(module, fusion, keep);
  module_sweep_comp(module, comp);
}

static bool shrink_fusion(Dce *dce, InstId fusion) {
  Module *module = dce->module;
  if (!may_shrink(dce->rewrite, fusion)) return false;
  CompId comp = inst_callees(module, fusion)[0];
  InstId tuple = comp_get(module, comp)->root;
  uint32_t num_results = inst_get(module, tuple)->num_operands;
  ArenaMark mark = arena_mark(dce->scratch);
  bool *is_taken = arena_zarray(dce->scratch, bool, num_results);
  bool can_shrink = mark_taken(dce, fusion, tuple, is_taken);
  uint32_t *new_index = arena_array(dce->scratch, uint32_t, num_results);
  ShapeId *elements = arena_array(dce->scratch, ShapeId, num_results);
  uint32_t num_taken = 0;
  for (uint32_t i = 0; i < num_results; i++) {
    new_index[i] = num_taken;
    if (is_taken[i]) elements[num_taken++] = inst_shape(module, fusion)->elements[i];
  }
  can_shrink = can_shrink && num_taken < num_results && num_taken > 0 &&
               are_separable(dce, fusion, tuple, is_taken);
  if (can_shrink && num_taken == 1 && !has_waiting_element(module, fusion)) {
    InstId root = NO_ID;
    for (uint32_t i = 0; i < num_results; i++) {
      if (is_taken[i]) root = inst_operand(module, tuple, i);
    }
    comp_get(module, comp)->root = root;
    module_remove_inst(module, tuple);
    module_sweep_comp(module, comp);
    inst_get(module, fusion)->shape = elements[0];
    bypass_get_tuple_elements(dce, fusion);
  } else if (can_shrink) {
    module_keep_operands(module, tuple, is_taken);
    ShapeId shape = shape_tuple(&module->shapes, elements, num_taken);
    inst_get(module, tuple)->shape = shape;
    inst_get(module, tuple)->flags |= INST_NEW_SHAPE;
    inst_get(module, fusion)->shape = shape;
    for (uint32_t i = 0; i < inst_get(module, fusion)->users.len; i++) {
      InstId gte = inst_users(module, fusion)[i];
      rewrite_set_tuple_index(dce->rewrite, gte, new_index[inst_get(module, gte)->index]);
      inst_get(module, gte)->flags |= INST_CHANGED | INST_NEW_OPERANDS; /* operand shape differs */
    }
  }
  if (can_shrink) {
    inst_get(module, fusion)->flags |= INST_CHANGED | INST_NEW_SHAPE;
    comp_get(module, comp)->flags |= COMP_NEW_SIGNATURE;
    remove_dead_insts(dce, comp);
    drop_unread_params(dce, fusion, comp);
  }
  arena_reset(dce->scratch, mark);
  return can_shrink;
}

void dce_trim_fusion(Rewrite *rewrite, InstId fusion, InstId root, Arena *scratch) {
  Module *module = rewrite->module;
  CompId comp = inst_callees(module, fusion)[0];
  Arena *arena = arena_new(arena_options(scratch));
  Dce dce = {.rewrite = rewrite,
             .module = module,
             .effects = side_effects_build(module, arena, scratch),
             .scratch = arena};
  if (comp_get(module, comp)->root != root) {
    comp_get(module, comp)->root = root;
    inst_get(module, fusion)->shape = inst_get(module, root)->shape;
    inst_get(module, fusion)->flags |= INST_CHANGED | INST_NEW_SHAPE;
    comp_get(module, comp)->flags |= COMP_NEW_SIGNATURE;
  }
  remove_dead_insts(&dce, comp);
  uint32_t num_params = comp_get(module, comp)->params.len;
  drop_unread_params(&dce, fusion, comp);
  if (comp_get(module, comp)->params.len != num_params)
    comp_get(module, comp)->flags |= COMP_NEW_SIGNATURE;
  arena_free(arena);
}

/* ---- computations ---- */

static void remove_uncalled(Dce *dce, const CallGraph *graph) {
  Module *module = dce->module;
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    if (graph->context[comp] || comp_get(module, comp)->flags & COMP_DEAD) continue;
    comp_get(module, comp)->flags |= COMP_DEAD;
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      inst_get(module, comp_inst(module, comp, i))->flags |= INST_DEAD;
    }
    comp_get(module, comp)->insts.len = 0;
  }
}

/* Visits callers before callees, so that a fusion has lost its users before it is visited. */
static bool run_once(Dce *dce) {
  Module *module = dce->module;
  ArenaMark mark = arena_mark(dce->scratch);
  Arena *inner = arena_new(arena_options(dce->scratch));
  dce->effects = side_effects_build(module, dce->scratch, inner);
  CallGraph graph = call_graph_build(module, dce->scratch, inner);
  remove_uncalled(dce, &graph);
  bool has_changed = false;
  for (uint32_t i = graph.num_reachable; i-- > 0;) {
    CompId comp = graph.post_order[i];
    InstId caller = only_caller_of(&graph, comp);
    if (caller != NO_ID && inst_get(module, caller)->opcode == OPCODE_FUSION &&
        !(inst_get(module, caller)->flags & INST_DEAD)) {
      has_changed |= shrink_fusion(dce, caller);
    }
    has_changed |= remove_dead_insts(dce, comp);
  }
  arena_free(inner);
  arena_reset(dce->scratch, mark);
  return has_changed;
}

void dce_run_proven(Rewrite *rewrite, const bool *rounds_alike, Arena *scratch) {
  Dce dce = {.rewrite = rewrite,
             .module = rewrite->module,
             .rounds_alike = rounds_alike,
             .scratch = scratch};
  while (run_once(&dce))
    continue;
}

void dce_run(Rewrite *rewrite, Arena *scratch) {
  dce_run_proven(rewrite, NULL, scratch);
}

void dce_update_schedule(const Module *module, Schedule *schedule, Arena *out) {
  Sequence *of = arena_zarray(out, Sequence, module->comps.len);
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    if (comp_get(module, comp)->flags & COMP_DEAD) continue;
    bool is_new = comp >= schedule->num_comps || schedule->of[comp].len == 0;
    Sequence old = is_new
                       ? (Sequence){.ids = module->ids.data + comp_get(module, comp)->insts.begin,
                                    .len = comp_num_insts(module, comp)}
                       : schedule->of[comp];
    of[comp].ids = arena_array(out, InstId, old.len);
    for (uint32_t i = 0; i < old.len; i++) {
      if (inst_get(module, old.ids[i])->flags & INST_DEAD) continue;
      of[comp].ids[of[comp].len++] = old.ids[i];
    }
  }
  *schedule = (Schedule){.of = of, .num_comps = module->comps.len};
}
