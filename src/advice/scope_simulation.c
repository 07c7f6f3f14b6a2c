/* A checkpoint around a function or scope is simulated by clones: what a repetition computes from
 * its inputs is computed again before the backward part first reads it, all of it once, and its
 * inputs stay (remat/algorithms). */
#include "advice/cut_sums.h"
#include "advice/fused_clones.h"
#include "advice/join_parts.h"
#include "advice/narrow_inputs.h"
#include "advice/order_anew.h"
#include "advice/present_checkpoint.h"
#include "advice/present_values.h"
#include "advice/random_loops.h"
#include "advice/scope_study.h"

bool scope_is_wrapped(const Proposal *proposal, SchedPos pos) {
  uint32_t instance = proposal->layers->instance_of[pos];
  if (instance == OF_SOME_LAYER) return proposal->every == 1;
  return instance != NO_ID && instance % proposal->every == 0;
}

bool scope_saves(const Study *study, const Proposal *proposal, InstId id) {
  return policy_saves(&study->products, proposal->policy, proposal->lines, id);
}

/* By position: whether another repetition, or what is outside of them, reads the value in the
 * forward part. */
static bool *find_read_outside(const Proposal *proposal, const CheckpointChoice *choice,
                               Arena *out) {
  const uint32_t *instance_of = proposal->layers->instance_of;
  const LateClones *clones = &choice->clones;
  const Module *module = clones->module;
  bool *is_read = arena_zarray(out, bool, (size_t)clones->early_end + 1);
  for (SchedPos reader = 0; reader <= clones->early_end; reader++) {
    if (choice->origins[reader] != reader) continue; /* its readers count */
    if (proposal->layers->is_end[reader]) continue;
    InstId id = clones->sequence.ids[reader];
    for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
      SchedPos origin = choice->origins[clones->positions[inst_operand(module, id, i)]];
      is_read[origin] |= instance_of[origin] != instance_of[reader];
    }
  }
  return is_read;
}

static void choose(const Study *study, const Proposal *proposal, CheckpointChoice *choice) {
  bool *is_read_outside = find_read_outside(proposal, choice, choice->clones.arena);
  for (SchedPos pos = 0; pos <= choice->clones.early_end; pos++) {
    InstId id = choice->clones.sequence.ids[pos];
    choice->values[pos].is_checkpoint = !scope_is_wrapped(proposal, pos) || is_read_outside[pos] ||
                                        scope_saves(study, proposal, id);
  }
  checkpoint_choice_keep_only(choice);
}

/* A checkpoint begins with what it computes again, all of it, when the backward part first reads
 * something of the repetition. */
static void begin_together(const Proposal *proposal, CheckpointChoice *choice, Arena *scratch) {
  const Layers *layers = proposal->layers;
  ArenaMark mark = arena_mark(scratch);
  SchedPos *first = arena_array(scratch, SchedPos, layers->num_instances);
  memset(first, 0xff, layers->num_instances * sizeof *first);
  for (int pass = 0; pass < 2; pass++) {
    for (SchedPos pos = 0; pos <= choice->clones.early_end; pos++) {
      uint32_t instance = layers->instance_of[pos];
      SchedPos *use = &choice->clones.early_values[pos].first_use;
      if (instance >= layers->num_instances || choice->values[pos].is_kept) continue;
      if (pass == 0 && *use < first[instance]) first[instance] = *use;
      if (pass == 1 && first[instance] != NO_ID) *use = first[instance];
    }
  }
  arena_reset(scratch, mark);
}

/* Bytes that the proposal is about: what is computed again, as far as it lives at the peak. */
static int64_t freed_at_peak(const Study *study, const CheckpointChoice *choice) {
  const Advisor *advisor = study->advisor;
  int64_t bytes = 0;
  for (uint32_t i = 0; i < advisor->live.len; i++) {
    SchedPos pos = choice->clones.positions[advisor->live.list[i].inst];
    if (pos > choice->clones.early_end) continue;
    const CheckpointValue *value = &choice->values[choice->origins[pos]];
    /* what a policy saved that is there has lost its readers */
    bool is_saved = inst_get(choice->clones.module, advisor->live.list[i].inst)->users.len == 0;
    if (!value->is_kept && (value->last_late != NO_ID || is_saved))
      bytes += advisor->live.list[i].bytes;
  }
  return bytes;
}

/* By position: what a repetition that gets a checkpoint computes, and does not hand on. */
static bool *find_own(const Study *study, const Proposal *proposal, Arena *out) {
  const Layers *layers = proposal->layers;
  const Module *module = study->advisor->module;
  Sequence sequence = study->forward.sequence;
  bool *is_own = arena_zarray(out, bool, sequence.len);
  SchedPos *positions = arena_zarray(out, SchedPos, module->insts.len);
  for (SchedPos pos = 0; pos <= study->forward.end; pos++) {
    positions[sequence.ids[pos]] = pos;
    is_own[pos] = layers->instance_of[pos] != NO_ID && scope_is_wrapped(proposal, pos);
  }
  for (SchedPos reader = 0; reader <= study->forward.end; reader++) {
    InstId id = sequence.ids[reader];
    if (inst_is_pass_through(module, id) || layers->is_end[reader]) continue;
    for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
      InstId operand = inst_operand(module, id, i);
      while (inst_is_pass_through(module, operand))
        operand = inst_operand(module, operand, 0);
      SchedPos pos = positions[operand];
      is_own[pos] &= layers->instance_of[pos] == layers->instance_of[reader];
    }
  }
  return is_own;
}

/* Takes back the checkpoint that is there, where the new one takes its place. */
static PresentValues restore(const Study *study, const Proposal *proposal, Cloning *cloning) {
  if (study->inside != INSIDE_NOTHING) return (PresentValues){0};
  bool *is_own = find_own(study, proposal, cloning->arena);
  return present_values_restore(&cloning->rewrite, &cloning->made->schedule, study->comp,
                                study->forward.turn, is_own, cloning->made->arena,
                                study->advisor->scratch);
}

PresentValues scope_begin(const Study *study, const Proposal *proposal, Cloning *cloning) {
  cloning_copy(cloning, study->advisor);
  PresentValues values = restore(study, proposal, cloning);
  values.is_sketch |= join_parts(study, proposal, &cloning->rewrite, study->advisor->scratch);
  cloning_choose(cloning, study->advisor, study->comp, study->forward.turn);
  choose(study, proposal, &cloning->choice);
  return values;
}

/* Makes a clone wait for what it would read, as the first of its readers: XLA has made the
 * operations of the forward part before those of the derivative, and the scheduler's queue takes
 * readers in that order, and what is behind control dependencies after them. */
static void wait_for_value(Module *module, InstId value, InstId clone, InstId reader) {
  module_add_control(module, value, clone);
  if (reader != NO_ID) module_add_control(module, value, reader);
  for (uint32_t u = 0; u < inst_get(module, value)->users.len; u++) {
    InstId user = inst_users(module, value)[u];
    if (!present_is_recomputed(module, user) && !inst_is_pass_through(module, user))
      module_add_control(module, value, user);
  }
}

/* It matters where the order is made anew only. */
static void wait_for_values(const Study *study, const PresentValues *values, Cloning *cloning) {
  Module *module = cloning->made->module;
  for (uint32_t i = 0; i < values->pairs.len && study->advisor->request->scheduler; i++) {
    const PresentPair *pair = &values->pairs.data[i];
    InstId clone = cloning->choice.clones.images[pair->fusion];
    bool is_dead = (inst_get(module, pair->value)->flags & INST_DEAD) || clone == NO_ID ||
                   (inst_get(module, clone)->flags & INST_DEAD);
    if (!is_dead) wait_for_value(module, pair->value, clone, pair->reader);
  }
}

rh_module *scope_simulate(const Study *study, const Proposal *proposal, int64_t *bytes_at_peak,
                          bool *is_sketch) {
  Arena *scratch = study->advisor->scratch;
  Cloning cloning;
  PresentValues values = scope_begin(study, proposal, &cloning);
  *bytes_at_peak = freed_at_peak(study, &cloning.choice);
  bool is_tpu = strcmp(study->advisor->module->backend.target->name, "tpu") == 0;
  if (is_tpu) scope_want_outputs(study, proposal, &cloning.choice);
  begin_together(proposal, &cloning.choice, scratch);
  rh_module *made = cloning.made;
  bool has_clones = checkpoint_choice_apply(&cloning.choice, made->arena) > 0;
  if (has_clones && is_tpu) scope_repeat_outputs(study, proposal, &cloning);
  bool is_repeated = proposal->layers->num_instances > 1 && proposal->every == 1;
  if (has_clones && is_repeated) {
    Sequence sequence = made->schedule.of[study->comp];
    *is_sketch = cut_sums(&cloning.rewrite, sequence, study->forward.turn + 1, scratch) > 0;
  }
  if (has_clones) {
    *is_sketch |= random_loops_drop(study, proposal, &cloning, scratch);
    cloning_drop_dead(&cloning, scratch);
    *is_sketch |= scope_hold_products(study, proposal, &cloning) > 0;
    *is_sketch |= narrow_inputs(&cloning);
    *is_sketch |= fused_clones_shrink(&cloning);
    *is_sketch |= values.is_sketch;
    wait_for_values(study, &values, &cloning);
    order_anew(study->advisor, &cloning, proposal->layers, study->inside != INSIDE_NOTHING,
               scratch);
  }
  return cloning_end(&cloning, has_clones);
}
