/* Recomputing, the first strategy of XLA's pass: unplaced users read a clone, which is inserted
 * before the earliest of them. */
#include "remat/algorithms/standard_pass.h"

static bool vec_contains(const IdVec *ids, uint32_t id) {
  for (uint32_t i = 0; i < ids->len; i++) {
    if (ids->data[i] == id) return true;
  }
  return false;
}

/* The replacement for a use: the clone, an element of it, or a bitcast of either. */
static InstId operand_for_use(Pass *pass, InstId clone, BufferUse use, uint32_t element,
                              InstId *gte, IdVec *helpers) {
  Rewrite *rewrite = pass->standard->job->rewrite;
  const Module *module = rewrite->module;
  ShapeId wanted = inst_get(module, inst_operand(module, use.user, use.operand))->shape;
  InstId operand = clone;
  if (element != NO_ID && inst_get(module, operand)->shape != wanted) {
    if (*gte == NO_ID) {
      *gte = rewrite_add_get_tuple_element(rewrite, clone, element);
      *vec_push(pass->arena, helpers) = *gte;
    }
    operand = *gte;
  }
  if (inst_get(module, operand)->shape != wanted) {
    operand = rewrite_add_bitcast(rewrite, operand, wanted);
    *vec_push(pass->arena, helpers) = operand;
  }
  return operand;
}

/* Redirects every unplaced use to the clone. Returns the helpers that were added for that. */
static IdVec redirect_uses(Pass *pass, InstId original, InstId clone) {
  Rewrite *rewrite = pass->standard->job->rewrite;
  IdVec helpers = {0};
  const IdVec defined = item_get(&pass->list, original)->defined;
  for (uint32_t i = 0; i < defined.len; i++) {
    const TrackedBuffer *buffer = tracked_buffer(&pass->tracker, defined.data[i]);
    InstId gte = NO_ID;
    for (uint32_t k = 0; k < buffer->uses.len; k++) {
      BufferUse use = buffer->uses.data[k];
      if (pass_is_placed(pass, use.user)) continue;
      if (inst_operand(rewrite->module, use.user, use.operand) == clone) continue;
      InstId operand = operand_for_use(pass, clone, use, buffer->element, &gte, &helpers);
      rewrite_set_operand(rewrite, use.user, use.operand, operand);
    }
  }
  for (uint32_t i = 0; i < helpers.len; i++) {
    item_list_create(&pass->list, helpers.data[i]);
    standard_deny(pass->standard, helpers.data[i]);
  }
  return helpers;
}

/* Whether an operand may live until the clone. In peak-priority mode, the smaller of operand and
 * clone should live longer. */
static bool may_outlive(const Pass *pass, InstId operand, InstId clone) {
  return pass->standard->keeps_clones &&
         tracker_read_bytes(&pass->tracker, operand) < tracker_read_bytes(&pass->tracker, clone);
}

/* Whether an instruction is unplaced and comes after the original. Skipped instructions are
 * unplaced, too, but can come before it. */
static bool is_to_come(const Pass *pass, InstId original, InstId id) {
  return !pass_is_placed(pass, id) &&
         item_get(&pass->list, id)->position >= item_get(&pass->list, original)->position;
}

/* The instructions that the clone must precede: its own users; the users of its operands, so that
 * the operands do not have to live longer; the instructions that overwrite its operands, unless
 * the original reads them after that already; and its control successors. */
static IdVec places_before(Pass *pass, InstId original, InstId clone, const IdVec *helpers) {
  const Module *module = pass->tracker.module;
  IdVec places = {0};
  for (uint32_t h = 0; h <= helpers->len; h++) {
    InstId source = h == 0 ? clone : helpers->data[h - 1];
    for (uint32_t i = 0; i < inst_get(module, source)->users.len; i++) {
      InstId user = inst_users(module, source)[i];
      if (!vec_contains(helpers, user)) *vec_push(pass->arena, &places) = user;
    }
  }
  for (uint32_t k = 0; k < inst_get(module, clone)->num_operands; k++) {
    InstId operand = inst_operand(module, clone, k);
    InstId overwriter = legality_overwriter(pass->standard->job->legality, operand);
    if (overwriter != NO_ID && is_to_come(pass, original, overwriter))
      *vec_push(pass->arena, &places) = overwriter;
    if (may_outlive(pass, operand, clone)) continue;
    for (uint32_t i = 0; i < inst_get(module, operand)->users.len; i++) {
      InstId user = inst_users(module, operand)[i];
      if (user != clone && is_to_come(pass, original, user)) {
        *vec_push(pass->arena, &places) = user;
      }
    }
  }
  IdList successors = inst_control(module, clone)->successors;
  for (uint32_t i = 0; i < successors.len; i++) {
    *vec_push(pass->arena, &places) = id_list(module, successors)[i];
  }
  return places;
}

/* Whether the instruction has no users and is no result, looking through bitcasts and
 * get-tuple-elements; as in XLA, also through those with control dependencies. `readers` receives
 * the instruction and these, each after its operand. */
static bool is_unread(const Module *module, InstId id, IdVec *readers, Arena *scratch) {
  *vec_push(scratch, readers) = id;
  for (uint32_t k = 0; k < readers->len; k++) {
    InstId source = readers->data[k];
    if (inst_is_root(module, source)) return false;
    for (uint32_t i = 0; i < inst_get(module, source)->users.len; i++) {
      InstId user = inst_users(module, source)[i];
      if (!opcode_has((Opcode)inst_get(module, user)->opcode, OPF_PASS_THROUGH)) return false;
      *vec_push(scratch, readers) = user;
    }
  }
  return true;
}

/* Removes `readers`, the last one first. The removal stops at a bitcast or get-tuple-element with
 * control dependencies; XLA removes these, too, and fails if several of them are in a row. */
static void remove_unread(Module *module, const IdVec *readers) {
  for (uint32_t i = readers->len; i-- > 0;) {
    InstId id = readers->data[i];
    bool is_original = i == 0;
    if (!is_original && inst_has_control(module, id)) return;
    module_remove_inst(module, id);
  }
}

static void recompute(Pass *pass, InstId original) {
  Standard *standard = pass->standard;
  InstId clone = rewrite_clone(standard->job->rewrite, original, standard->scratch);
  if (standard->keeps_clones) standard_deny(standard, clone);
  module_copy_control(standard->module, original, clone);
  item_list_create(&pass->list, clone);
  IdVec helpers = redirect_uses(pass, original, clone);
  tracker_add_clone(&pass->tracker, original, clone, &helpers);
  IdVec places = places_before(pass, original, clone, &helpers);
  item_list_insert_before(&pass->list, clone, &places);
  for (uint32_t i = 0; i < helpers.len; i++) {
    item_list_insert_before(&pass->list, helpers.data[i], &places);
  }
  ArenaMark mark = arena_mark(standard->scratch);
  IdVec readers = {0};
  if (is_unread(standard->module, original, &readers, standard->scratch)) {
    /* The clone of a move is a move, too. It is not rematerialized again, because this could go on
     * forever. */
    RematItem *item = item_get(&pass->list, clone);
    if (item_get(&pass->list, original)->is_move) standard_deny(standard, clone);
    item->is_move = true;
    if (standard->keeps_clones) remove_unread(standard->module, &readers);
  }
  arena_reset(standard->scratch, mark);
  standard->stats->num_steps++;
}

void standard_recompute(Pass *pass, const Block *block) {
  for (uint32_t i = block->len; i-- > 0;) {
    if (tracker_has_unplaced_uses(&pass->tracker, block->items[i])) {
      recompute(pass, block->items[i]);
    }
  }
}
