/* What an instruction moves through memory, and what it needs to begin. */
#include "analysis/cost/units_internal.h"

/* What is moved, in pieces. */
typedef struct Transfers {
  double from_hbm, from_vmem, to_hbm, to_vmem;
  double narrow, wide; /* registers of the largest result that is_narrow(), and of the others */
  double row_blocks;   /* of the longest vector of results */
  double row_tiles;    /* of the tallest array; of one in low tiles, all registers */
  bool has_operands;
  bool is_spread; /* a broadcast alone, within VMEM */
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
    double needed = (double)cost_needed_bytes(module, table, known);
    return ratio(needed, (double)cost_shape_bytes(operand));
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

/* Whether it is not what registers are: of less than 32 bits, or in tiles of fewer rows. */
static bool is_narrow(const Shape *shape) {
  enum { REGISTER_BITS = 32 };
  return shape->type == TYPE_PRED || type_info((ElementType)shape->type)->bits < REGISTER_BITS ||
         units_has_low_tiles(shape);
}

static void add_result(const Module *module, InstId id, uint32_t index, const Shape *shape,
                       Transfers *moved) {
  if (!units_is_moved(shape)) return;
  InstId writer = writer_of(module, id, index);
  double share = shape_is_tuple(inst_shape(module, writer)) ? 1 : share_written(module, writer);
  double registers = units_registers(shape) * share;
  *(units_is_in_vmem(shape) ? &moved->to_vmem : &moved->to_hbm) += units_pieces(shape) * share;
  double *largest = is_narrow(shape) ? &moved->narrow : &moved->wide;
  *largest = fmax(*largest, registers);
  moved->row_blocks = fmax(moved->row_blocks, units_row_blocks(shape));
  double row_tiles = units_has_low_tiles(shape) ? registers : units_row_tiles(shape);
  if (share >= 1) moved->row_tiles = fmax(moved->row_tiles, row_tiles);
}

static Transfers transfers_of(const Module *module, const CostTable *table, InstId id) {
  Transfers moved = {0};
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    const Shape *operand = cost_operand_shape(module, id, i);
    if (!units_is_moved(operand)) continue;
    double share = share_read(module, table, id, i), pieces = units_pieces(operand) * share;
    *(units_is_in_vmem(operand) ? &moved.from_vmem : &moved.from_hbm) += pieces;
    moved.has_operands = true;
    if (share >= 1) moved.row_tiles = fmax(moved.row_tiles, units_row_tiles(operand));
  }
  const Shape *result = inst_shape(module, id);
  if (!shape_is_tuple(result)) add_result(module, id, 0, result, &moved);
  for (uint32_t i = 0; shape_is_tuple(result) && i < result->rank; i++)
    add_result(module, id, i, shape_get(&module->shapes, result->elements[i]), &moved);
  moved.is_spread =
      inst_get(module, id)->opcode == OPCODE_BROADCAST && moved.from_hbm + moved.to_hbm <= 0;
  return moved;
}

/* ---- what is counted ---- */

/* A copy that makes lanes another dimension works through windows of its own, in 32 bits. Each
 * begins a transfer on every side that is in HBM. */
static void add_transposing_copy(const Module *module, InstId id, CostUnits *units) {
  enum { IN_EACH = 480 };
  const Shape *from = cost_operand_shape(module, id, 0), *to = inst_shape(module, id);
  double read = units_registers(from), written = units_registers(to);
  double windows = ceil(fmax(read, written) / IN_EACH);
  *units = (CostUnits){0};
  units_count(units, UNIT_TRANSPOSING, windows);
  if (!units_is_in_vmem(from)) {
    units_count(units, UNIT_KERNEL, 1);
    units_count(units, UNIT_READ, read);
  }
  if (!units_is_in_vmem(to)) {
    units_count(units, UNIT_KERNEL, 1);
    units_count(units, UNIT_WRITE, written);
  }
}

/* Of an array that is spread within VMEM, a window is as large as that of the result, which is
 * staged; a vector or scalar waits for nothing, as if it were no operand. */
static void spread_whole(const Module *module, InstId id, Transfers *moved, CostUnits *units) {
  const Shape *from = cost_operand_shape(module, id, 0);
  moved->from_vmem = 0;
  moved->has_operands = units_is_moved(from) && from->rank > 1;
  if (!moved->has_operands) return;
  moved->from_vmem = moved->to_vmem;
  units->of[UNIT_STAGED] =
      fmaxf(units->of[UNIT_STAGED], (float)units_registers(inst_shape(module, id)));
}

static void add_lone(const Module *module, InstId id, Transfers *moved, CostUnits *units) {
  if (inst_get(module, id)->opcode == OPCODE_COPY) {
    moved->from_vmem = 0; /* is read where it lies */
    return;
  }
  if (moved->is_spread) spread_whole(module, id, moved, units);
  double registers = units_registers(inst_shape(module, id));
  units_count(units, UNIT_LONE_REGISTERS, fmax(registers, (double)units->of[UNIT_STAGED]));
  units->row_tiles = (float)moved->row_tiles;
  double from = moved->from_hbm + moved->from_vmem, to = moved->to_hbm + moved->to_vmem;
  units_count(units, UNIT_LONE_PIECES, 2 * from + to);
}

static void add_fused(const Transfers *moved, CostUnits *units) {
  units->row_tiles = (float)moved->row_tiles;
  units_count(units, UNIT_FUSED_PIECES,
              moved->from_hbm + moved->from_vmem + moved->to_hbm + moved->to_vmem);
}

/* Results that are summed up, or end as less than 32 bits, are staged where no result of 32 bits is
 * as large. Products stage what they narrow on its way to VMEM at a price of its own. */
static void add_staged(const Transfers *moved, bool is_windowed, CostUnits *units) {
  double summed = (double)units->of[UNIT_STAGED], narrow = moved->narrow;
  bool is_narrowed = is_windowed && moved->to_hbm <= 0 && narrow > 0;
  if (is_narrowed) {
    units_count(units, UNIT_PRODUCT_NARROW, 1);
    units_count(units, UNIT_PRODUCT_STAGED, moved->wide < narrow ? narrow : 0);
  }
  double staged = is_narrowed ? fmax(summed - narrow, 0) : fmax(summed, narrow);
  units->of[UNIT_STAGED] = moved->wide < staged ? (float)staged : 0;
}

/* Products and sliding windows read what is in VMEM where it lies. Their results begin a transfer
 * of their own. */
static void add_windowed(const Transfers *moved, CostUnits *units) {
  bool comes = moved->from_hbm > 0, goes = moved->to_hbm > 0;
  if (units->of[UNIT_PRODUCT_WINDOW] <= 0) units_count(units, UNIT_PRODUCT_WINDOW, 1);
  units_count(units, UNIT_KERNEL, (comes ? 1 : 0) + (goes ? 1 : 0));
  units_count(units, UNIT_READ, moved->from_hbm);
  units_count(units, UNIT_FUSED_PIECES, moved->from_hbm + moved->to_hbm);
  units->row_blocks = 0;
}

static void add_moved(const Module *module, InstId id, const Transfers *moved, CostUnits *units) {
  bool is_fusion = inst_get(module, id)->opcode == OPCODE_FUSION;
  bool moves = moved->to_hbm > 0 || moved->has_operands || is_fusion || units->of[UNIT_STAGED] > 0;
  units_count(units, moves ? UNIT_KERNEL : UNIT_UNREAD, 1);
  units_count(units, UNIT_READ, moved->from_hbm);
  if (!moved->is_spread) units_count(units, UNIT_READ_VMEM, moved->from_vmem);
  if ((double)units->row_blocks > moved->row_blocks) units->row_blocks = 0;
}

void units_add_transfers(const Module *module, const CostTable *table, InstId id,
                         CostUnits *units) {
  bool is_windowed = units->of[UNIT_PRODUCT_MACS] > 0 || units->of[UNIT_WINDOW] > 0;
  bool is_fusion = inst_get(module, id)->opcode == OPCODE_FUSION;
  if (units->of[UNIT_TRANSPOSE] > 0 && !is_fusion) {
    add_transposing_copy(module, id, units);
    return;
  }
  Transfers moved = transfers_of(module, table, id);
  add_staged(&moved, is_windowed, units);
  if (is_windowed) {
    add_windowed(&moved, units);
  } else {
    if (is_fusion)
      add_fused(&moved, units);
    else
      add_lone(module, id, &moved, units);
    add_moved(module, id, &moved, units);
  }
  units_count(units, UNIT_WRITE, moved.to_hbm);
}
