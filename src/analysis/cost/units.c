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
  UnitPrices prices = {.cores = 0};
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

/* Transfers of one window run beside the work on another one, so that the longer of the two counts
 * in each window, and the shorter one once: for the first, or the last. */
static double windows_cycles(double windows, double begin, double transfers, double work) {
  double moved = transfers > 0 ? begin + transfers / windows : 0, done = work / windows;
  return windows * fmax(moved, done) + fmin(moved, done);
}

static double cores_of(const UnitPrices *prices) {
  return fmax(1, prices->cores);
}

/* How many windows there are at least. A window has so many tiles at most one below the other; what
 * an instruction alone does not do in one window on each core, it does in small ones. */
static double least_windows(const CostUnits *units, const UnitPrices *prices) {
  enum { ROW_TILES = 1024 };
  double windows = fmax(1, (double)units->of[UNIT_TRANSPOSING]);
  for (int unit = UNIT_FUSED_PIECES; unit <= UNIT_LONE_PIECES; unit++)
    windows = fmax(windows, ceil((double)units->of[unit] / fmax(1, prices->of[unit])));
  windows = fmax(windows, ceil((double)units->row_tiles / ROW_TILES));
  if (windows <= cores_of(prices)) return windows;
  double in_each = fmax(1, prices->of[UNIT_LONE_REGISTERS]);
  return fmax(windows, ceil((double)units->of[UNIT_LONE_REGISTERS] / in_each));
}

/* So many windows, or more, that part the blocks of rows: a window has as many registers of 8 rows
 * as are needed for all rows in so many windows, and these have to be whole blocks. */
static double windows_of_blocks(double blocks, double windows) {
  enum { REGISTERS_IN_BLOCK = 16 };
  for (double each = floor(blocks / windows); each >= 1; each--) {
    double made = ceil(blocks / each);
    if (REGISTERS_IN_BLOCK * (made * each - blocks) < made) return made;
  }
  return fmax(blocks, windows);
}

/* In as many windows as suit it best, which the cores work through side by side. */
static double best_windows_cycles(const CostUnits *units, const UnitPrices *prices, double begin,
                                  double transfers, double work) {
  static const double MOST_MORE = 64, GROW = 1.5;
  double each = (double)units->of[UNIT_PRODUCT_WINDOW] * prices->of[UNIT_PRODUCT_WINDOW];
  double least = least_windows(units, prices), blocks = (double)units->row_blocks, best = INFINITY;
  for (double more = 1; more <= MOST_MORE; more *= GROW) {
    double windows = least * floor(more);
    if (blocks > 0) windows = windows_of_blocks(blocks, windows);
    windows = ceil(windows / cores_of(prices));
    best = fmin(best, windows_cycles(windows, begin, transfers, work + each * windows));
  }
  return best;
}

double units_cycles(const CostUnits *units, const UnitPrices *prices, UnitBound *bound) {
  double begin = sum_of(units, prices, UNIT_KERNEL, UNIT_PRODUCT_WINDOW);
  double each = (double)units->of[UNIT_PRODUCT_WINDOW] * prices->of[UNIT_PRODUCT_WINDOW];
  double once = sum_of(units, prices, UNIT_PRODUCT_WINDOW + 1, UNIT_READ);
  double memory = sum_of(units, prices, UNIT_READ, UNIT_PRODUCT_MACS);
  double matrix = sum_of(units, prices, UNIT_PRODUCT_MACS, UNIT_FIRST_VECTOR);
  double vector = sum_of(units, prices, UNIT_FIRST_VECTOR, UNIT_FIRST_FIGURE);
  double longest = 0;
  double spread = (double)units->of[UNIT_SPREAD_LANES] * prices->of[UNIT_SPREAD_LANES];
  if (matrix > 0) vector = spread + (vector - spread) * prices->of[UNIT_PRODUCT_VECTOR];
  *bound = UNITS_NOTHING;
  take_longer(begin + each + once, UNITS_KERNEL, &longest, bound);
  take_longer(memory, UNITS_MEMORY, &longest, bound);
  take_longer(matrix, UNITS_MATRIX, &longest, bound);
  take_longer(vector, UNITS_VECTOR, &longest, bound);
  return once + best_windows_cycles(units, prices, begin, memory, fmax(matrix, vector));
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

double units_lane_tiles(const Shape *shape) {
  return fmax(1, ceil((double)cost_dim(shape, units_minor_dim(shape, 0)) / LANES));
}

double units_row_tiles(const Shape *shape) {
  if (!shape || !shape_is_array(shape) || shape->rank < 2) return 0;
  return ceil((double)cost_dim(shape, units_minor_dim(shape, 1)) / REGISTER_ROWS);
}

bool units_has_low_tiles(const Shape *shape) {
  if (!shape || !shape_is_array(shape) || shape->rank < 2) return false;
  return tile_dim(shape, 1, cost_dim(shape, units_minor_dim(shape, 1))) < REGISTER_ROWS;
}

double units_row_blocks(const Shape *shape) {
  if (!shape || !shape_is_array(shape) || shape->rank != 1) return 0;
  return ceil((double)cost_elements(shape) / LANES);
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
static CostUnits work_of(const Module *module, const CostTable *table, InstId id) {
  const CostUnits *callee = units_of_callee(module, table, id);
  CostUnits units = callee ? *callee : (CostUnits){0};
  units_add_vector(module, id, &units);
  units_add_product(module, table, id, &units);
  return units;
}

/* A loop goes over the largest array once. */
static void add_fused(const CostUnits *units, CostUnits *sum) {
  float staged = fmaxf(units->of[UNIT_STAGED], sum->of[UNIT_STAGED]);
  sum->row_blocks = fmaxf(units->row_blocks, sum->row_blocks);
  for (int unit = 0; unit < NUM_UNITS; unit++)
    sum->of[unit] += units->of[unit];
  sum->of[UNIT_STAGED] = staged;
}

/* What a fusion within a fusion multiplies is written to memory, as a result is, where the other
 * one multiplies it again. */
static void add_inner_product(const Module *module, InstId id, CostUnits *units) {
  const Instruction *inst = inst_get(module, id);
  bool is_read = false;
  for (uint32_t i = 0; !is_read && i < inst->users.len; i++)
    is_read = units_is_product(module, inst_users(module, id)[i]);
  if (is_read && inst->opcode == OPCODE_FUSION && units->of[UNIT_PRODUCT_MACS] > 0)
    units_count(units, UNIT_WRITE, units_pieces(inst_shape(module, id)));
}

CostUnits *units_of_comps(const Module *module, const CostTable *table, const CompId *order,
                          Arena *out) {
  CostUnits *all = arena_zarray(out, CostUnits, module->comps.len);
  CostTable partial = *table;
  partial.comp_units = all;
  for (uint32_t i = 0; i < module->comps.len; i++) {
    for (uint32_t k = 0; k < comp_num_insts(module, order[i]); k++) {
      InstId id = comp_inst(module, order[i], k);
      CostUnits units = work_of(module, &partial, id);
      add_inner_product(module, id, &units);
      add_fused(&units, &all[order[i]]);
    }
  }
  return all;
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
  if (opcode_is_split((Opcode)inst_get(module, id)->opcode) || only_names_memory(module, id) ||
      is_asynchronous(module, id) || !moves_arrays(module, id)) {
    return (CostUnits){0};
  }
  CostUnits units = work_of(module, table, id);
  units_add_transfers(module, table, id, &units);
  return units;
}
