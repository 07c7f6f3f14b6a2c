/* What a product asks of a matrix unit, which multiplies 8 rows with its cells at a time: rows,
 * contracted elements and columns are padded to whole units. */
#include "analysis/cost/units_internal.h"

enum { ROWS = 8, LANES = 128, CELLS = 128, WIDE_CELLS = 256, WINDOW_INTS = 7 };

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

/* Rows that go through the same cells, 8 at a time. Wide cells are filled meanwhile, which takes as
 * long as 128 rows do, or fewer where only so many are filled along either side. */
static double streamed_units(double tiles, double held, double contracted, int64_t cells) {
  enum { FILLED = 128 };
  if (cells != WIDE_CELLS) return tiles;
  return fmax(tiles, ceil(fmin(fmin(held, contracted), FILLED) / ROWS));
}

static double whole_units(double rows, double contracted, double columns, int64_t cells) {
  return ceil(rows / ROWS) * ceil(contracted / (double)cells) * ceil(columns / (double)cells);
}

/* One spatial dimension of a convolution, in the attribute's order (ir/attribute.h). */
typedef struct Slide {
  double size, input_dilation;
  bool is_batch; /* the window has as many positions as the dilated input, of which one meets it */
} Slide;

static Slide slide_at(IntSlice window, uint32_t dim, int64_t input) {
  const int64_t *ints = window.data + (size_t)dim * WINDOW_INTS;
  return (Slide){.size = (double)(input < ints[0] && ints[4] == 1 ? input : ints[0]),
                 .input_dilation = (double)ints[4],
                 .is_batch = ints[4] == ints[0] && ints[0] > 1 && ints[1] == ints[0] - 1};
}

/* The positions of a window that meet an element, apart from batches: along its last dimension, and
 * along all others. Holes of a dilated input are skipped. */
typedef struct Positions {
  double others, last;
  double batches; /* each with a matrix of its own in the cells; 1 = there are none */
  bool has_holes, has_batches;
} Positions;

static Positions window_positions(const Module *module, InstId id) {
  IntSlice window = inst_attr_ints(module, id, ATTR_WINDOW);
  const int64_t *dims = inst_attr_ints(module, id, ATTR_DIM_LABELS).data + 3; /* of the input */
  const Shape *input = cost_operand_shape(module, id, 0);
  Positions positions = {.others = 1, .last = 1, .batches = 1};
  for (uint32_t dim = 0; dim < window.len / WINDOW_INTS; dim++) {
    Slide slide = slide_at(window, dim, cost_dim(input, dims[dim]));
    positions.has_batches |= slide.is_batch;
    if (slide.is_batch) positions.batches *= slide.size;
    if (slide.is_batch) continue;
    positions.has_holes |= slide.input_dilation > 1;
    positions.others *= positions.last;
    positions.last = slide.size / slide.input_dilation;
  }
  return positions;
}

/* f32 is multiplied as one, two or three parts of bf16 each, of whose products those that matter
 * are made: 1, 3 or 6, and where only one side has parts, 1, 2 or 3. They are added up as if what
 * is contracted were as many times as long. */
static double passes(const Module *module, InstId id) {
  IntSlice precisions = inst_attr_ints(module, id, ATTR_OPERAND_PRECISION);
  int64_t precision = 0;
  int num_wide = 0;
  for (uint32_t i = 0; i < precisions.len; i++)
    precision = precisions.data[i] > precision ? precisions.data[i] : precision;
  for (uint32_t i = 0; i < 2; i++) {
    const Shape *side = cost_operand_shape(module, id, i);
    if (side && shape_is_array(side) && side->type == TYPE_F32) num_wide++;
  }
  double parts = (double)(precision < 2 ? precision : 2) + 1;
  if (num_wide < 2) return num_wide ? parts : 1;
  return parts * (parts + 1) / 2;
}

static double units_of_parts(double parts, double contracted, int64_t cells) {
  return ceil(parts * ceil(contracted / LANES) * LANES / (double)cells);
}

/* How many times the cells' rows of elements are contracted for an output, apart from batches: the
 * positions along the last dimension of the window are joined, those along the others are not, and
 * nor are those of a dilated input, whose holes are skipped. Padding is multiplied, too, as far as
 * the input has as many positions as the window. In groups, which are batches, positions have whole
 * cells. Of a kernel whose matrices are transposed there, which is that of the derivative for the
 * input, none are joined, and each has whole lanes. */
static double contracted_units(const Module *module, InstId id, const Features *features,
                               Positions window, double contracted, int64_t cells) {
  double positions = window.others * window.last, parts = passes(module, id);
  if (window.has_holes || positions <= 1)
    return positions * units_of_parts(parts, contracted, cells);
  if (window.has_batches && features->kernel_input > features->kernel_output)
    return parts * ceil(positions * ceil(contracted / LANES) * LANES / (double)cells);
  double joined = window.last * ceil(contracted / ROWS) * ROWS / (double)cells;
  bool is_whole = window.has_batches || joined > 1;
  return parts * window.others * (is_whole ? ceil(joined) : joined);
}

static double of_convolution(const Module *module, InstId id, int64_t cells) {
  Features features;
  if (!read_features(module, id, &features)) return 0;
  const Shape *result = inst_shape(module, id);
  double groups = (double)inst_attr_int(module, id, ATTR_FEATURE_GROUP_COUNT, 1);
  double columns = (double)cost_dim(result, features.output_feature) / groups;
  double rows = (double)cost_dim(result, features.output_batch);
  double contracted = (double)cost_dim(cost_operand_shape(module, id, 1), features.kernel_input);
  if (!(rows >= 1 && columns >= 1 && groups >= 1 && contracted >= 1)) return 0;
  double outputs = (double)cost_elements(result) / (rows * columns);
  Positions window = window_positions(module, id);
  bool turned = is_turned(module, id, &features);
  if (groups > 1 && !turned) {
    /* The cells hold the kernels of as many groups as a register has lanes for, each in its own
     * rows. */
    int64_t held = columns > LANES ? cells : LANES;
    double all = columns * groups, block = all < (double)held ? all : (double)held;
    double in_block = contracted * fmax(1, block / columns);
    return passes(module, id) * outputs / groups * window.others * window.last *
           whole_units(rows, in_block, all, held);
  }
  double streamed = turned ? columns : rows, held = turned ? rows : columns;
  double batches = fmin(window.batches, outputs);
  return batches *
         streamed_units(ceil(streamed / ROWS) * outputs / batches, held, contracted, cells) *
         ceil(held / (double)cells) *
         contracted_units(module, id, &features, window, contracted, cells);
}

static double of_dot(const Module *module, InstId id, double macs, int64_t cells) {
  const Shape *lhs = cost_operand_shape(module, id, 0);
  double batch = (double)dims_product(lhs, inst_attr_ints(module, id, ATTR_LHS_BATCH_DIMS));
  double contracted =
      (double)dims_product(lhs, inst_attr_ints(module, id, ATTR_LHS_CONTRACTING_DIMS));
  double rows = (double)cost_elements(lhs) / (batch * contracted);
  if (!(batch >= 1 && contracted >= 1 && rows >= 1)) return 0;
  double columns = macs / (batch * contracted * rows);
  return batch * streamed_units(ceil(rows / ROWS), columns, contracted, cells) *
         units_of_parts(passes(module, id), contracted, cells) * ceil(columns / (double)cells);
}

static double units_of_product(const Module *module, const CostTable *table, InstId id,
                               int64_t cells) {
  InstId known = cost_known_inst(module, table, id);
  double macs = known == NO_ID ? 0 : (double)table->of[known].flops / 2;
  if (!(macs > 0)) return 0;
  switch (inst_get(module, id)->opcode) {
    case OPCODE_CONVOLUTION: return of_convolution(module, id, cells);
    case OPCODE_DOT:
    case OPCODE_SCALED_DOT:
    case OPCODE_RAGGED_DOT: return of_dot(module, id, macs, cells);
    default: return 0;
  }
}

/* Registers of the operand whose rows a convolution multiplies with the cells, if what it contracts
 * does not lie in their lanes; else 0. */
static double units_of_transposed(const Module *module, InstId id) {
  Features features;
  if (inst_get(module, id)->opcode != OPCODE_CONVOLUTION || !read_features(module, id, &features))
    return 0;
  bool turned = is_turned(module, id, &features);
  const Shape *streamed = cost_operand_shape(module, id, turned ? 1 : 0);
  int64_t contracted = turned ? features.kernel_input : features.input_feature;
  return units_minor_dim(streamed, 0) == contracted ? 0 : units_registers(streamed);
}

/* A convolution over groups of the batch, the derivative for the kernel of one by channel, is done
 * by the vector unit: windows slide over what it reads, which is multiplied and added for each
 * element of a kernel. */
static bool add_by_channel(const Module *module, InstId id, CostUnits *units) {
  enum { OPERATIONS = 2 };
  Features features;
  if (inst_get(module, id)->opcode != OPCODE_CONVOLUTION ||
      inst_attr_int(module, id, ATTR_BATCH_GROUP_COUNT, 1) <= 1 ||
      !read_features(module, id, &features))
    return false;
  const Shape *result = inst_shape(module, id);
  double channels = (double)cost_dim(result, features.output_batch) *
                    (double)cost_dim(result, features.output_feature);
  if (!(channels >= 1)) return false;
  double kernel = (double)cost_elements(result) / channels;
  double read = units_registers(cost_operand_shape(module, id, 0));
  units_count(units, UNIT_WINDOW, read);
  units_count(units, UNIT_SIMPLE, OPERATIONS * kernel * read);
  return true;
}

void units_add_product(const Module *module, const CostTable *table, InstId id, CostUnits *units) {
  if (add_by_channel(module, id, units)) return;
  double macs = units_of_product(module, table, id, CELLS);
  if (!(macs > 0)) return;
  units_count(units, UNIT_PRODUCT_WINDOW, 1);
  units_count(units, UNIT_PRODUCT_MACS, macs);
  units_count(units, UNIT_PRODUCT_WIDE, units_of_product(module, table, id, WIDE_CELLS));
  units_count(units, UNIT_PRODUCT_TRANSPOSE, units_of_transposed(module, id));
}
