/* What an instruction does on a TPU, in units of which XLA:TPU's own estimates of time are sums.
 *
 * The roofline (work_time()) knows flops and bytes. XLA:TPU's estimates see more: tiles that
 * layouts pad, memory that is streamed through windows whether it is HBM or VMEM, reductions along
 * the lanes, conversions that pack registers, and matrix units of 128 x 128 cells that small
 * dimensions leave empty. An instruction is counted in such units (units.def), and a device profile
 * has a price in cycles for each, fitted to estimates (calibrate_estimates.h).
 *
 * Where a fusion multiplies matrices, its matrix unit, its transfers and its vector unit work side
 * by side: the longest of the three determines the time, to which the other two add a tenth of
 * theirs. Elsewhere all is added up. */
#ifndef REMAT_HLO_ANALYSIS_COST_UNITS_H
#define REMAT_HLO_ANALYSIS_COST_UNITS_H

#include "ir/module.h"

typedef enum CostUnit {
#define UNIT(id, key, begin, what) UNIT_##id,
#include "analysis/cost/units.def"
  NUM_UNITS
} CostUnit;

enum { UNIT_FIRST_VECTOR = UNIT_PRODUCT_MACS + 1 };

typedef struct CostUnits {
  float of[NUM_UNITS];
} CostUnits;

/* Prices in cycles. A vector unit's work within a product is `product_vector` times as dear,
 * because it fills slots that the product leaves free. */
typedef struct UnitPrices {
  double of[NUM_UNITS];
  double product_vector;
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
