/* The work of one instruction in the vector unit. */
#include "analysis/cost/units_internal.h"

/* The first array of the result. */
static const Shape *first_result(const Module *module, InstId id) {
  const Shape *shape = inst_shape(module, id);
  if (shape_is_tuple(shape) && shape->rank) {
    shape = shape_get(&module->shapes, shape->elements[0]);
  }
  return shape;
}

static CostUnit convert_unit(const Shape *from, const Shape *to) {
  if (!from || !shape_is_array(from)) return UNIT_SIMPLE;
  if (units_is_half(to) && from->type == TYPE_F32) return UNIT_PACK;
  if (units_is_half(from) && to->type == TYPE_F32) return UNIT_UNPACK;
  return UNIT_SIMPLE;
}

/* Masks are made for the width of what is compared, and are brought to that of what is selected. */
static bool selects_half(const Module *module, InstId id) {
  return inst_get(module, id)->opcode == OPCODE_SELECT && units_is_half(inst_shape(module, id));
}

static CostUnit broadcast_unit(const Module *module, InstId id) {
  const Shape *from = cost_operand_shape(module, id, 0), *to = inst_shape(module, id);
  IntSlice kept = inst_attr_ints(module, id, ATTR_DIMENSIONS);
  int64_t rows = units_minor_dim(to, 1);
  if (!units_is_moved(from)) return UNIT_SIMPLE;
  if (!ints_have(kept, units_minor_dim(to, 0))) return UNIT_SPREAD_LANES;
  if (to->type == TYPE_PRED) return UNIT_MASK;
  return rows >= 0 && !ints_have(kept, rows) ? UNIT_SPREAD_ROWS : UNIT_SIMPLE;
}

static CostUnit reduce_unit(const Module *module, InstId id) {
  const Shape *from = cost_operand_shape(module, id, 0);
  IntSlice reduced = inst_attr_ints(module, id, ATTR_DIMENSIONS);
  if (ints_have(reduced, units_minor_dim(from, 0))) return UNIT_REDUCE_LANES;
  return ints_have(reduced, units_minor_dim(from, 1)) ? UNIT_REDUCE_ROWS : UNIT_REDUCE;
}

/* What is the same in all lanes is brought there once for all registers that have the same rows of
 * the operand. */
static double spread_rows_of(const Module *module, InstId id) {
  const Shape *to = inst_shape(module, id);
  IntSlice kept = inst_attr_ints(module, id, ATTR_DIMENSIONS);
  double rows = units_registers(to) / units_lane_tiles(to);
  for (uint32_t i = 1; i < to->rank; i++) {
    int64_t dim = units_minor_dim(to, i);
    if (ints_have(kept, dim)) continue;
    rows /= i == 1 ? units_row_tiles(to) : (double)cost_dim(to, dim);
  }
  return rows;
}

/* A mask is made of what is spread, which has to be widened and compared, too. */
static void add_broadcast(const Module *module, InstId id, CostUnits *units) {
  enum { MASK_SPREADS = 3 };
  CostUnit unit = broadcast_unit(module, id);
  const Shape *to = inst_shape(module, id);
  if (unit != UNIT_SPREAD_LANES) {
    units_count(units, unit, units_registers(to));
    return;
  }
  units_count(units, unit, (to->type == TYPE_PRED ? MASK_SPREADS : 1) * spread_rows_of(module, id));
}

static void add_reduce(const Module *module, InstId id, CostUnits *units) {
  const Shape *from = cost_operand_shape(module, id, 0), *to = first_result(module, id);
  CostUnit unit = reduce_unit(module, id);
  units_count(units, unit, units_registers(from));
  units_count(units, UNIT_STAGED, units_registers(from));
  if (unit == UNIT_REDUCE_LANES) units->row_blocks = (float)units_row_blocks(to);
}

/* The dimension of the operand that becomes dimension `dim` of a copy or transpose. */
static int64_t source_dim(const Module *module, InstId id, int64_t dim) {
  if (inst_get(module, id)->opcode != OPCODE_TRANSPOSE) return dim;
  IntSlice dims = inst_attr_ints(module, id, ATTR_DIMENSIONS);
  return dim >= 0 && dim < (int64_t)dims.len ? dims.data[dim] : -1;
}

static CostUnit copy_unit(const Module *module, InstId id) {
  const Shape *from = cost_operand_shape(module, id, 0), *to = inst_shape(module, id);
  if (!from || !shape_is_array(from) || !shape_is_array(to)) return UNIT_SIMPLE;
  for (uint32_t i = 0; i < to->rank && i < from->rank; i++) {
    if (source_dim(module, id, units_minor_dim(to, i)) == units_minor_dim(from, i)) continue;
    return i == 0 ? UNIT_TRANSPOSE : UNIT_PERMUTE;
  }
  return inst_is_converting_copy(module, id) ? convert_unit(from, to) : UNIT_SIMPLE;
}

static CostUnit elementwise_unit(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  switch (opcode) {
    case OPCODE_CONVERT:
      return convert_unit(cost_operand_shape(module, id, 0), inst_shape(module, id));
    case OPCODE_DIVIDE: return UNIT_DIVIDE;
    case OPCODE_REMAINDER: return UNIT_REMAINDER;
    case OPCODE_SELECT: return selects_half(module, id) ? UNIT_MASK : UNIT_SIMPLE;
    case OPCODE_SQRT:
    case OPCODE_RSQRT: return UNIT_ROOT;
    case OPCODE_SINE:
    case OPCODE_COSINE:
    case OPCODE_TAN: return UNIT_ANGLE;
    default: return opcode_has(opcode, OPF_TRANSCENDENTAL) ? UNIT_TRANSCENDENTAL : UNIT_SIMPLE;
  }
}

/* A bitonic sort compares and selects in each of log2(n) * (log2(n) + 1) / 2 steps. */
static double sort_operations(const Module *module, InstId id) {
  const Shape *shape = cost_operand_shape(module, id, 0);
  IntSlice dims = inst_attr_ints(module, id, ATTR_DIMENSIONS);
  int64_t length = dims.len ? cost_dim(shape, dims.data[0]) : 1;
  double steps = 0;
  while (length > 1) {
    length = length / 2 + length % 2;
    steps++;
  }
  return steps * (steps + 1) / 2 * (1 + inst_get(module, id)->num_operands);
}

void units_add_vector(const Module *module, InstId id, CostUnits *units) {
  enum { RANDOM_OPERATIONS = 100 }; /* Threefry: 20 rounds of five operations */
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  double result = units_registers(first_result(module, id));
  const Shape *operand = cost_operand_shape(module, id, 0);
  switch (opcode) {
    case OPCODE_COPY:
    case OPCODE_TRANSPOSE: units_count(units, copy_unit(module, id), result); return;
    case OPCODE_BROADCAST: add_broadcast(module, id, units); return;
    case OPCODE_REDUCE: add_reduce(module, id, units); return;
    case OPCODE_REDUCE_WINDOW:
    case OPCODE_SELECT_AND_SCATTER:
      units_count(units, UNIT_WINDOW, units_registers(operand));
      return;
    case OPCODE_IOTA: units_count(units, UNIT_IOTA, result); return;
    case OPCODE_SLICE:
    case OPCODE_DYNAMIC_SLICE:
    case OPCODE_PAD:
    case OPCODE_CONCATENATE:
    case OPCODE_REVERSE: units_count(units, UNIT_MOVE, result); return;
    case OPCODE_DYNAMIC_UPDATE_SLICE:
      units_count(units, UNIT_UPDATE, units_registers(cost_operand_shape(module, id, 1)));
      return;
    case OPCODE_SORT:
      units_count(units, UNIT_SIMPLE, units_registers(operand) * sort_operations(module, id));
      return;
    case OPCODE_RNG:
    case OPCODE_RNG_BIT_GENERATOR:
      units_count(units, UNIT_SIMPLE, RANDOM_OPERATIONS * result);
      return;
    default:
      if (opcode_has(opcode, OPF_ELEMENTWISE)) {
        units_count(units, elementwise_unit(module, id), result);
      }
  }
}
