#include "advice/random_loops.h"

/* Whether all that a loop carries are integers, as the state of a generator is. */
static bool is_of_integers(const Module *module, InstId loop) {
  const Shape *shape = inst_shape(module, loop);
  for (uint32_t part = 1; part < shape->num_parts; part++) {
    const Shape *own = shape_get(&module->shapes,
                                 shape_part(&module->shapes, inst_get(module, loop)->shape, part));
    if (!shape_is_array(own)) continue;
    uint8_t kind = type_info((ElementType)own->type)->class;
    if (kind != TYPE_CLASS_SINT && kind != TYPE_CLASS_UINT) return false;
  }
  return true;
}

static bool is_late(const LateClones *clones, InstId id) {
  return id >= clones->first_new || clones->positions[id] > clones->early_end;
}

/* What a reader reads besides; NO_ID if there is nothing. */
static InstId other_operand(const Module *module, InstId reader, InstId value) {
  for (uint32_t i = 0; i < inst_get(module, reader)->num_operands; i++) {
    if (inst_operand(module, reader, i) != value) return inst_operand(module, reader, i);
  }
  return NO_ID;
}

static bool drop_from(Cloning *cloning, InstId reader, InstId value) {
  const Module *module = cloning->made->module;
  InstId other = other_operand(module, reader, value);
  if (inst_get(module, reader)->opcode != OPCODE_FUSION || other == NO_ID) return false;
  for (uint32_t i = 0; i < inst_get(module, reader)->num_operands; i++) {
    if (inst_operand(module, reader, i) == value)
      rewrite_set_operand(&cloning->rewrite, reader, i, other);
  }
  return true;
}

/* Follows the elements of a loop's result, and other forms of them. */
static bool drop_loop(Cloning *cloning, InstId loop, Arena *scratch) {
  const Module *module = cloning->made->module;
  const LateClones *clones = &cloning->choice.clones;
  Arena *arena = arena_new(arena_options(scratch));
  IdVec forms = {0};
  bool has_changed = false;
  *vec_push(arena, &forms) = loop;
  for (uint32_t at = 0; at < forms.len; at++) {
    InstId form = forms.data[at];
    uint32_t num_users = inst_get(module, form)->users.len;
    InstId *users = arena_array(arena, InstId, num_users);
    for (uint32_t u = 0; u < num_users; u++)
      users[u] = inst_users(module, form)[u];
    for (uint32_t u = 0; u < num_users; u++) {
      if (inst_is_pass_through(module, users[u])) {
        *vec_push(arena, &forms) = users[u];
      } else if (is_late(clones, users[u])) {
        has_changed |= drop_from(cloning, users[u], form);
      }
    }
  }
  arena_free(arena);
  return has_changed;
}

bool random_loops_drop(const Study *study, const Proposal *proposal, Cloning *cloning,
                       Arena *scratch) {
  const Module *module = cloning->made->module;
  bool has_changed = false;
  for (SchedPos pos = 0; pos <= study->forward.end; pos++) {
    InstId id = study->forward.sequence.ids[pos];
    bool is_meant = inst_get(module, id)->opcode == OPCODE_WHILE &&
                    !(inst_get(module, id)->flags & INST_DEAD) && scope_is_wrapped(proposal, pos) &&
                    is_of_integers(module, id);
    if (is_meant) has_changed |= drop_loop(cloning, id, scratch);
  }
  return has_changed;
}
