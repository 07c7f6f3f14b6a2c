#include "advice/order_anew.h"

/* ---- whose order it is ---- */

enum { EXACT_PART = 200 }; /* temporaries may differ by one part of so many */

static int64_t temp_bytes_of(const rh_module *input, const Scheduler *scheduler, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  ScheduleContext context = schedule_context_build(input->module, arena, scratch);
  Schedule schedule;
  scheduler->run(&context, &schedule, arena, scratch);
  MemoryProfile profile =
      memory_model_find("heap")->measure(input->module, &schedule, NULL, arena, scratch);
  int64_t bytes = memory_of_profile(&profile).temp_bytes;
  arena_free(arena);
  return bytes;
}

const Scheduler *order_scheduler_of(const rh_module *input, int64_t temp_bytes, Arena *scratch) {
  static const char *const names[] = {"bfs", "default", "list-values", "dfs", "postorder"};
  if (strcmp(input->module->backend.target->name, "tpu") == 0) return NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const Scheduler *scheduler = scheduler_find(names[i]);
    int64_t more = temp_bytes_of(input, scheduler, scratch) - temp_bytes;
    if (EXACT_PART * (more < 0 ? -more : more) <= temp_bytes) return scheduler;
  }
  return NULL;
}

/* ---- barriers ---- */

typedef struct Barriers {
  const Advisor *advisor;
  Cloning *cloning;
  const Layers *layers;
  Module *module;
  bool *is_behind; /* by InstId: computed from what the layer computes again */
  Arena *arena;
} Barriers;

static SchedPos position_of(const Barriers *barriers, InstId id) {
  const LateClones *clones = &barriers->cloning->choice.clones;
  return id < clones->first_new ? clones->positions[id] : NO_ID;
}

/* The layer that a clone computes again a part of; NO_ID for what is no clone. */
static uint32_t layer_of(const Barriers *barriers, InstId id) {
  const LateClones *clones = &barriers->cloning->choice.clones;
  if (id < clones->first_new) return NO_ID;
  InstId original = rewrite_first_original(&barriers->cloning->rewrite, id);
  if (original >= clones->first_new) return NO_ID;
  return barriers->layers->instance_of[clones->positions[original]];
}

/* Looks through bitcasts and get-tuple-elements. */
static InstId source_of(const Module *module, InstId id) {
  while (inst_is_pass_through(module, id))
    id = inst_operand(module, id, 0);
  return id;
}

static void mark_behind(Barriers *barriers, const IdVec *clones) {
  const Module *module = barriers->module;
  IdVec work = {0};
  for (uint32_t i = 0; i < clones->len; i++)
    *vec_push(barriers->arena, &work) = clones->data[i];
  while (work.len) {
    InstId id = work.data[--work.len];
    if (barriers->is_behind[id]) continue;
    barriers->is_behind[id] = true;
    for (uint32_t i = 0; i < inst_get(module, id)->users.len; i++)
      *vec_push(barriers->arena, &work) = inst_users(module, id)[i];
    IdList after = inst_control(module, id)->successors; /* those of other barriers, too */
    for (uint32_t i = 0; i < after.len; i++)
      *vec_push(barriers->arena, &work) = id_list(module, after)[i];
  }
}

static void add_once(IdVec *list, InstId id, Arena *arena) {
  for (uint32_t i = 0; i < list->len; i++) {
    if (list->data[i] == id) return;
  }
  *vec_push(arena, list) = id;
}

/* The gradients that enter a layer: what the readers of its clones read besides, from the backward
 * part, without being computed from it. */
static IdVec find_gradients(const Barriers *barriers, const IdVec *clones) {
  const Module *module = barriers->module;
  const LateClones *late = &barriers->cloning->choice.clones;
  IdVec gradients = {0};
  for (uint32_t c = 0; c < clones->len; c++) {
    for (uint32_t u = 0; u < inst_get(module, clones->data[c])->users.len; u++) {
      InstId user = inst_users(module, clones->data[c])[u];
      if (user >= late->first_new || inst_is_root(module, user)) continue;
      for (uint32_t i = 0; i < inst_get(module, user)->num_operands; i++) {
        InstId operand = source_of(module, inst_operand(module, user, i));
        SchedPos pos = position_of(barriers, operand);
        bool is_late = pos != NO_ID && pos > late->early_end;
        if (is_late && !barriers->is_behind[operand])
          add_once(&gradients, operand, barriers->arena);
      }
    }
  }
  return gradients;
}

/* Makes what a layer computes first wait for the gradients. */
static void add_barrier(Barriers *barriers, uint32_t layer, const IdVec *clones) {
  Module *module = barriers->module;
  memset(barriers->is_behind, 0, module->insts.len * sizeof *barriers->is_behind);
  mark_behind(barriers, clones);
  IdVec gradients = find_gradients(barriers, clones);
  for (uint32_t c = 0; c < clones->len; c++) {
    InstId clone = clones->data[c];
    bool is_first = !inst_is_pass_through(module, clone);
    for (uint32_t i = 0; i < inst_get(module, clone)->num_operands && is_first; i++)
      is_first = layer_of(barriers, source_of(module, inst_operand(module, clone, i))) != layer;
    for (uint32_t i = 0; is_first && i < gradients.len; i++)
      module_add_control(module, gradients.data[i], clone);
  }
}

void order_anew(const Advisor *advisor, Cloning *cloning, const Layers *layers, Arena *scratch) {
  const Scheduler *scheduler = advisor->request->scheduler;
  rh_module *made = cloning->made;
  CompId comp = cloning->choice.clones.comp;
  if (!scheduler) return;
  Arena *arena = arena_new(arena_options(scratch));
  Barriers barriers = {.advisor = advisor,
                       .cloning = cloning,
                       .layers = layers,
                       .module = made->module,
                       .is_behind = arena_array(arena, bool, made->module->insts.len),
                       .arena = arena};
  IdVec *clones = arena_zarray(arena, IdVec, layers->num_instances);
  for (InstId id = cloning->choice.clones.first_new; id < made->module->insts.len; id++) {
    uint32_t layer = layer_of(&barriers, id);
    if (inst_get(made->module, id)->parent != comp) continue;
    if (layer < layers->num_instances) *vec_push(arena, &clones[layer]) = id;
    if (layer != OF_SOME_LAYER) continue;
    IdVec alone = {0};
    *vec_push(arena, &alone) = id;
    add_barrier(&barriers, layer, &alone);
  }
  for (uint32_t layer = 0; layer < layers->num_instances; layer++) {
    if (clones[layer].len) add_barrier(&barriers, layer, &clones[layer]);
  }
  ScheduleContext context = schedule_context_build(made->module, arena, scratch);
  Schedule schedule;
  scheduler->run(&context, &schedule, arena, scratch);
  Sequence found = schedule.of[comp];
  Sequence kept = {.ids = arena_array(made->arena, InstId, found.len), .len = found.len};
  memcpy(kept.ids, found.ids, found.len * sizeof *found.ids);
  made->schedule.of[comp] = kept;
  arena_free(arena);
}
