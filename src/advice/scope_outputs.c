/* What a repetition under a checkpoint hands on to the next one. */
#include "advice/scope_study.h"

/* Whether an instruction was traced at the same place as a frame. A derivative has stacks of its
 * own. */
static bool is_at(const Module *module, InstId id, const SourceFrame *place) {
  SourceFrame frame;
  const Metadata *metadata = inst_metadata(module, id);
  return metadata && source_frame_get(module, metadata->stack_frame_id, &frame) &&
         frame.line == place->line && str_equal(frame.file, place->file) &&
         str_equal(frame.function, place->function);
}

/* Whether an instruction reads a value where the value was made in the program, as the derivative
 * of tanh reads tanh: then it is of the repetition that made the value, and not of the next one. */
static bool is_own_reader(const Module *module, InstId reader, InstId value) {
  InstId maker = value;
  if (inst_get(module, value)->opcode == OPCODE_FUSION)
    maker = comp_get(module, inst_callees(module, value)[0])->root;
  const Metadata *metadata = inst_metadata(module, maker);
  if (!metadata) metadata = inst_metadata(module, value);
  SourceFrame place;
  if (!metadata || !source_frame_get(module, metadata->stack_frame_id, &place)) return false;
  if (inst_get(module, reader)->opcode != OPCODE_FUSION) return is_at(module, reader, &place);
  const Computation *comp = comp_get(module, inst_callees(module, reader)[0]);
  bool is_own = false;
  for (uint32_t i = 0; i < inst_get(module, reader)->num_operands; i++) {
    if (inst_operand(module, reader, i) != value) continue;
    InstId param = id_list(module, comp->params)[i];
    for (uint32_t u = 0; u < inst_get(module, param)->users.len; u++) {
      if (!is_at(module, inst_users(module, param)[u], &place)) return false;
      is_own = true;
    }
  }
  return is_own;
}

/* Of a value that a repetition hands on, the first reader in its own backward part; NO_ID if there
 * is none. */
static InstId own_reader_of(const Study *study, const Proposal *proposal,
                            const CheckpointChoice *choice, SchedPos pos) {
  const LateClones *clones = &choice->clones;
  const CheckpointValue *value = &choice->values[pos];
  InstId id = clones->sequence.ids[pos], first = NO_ID;
  bool is_handed_on = scope_is_wrapped(proposal, pos) && value->is_kept && !value->is_fixed &&
                      !scope_saves(study, proposal, id);
  for (uint32_t i = 0; is_handed_on && i < inst_get(clones->module, id)->users.len; i++) {
    InstId user = inst_users(clones->module, id)[i];
    bool is_late = user < clones->first_new && clones->positions[user] > clones->early_end;
    if (!is_late || !is_own_reader(clones->module, user, id)) continue;
    if (first == NO_ID || clones->positions[user] < clones->positions[first]) first = user;
  }
  return first;
}

void scope_want_outputs(const Study *study, const Proposal *proposal, CheckpointChoice *choice) {
  for (SchedPos pos = 0; pos <= choice->clones.early_end; pos++) {
    InstId reader = own_reader_of(study, proposal, choice, pos);
    if (reader == NO_ID) continue;
    SchedPos at = choice->clones.positions[reader];
    InstId id = choice->clones.sequence.ids[pos];
    for (uint32_t i = 0; i < inst_get(choice->clones.module, id)->num_operands; i++) {
      InstId operand = inst_operand(choice->clones.module, id, i);
      SchedPos origin = choice->origins[choice->clones.positions[operand]];
      CheckpointValue *value = &choice->values[origin];
      if (value->is_kept) continue;
      if (value->last_late == NO_ID || value->last_late < at) value->last_late = at;
      SchedPos *use = &choice->clones.early_values[origin].first_use;
      if (*use == NO_ID || *use > at) *use = at;
    }
  }
}

void scope_repeat_outputs(const Study *study, const Proposal *proposal, Cloning *cloning) {
  const CheckpointChoice *choice = &cloning->choice;
  Module *module = cloning->made->module;
  Arena *scratch = study->advisor->scratch;
  Sequence old = cloning->made->schedule.of[study->comp];
  InstId *before = arena_array(cloning->arena, InstId, module->insts.len); /* by InstId */
  memset(before, 0xff, module->insts.len * sizeof *before);
  uint32_t num_old = module->insts.len, num_made = 0;
  for (SchedPos pos = 0; pos <= choice->clones.early_end; pos++) {
    InstId id = choice->clones.sequence.ids[pos];
    InstId first = own_reader_of(study, proposal, choice, pos);
    if (first == NO_ID || before[first] != NO_ID) continue;
    InstId clone = rewrite_clone(&cloning->rewrite, id, scratch);
    for (uint32_t i = 0; i < inst_get(module, clone)->num_operands; i++) {
      InstId operand = inst_operand(module, clone, i);
      InstId image = operand < num_old ? choice->clones.images[operand] : NO_ID;
      if (image != NO_ID) rewrite_set_operand(&cloning->rewrite, clone, i, image);
    }
    IdVec readers = {0};
    for (uint32_t i = 0; i < inst_get(module, id)->users.len; i++) {
      InstId user = inst_users(module, id)[i];
      bool is_late = user < choice->clones.first_new &&
                     choice->clones.positions[user] > choice->clones.early_end;
      if (is_late && is_own_reader(module, user, id)) *vec_push(cloning->arena, &readers) = user;
    }
    for (uint32_t r = 0; r < readers.len; r++) {
      for (uint32_t i = 0; i < inst_get(module, readers.data[r])->num_operands; i++) {
        if (inst_operand(module, readers.data[r], i) == id)
          rewrite_set_operand(&cloning->rewrite, readers.data[r], i, clone);
      }
    }
    before[first] = clone;
    num_made++;
  }
  Sequence sequence = {.ids = arena_array(cloning->made->arena, InstId, old.len + num_made)};
  for (SchedPos pos = 0; pos < old.len; pos++) {
    if (old.ids[pos] < num_old && before[old.ids[pos]] != NO_ID)
      sequence.ids[sequence.len++] = before[old.ids[pos]];
    sequence.ids[sequence.len++] = old.ids[pos];
  }
  cloning->made->schedule.of[study->comp] = sequence;
}

/* ---- under a policy ---- */

/* Whether a value is computed from a saved product of its own repetition, without another product
 * in between; the position of that product, or NO_ID. Looks back by a few operations. */
static SchedPos product_behind(const Study *study, const Proposal *proposal,
                               const CheckpointChoice *choice, SchedPos pos) {
  enum { MAX_VISITED = 16 };
  const uint32_t *instance_of = proposal->layers->instance_of;
  SchedPos queue[MAX_VISITED] = {pos};
  uint32_t len = 1;
  for (uint32_t at = 0; at < len; at++) {
    InstId id = choice->clones.sequence.ids[queue[at]];
    if (scope_saves(study, proposal, id)) return queue[at];
    for (uint32_t i = 0; i < inst_get(study->advisor->module, id)->num_operands; i++) {
      InstId operand = inst_operand(study->advisor->module, id, i);
      SchedPos origin = choice->origins[choice->clones.positions[operand]];
      if (instance_of[origin] == instance_of[pos] && len < MAX_VISITED) queue[len++] = origin;
    }
  }
  return NO_ID;
}

/* The last reader of a value in the backward part; NO_ID if there is none. */
static InstId late_reader_of(const CheckpointChoice *choice, InstId id) {
  const LateClones *clones = &choice->clones;
  InstId last = NO_ID;
  SchedPos last_pos = 0;
  for (uint32_t i = 0; i < inst_get(clones->module, id)->users.len; i++) {
    InstId user = inst_users(clones->module, id)[i];
    if (user >= clones->first_new || inst_is_root(clones->module, user)) continue;
    SchedPos pos = clones->positions[user];
    if (pos <= clones->early_end || pos < last_pos) continue;
    last_pos = pos;
    last = user;
  }
  return last;
}

uint32_t scope_hold_products(const Study *study, const Proposal *proposal, Cloning *cloning) {
  if (proposal->policy == POLICY_NOTHING) return 0;
  const CheckpointChoice *choice = &cloning->choice;
  Module *module = cloning->made->module;
  Sequence old = cloning->made->schedule.of[study->comp];
  InstId *helper_behind = arena_array(cloning->arena, InstId, module->insts.len);
  memset(helper_behind, 0xff, module->insts.len * sizeof *helper_behind);
  uint32_t num_held = 0;
  for (SchedPos pos = 0; pos <= choice->clones.early_end; pos++) {
    InstId id = choice->clones.sequence.ids[pos];
    const CheckpointValue *value = &choice->values[pos];
    bool is_handed_on = scope_is_wrapped(proposal, pos) && value->is_kept && !value->is_fixed &&
                        !scope_saves(study, proposal, id) &&
                        !(inst_get(module, id)->flags & INST_DEAD);
    InstId reader = is_handed_on ? late_reader_of(choice, id) : NO_ID;
    SchedPos product = reader == NO_ID ? NO_ID : product_behind(study, proposal, choice, pos);
    if (product == NO_ID || helper_behind[reader] != NO_ID) continue;
    InstId made_by = choice->clones.sequence.ids[product];
    if (!shape_is_array(inst_shape(module, made_by))) continue;
    helper_behind[reader] = cloning_hold(&cloning->rewrite, made_by, reader);
    num_held++;
  }
  Sequence sequence = {.ids = arena_array(cloning->made->arena, InstId, old.len + num_held)};
  for (SchedPos pos = 0; pos < old.len; pos++) {
    sequence.ids[sequence.len++] = old.ids[pos];
    if (old.ids[pos] < choice->clones.first_new && helper_behind[old.ids[pos]] != NO_ID)
      sequence.ids[sequence.len++] = helper_behind[old.ids[pos]];
  }
  cloning->made->schedule.of[study->comp] = sequence;
  return num_held;
}
