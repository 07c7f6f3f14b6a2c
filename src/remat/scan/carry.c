#include "remat/scan/carry.h"

#include "analysis/flow/backend_config.h"
#include "analysis/flow/rounding.h"
#include "analysis/flow/side_effect.h"
#include "remat/rewrite/dce.h"

/* ---- adding ---- */

static void set_state_shape(Rewrite *rewrite, const Loop *loop, ShapeId shape) {
  Module *module = rewrite->module;
  const InstId places[] = {loop->init, loop->id, loop->body_param, loop->body_root,
                           loop->condition_param};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    rewrite_set_shape(rewrite, places[i], shape);
  comp_get(module, loop->body)->flags |= COMP_NEW_SIGNATURE;
  comp_get(module, loop->condition)->flags |= COMP_NEW_SIGNATURE;
}

InstId carry_add(Rewrite *rewrite, const Loop *loop, InstId init) {
  Module *module = rewrite->module;
  const Shape *state = inst_shape(module, loop->id);
  uint32_t count = state->rank;
  VEC(ShapeId) elements = {0};
  for (uint32_t i = 0; i < count; i++)
    *vec_push(module->arena, &elements) = state->elements[i];
  *vec_push(module->arena, &elements) = inst_get(module, init)->shape;
  set_state_shape(rewrite, loop, shape_tuple(&module->shapes, elements.data, count + 1));
  module_append_operand(module, loop->init, init);
  InstId element = rewrite_add_get_tuple_element(rewrite, loop->body_param, count);
  module_append_operand(module, loop->body_root, element);
  return element;
}

void carry_set_element(Rewrite *rewrite, const Loop *loop, uint32_t element, InstId init) {
  Module *module = rewrite->module;
  const Shape *state = inst_shape(module, loop->id);
  uint32_t count = state->rank;
  VEC(ShapeId) elements = {0};
  for (uint32_t i = 0; i < count; i++)
    *vec_push(module->arena, &elements) = state->elements[i];
  elements.data[element] = inst_get(module, init)->shape;
  set_state_shape(rewrite, loop, shape_tuple(&module->shapes, elements.data, count));
  rewrite_set_operand(rewrite, loop->init, element, init);
  const InstId places[] = {loop->id, loop->body_param, loop->condition_param};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    for (uint32_t k = 0; k < inst_get(module, places[i])->users.len; k++) {
      InstId user = inst_users(module, places[i])[k];
      if (inst_get(module, user)->opcode == OPCODE_GET_TUPLE_ELEMENT &&
          inst_get(module, user)->index == element)
        rewrite_set_shape(rewrite, user, elements.data[element]);
    }
  }
}

/* ---- what is needed ---- */

typedef struct Marker {
  const Rewrite *rewrite;
  const Module *module;
  const Loops *loops;
  SideEffects effects;
  uint32_t *body_of; /* by CompId: the loop whose body or condition it is */
  bool *is_live;     /* by InstId */
  bool **is_needed;  /* by loop and element */
  IdVec work;
  /* Fusions of which only some results are live. What computes these within them is marked, too. */
  IdVec bundles;
  InstId *bundle_of;  /* by CompId: the one whose computation it is, NO_ID if it is of none */
  bool *rounds_alike; /* by InstId: a bundle may lose the results that are not live */
  Arena *scratch;
} Marker;

static void mark(Marker *marker, InstId id) {
  if (marker->is_live[id]) return;
  marker->is_live[id] = true;
  *vec_push(marker->scratch, &marker->work) = id;
}

static void mark_element(Marker *marker, uint32_t index, uint32_t element) {
  const Loop *loop = &marker->loops->list[index];
  if (marker->is_needed[index][element]) return;
  marker->is_needed[index][element] = true;
  mark(marker, inst_operand(marker->module, loop->init, element));
  mark(marker, inst_operand(marker->module, loop->body_root, element));
}

static void mark_loop(Marker *marker, uint32_t index) {
  const Loop *loop = &marker->loops->list[index];
  const Module *module = marker->module;
  const InstId places[] = {loop->id, loop->init, loop->body_param, loop->body_root,
                           loop->condition_param};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    marker->is_live[places[i]] = true;
  mark(marker, comp_get(module, loop->condition)->root);
}

/* The loop of whose state `id` is a part, NO_ID if it is another instruction. */
static uint32_t loop_of_state(const Marker *marker, InstId id) {
  if (marker->loops->of[id] != NO_ID) return marker->loops->of[id];
  uint32_t index = marker->body_of[inst_get(marker->module, id)->parent];
  bool is_param = index != NO_ID && (marker->loops->list[index].body_param == id ||
                                     marker->loops->list[index].condition_param == id);
  return is_param ? index : NO_ID;
}

/* Marks the result that a get-tuple-element takes of a fusion, if the others may go. */
static bool mark_result(Marker *marker, InstId element) {
  const Module *module = marker->module;
  InstId fusion = inst_operand(module, element, 0);
  if (!dce_may_drop_results(marker->rewrite, &marker->effects, fusion)) return false;
  CompId comp = inst_callees(module, fusion)[0];
  if (!marker->is_live[fusion]) {
    marker->is_live[fusion] = true;
    marker->bundle_of[comp] = fusion;
    *vec_push(marker->scratch, &marker->bundles) = fusion;
  }
  InstId tuple = comp_get(module, comp)->root;
  mark(marker, inst_operand(module, tuple, (uint32_t)inst_get(module, element)->index));
  return true;
}

/* The instructions of a bundle that are its live results. Returns how many there are. */
static uint32_t live_results(const Marker *marker, InstId fusion, InstId *results) {
  const Module *module = marker->module;
  InstId tuple = comp_get(module, inst_callees(module, fusion)[0])->root;
  uint32_t num_results = inst_get(module, tuple)->num_operands, count = 0;
  bool *is_taken = arena_zarray(marker->scratch, bool, num_results);
  for (uint32_t i = 0; i < inst_get(module, fusion)->users.len; i++) {
    InstId user = inst_users(module, fusion)[i];
    is_taken[inst_get(module, user)->index] |= marker->is_live[user];
  }
  for (uint32_t i = 0; i < num_results; i++) {
    if (is_taken[i]) results[count++] = inst_operand(module, tuple, i);
  }
  return count;
}

/* Marks all results of the bundles whose live ones would round otherwise without the others.
 * Returns whether there are any. */
static bool mark_inseparable(Marker *marker) {
  const Module *module = marker->module;
  bool has_marked = false;
  for (uint32_t i = 0; i < marker->bundles.len; i++) {
    InstId fusion = marker->bundles.data[i];
    InstId tuple = comp_get(module, inst_callees(module, fusion)[0])->root;
    uint32_t num_results = inst_get(module, tuple)->num_operands;
    ArenaMark mark_of = arena_mark(marker->scratch);
    InstId *results = arena_array(marker->scratch, InstId, num_results);
    uint32_t count = live_results(marker, fusion, results);
    bool is_alike = count == num_results || marker->rewrite->any_rounding ||
                    rounding_is_separable(module, fusion, results, count, marker->scratch);
    marker->rounds_alike[fusion] = is_alike;
    arena_reset(marker->scratch, mark_of);
    for (uint32_t k = 0; !is_alike && k < num_results; k++) {
      InstId result = inst_operand(module, tuple, k);
      has_marked |= !marker->is_live[result];
      mark(marker, result);
    }
  }
  return has_marked;
}

static void mark_reads(Marker *marker, InstId id) {
  const Module *module = marker->module;
  const Instruction *inst = inst_get(module, id);
  InstId bundle = marker->bundle_of[inst->parent];
  if (bundle != NO_ID && inst->opcode == OPCODE_PARAMETER) {
    mark(marker, inst_operand(module, bundle, (uint32_t)inst->index));
    return;
  }
  uint32_t index = marker->loops->of[id];
  if (index != NO_ID) {
    mark_loop(marker, index);
    return;
  }
  IdList before = inst_control(module, id)->predecessors;
  for (uint32_t i = 0; i < before.len && !control_restates_order(module); i++)
    mark(marker, id_list(module, before)[i]);
  if (inst->opcode == OPCODE_GET_TUPLE_ELEMENT) {
    index = loop_of_state(marker, inst_operand(module, id, 0));
    if (index != NO_ID) {
      mark_element(marker, index, (uint32_t)inst->index);
      mark(marker, marker->loops->list[index].id);
      return;
    }
    if (mark_result(marker, id)) return;
  }
  for (uint32_t i = 0; i < inst->num_operands; i++)
    mark(marker, inst_operand(module, id, i));
  for (uint32_t c = 0; c < inst->num_callees; c++) {
    CompId comp = inst_callees(module, id)[c];
    if (marker->loops->graph->context[comp] & CALLED_AS_SEQUENCE)
      mark(marker, comp_get(module, comp)->root);
  }
}

/* Side effects stay, and, unless the schedule says the same, what waits for something or is waited
 * for. */
static void mark_roots(Marker *marker) {
  const Module *module = marker->module;
  mark(marker, comp_get(module, module->entry)->root);
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->flags & INST_DEAD || marker->is_live[id]) continue;
    bool waits = inst_has_control(module, id) && !control_restates_order(module);
    if (inst_has_side_effect(module, &marker->effects, id) || waits) mark(marker, id);
  }
}

/* ---- removing ---- */

/* Whether the element that a note names gets another place; false if none is named. */
static bool is_moved(const cJSON *note, const uint32_t *new_index, uint32_t count, int64_t *index) {
  return json_integer(cJSON_GetObjectItemCaseSensitive(note, "tuple_index"), index) &&
         *index >= 0 && *index < count && new_index[*index] != (uint32_t)*index;
}

/* After elements have gone, XLA must still find the counter. What it has noted of other elements is
 * left out, and the rest with it, if one of these has moved. */
static void renumber_notes(Module *module, InstId loop, const uint32_t *new_index, uint32_t count) {
  BackendConfig config = backend_config_read(module, loop, "tuple_index");
  const cJSON *counter = cJSON_GetObjectItemCaseSensitive(config.json, "known_induction_variable");
  const cJSON *others = cJSON_GetObjectItemCaseSensitive(config.json, "dynamic_variables"), *other;
  Instruction *inst = inst_get(module, loop);
  int64_t index;
  if (is_moved(counter, new_index, count, &index)) {
    inst->index = new_index[index];
    inst->flags |= INST_CHANGED | INST_NEW_INDEX;
  }
  cJSON_ArrayForEach(other, others) {
    if (is_moved(other, new_index, count, &index)) inst->flags |= INST_CHANGED | INST_STALE_CONFIG;
  }
  backend_config_free(&config);
}

static void renumber_elements(Rewrite *rewrite, InstId tuple, const uint32_t *new_index) {
  Module *module = rewrite->module;
  for (uint32_t i = 0; i < inst_get(module, tuple)->users.len; i++) {
    InstId user = inst_users(module, tuple)[i];
    if (inst_get(module, user)->flags & INST_DEAD) continue;
    if (inst_get(module, user)->opcode == OPCODE_GET_TUPLE_ELEMENT)
      rewrite_set_tuple_index(rewrite, user, new_index[inst_get(module, user)->index]);
  }
}

static void shrink_shapes(Rewrite *rewrite, const Loop *loop, const bool *is_needed,
                          Arena *scratch) {
  Module *module = rewrite->module;
  const Shape *state = inst_shape(module, loop->id);
  uint32_t *new_index = arena_array(scratch, uint32_t, state->rank);
  ShapeId *elements = arena_array(scratch, ShapeId, state->rank);
  uint32_t kept = 0, count = state->rank;
  for (uint32_t i = 0; i < count; i++) {
    new_index[i] = kept;
    if (is_needed[i]) elements[kept++] = state->elements[i];
  }
  if (kept == count) return;
  renumber_notes(module, loop->id, new_index, count);
  renumber_elements(rewrite, loop->id, new_index);
  renumber_elements(rewrite, loop->body_param, new_index);
  renumber_elements(rewrite, loop->condition_param, new_index);
  set_state_shape(rewrite, loop, shape_tuple(&module->shapes, elements, kept));
}

void carry_drop_unread(Rewrite *rewrite, const Loops *loops, Arena *scratch) {
  Module *module = rewrite->module;
  Arena *arena = arena_new(arena_options(scratch));
  Marker marker = {.rewrite = rewrite,
                   .module = module,
                   .loops = loops,
                   .effects = side_effects_build(module, arena, scratch),
                   .body_of = arena_array(arena, uint32_t, module->comps.len),
                   .is_live = arena_zarray(arena, bool, module->insts.len),
                   .is_needed = arena_array(arena, bool *, loops->len),
                   .bundle_of = arena_array(arena, InstId, module->comps.len),
                   .rounds_alike = arena_zarray(arena, bool, module->insts.len),
                   .scratch = arena};
  memset(marker.body_of, 0xff, module->comps.len * sizeof *marker.body_of);
  memset(marker.bundle_of, 0xff, module->comps.len * sizeof *marker.bundle_of);
  for (uint32_t i = 0; i < loops->len; i++) {
    const Loop *loop = &loops->list[i];
    marker.body_of[loop->body] = marker.body_of[loop->condition] = i;
    uint32_t count = inst_shape(module, loop->id)->rank;
    marker.is_needed[i] = arena_zarray(arena, bool, count);
    /* A state that another loop shares must stay as it is. */
    bool is_shared = inst_get(module, loop->init)->users.len != 1;
    for (uint32_t e = 0; is_shared && e < count; e++)
      mark_element(&marker, i, e);
  }
  mark_roots(&marker);
  do {
    while (marker.work.len)
      mark_reads(&marker, marker.work.data[--marker.work.len]);
  } while (mark_inseparable(&marker));
  for (uint32_t i = 0; i < loops->len; i++) {
    const Loop *loop = &loops->list[i];
    if (!marker.is_live[loop->id]) {
      memset(marker.is_needed[i], true, inst_shape(module, loop->id)->rank);
      continue;
    }
    module_keep_operands(module, loop->init, marker.is_needed[i]);
    module_keep_operands(module, loop->body_root, marker.is_needed[i]);
  }
  dce_run_proven(rewrite, marker.rounds_alike, scratch); /* removes the elements' readers */
  for (uint32_t i = 0; i < loops->len; i++) {
    if (!(inst_get(module, loops->list[i].id)->flags & INST_DEAD))
      shrink_shapes(rewrite, &loops->list[i], marker.is_needed[i], arena);
  }
  arena_free(arena);
}
