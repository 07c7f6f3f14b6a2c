/* Advice on what the backward part reads of the forward part: a checkpoint around a function or a
 * scope, at each of its repetitions, or at every so-manieth, with or without a policy. */
#include "advice/in_turn.h"
#include "advice/present_checkpoint.h"
#include "advice/scope_study.h"

enum { MAX_TRIED = 16 };

static Study study_open(Advisor *advisor, CompId comp, Arena *arena) {
  Study study = {.advisor = advisor, .comp = comp, .arena = arena};
  study.products = products_find(advisor->module, arena, advisor->scratch);
  return study;
}

static bool propose(Study *study, const Proposal *proposal) {
  rh_remedy remedy = {
      .kind = "checkpoint-scope",
      .confidence = proposal->policy == POLICY_NOTHING && proposal->layers->num_instances > 1
                        ? "high"
                        : "medium",
      .num_instances = proposal->layers->num_instances,
      .every = proposal->every};
  bool is_sketch = false;
  rh_module *made = scope_simulate(study, proposal, &remedy.bytes_at_peak, &is_sketch);
  if (!made) return false;
  scope_write_remedy(study, proposal, &remedy);
  if (!advisor_add_sparing(study->advisor, &remedy, made, study->spared_seconds)) return false;
  advisor_last(study->advisor)->is_sketch |= is_sketch;
  return true;
}

/* Every so-manieth layer is only of interest where a budget asks for less than all. */
static void propose_some(Study *study, Proposal proposal) {
  static const uint32_t every[] = {4, 3, 2};
  if (study->advisor->request->limit_bytes == INT64_MAX) return;
  for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
    proposal.every = every[i];
    if (proposal.layers->num_instances >= 2 * every[i]) (void)propose(study, &proposal);
  }
}

/* By InstId: what a checkpoint that keeps nothing computes again, as the backward part reads it, or
 * something that is computed from it. */
static bool *find_recomputed(const Study *study, const Layers *layers) {
  Proposal proposal = {.layers = layers, .every = 1};
  const Module *module = study->advisor->module;
  bool *is_recomputed = arena_zarray(study->arena, bool, module->insts.len);
  Cloning cloning;
  (void)scope_begin(study, &proposal, &cloning);
  const CheckpointChoice *choice = &cloning.choice;
  for (SchedPos pos = choice->clones.early_end + 1; pos-- > 0;) {
    InstId id = choice->clones.sequence.ids[pos];
    const CheckpointValue *value = &choice->values[choice->origins[pos]];
    bool is_read = is_recomputed[id] || value->last_late != NO_ID;
    is_recomputed[id] = is_read && !value->is_kept && layers->instance_of[pos] != NO_ID;
    for (uint32_t i = 0; is_recomputed[id] && i < inst_get(module, id)->num_operands; i++)
      is_recomputed[inst_operand(module, id, i)] = true;
  }
  (void)cloning_end(&cloning, false);
  return is_recomputed;
}

/* A limit between what a checkpoint needs and what it needs when it keeps all products leaves room
 * for some of them. Those that take the most time for their bytes stay, as many lines of them as
 * there is room for, if that takes less time than a checkpoint that keeps none. */
static void propose_names(Study *study, const Layers *layers, double whole_seconds) {
  enum { MAX_LINES = 8 };
  Advisor *advisor = study->advisor;
  ProductLines lines = product_lines_find(advisor, &study->products, find_recomputed(study, layers),
                                          layers->function, study->arena);
  Proposal proposal = {.layers = layers, .every = 1, .policy = POLICY_NAMES, .lines = &lines};
  uint32_t num_lines = lines.list.len <= MAX_LINES ? lines.list.len : MAX_LINES + 1;
  if (num_lines > 0) num_lines--; /* all of them together have no room */
  for (uint32_t i = 0; i < num_lines; i++)
    lines.list.data[i].is_saved = true;
  for (uint32_t count = num_lines; count > 0; count--) {
    bool stays = propose(study, &proposal);
    const rh_remedy *shown = stays ? &advisor_last(advisor)->shown : NULL;
    bool is_better = stays && shown->is_met && shown->added_seconds < whole_seconds;
    if (is_better) return;
    if (stays) advisor_drop(advisor, advisor->remedies.len - 1);
    lines.list.data[count - 1].is_saved = false;
  }
}

static void propose_all(Study *study, const Layers *layers) {
  Framework framework = study->advisor->framework;
  Proposal proposal = {.layers = layers, .every = 1};
  if (!propose(study, &proposal)) return;
  const rh_remedy whole = advisor_last(study->advisor)->shown;
  propose_some(study, proposal);
  if (framework == FRAMEWORK_PYTORCH || framework == FRAMEWORK_TENSORFLOW) return;
  proposal.policy = POLICY_DOTS;
  bool has_room = propose(study, &proposal) && advisor_last(study->advisor)->shown.is_met;
  if (whole.is_met && !has_room) propose_names(study, layers, whole.added_seconds);
  proposal.policy = POLICY_WEIGHT_DOTS;
  (void)propose(study, &proposal);
}

static void propose_each(Study *study) {
  Arena *scratch = study->advisor->scratch;
  LayersList layers = layers_find(&study->forward, study->arena, scratch);
  const uint32_t *parts = in_turn_parts(study->advisor, study->comp, study->arena);
  for (uint32_t i = 0; i < layers.list.len && i < MAX_TRIED; i++) {
    if (in_turn_is_mixed(parts, &layers.list.data[i], study->forward.end, scratch)) continue;
    Study own = *study;
    own.forward.turn = layers_turn(&study->forward, &layers.list.data[i]);
    propose_all(&own, &layers.list.data[i]);
  }
}

static void advise_computation(Advisor *advisor, CompId comp) {
  Arena *arena = arena_new(arena_options(advisor->scratch));
  Sequence sequence = advisor->schedule->of[comp];
  Study study = study_open(advisor, comp, arena);
  study.forward = forward_part_of(advisor->module, sequence, advisor->scratch);
  propose_each(&study);
  bool is_only = false;
  study.forward = recomputed_part_of(advisor, sequence, &is_only);
  study.inside = is_only ? INSIDE_THE_ONLY : INSIDE_ONE;
  if (is_only) study.spared_seconds = recomputed_seconds(advisor, &study.forward);
  if (study.forward.end != NO_ID) propose_each(&study);
  arena_free(arena);
}

/* Advises on the entry, and on what runs at the peak, where a loop over microbatches has both parts
 * in its body. */
void advise_scope_checkpoint(Advisor *advisor) {
  const Module *module = advisor->module;
  CompId at_peak = NO_ID;
  for (uint32_t i = 0; i < advisor->live.len && at_peak == NO_ID; i++) {
    CompId comp = inst_get(module, advisor->live.list[i].inst)->parent;
    if (comp != module->entry && comp_is_sequential(&advisor->values.graph, comp)) at_peak = comp;
  }
  advise_computation(advisor, module->entry);
  if (at_peak != NO_ID) advise_computation(advisor, at_peak);
}
