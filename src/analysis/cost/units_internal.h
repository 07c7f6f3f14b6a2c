/* Declarations shared by the files that count units. */
#ifndef REMAT_HLO_ANALYSIS_COST_UNITS_INTERNAL_H
#define REMAT_HLO_ANALYSIS_COST_UNITS_INTERNAL_H

#include <math.h>

#include "analysis/cost/cost_internal.h"
#include "ir/target.h"

static inline void units_count(CostUnits *units, CostUnit unit, double count) {
  units->of[unit] += (float)count;
}

/* The dimension that is `index`-th from the minor-most one in memory; -1 = there is none. */
static inline int64_t units_minor_dim(const Shape *shape, uint32_t index) {
  if (!shape || !shape_is_array(shape) || index >= shape->rank) return -1;
  return shape_minor_dim(shape, index);
}

/* An array that is moved as such, not a scalar, which the scalar unit has in its own memory. */
static inline bool units_is_moved(const Shape *shape) {
  return shape && shape_is_array(shape) && cost_elements(shape) > 1;
}

static inline bool units_is_in_vmem(const Shape *shape) {
  return shape_memory_space(shape) == VMEM_SPACE;
}

static inline bool units_is_product(const Module *module, InstId id) {
  switch (inst_get(module, id)->opcode) {
    case OPCODE_CONVOLUTION:
    case OPCODE_DOT:
    case OPCODE_RAGGED_DOT:
    case OPCODE_SCALED_DOT: return true;
    default: return false;
  }
}

static inline bool units_is_half(const Shape *shape) {
  return shape->type == TYPE_BF16 || shape->type == TYPE_F16;
}

/* The registers that lie side by side along the minor-most dimension; at least 1. */
double units_lane_tiles(const Shape *shape);

/* The blocks of 128 rows whose sums a vector has; 0 for other arrays. */
double units_row_blocks(const Shape *shape);

/* Whether tiles have fewer rows than a register. */
bool units_has_low_tiles(const Shape *shape);

/* The tiles of 8 rows that lie one below the other; 0 for a vector. */
double units_row_tiles(const Shape *shape);

/* units_vector.c: the work of one instruction in the vector unit. */
void units_add_vector(const Module *module, InstId id, CostUnits *units);

/* units_product.c: what a product asks of the matrix units, 8 rows through 128 x 128 cells each,
 * and of the vector unit; nothing for other instructions. */
void units_add_product(const Module *module, const CostTable *table, InstId id, CostUnits *units);

/* units_transfer.c: what an instruction moves, and what it needs to begin. */
void units_add_transfers(const Module *module, const CostTable *table, InstId id, CostUnits *units);

#endif
