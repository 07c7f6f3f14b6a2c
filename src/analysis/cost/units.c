#include "analysis/cost/units.h"

#include "analysis/cost/units_internal.h"

static const struct {
  const char *key;
  double begin;
} table_of_units[NUM_UNITS] = {
#define UNIT(id, key, begin, what) [UNIT_##id] = {key, begin},
#include "analysis/cost/units.def"
};

const char *unit_key(CostUnit unit) {
  return table_of_units[unit].key;
}

UnitPrices unit_prices_begin(void) {
  UnitPrices prices = {.product_vector = 0.4};
  for (int unit = 0; unit < NUM_UNITS; unit++)
    prices.of[unit] = table_of_units[unit].begin;
  return prices;
}

/* ---- time ---- */

static double sum_of(const CostUnits *units, const UnitPrices *prices, int begin, int end) {
  double sum = 0;
  for (int unit = begin; unit < end; unit++)
    sum += (double)units->of[unit] * prices->of[unit];
  return sum;
}

static void take_longer(double cycles, UnitBound bound, double *most, UnitBound *found) {
  if (cycles <= *most) return;
  *most = cycles;
  *found = bound;
}

double units_cycles(const CostUnits *units, const UnitPrices *prices, UnitBound *bound) {
  static const double SIDE_BY_SIDE = 0.1; /* what the shorter ones add; see units.h */
  double begin = sum_of(units, prices, UNIT_KERNEL, UNIT_READ);
  double memory = sum_of(units, prices, UNIT_READ, UNIT_PRODUCT_MACS);
  double matrix = sum_of(units, prices, UNIT_PRODUCT_MACS, UNIT_FIRST_VECTOR);
  double vector = sum_of(units, prices, UNIT_FIRST_VECTOR, NUM_UNITS);
  double longest = 0, all = 0;
  if (matrix > 0) vector *= prices->product_vector;
  *bound = UNITS_NOTHING;
  take_longer(memory, UNITS_MEMORY, &longest, bound);
  take_longer(matrix, UNITS_MATRIX, &longest, bound);
  take_longer(vector, UNITS_VECTOR, &longest, bound);
  all = memory + matrix + vector;
  double cycles = begin + (matrix > 0 ? longest + SIDE_BY_SIDE * (all - longest) : all);
  take_longer(begin, UNITS_KERNEL, &longest, bound);
  return cycles;
}

/* ---- registers ---- */

enum { LANES = 128, REGISTER_ROWS = 8, REGISTER_ELEMENTS = LANES * REGISTER_ROWS };

static int64_t rows_of_tile(int64_t dim) {
  int64_t rows = 1;
  while (rows < dim && rows < REGISTER_ROWS)
    rows *= 2;
  return rows;
}

/* The size of the first tile in the `index`-th dimension from the minor-most one; 1 = it has none.
 */
static int64_t tile_dim(const Shape *shape, uint32_t index, int64_t dim) {
  const LayoutExtras *extras = shape->extras;
  if (extras && extras->num_tile_words) {
    int64_t rank = extras->tile_words[0];
    int64_t size = (int64_t)index < rank ? extras->tile_words[rank - index] : 1;
    return size > 0 ? size : 1;
  }
  if (index == 0) return LANES;
  return index == 1 ? rows_of_tile(dim) : 1;
}

/* The elements of whole tiles; of a tile of fewer rows than a register has, with all rows if
 * `whole`. */
static double padded_elements(const Shape *shape, bool whole) {
  if (!shape || !shape_is_array(shape) || shape->has_unbounded) return 0;
  double elements = 1;
  for (uint32_t i = 0; i < shape->rank; i++) {
    int64_t dim = cost_dim(shape, units_minor_dim(shape, i)), tile = tile_dim(shape, i, dim);
    if (whole && i == 1 && tile < REGISTER_ROWS) tile = REGISTER_ROWS;
    elements *= ceil((double)dim / (double)tile) * (double)tile;
  }
  return elements;
}

double units_registers(const Shape *shape) {
  return padded_elements(shape, true) / REGISTER_ELEMENTS;
}

double units_pieces(const Shape *shape) {
  enum { PRED_BITS = 8, PIECE_BITS = 4096 * 8 };
  if (!shape || !shape_is_array(shape)) return 0;
  double bits = type_info((ElementType)shape->type)->bits;
  if (shape->type == TYPE_PRED) bits = PRED_BITS;
  return padded_elements(shape, false) * bits / PIECE_BITS;
}

/* ---- instructions ---- */

static const CostUnits *units_of_callee(const Module *module, const CostTable *table, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode != OPCODE_FUSION || inst->num_callees == 0) return NULL;
  CompId comp = cost_known_comp(module, table, inst_callees(module, id)[0]);
  return comp == NO_ID ? NULL : &table->comp_units[comp];
}

/* Without what it moves. */
static void add_work(const Module *module, const CostTable *table, InstId id, CostUnits *units) {
  const CostUnits *callee = units_of_callee(module, table, id);
  for (int unit = 0; callee && unit < NUM_UNITS; unit++)
    units->of[unit] += callee->of[unit];
  units_add_vector(module, id, units);
  units_count(units, UNIT_PRODUCT_MACS, units_of_product(module, table, id));
  units_count(units, UNIT_PRODUCT_TRANSPOSE, units_of_transposed(module, id));
}

CostUnits *units_of_comps(const Module *module, const CostTable *table, const CompId *order,
                          Arena *out) {
  CostUnits *units = arena_zarray(out, CostUnits, module->comps.len);
  CostTable partial = *table;
  partial.comp_units = units;
  for (uint32_t i = 0; i < module->comps.len; i++) {
    for (uint32_t k = 0; k < comp_num_insts(module, order[i]); k++)
      add_work(module, &partial, comp_inst(module, order[i], k), &units[order[i]]);
  }
  return units;
}

/* Whether any array is more than a scalar. */
static bool moves_arrays(const Module *module, InstId id) {
  const Shape *result = inst_shape(module, id);
  bool found = units_is_moved(result);
  for (uint32_t i = 0; !found && shape_is_tuple(result) && i < result->rank; i++)
    found = units_is_moved(shape_get(&module->shapes, result->elements[i]));
  for (uint32_t i = 0; !found && i < inst_get(module, id)->num_operands; i++)
    found = units_is_moved(cost_operand_shape(module, id, i));
  return found;
}

/* Custom calls that name memory, and move nothing: one that joins arrays that lie side by side, and
 * one that allocates an array. */
static bool only_names_memory(const Module *module, InstId id) {
  bool is_joined = inst_get(module, id)->opcode == OPCODE_CUSTOM_CALL &&
                   str_is(inst_attr_string(module, id, ATTR_CUSTOM_CALL_TARGET), "ConcatBitcast");
  return is_joined || inst_allocates(module, id);
}

/* In the computation that `slice-start(…)` implies, which runs beside others. */
static bool is_asynchronous(const Module *module, InstId id) {
  CompId comp = inst_get(module, id)->parent;
  return comp != NO_ID && (comp_get(module, comp)->flags & COMP_IMPLIED);
}

CostUnits units_of_inst(const Module *module, const CostTable *table, InstId id) {
  CostUnits units = {0};
  if (opcode_is_split((Opcode)inst_get(module, id)->opcode) || only_names_memory(module, id) ||
      is_asynchronous(module, id) || !moves_arrays(module, id)) {
    return units;
  }
  add_work(module, table, id, &units);
  units_add_transfers(module, table, id, &units);
  return units;
}
