#include "advice/order_anew.h"

#include "advice/present_barriers.h"

/* ---- whose order it is ---- */

enum {
  EXACT_PART = 200, /* temporaries may differ by one part of so many */
  MOVED_PART = 10, /* an instruction is moved by at most one part of so many of the sequence, in the
                      mean */
};

/* An order that a scheduler gives a module, beside its own one. */
typedef struct Order {
  int64_t temp_bytes;
  double moved; /* how far instructions of the entry are moved in the mean, as a share of all */
} Order;

static double moved_between(const Module *module, Sequence own, Sequence other, Arena *arena) {
  SchedPos *positions = arena_zarray(arena, SchedPos, module->insts.len);
  double sum = 0, count = 0;
  for (SchedPos pos = 0; pos < other.len; pos++)
    positions[other.ids[pos]] = pos;
  for (SchedPos pos = 0; pos < own.len; pos++) {
    const Instruction *inst = inst_get(module, own.ids[pos]);
    bool is_placed = inst->num_operands > 0 && !inst_is_pass_through(module, own.ids[pos]);
    if (!is_placed) continue; /* arguments are anywhere */
    double moved = (double)positions[own.ids[pos]] - pos;
    sum += moved < 0 ? -moved : moved;
    count++;
  }
  return count > 0 ? sum / (count * own.len) : 0;
}

static Order order_of(const Module *module, Sequence own, const Scheduler *scheduler,
                      Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  ScheduleContext context = schedule_context_build(module, arena, scratch);
  Schedule schedule;
  scheduler->run(&context, &schedule, arena, scratch);
  MemoryProfile profile =
      memory_model_find("heap")->measure(module, &schedule, NULL, arena, scratch);
  Order order = {memory_of_profile(&profile).temp_bytes,
                 moved_between(module, own, schedule.of[module->entry], arena)};
  arena_free(arena);
  return order;
}

static int64_t total_bytes_of(const Module *module, const Schedule *schedule, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  MemoryProfile profile =
      memory_model_find("heap")->measure(module, schedule, NULL, arena, scratch);
  int64_t bytes = memory_of_profile(&profile).total_bytes;
  arena_free(arena);
  return bytes;
}

void order_lower(const Advisor *advisor, rh_module *made) {
  const AdviceRequest *request = advisor->request;
  if (!request->scheduler || request->is_behind_barriers) return;
  Arena *arena = arena_new(arena_options(advisor->scratch));
  ScheduleContext context = schedule_context_build(made->module, arena, advisor->scratch);
  Schedule anew;
  request->scheduler->run(&context, &anew, arena, advisor->scratch);
  if (total_bytes_of(made->module, &anew, advisor->scratch) <
      total_bytes_of(made->module, &made->schedule, advisor->scratch))
    made->schedule = schedule_copy(&anew, made->module, made->arena);
  arena_free(arena);
}

static void add_present(Module *module, const Schedule *schedule, Arena *scratch) {
  for (CompId comp = 0; comp < schedule->num_comps; comp++) {
    if (schedule->of[comp].len)
      present_barriers_add(module, schedule->of[comp], module->insts.len, scratch);
  }
}

/* The one that takes as much in an order that is near, the usual one of the target first; NULL if
 * there is none. Several may take as much in an order that has nothing to do with the module's. */
static const Scheduler *scheduler_of(const Module *module, Sequence own, int64_t temp_bytes,
                                     Arena *scratch) {
  static const char *const by_default[] = {"default", "bfs", "list-values", "dfs", "postorder"};
  static const char *const of_cpu[] = {"bfs", "default", "list-values", "dfs", "postorder"};
  bool is_cpu = strcmp(module->backend.target->name, "cpu") == 0;
  for (size_t i = 0; i < sizeof of_cpu / sizeof *of_cpu; i++) {
    const Scheduler *scheduler = scheduler_find((is_cpu ? of_cpu : by_default)[i]);
    Order order = order_of(module, own, scheduler, scratch);
    int64_t more = order.temp_bytes - temp_bytes;
    bool is_exact = EXACT_PART * (more < 0 ? -more : more) <= temp_bytes;
    if (is_exact && order.moved * MOVED_PART <= 1) return scheduler;
  }
  return NULL;
}

void order_find_scheduler(AdviceRequest *request, int64_t temp_bytes, Arena *scratch) {
  Module *module = request->module->module;
  if (strcmp(module->backend.target->name, "tpu") == 0) return;
  Sequence own = request->module->schedule.of[module->entry];
  request->scheduler = scheduler_of(module, own, temp_bytes, scratch);
  if (request->scheduler || !present_has_recomputed(module)) return;
  Module *behind = module_copy(module);
  add_present(behind, &request->module->schedule, scratch);
  request->scheduler = scheduler_of(behind, own, temp_bytes, scratch);
  request->is_behind_barriers = request->scheduler != NULL;
  module_free(behind);
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

/* What a reader of a layer's clones reads besides, from behind the layer, without being computed
 * from them. The gradient of the last layer may be fused with that reader, which then reads what
 * the loss is made of. */
static void add_gradients(const Barriers *barriers, InstId reader, SchedPos layer_end,
                          IdVec *gradients) {
  const Module *module = barriers->module;
  const LateClones *late = &barriers->cloning->choice.clones;
  if (inst_is_pass_through(module, reader)) { /* its readers count */
    for (uint32_t u = 0; u < inst_get(module, reader)->users.len; u++)
      add_gradients(barriers, inst_users(module, reader)[u], layer_end, gradients);
    return;
  }
  if (reader >= late->first_new || inst_is_root(module, reader)) return;
  for (uint32_t i = 0; i < inst_get(module, reader)->num_operands; i++) {
    InstId operand = source_of(module, inst_operand(module, reader, i));
    SchedPos pos = position_of(barriers, operand);
    bool is_late = pos != NO_ID && pos > layer_end;
    if (is_late && !barriers->is_behind[operand]) add_once(gradients, operand, barriers->arena);
  }
}

/* The position of the last instruction of the forward part that one of the clones repeats. */
static SchedPos end_of_originals(const Barriers *barriers, const IdVec *clones) {
  SchedPos end = 0;
  for (uint32_t c = 0; c < clones->len; c++) {
    InstId original = rewrite_first_original(&barriers->cloning->rewrite, clones->data[c]);
    SchedPos pos = position_of(barriers, original);
    if (pos != NO_ID && pos > end) end = pos;
  }
  return end;
}

/* The gradients that enter a layer. */
static IdVec find_gradients(const Barriers *barriers, const IdVec *clones) {
  const Module *module = barriers->module;
  SchedPos layer_end = end_of_originals(barriers, clones);
  IdVec gradients = {0};
  for (uint32_t c = 0; c < clones->len; c++) {
    for (uint32_t u = 0; u < inst_get(module, clones->data[c])->users.len; u++)
      add_gradients(barriers, inst_users(module, clones->data[c])[u], layer_end, &gradients);
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

/* The instruction that a helper belongs to which holds what it reads until that one has run, or
 * until it runs (cloning_hold()); NO_ID if it is no such helper. */
static InstId reader_of_holder(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  const ControlDeps *control = inst_control(module, id);
  bool is_helper = inst->opcode == OPCODE_SLICE && inst->flags & INST_REMAT && inst->users.len == 0;
  if (!is_helper || control->predecessors.len + control->successors.len != 1) return NO_ID;
  return id_list(module,
                 control->predecessors.len ? control->predecessors : control->successors)[0];
}

/* A copy of a sequence in which such helpers directly follow or precede those that they belong to.
 */
static Sequence with_holders_moved(const Module *module, Sequence found, Arena *out,
                                   Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  uint32_t count = module->insts.len;
  InstId *before = arena_array(scratch, InstId, count),
         *behind = arena_array(scratch, InstId, count);
  SchedPos *positions = arena_zarray(scratch, SchedPos, count);
  bool *is_moved = arena_zarray(scratch, bool, count);
  memset(before, 0xff, count * sizeof *before);
  memset(behind, 0xff, count * sizeof *behind);
  for (SchedPos pos = 0; pos < found.len; pos++)
    positions[found.ids[pos]] = pos;
  for (SchedPos pos = 0; pos < found.len; pos++) {
    InstId id = found.ids[pos], reader = reader_of_holder(module, id);
    if (reader == NO_ID) continue;
    InstId *place = inst_control(module, id)->predecessors.len ? behind : before;
    InstId value = source_of(module, inst_operand(module, id, 0));
    if (positions[value] >= positions[reader] || place[reader] != NO_ID) continue;
    place[reader] = id;
    is_moved[id] = true;
  }
  Sequence moved = {.ids = arena_array(out, InstId, found.len)};
  for (SchedPos pos = 0; pos < found.len; pos++) {
    InstId id = found.ids[pos];
    if (before[id] != NO_ID) moved.ids[moved.len++] = before[id];
    if (!is_moved[id]) moved.ids[moved.len++] = id;
    if (behind[id] != NO_ID) moved.ids[moved.len++] = behind[id];
  }
  arena_reset(scratch, mark);
  return moved;
}

void order_anew(const Advisor *advisor, Cloning *cloning, const Layers *layers, bool is_inside,
                Arena *scratch) {
  const Scheduler *scheduler = advisor->request->scheduler;
  rh_module *made = cloning->made;
  CompId comp = cloning->choice.clones.comp;
  bool is_behind = advisor->request->is_behind_barriers;
  if (!scheduler || (is_inside && is_behind)) return;
  Arena *arena = arena_new(arena_options(scratch));
  Barriers barriers = {.advisor = advisor,
                       .cloning = cloning,
                       .layers = layers,
                       .module = made->module,
                       .is_behind = arena_array(arena, bool, made->module->insts.len),
                       .arena = arena};
  if (is_behind)
    present_barriers_add(made->module, made->schedule.of[comp], cloning->choice.clones.first_new,
                         scratch);
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
  if (found.len == made->schedule.of[comp].len) /* else they wait for each other */
    made->schedule.of[comp] = with_holders_moved(made->module, found, made->arena, scratch);
  arena_free(arena);
}
