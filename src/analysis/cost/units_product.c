/* What a product asks of a matrix unit, which multiplies 8 rows with its cells at a time: rows,
 * contracted elements and columns are padded to whole units. */
#include "analysis/cost/units_internal.h"

enum { ROWS = 8, UNIT_CELLS = 128 };

static double padded(double size, int64_t to) {
  return ceil(size / (double)to) * (double)to;
}

/* The features of a convolution, by their dimensions (ir/attribute.h). */
typedef struct Features {
  int64_t input_batch, input_feature, kernel_input, kernel_output, output_batch, output_feature;
} Features;

static bool read_features(const Module *module, InstId id, Features *features) {
  IntSlice labels = inst_attr_ints(module, id, ATTR_DIM_LABELS);
  int64_t part = labels.len ? labels.data[0] + 2 : 0;
  if (part == 0 || (int64_t)labels.len < 1 + 3 * part) return false;
  const int64_t *dims = labels.data + 1;
  *features =
      (Features){dims[0], dims[1], dims[part], dims[part + 1], dims[2 * part], dims[2 * part + 1]};
  return true;
}

/* Whether the columns of the product lie in the rows of registers, and those of the kernel are what
 * is multiplied with the cells. */
static bool is_turned(const Module *module, InstId id, const Features *features) {
  return units_minor_dim(inst_shape(module, id), 0) == features->output_batch;
}

static int64_t dims_product(const Shape *shape, IntSlice dims) {
  int64_t product = 1;
  for (uint32_t i = 0; i < dims.len; i++)
    product = saturating_mul(product, cost_dim(shape, dims.data[i]));
  return product;
}

static double whole_units(double rows, double contracted, double columns) {
  return padded(rows, ROWS) * padded(contracted, UNIT_CELLS) * padded(columns, UNIT_CELLS) /
         ((double)ROWS * UNIT_CELLS * UNIT_CELLS);
}

/* How many times 128 elements are contracted in each pair of an output position and a position of
 * the window: each begins a unit of its own, or they are packed, which costs a quarter more. */
static double contracted_units(double contracted, bool has_window) {
  static const double PACKING = 1.25; /* by the estimates of convolutions with 48 to 96 features */
  double whole = padded(contracted, UNIT_CELLS) / UNIT_CELLS;
  double packed = PACKING * padded(contracted, ROWS) / UNIT_CELLS;
  return has_window && packed < whole ? packed : whole;
}

/* What the holes of a dilated input or the padding would meet is not multiplied. */
static double of_convolution(const Module *module, InstId id, double macs) {
  Features features;
  if (!read_features(module, id, &features)) return 0;
  const Shape *result = inst_shape(module, id);
  double groups = (double)inst_attr_int(module, id, ATTR_FEATURE_GROUP_COUNT, 1);
  double columns = (double)cost_dim(result, features.output_feature) / groups;
  double rows = (double)cost_dim(result, features.output_batch);
  double contracted = (double)cost_dim(cost_operand_shape(module, id, 1), features.kernel_input);
  if (!(rows >= 1 && columns >= 1 && groups >= 1 && contracted >= 1)) return 0;
  double pairs = macs / (rows * columns * contracted);
  bool has_window = inst_attr_ints(module, id, ATTR_WINDOW).len > 0;
  bool turned = is_turned(module, id, &features);
  double streamed = turned ? columns : rows, held = turned ? rows : columns;
  return pairs * padded(streamed, ROWS) / ROWS * padded(held, UNIT_CELLS) / UNIT_CELLS *
         contracted_units(contracted, has_window);
}

static double of_dot(const Module *module, InstId id, double macs) {
  const Shape *lhs = cost_operand_shape(module, id, 0);
  double batch = (double)dims_product(lhs, inst_attr_ints(module, id, ATTR_LHS_BATCH_DIMS));
  double contracted =
      (double)dims_product(lhs, inst_attr_ints(module, id, ATTR_LHS_CONTRACTING_DIMS));
  double rows = (double)cost_elements(lhs) / (batch * contracted);
  if (!(batch >= 1 && contracted >= 1 && rows >= 1)) return 0;
  return batch * whole_units(rows, contracted, macs / (batch * contracted * rows));
}

double units_of_product(const Module *module, const CostTable *table, InstId id) {
  InstId known = cost_known_inst(module, table, id);
  double macs = known == NO_ID ? 0 : (double)table->of[known].flops / 2;
  if (!(macs > 0)) return 0;
  switch (inst_get(module, id)->opcode) {
    case OPCODE_CONVOLUTION: return of_convolution(module, id, macs);
    case OPCODE_DOT:
    case OPCODE_SCALED_DOT:
    case OPCODE_RAGGED_DOT: return of_dot(module, id, macs);
    default: return 0;
  }
}

double units_of_transposed(const Module *module, InstId id) {
  Features features;
  if (inst_get(module, id)->opcode != OPCODE_CONVOLUTION || !read_features(module, id, &features))
    return 0;
  bool turned = is_turned(module, id, &features);
  const Shape *streamed = cost_operand_shape(module, id, turned ? 1 : 0);
  int64_t contracted = turned ? features.kernel_input : features.input_feature;
  return units_minor_dim(streamed, 0) == contracted ? 0 : units_registers(streamed);
}
