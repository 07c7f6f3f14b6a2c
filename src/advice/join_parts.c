#include "advice/join_parts.h"

typedef struct Joining {
  const Study *study;
  const Proposal *proposal;
  Module *module;
  SchedPos *positions; /* by InstId; NO_ID = not in the forward part */
} Joining;

/* Whether an instruction is a value as XLA holds it: an element of what a fusion makes counts, and
 * another form of a value does not. */
static bool is_value(const Module *module, InstId id) {
  return inst_get(module, id)->opcode == OPCODE_GET_TUPLE_ELEMENT ||
         !inst_is_pass_through(module, id);
}

static uint32_t instance_at(const Joining *joining, InstId id) {
  while (inst_is_pass_through(joining->module, id))
    id = inst_operand(joining->module, id, 0);
  SchedPos pos = joining->positions[id];
  return pos == NO_ID ? NO_ID : joining->proposal->layers->instance_of[pos];
}

/* Whether a reader is in the forward part, outside of a repetition. */
static bool is_outside(const Joining *joining, InstId reader, uint32_t instance) {
  return joining->positions[reader] != NO_ID && instance_at(joining, reader) != instance;
}

/* Whether a value is read outside of its repetition, and only by fusions that read `other`, too. */
static bool is_read_with(const Joining *joining, InstId value, InstId other) {
  const Module *module = joining->module;
  uint32_t instance = instance_at(joining, value), count = 0;
  for (uint32_t i = 0; i < inst_get(module, value)->users.len; i++) {
    InstId reader = inst_users(module, value)[i];
    if (!is_outside(joining, reader, instance)) continue;
    if (inst_get(module, reader)->opcode != OPCODE_FUSION ||
        inst_count_operand(module, reader, other) == 0)
      return false;
    count++;
  }
  return count > 0;
}

/* The other value that stands for one; NO_ID if there is none. It is read outside, too, and of two
 * that are read by the same the one that is made last. What a policy saves waits in any case. */
static InstId carrier_of(const Joining *joining, InstId value) {
  const Module *module = joining->module;
  const Shape *shape = inst_shape(module, value);
  uint32_t instance = instance_at(joining, value);
  InstId found = NO_ID;
  for (uint32_t u = 0; u < inst_get(module, value)->users.len; u++) {
    InstId reader = inst_users(module, value)[u];
    if (!is_outside(joining, reader, instance)) continue;
    for (uint32_t i = 0; i < inst_get(module, reader)->num_operands; i++) {
      InstId other = inst_operand(module, reader, i);
      const Shape *its = inst_shape(module, other);
      bool is_alike = other != value && instance_at(joining, other) == instance &&
                      shape_is_array(its) && its->num_elements == shape->num_elements &&
                      its->bytes >= shape->bytes && is_value(module, other) &&
                      !scope_saves(joining->study, joining->proposal, other);
      if (!is_alike || !is_read_with(joining, value, other)) continue;
      bool is_mutual = is_read_with(joining, other, value) && its->bytes == shape->bytes;
      if (is_mutual && joining->positions[other] < joining->positions[value]) continue;
      if (found == NO_ID || joining->positions[other] > joining->positions[found]) found = other;
    }
    return found; /* all its readers read it */
  }
  return NO_ID;
}

/* Makes what reads both read the carrier twice. */
static void replace_with(const Joining *joining, Rewrite *rewrite, InstId value, InstId carrier,
                         Arena *arena) {
  Module *module = joining->module;
  IdSpan users = inst_copy_users(module, value, arena);
  uint32_t instance = instance_at(joining, value);
  for (uint32_t u = 0; u < users.len; u++) {
    InstId user = users.ids[u];
    bool is_early_own = joining->positions[user] != NO_ID && !is_outside(joining, user, instance);
    if (is_early_own || inst_count_operand(module, user, carrier) == 0) continue;
    for (uint32_t i = 0; i < inst_get(module, user)->num_operands; i++) {
      if (inst_operand(module, user, i) == value) rewrite_set_operand(rewrite, user, i, carrier);
    }
  }
}

bool join_parts(const Study *study, const Proposal *proposal, Rewrite *rewrite, Arena *scratch) {
  Module *module = rewrite->module;
  Sequence sequence = study->forward.sequence;
  Arena *arena = arena_new(arena_options(scratch));
  Joining joining = {.study = study,
                     .proposal = proposal,
                     .module = module,
                     .positions = arena_array(arena, SchedPos, module->insts.len)};
  bool has_changed = false;
  memset(joining.positions, 0xff, module->insts.len * sizeof *joining.positions);
  for (SchedPos pos = 0; pos <= study->forward.end; pos++)
    joining.positions[sequence.ids[pos]] = pos;
  for (SchedPos pos = 0; pos <= study->forward.end; pos++) {
    InstId id = sequence.ids[pos];
    uint32_t instance = instance_at(&joining, id);
    bool is_made = instance < proposal->layers->num_instances && instance % proposal->every == 0 &&
                   is_value(module, id) && shape_is_array(inst_shape(module, id)) &&
                   !scope_saves(study, proposal, id);
    InstId carrier = is_made ? carrier_of(&joining, id) : NO_ID;
    if (carrier == NO_ID) continue;
    replace_with(&joining, rewrite, id, carrier, arena);
    has_changed = true;
  }
  arena_free(arena);
  return has_changed;
}
