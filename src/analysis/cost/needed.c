/* What a fused computation needs of its parameters. Each element of a result is computed from the
 * elements that it depends on, so that of an array which is sliced or gathered only these are read,
 * also where bitcasts, conversions and other elementwise operations lie between. HloCostAnalysis,
 * whose bytes are those of `CostTable.of`, takes such an array for read as a whole, and one that is
 * updated in place and bitcast for written as a whole. Times go by what is needed. */
#include <math.h>

#include "analysis/cost/cost_internal.h"

static Opcode opcode_of(const Module *module, InstId id) {
  return (Opcode)inst_get(module, id)->opcode;
}

bool cost_is_result(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  while (inst->users.len == 1) {
    InstId user = inst_users(module, id)[0];
    Opcode opcode = opcode_of(module, user);
    if (opcode != OPCODE_BITCAST && opcode != OPCODE_TUPLE) return false;
    id = user;
    inst = inst_get(module, id);
  }
  return inst->users.len == 0;
}

static double share_of_elements(const Module *module, InstId part, InstId whole) {
  double all = (double)cost_elements(inst_shape(module, whole));
  double some = (double)cost_elements(inst_shape(module, part));
  return all > 0 && some < all ? some / all : 1;
}

/* The share of `value` that is needed for a share of its user's elements. */
static double needed_by(const Module *module, const CostTable *table, InstId value, InstId user,
                        uint32_t index) {
  double share = (double)table->needed_shares[user];
  Opcode opcode = opcode_of(module, user);
  switch (opcode) {
    case OPCODE_SLICE: return share * share_of_elements(module, user, value);
    case OPCODE_DYNAMIC_SLICE:
    case OPCODE_GATHER: return index == 0 ? share * share_of_elements(module, user, value) : 1;
    case OPCODE_DYNAMIC_UPDATE_SLICE:
      if (index == 0) return cost_is_result(module, user) ? 0 : share;
      return 1;
    case OPCODE_FUSION: {
      if (inst_get(module, user)->num_callees == 0) return 1;
      IdList params = comp_get(module, inst_callees(module, user)[0])->params;
      return index < params.len ? (double)table->needed_shares[id_list(module, params)[index]] : 1;
    }
    case OPCODE_BITCAST:
    case OPCODE_RESHAPE:
    case OPCODE_COPY:
    case OPCODE_TRANSPOSE:
    case OPCODE_TUPLE: return share;
    default: return opcode_has(opcode, OPF_ELEMENTWISE) ? share : 1;
  }
}

void cost_note_needed(const Module *module, CostTable *table, CompId comp, double *sums) {
  InstId root = comp_get(module, comp)->root;
  if (table->needed_shares[root] > 0) return; /* another fusion calls it, too */
  sums[root] = 1;
  for (uint32_t i = comp_num_insts(module, comp); i > 0; i--) {
    InstId id = comp_inst(module, comp, i - 1);
    table->needed_shares[id] = (float)fmin(sums[id], 1);
    for (uint32_t index = 0; index < inst_get(module, id)->num_operands; index++) {
      InstId operand = inst_operand(module, id, index);
      sums[operand] += needed_by(module, table, operand, id, index);
    }
  }
}

int64_t cost_needed_bytes(const Module *module, const CostTable *table, InstId param) {
  double whole = (double)cost_shape_bytes(inst_shape(module, param));
  int64_t needed = (int64_t)ceil(whole * (double)table->needed_shares[param]);
  return needed < table->param_reads[param] ? needed : table->param_reads[param];
}

/* What HloCostAnalysis takes for written of one result beyond what is: of an array that is updated
 * in place, behind bitcasts. */
static int64_t unwritten_bytes(const Module *module, InstId from) {
  InstId id = from;
  while (opcode_of(module, id) == OPCODE_BITCAST)
    id = inst_operand(module, id, 0);
  if (id == from || opcode_of(module, id) != OPCODE_DYNAMIC_UPDATE_SLICE) return 0;
  int64_t whole = cost_shape_bytes(inst_shape(module, from));
  int64_t written = cost_operand_bytes(module, id, 1);
  return whole > written ? whole - written : 0;
}

int64_t cost_unneeded_bytes(const Module *module, const CostTable *table, InstId id) {
  if (opcode_of(module, id) != OPCODE_FUSION || inst_get(module, id)->num_callees == 0) return 0;
  const Computation *fused = comp_get(module, inst_callees(module, id)[0]);
  int64_t bytes = 0;
  for (uint32_t i = 0; i < fused->params.len; i++) {
    InstId param = id_list(module, fused->params)[i];
    if (param >= table->num_insts || shape_is_tuple(inst_shape(module, param))) continue;
    int64_t needed = cost_needed_bytes(module, table, param);
    bytes = saturating_add(bytes, table->param_reads[param] - needed);
  }
  if (opcode_of(module, fused->root) != OPCODE_TUPLE)
    return saturating_add(bytes, unwritten_bytes(module, fused->root));
  for (uint32_t i = 0; i < inst_get(module, fused->root)->num_operands; i++)
    bytes = saturating_add(bytes, unwritten_bytes(module, inst_operand(module, fused->root, i)));
  return bytes;
}
