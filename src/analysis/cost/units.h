/* What an instruction does on a TPU, in units of which XLA:TPU's own estimates of time are sums.
 *
 * The roofline (work_time()) knows flops and bytes. XLA:TPU's estimates see more: tiles that
 * layouts pad, memory that is streamed through windows whether it is HBM or VMEM, reductions along
 * the lanes, conversions that pack registers, and matrix units of 128 x 128 cells that small
 * dimensions leave empty. An instruction is counted in such units (units.def), and a device profile
 * has a price in cycles for each, fitted to estimates (calibrate_estimates.h).
 *
 * An instruction works through windows of its arrays. What moves for one window moves beside the
 * work on another one, so that the longer of the two counts in each, and the shorter one once. A
 * fusion has the number of windows that suits it best, but as many as VMEM asks for; an instruction
 * alone has small ones. In a product, the vector unit works beside the matrix unit. */
#ifndef REMAT_HLO_ANALYSIS_COST_UNITS_H
#define REMAT_HLO_ANALYSIS_COST_UNITS_H

#include "ir/module.h"

typedef enum CostUnit {
#define UNIT(id, key, begin, what) UNIT_##id,
#include "analysis/cost/units.def"
  NUM_UNITS
} CostUnit;

enum { UNIT_FIRST_VECTOR = UNIT_PRODUCT_WIDE + 1, UNIT_FIRST_FIGURE = UNIT_PRODUCT_VECTOR };

typedef struct CostUnits {
  float of[NUM_UNITS];
  /* 128 rows each, whose sums along the lanes become the lanes of a vector that is a result;
   * windows have whole ones. 0 = there is none. */
  float row_blocks;
  float row_tiles; /* tiles of 8 rows one below the other, in the tallest array */
} CostUnits;

/* In cycles, but for the figures at the end. */
typedef struct UnitPrices {
  double of[NUM_UNITS];
  double cores; /* that share an instruction's windows; 0 = 1 */
} UnitPrices;

typedef enum UnitBound {
  UNITS_NOTHING,
  UNITS_KERNEL,
  UNITS_MEMORY,
  UNITS_MATRIX,
  UNITS_VECTOR
} UnitBound;

const char *unit_key(CostUnit unit);

/* The prices that a fit begins with. */
UnitPrices unit_prices_begin(void);

/* The time of the units in cycles; `*bound` is what has the largest part in it. */
double units_cycles(const CostUnits *units, const UnitPrices *prices, UnitBound *bound);

struct CostTable;

/* By CompId, the sums over the instructions of each computation that may be fused. O(instructions).
 */
CostUnits *units_of_comps(const Module *module, const struct CostTable *table, const CompId *order,
                          Arena *out);

/* The units of one instruction. All are 0 if it works on scalars only, if it begins or ends an
 * asynchronous operation, which runs beside others, or if it only has another name for its
 * operands. */
CostUnits units_of_inst(const Module *module, const struct CostTable *table, InstId id);

/* The size of an array in registers, which hold 8 rows of 128 lanes whatever the tiles are, and in
 * pieces of 4 KiB of memory, by the tiles. Where the text has no tiles, those that XLA:TPU chooses
 * are assumed: 8 x 128, with fewer rows for a dimension below 8. */
double units_registers(const Shape *shape);
double units_pieces(const Shape *shape);

#endif
