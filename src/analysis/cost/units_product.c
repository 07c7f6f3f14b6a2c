/* What a product asks of a matrix unit, which multiplies 8 rows with its cells at a time: rows,
 * contracted elements and columns are padded to whole units. */
#include "analysis/cost/units_internal.h"

enum { ROWS = 8, UNIT_CELLS = 128 };

static double padded(double size, int64_t to) {
  return ceil(size / (double)to) * (double)to;
}

/* The number of output features: the columns of the product. */
static int64_t convolution_columns(const Module *module, InstId id) {
  IntSlice labels = inst_attr_ints(module, id, ATTR_DIM_LABELS);
  int64_t part = labels.len ? labels.data[0] + 2 : 0;
  if (part == 0 || (int64_t)labels.len < 1 + 3 * part) return 1;
  return cost_dim(inst_shape(module, id), labels.data[1 + 2 * part + 1]);
}

static int64_t dims_product(const Shape *shape, IntSlice dims) {
  int64_t product = 1;
  for (uint32_t i = 0; i < dims.len; i++)
    product = saturating_mul(product, cost_dim(shape, dims.data[i]));
  return product;
}

static double whole_units(double rows, double contracted, double columns, int64_t cells) {
  return padded(rows, ROWS) * padded(contracted, cells) * padded(columns, cells) /
         ((double)ROWS * UNIT_CELLS * UNIT_CELLS);
}

static double of_convolution(const Module *module, InstId id, double macs, int64_t cells) {
  double columns = (double)convolution_columns(module, id);
  double groups = (double)inst_attr_int(module, id, ATTR_FEATURE_GROUP_COUNT, 1);
  double rows = (double)cost_elements(inst_shape(module, id)) / columns;
  if (!(rows >= 1 && columns >= groups && groups >= 1)) return 0;
  double contracted = ceil(macs / (rows * columns));
  return groups * whole_units(rows, contracted, columns / groups, cells) *
         cost_convolution_waste(module, id);
}

static double of_dot(const Module *module, InstId id, double macs, int64_t cells) {
  const Shape *lhs = cost_operand_shape(module, id, 0);
  double batch = (double)dims_product(lhs, inst_attr_ints(module, id, ATTR_LHS_BATCH_DIMS));
  double contracted =
      (double)dims_product(lhs, inst_attr_ints(module, id, ATTR_LHS_CONTRACTING_DIMS));
  double rows = (double)cost_elements(lhs) / (batch * contracted);
  if (!(batch >= 1 && contracted >= 1 && rows >= 1)) return 0;
  return batch * whole_units(rows, contracted, macs / (batch * contracted * rows), cells);
}

double units_of_product(const Module *module, const CostTable *table, InstId id, int64_t cells) {
  InstId known = cost_known_inst(module, table, id);
  double macs = known == NO_ID ? 0 : (double)table->of[known].flops / 2;
  if (!(macs > 0)) return 0;
  switch (inst_get(module, id)->opcode) {
    case OPCODE_CONVOLUTION: return of_convolution(module, id, macs, cells);
    case OPCODE_DOT:
    case OPCODE_SCALED_DOT:
    case OPCODE_RAGGED_DOT: return of_dot(module, id, macs, cells);
    default: return 0;
  }
}
