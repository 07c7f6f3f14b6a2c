/* What an instruction moves through memory, and what it needs to begin. */
#include "analysis/cost/units_internal.h"

/* What is moved, in pieces. */
typedef struct Transfers {
  double from_hbm, from_vmem, to_hbm;
  bool has_operands;
} Transfers;

static double ratio(double part, double whole) {
  return whole > 0 && part < whole ? part / whole : 1;
}

static double elements_ratio(const Module *module, InstId id, uint32_t part, const Shape *whole) {
  return ratio((double)cost_elements(cost_operand_shape(module, id, part)),
               (double)cost_elements(whole));
}

/* The share of an operand that is read. */
static double share_read(const Module *module, const CostTable *table, InstId id, uint32_t index) {
  const Instruction *inst = inst_get(module, id);
  const Shape *operand = cost_operand_shape(module, id, index);
  if (inst->opcode == OPCODE_FUSION && inst->num_callees > 0) {
    IdList params = comp_get(module, inst_callees(module, id)[0])->params;
    if (index >= params.len) return 1;
    InstId known = cost_known_inst(module, table, id_list(module, params)[index]);
    if (known == NO_ID) return 1;
    return ratio((double)table->param_reads[known], (double)cost_shape_bytes(operand));
  }
  if (index > 0) return 1;
  switch (inst->opcode) {
    case OPCODE_SLICE:
    case OPCODE_DYNAMIC_SLICE:
    case OPCODE_GATHER:
      return ratio((double)cost_elements(inst_shape(module, id)), (double)cost_elements(operand));
    case OPCODE_DYNAMIC_UPDATE_SLICE: return elements_ratio(module, id, 1, operand);
    case OPCODE_SCATTER: return elements_ratio(module, id, inst->num_operands - 1, operand);
    default: return 1;
  }
}

/* The share of an array that is written, where `id` computes it. */
static double share_written(const Module *module, InstId id) {
  const Shape *result = inst_shape(module, id);
  while (inst_get(module, id)->opcode == OPCODE_BITCAST && inst_get(module, id)->num_operands)
    id = inst_operand(module, id, 0);
  switch (inst_get(module, id)->opcode) {
    case OPCODE_DYNAMIC_UPDATE_SLICE: return elements_ratio(module, id, 1, result);
    case OPCODE_SCATTER:
      return elements_ratio(module, id, inst_get(module, id)->num_operands - 1, result);
    default: return 1;
  }
}

/* The instruction that computes element `index` of the result, or the result if it is no tuple. */
static InstId writer_of(const Module *module, InstId id, uint32_t index) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode != OPCODE_FUSION || inst->num_callees == 0) return id;
  InstId root = comp_get(module, inst_callees(module, id)[0])->root;
  const Instruction *last = inst_get(module, root);
  bool has_elements = last->opcode == OPCODE_TUPLE && index < last->num_operands;
  return has_elements ? inst_operand(module, root, index) : root;
}

static void add_result(const Module *module, InstId id, uint32_t index, const Shape *shape,
                       Transfers *moved) {
  if (!units_is_moved(shape) || units_is_in_vmem(shape)) return;
  InstId writer = writer_of(module, id, index);
  double share = shape_is_tuple(inst_shape(module, writer)) ? 1 : share_written(module, writer);
  moved->to_hbm += units_pieces(shape) * share;
}

static Transfers transfers_of(const Module *module, const CostTable *table, InstId id) {
  Transfers moved = {0};
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    const Shape *operand = cost_operand_shape(module, id, i);
    if (!units_is_moved(operand)) continue;
    double pieces = units_pieces(operand) * share_read(module, table, id, i);
    *(units_is_in_vmem(operand) ? &moved.from_vmem : &moved.from_hbm) += pieces;
    moved.has_operands = true;
  }
  const Shape *result = inst_shape(module, id);
  if (!shape_is_tuple(result)) add_result(module, id, 0, result, &moved);
  for (uint32_t i = 0; shape_is_tuple(result) && i < result->rank; i++)
    add_result(module, id, i, shape_get(&module->shapes, result->elements[i]), &moved);
  return moved;
}

static void move_units(CostUnits *units, CostUnit from, CostUnit to) {
  units->of[to] += units->of[from];
  units->of[from] = 0;
}

void units_add_transfers(const Module *module, const CostTable *table, InstId id,
                         CostUnits *units) {
  Transfers moved = transfers_of(module, table, id);
  bool is_in_hbm = moved.from_hbm > 0 || moved.to_hbm > 0;
  bool is_fusion = inst_get(module, id)->opcode == OPCODE_FUSION;
  if (units->of[UNIT_PRODUCT_MACS] > 0) {
    units_count(units, is_in_hbm ? UNIT_KERNEL : UNIT_SMALL_PRODUCT, 1);
    units_count(units, UNIT_PRODUCT_READ, moved.from_hbm);
    units_count(units, UNIT_PRODUCT_VMEM_READ, moved.from_vmem);
    units_count(units, UNIT_PRODUCT_WRITE, moved.to_hbm);
    move_units(units, UNIT_PACK, UNIT_PRODUCT_PACK);
    move_units(units, UNIT_MASK, UNIT_PRODUCT_MASK);
  } else if (!is_in_hbm && units->of[UNIT_TRANSPOSE] > 0 && !is_fusion) {
    *units = (CostUnits){0};
    units_count(units, UNIT_VMEM_TRANSPOSE, 1);
  } else {
    units_count(units, is_in_hbm || moved.has_operands || is_fusion ? UNIT_KERNEL : UNIT_UNREAD, 1);
    units_count(units, UNIT_READ, moved.from_hbm + moved.from_vmem);
    units_count(units, UNIT_WRITE, moved.to_hbm);
  }
}
