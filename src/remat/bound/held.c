/* What lives at an instruction in every order, although it does not read it. A look is one of a few
 * instructions that are looked at in this way. What is said holds when it runs for the first time.
 *
 * Held below: a value that exists before the look, and that cannot be computed again, is read by an
 * instruction that depends on the look. Any clone of that instruction depends on it, too, and so
 * reads the value later. Such values are those of instructions that run only once and that the look
 * depends on, and donated parameters.
 *
 * Held on a path: a donated parameter p and the output y that takes over its memory are joined by a
 * path p, x1, x2, …, y, in which every instruction reads the one before. Follow it back from the y
 * that is returned: it was computed from some instance of the last x, this one from some instance
 * of the x before it, and so on to p. Each of them lives from its definition to the next one's, so
 * at any time one of them is live, whatever is recomputed. Different donations have different
 * paths. */
#include <string.h>

#include "remat/bound/lower_bound_internal.h"

/* ---- values that are computed only once ---- */

bool bound_runs_once(const Bound *bound, InstId id) {
  switch (recompute_verdict(bound->legality, id)) {
    case KEEP_CUSTOM_CALL:
      return !inst_allocates(bound->module, id) && !legality_is_known_call(bound->module, id);
    case KEEP_SIDE_EFFECT: return true;
    case KEEP_CONTROL_FLOW: return inst_get(bound->module, id)->opcode != OPCODE_WHILE;
    default: return false;
  }
}

/* Instructions that can only run once and whose results have memory of their own. */
static IdVec find_holders(const Bound *bound, CompId comp) {
  IdVec holders = {0};
  for (uint32_t i = 0; i < comp_num_insts(bound->module, comp); i++) {
    InstId id = comp_inst(bound->module, comp, i);
    if (!bound_runs_once(bound, id)) continue;
    int64_t bytes = 0;
    for (uint32_t k = 0; k < bound->points_to.num_defined[id]; k++)
      bytes += bound_bytes(bound, bound->points_to.first_buffer[id] + k);
    if (bytes > 0) *vec_push(bound->scratch, &holders) = id;
  }
  return holders;
}

/* ---- what depends on what ---- */

/* The bits of the arrays that an operand consists of, as far as the instruction reads them. */
static LookBits operand_below(const Bound *bound, InstId id, InstId operand) {
  LookBits bits = 0;
  for (uint32_t part = 0; part < inst_shape(bound->module, operand)->num_parts; part++) {
    LogicalId buffer = points_to_part(&bound->points_to, operand, part);
    if (bound->below[buffer] && !bound_is_table(bound, buffer) &&
        bound_is_used_by(bound, operand, part, id))
      bits |= bound->below[buffer];
  }
  return bits;
}

/* Whether an instruction only hands values on. Rewrites can go around it. */
static bool hands_on(const Bound *bound, InstId id) {
  return bound->points_to.num_defined[id] == 0 ||
         inst_get(bound->module, id)->opcode == OPCODE_TUPLE;
}

static void mark_below(Bound *bound, InstId id, LookBits own) {
  const Module *module = bound->module;
  uint32_t first = bound->points_to.first_buffer[id], num = bound->points_to.num_defined[id];
  bool is_bundle = fusion_bundles_results(module, id);
  for (uint32_t k = 0; k < num; k++)
    bound->below[first + k] = own;
  for (uint32_t i = 0; bound_waits(bound, id) && i < inst_get(module, id)->num_operands; i++) {
    LookBits bits = operand_below(bound, id, inst_operand(module, id, i));
    if (!bits) continue;
    ElementBits readers = bound_readers(bound, id, i);
    for (uint32_t k = 0; k < num; k++) {
      if (bound_is_among(bound, first + k, readers)) bound->below[first + k] |= bits;
    }
    if (!is_bundle) bound->inst_below[id] |= bits;
  }
}

static void mark_above(Bound *bound, InstId id, LookBits own) {
  const Module *module = bound->module;
  uint32_t first = bound->points_to.first_buffer[id], num = bound->points_to.num_defined[id];
  for (uint32_t i = 0; bound_waits(bound, id) && i < inst_get(module, id)->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    ElementBits readers = bound_readers(bound, id, i);
    LookBits bits = own;
    for (uint32_t k = 0; k < num; k++) {
      if (bound_is_among(bound, first + k, readers)) bits |= bound->above[first + k];
    }
    for (uint32_t part = 0; bits && part < inst_shape(module, operand)->num_parts; part++) {
      LogicalId buffer = points_to_part(&bound->points_to, operand, part);
      if (!bound_is_table(bound, buffer) && bound_is_used_by(bound, operand, part, id))
        bound->above[buffer] |= bits;
    }
  }
}

/* Marks what is above and below each look. A look that bundles results has no bit: which of its
 * operands it depends on depends on the results that are left. */
static void mark_reach(Bound *bound, Sequence order, const Needs *needs) {
  LookBits *own = bound->inst_look;
  for (uint32_t i = 0; i < needs->len; i++) {
    if (!fusion_bundles_results(bound->module, needs->list[i].inst))
      own[needs->list[i].inst] = (LookBits)(1u << i);
  }
  for (uint32_t i = 0; i < order.len; i++) {
    if (!hands_on(bound, order.ids[i])) mark_below(bound, order.ids[i], own[order.ids[i]]);
  }
  for (uint32_t i = order.len; i-- > 0;) {
    if (!hands_on(bound, order.ids[i])) mark_above(bound, order.ids[i], own[order.ids[i]]);
  }
}

/* The looks of `wanted` below which the buffer is read. */
static LookBits read_below(const Bound *bound, LogicalId id, LookBits wanted) {
  const Module *module = bound->module;
  const PointsTo *points_to = &bound->points_to;
  LookBits looks = 0;
  for (uint32_t i = points_to->first_alias[id]; i < points_to->first_alias[id + 1]; i++) {
    BufferAlias alias = points_to->aliases[i];
    for (uint32_t k = 0; k < inst_get(module, alias.inst)->users.len; k++) {
      InstId user = inst_users(module, alias.inst)[k];
      LookBits below = bound->inst_below[user] & wanted & (LookBits)~looks;
      if (below && bound->is_needed[user] && bound_is_used_by(bound, alias.inst, alias.part, user))
        looks |= below;
    }
    if (looks == wanted) break;
  }
  return looks;
}

/* ---- what is held ---- */

static void hold(Bound *bound, Needs *needs, LookBits looks, int64_t bytes) {
  for (uint32_t look = 0; bytes && looks >> look; look++) {
    if (!(looks >> look & 1)) continue;
    needs->list[look].bytes += bytes;
    *vec_push(bound->scratch, &needs->held[look]) = bytes;
  }
}

/* Values of holders above a look that are read below it. */
static void add_holder(Bound *bound, InstId holder, Needs *needs) {
  LookBits above = 0;
  uint32_t first = bound->points_to.first_buffer[holder];
  uint32_t num = bound->points_to.num_defined[holder];
  for (uint32_t k = 0; k < num; k++)
    above |= bound->above[first + k];
  for (uint32_t k = 0; above && k < num; k++) {
    LookBits looks = above & (LookBits)~bound->counted[first + k];
    int64_t bytes = bound_bytes(bound, first + k);
    if (!bytes || !looks || bound->same_as[first + k] != first + k) continue;
    bool stays = bound->is_live_out[first + k]; /* to the end, whether it is read or not */
    hold(bound, needs, stays ? looks : read_below(bound, first + k, looks), bytes);
  }
}

static void add_donation(Bound *bound, const Donation *donation, Needs *needs) {
  LookBits all = (LookBits)((1u << needs->len) - 1);
  LookBits looks = all & (LookBits)~bound->counted[donation->param];
  LookBits below = read_below(bound, donation->param, looks);
  LookBits on_path = donation->first < donation->end ? looks & (LookBits)~below : 0;
  for (uint32_t i = donation->first; i < donation->end; i++)
    on_path &= (LookBits)~bound->counted[bound->donations.paths.data[i]];
  hold(bound, needs, below | on_path, donation->bytes);
}

void bound_add_held(Bound *bound, CompId comp, Sequence order, Needs *needs) {
  IdVec holders = find_holders(bound, comp);
  bool is_entry = comp == bound->module->entry;
  uint32_t num_donations = is_entry ? bound->donations.list.len : 0;
  if (needs->len == 0 || (holders.len == 0 && num_donations == 0)) return;
  mark_reach(bound, order, needs);
  for (uint32_t i = 0; i < holders.len; i++)
    add_holder(bound, holders.data[i], needs);
  for (uint32_t i = 0; i < num_donations; i++)
    add_donation(bound, &bound->donations.list.data[i], needs);
}
