/* The cost of every instruction, callees first. An opcode's rule is a case of inst_work (flops and
 * transcendentals) and of inst_bytes; instructions whose cost is that of a callee are in inst_cost.
 * Rules that look odd are XLA's: the figures must be the same as in XLA's own reports. Source:
 * xla/service/hlo_cost_analysis.cc. */
#include "analysis/cost/cost_internal.h"

#include "analysis/flow/call_graph.h"

enum { FLOPS_PER_MULTIPLY_ADD = 2 };

/* ---- sizes ---- */

int64_t cost_elements(const Shape *shape) {
  if (!shape || shape_is_tuple(shape) || shape->has_unbounded) return 0;
  return shape->num_elements < 0 ? INT64_MAX : shape->num_elements;
}

int64_t cost_shape_bytes(const Shape *shape) {
  if (!shape || (shape->has_unbounded && !shape_is_tuple(shape))) return 0;
  return shape->bytes < 0 ? INT64_MAX : shape->bytes;
}

const Shape *cost_operand_shape(const Module *module, InstId id, uint32_t index) {
  if (index >= inst_get(module, id)->num_operands) return NULL;
  return inst_shape(module, inst_operand(module, id, index));
}

int64_t cost_dim(const Shape *shape, int64_t dim) {
  if (!shape || shape_is_tuple(shape) || dim < 0 || dim >= (int64_t)shape->rank) return 0;
  return shape->dims[dim] == UNBOUNDED_DIM ? 0 : shape->dims[dim];
}

static int64_t operand_elements(const Module *module, InstId id, uint32_t index) {
  return cost_elements(cost_operand_shape(module, id, index));
}

/* The first element of the result of a variadic reduce or reduce-window, else the result. */
static const Shape *first_result(const Module *module, InstId id) {
  const Shape *shape = inst_shape(module, id);
  if (!shape_is_tuple(shape)) return shape;
  return shape->rank ? shape_get(&module->shapes, shape->elements[0]) : NULL;
}

typedef int64_t (*ShapeMeasure)(const Shape *shape);

/* Sum of a measure over the leaves of a shape. */
static int64_t sum_leaves(const Module *module, ShapeId id, ShapeMeasure measure) {
  const ShapeTable *shapes = &module->shapes;
  const Shape *shape = shape_get(shapes, id);
  if (!shape_is_tuple(shape)) return measure(shape);
  int64_t sum = 0;
  for (uint32_t part = 1; part < shape->num_parts; part++) {
    const Shape *leaf = shape_get(shapes, shape_part(shapes, id, part));
    if (!shape_is_tuple(leaf)) sum = saturating_add(sum, measure(leaf));
  }
  return sum;
}

static int64_t array_elements(const Shape *shape) {
  return shape_is_array(shape) || shape->kind == SHAPE_BUFFER ? cost_elements(shape) : 0;
}

static int64_t array_bytes(const Shape *shape) {
  return shape_is_array(shape) || shape->kind == SHAPE_BUFFER ? cost_shape_bytes(shape) : 0;
}

/* ---- the table ---- */

InstId cost_known_inst(const Module *module, const CostTable *table, InstId id) {
  if (id >= table->num_insts) id = inst_get(module, id)->origin;
  return id < table->num_insts ? id : NO_ID;
}

CompId cost_known_comp(const Module *module, const CostTable *table, CompId id) {
  if (id >= table->num_comps) id = comp_get(module, id)->origin;
  return id < table->num_comps ? id : NO_ID;
}

static Cost callee_cost(const Module *module, const CostTable *table, InstId id, uint32_t index) {
  if (index >= inst_get(module, id)->num_callees) return (Cost){0};
  CompId comp = cost_known_comp(module, table, inst_callees(module, id)[index]);
  return comp == NO_ID ? (Cost){0} : table->comps[comp];
}

/* ---- flops and transcendentals ---- */

/* The cost of a computation that is applied `count` times to scalars. Its bytes are registers, not
 * memory. */
static Cost applied(Cost callee, int64_t count) {
  return (Cost){.flops = saturating_mul(callee.flops, count),
                .transcendentals = saturating_mul(callee.transcendentals, count)};
}

static int64_t floor_log2(int64_t value) {
  return value <= 0 ? -1 : 63 - __builtin_clzll((unsigned long long)value);
}

static int64_t ceil_log2(int64_t value) {
  int64_t floor = floor_log2(value);
  return value > 0 && value != (int64_t)1 << floor ? floor + 1 : floor;
}

/* Elements of a ragged-dot's result without its group dimensions. XLA deletes dimension 0 in the
 * first step, dimension 1 of the remaining ones in the second, …, whichever dimensions the groups
 * are. */
static int64_t ragged_elements(const Module *module, InstId id) {
  const Shape *shape = inst_shape(module, id);
  uint32_t num_groups = inst_attr_ints(module, id, ATTR_RHS_GROUP_DIMS).len;
  if (num_groups == 0) return cost_elements(shape);
  int64_t elements = 1;
  for (uint32_t dim = 0; !shape_is_tuple(shape) && dim < shape->rank; dim++) {
    bool is_deleted = dim % 2 == 0 && dim / 2 < num_groups;
    if (!is_deleted) elements = saturating_mul(elements, cost_dim(shape, dim));
  }
  return elements;
}

static int64_t dot_flops(const Module *module, InstId id, int64_t result_elements) {
  IntSlice contracting = inst_attr_ints(module, id, ATTR_LHS_CONTRACTING_DIMS);
  int64_t width = 1;
  for (uint32_t i = 0; i < contracting.len; i++) {
    const Shape *lhs = cost_operand_shape(module, id, 0);
    width = saturating_mul(width, cost_dim(lhs, contracting.data[i]));
  }
  return saturating_mul(saturating_mul(FLOPS_PER_MULTIPLY_ADD, result_elements), width);
}

static int64_t fft_flops(const Module *module, InstId id) {
  enum { MULTIPLY_ADDS_PER_COMPLEX = 4 };
  IntSlice lengths = inst_attr_ints(module, id, ATTR_FFT_LENGTH);
  int64_t factors = 1;
  for (uint32_t i = 0; i < lengths.len; i++) {
    factors = saturating_mul(factors, floor_log2(lengths.data[i]));
  }
  factors = saturating_mul(factors, FLOPS_PER_MULTIPLY_ADD * MULTIPLY_ADDS_PER_COMPLEX);
  return saturating_mul(factors, operand_elements(module, id, 0));
}

/* Elements of operand `index` times the last dimension of operand 0, the matrix. */
static int64_t solver_work(const Module *module, InstId id, uint32_t index) {
  const Shape *matrix = cost_operand_shape(module, id, 0);
  int64_t rows = matrix ? cost_dim(matrix, (int64_t)matrix->rank - 1) : 0;
  return saturating_mul(rows, operand_elements(module, id, index));
}

static int64_t window_elements(IntSlice window) {
  int64_t product = 1;
  for (uint32_t i = 0; i < cost_window_rank(window); i++) {
    product = saturating_mul(product, cost_window_dim(window, i).size);
  }
  return product;
}

/* The size of the dimension that a reduce-window reduces completely for each of its positions, like
 * a reduce and a broadcast; 0 when the window is not of this form: one dimension with a window and
 * padding such that the window covers the whole dimension from every position. */
static int64_t whole_window_size(const Module *module, InstId id, IntSlice window) {
  const Shape *result = inst_shape(module, id);
  uint32_t num_windowed = 0, num_padded = 0;
  int64_t size = 0;
  for (uint32_t i = 0; i < cost_window_rank(window); i++) {
    WindowDim dim = cost_window_dim(window, i);
    num_windowed += dim.size != 1;
    num_padded += dim.pad_low != 0 || dim.pad_high != 0;
    if (dim.size != 1 && dim.pad_low != 0 && dim.pad_low == dim.pad_high &&
        dim.size == saturating_add(saturating_mul(2, dim.pad_low), 1) &&
        dim.pad_low == cost_dim(result, i) - 1) {
      size = cost_dim(result, i);
    }
  }
  return num_windowed == 1 && num_padded == 1 && !shape_is_tuple(result) ? size : 0;
}

static int64_t reduce_window_count(const Module *module, InstId id) {
  IntSlice window = inst_attr_ints(module, id, ATTR_WINDOW);
  int64_t elements = cost_elements(first_result(module, id));
  int64_t whole = whole_window_size(module, id, window);
  if (whole > 0) return saturating_add(elements / whole, whole - 1);
  return saturating_mul(saturating_add(window_elements(window), -1), elements);
}

/* select runs for all but one element of each window, scatter once per window. */
static Cost select_and_scatter_work(const Module *module, const CostTable *table, InstId id) {
  IntSlice window = inst_attr_ints(module, id, ATTR_WINDOW);
  int64_t windows = operand_elements(module, id, 1);
  int64_t selects = saturating_mul(windows, saturating_add(window_elements(window), -1));
  return cost_add(applied(callee_cost(module, table, id, 0), selects),
                  applied(callee_cost(module, table, id, 1), windows));
}

/* The operands of a scatter: n arrays, the indices, n updates. */
static uint32_t scatter_num_arrays(const Module *module, InstId id) {
  return inst_get(module, id)->num_operands / 2;
}

/* How often the instruction applies its computation, for opcodes that have one. */
static int64_t application_count(const Module *module, InstId id) {
  switch (inst_get(module, id)->opcode) {
    case OPCODE_MAP: return cost_elements(inst_shape(module, id));
    case OPCODE_REDUCE:
      return saturating_add(operand_elements(module, id, 0),
                            -cost_elements(first_result(module, id)));
    case OPCODE_REDUCE_WINDOW: return reduce_window_count(module, id);
    case OPCODE_SCAN: return operand_elements(module, id, 1);
    case OPCODE_SCATTER: return operand_elements(module, id, scatter_num_arrays(module, id) + 1);
    default: return 0;
  }
}

static Cost inst_work(const Module *module, const CostTable *table, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  ShapeId shape = inst_get(module, id)->shape;
  int64_t elements = cost_elements(inst_shape(module, id));
  switch (opcode) {
    case OPCODE_COPY: /* elementwise, but without arithmetic, unless it converts */
      return (Cost){.flops = inst_is_converting_copy(module, id) ? elements : 0};
    case OPCODE_DOT:
    case OPCODE_SCALED_DOT: return (Cost){.flops = dot_flops(module, id, elements)};
    case OPCODE_RAGGED_DOT:
      return (Cost){.flops = dot_flops(module, id, ragged_elements(module, id))};
    case OPCODE_CONVOLUTION: return (Cost){.flops = cost_convolution_flops(module, id)};
    case OPCODE_MAP:
    case OPCODE_REDUCE:
    case OPCODE_REDUCE_WINDOW:
    case OPCODE_SCAN:
    case OPCODE_SCATTER:
      return applied(callee_cost(module, table, id, 0), application_count(module, id));
    case OPCODE_SELECT_AND_SCATTER: return select_and_scatter_work(module, table, id);
    case OPCODE_SORT: { /* over the whole operand, whatever the dimension; the comparator is free */
      int64_t sorted = operand_elements(module, id, 0);
      return (Cost){.flops = saturating_mul(sorted, ceil_log2(sorted))};
    }
    case OPCODE_FFT: return (Cost){.flops = fft_flops(module, id)};
    case OPCODE_TRIANGULAR_SOLVE:
      return (Cost){.flops = saturating_mul(FLOPS_PER_MULTIPLY_ADD, solver_work(module, id, 1))};
    case OPCODE_CHOLESKY: return (Cost){.flops = solver_work(module, id, 0) / 3};
    case OPCODE_RNG: return (Cost){.transcendentals = elements};
    case OPCODE_RNG_BIT_GENERATOR:
      return (Cost){.transcendentals = sum_leaves(module, shape, array_elements)};
    case OPCODE_ALL_REDUCE:
    case OPCODE_ALL_REDUCE_START: /* as if between two devices: one addition per element */
      return (Cost){.flops = sum_leaves(module, shape, array_elements)};
    default: break;
  }
  if (opcode_has(opcode, OPF_TRANSCENDENTAL)) return (Cost){.transcendentals = elements};
  if (opcode_has(opcode, OPF_ELEMENTWISE)) return (Cost){.flops = elements};
  return (Cost){0};
}

/* ---- bytes ---- */

static int64_t operands_bytes(const Module *module, InstId id) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    bytes = saturating_add(bytes, cost_operand_bytes(module, id, i));
  }
  return bytes;
}

int64_t cost_default_bytes(const Module *module, InstId id) {
  return saturating_add(sum_leaves(module, inst_get(module, id)->shape, cost_shape_bytes),
                        operands_bytes(module, id));
}

/* Bytes that are read once and written once, plus the bytes of indices. */
static int64_t moved_bytes(int64_t moved, int64_t places) {
  return saturating_add(saturating_mul(2, moved), places);
}

static int64_t scatter_bytes(const Module *module, InstId id) {
  uint32_t num_arrays = scatter_num_arrays(module, id);
  int64_t updates = 0;
  for (uint32_t i = 0; i < num_arrays; i++) {
    updates = saturating_add(updates, cost_operand_bytes(module, id, num_arrays + 1 + i));
  }
  /* At each updated place the array and the update are read, and the array is written. */
  return saturating_add(saturating_mul(3, updates), cost_operand_bytes(module, id, num_arrays));
}

static int64_t outfeed_bytes(const Module *module, InstId id) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    ShapeId shape = inst_get(module, inst_operand(module, id, i))->shape;
    bytes = saturating_add(bytes, sum_leaves(module, shape, cost_shape_bytes));
  }
  return bytes;
}

/* ShapeUtil::TransposeIsBitcast: only the names of the dimensions change, not the places of
 * elements. */
static bool is_bitcast_transpose(const Module *module, InstId id) {
  const Shape *from = cost_operand_shape(module, id, 0), *to = inst_shape(module, id);
  IntSlice dims = inst_attr_ints(module, id, ATTR_DIMENSIONS);
  if (!from || from->kind != to->kind || from->type != to->type || from->rank != to->rank ||
      dims.len != to->rank) {
    return false;
  }
  for (uint32_t i = 0; i < to->rank; i++) {
    int64_t default_dim = (int64_t)to->rank - 1 - i;
    int64_t to_dim = to->minor_to_major ? to->minor_to_major[i] : default_dim;
    int64_t from_dim = from->minor_to_major ? from->minor_to_major[i] : default_dim;
    if (to_dim < 0 || to_dim >= (int64_t)dims.len || dims.data[to_dim] != from_dim) return false;
  }
  return true;
}

static int64_t inst_bytes(const Module *module, InstId id) {
  int64_t result = cost_shape_bytes(inst_shape(module, id));
  switch (inst_get(module, id)->opcode) {
    case OPCODE_ADD_DEPENDENCY:
    case OPCODE_AFTER_ALL:
    case OPCODE_BITCAST:
    case OPCODE_CONSTANT:
    case OPCODE_DOMAIN:
    case OPCODE_GET_TUPLE_ELEMENT:
    case OPCODE_PARAMETER: return 0;
    case OPCODE_TUPLE: return result; /* the table of pointers */
    case OPCODE_TRANSPOSE:
      return is_bitcast_transpose(module, id) ? 0 : cost_default_bytes(module, id);
    case OPCODE_SLICE: return moved_bytes(result, 0);
    case OPCODE_DYNAMIC_SLICE: /* XLA counts the first index only */
    case OPCODE_GATHER: return moved_bytes(result, cost_operand_bytes(module, id, 1));
    case OPCODE_DYNAMIC_UPDATE_SLICE:
      return moved_bytes(cost_operand_bytes(module, id, 1), cost_operand_bytes(module, id, 2));
    case OPCODE_SCATTER: return scatter_bytes(module, id);
    case OPCODE_ALL_REDUCE:
    case OPCODE_ALL_REDUCE_START:
      return saturating_add(sum_leaves(module, inst_get(module, id)->shape, array_bytes),
                            operands_bytes(module, id));
    case OPCODE_TRIANGULAR_SOLVE: /* half of the matrix is read */
      return saturating_add(saturating_add(result, cost_operand_bytes(module, id, 0) / 2),
                            cost_operand_bytes(module, id, 1));
    case OPCODE_CHOLESKY: return cost_operand_bytes(module, id, 0); /* half is read, half written */
    case OPCODE_INFEED: return sum_leaves(module, inst_get(module, id)->shape, cost_shape_bytes);
    case OPCODE_OUTFEED: return outfeed_bytes(module, id);
    default: return cost_default_bytes(module, id);
  }
}

/* ---- instructions that run other computations ---- */

/* XLA compares only the non-zero figures of the later branches, which makes a difference when the
 * first one has a negative sum. */
static int64_t costliest(int64_t first, int64_t later) {
  return later != 0 && later > first ? later : first;
}

static Cost conditional_cost(const Module *module, const CostTable *table, InstId id) {
  Cost cost = callee_cost(module, table, id, 0);
  for (uint32_t i = 1; i < inst_get(module, id)->num_callees; i++) {
    Cost branch = callee_cost(module, table, id, i);
    cost = (Cost){.flops = costliest(cost.flops, branch.flops),
                  .transcendentals = costliest(cost.transcendentals, branch.transcendentals),
                  .bytes = costliest(cost.bytes, branch.bytes)};
  }
  return cost;
}

/* An unknown cost is -1. Call markers mark a region for the compiler and do not run. */
static Cost custom_call_cost(const Module *module, InstId id) {
  Str target = inst_attr_string(module, id, ATTR_CUSTOM_CALL_TARGET);
  if (str_is(target, "__xla_internal_call_marker_before") ||
      str_is(target, "__xla_internal_call_marker_after")) {
    return (Cost){0};
  }
  return (Cost){.flops = -1, .bytes = -1};
}

/* The gather or scatter in a custom fusion; NO_ID when there is none. */
static InstId custom_fusion_core(const Module *module, InstId id) {
  CompId comp = inst_callees(module, id)[0];
  if (inst_attr_int(module, id, ATTR_FUSION_KIND, FUSION_LOOP) != FUSION_CUSTOM) return NO_ID;
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId inner = comp_inst(module, comp, i);
    Opcode opcode = (Opcode)inst_get(module, inner)->opcode;
    if (opcode == OPCODE_GATHER || opcode == OPCODE_SCATTER) return inner;
  }
  return NO_ID;
}

static Cost fusion_cost(const Module *module, const CostTable *table, InstId id, Arena *scratch) {
  if (inst_get(module, id)->num_callees == 0) return (Cost){0};
  InstId core = custom_fusion_core(module, id);
  if (core != NO_ID) {
    InstId known = cost_known_inst(module, table, core);
    return known == NO_ID ? (Cost){0} : table->of[known];
  }
  Cost cost = callee_cost(module, table, id, 0);
  cost.bytes = cost_fusion_bytes(module, table, id, scratch);
  return cost;
}

static Cost inst_cost(const Module *module, const CostTable *table, InstId id, Arena *scratch) {
  switch (inst_get(module, id)->opcode) {
    case OPCODE_CALL:
    case OPCODE_ASYNC_START: return callee_cost(module, table, id, 0);
    case OPCODE_WHILE: /* one iteration: HloCostAnalysis ignores the trip count */
      return cost_add(callee_cost(module, table, id, 0), callee_cost(module, table, id, 1));
    case OPCODE_CONDITIONAL: return conditional_cost(module, table, id);
    case OPCODE_CUSTOM_CALL: return custom_call_cost(module, id);
    case OPCODE_FUSION: return fusion_cost(module, table, id, scratch);
    default: break;
  }
  Cost cost = inst_work(module, table, id);
  cost.bytes = inst_bytes(module, id);
  return cost;
}

/* ---- the module ---- */

/* Records the bytes read of each parameter, for this fusion and for a fusion that contains it. */
static void note_param_reads(const Module *module, CostTable *table, InstId fusion, double *sums) {
  if (inst_get(module, fusion)->num_callees == 0) return;
  CompId comp = inst_callees(module, fusion)[0];
  cost_note_needed(module, table, comp, sums);
  IdList params = comp_get(module, comp)->params;
  for (uint32_t i = 0; i < params.len; i++) {
    InstId param = id_list(module, params)[i];
    table->param_reads[param] = cost_param_read_bytes(module, table, param);
  }
}

/* `sums` is for cost_note_needed(). */
static void analyze_inst(const Module *module, CostTable *table, InstId id, double *sums,
                         Arena *scratch) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode == OPCODE_FUSION) note_param_reads(module, table, id, sums);
  table->of[id] = inst_cost(module, table, id, scratch);
  table->kernel_blocks[id] = (float)cost_kernel_blocks(module, id);
  table->unneeded_bytes[id] = cost_unneeded_bytes(module, table, id);
  table->matrix_types[id] = (uint8_t)cost_matrix_type(module, table, id);
  if (inst->opcode == OPCODE_WHILE) table->trip_counts[id] = while_trip_count(module, id);
}

/* Dead instructions of a live computation do not count, because the next sweep removes them. In a
 * dead computation all instructions are dead, and they count. */
static bool is_counted(const Computation *comp, const Instruction *inst) {
  return !(inst->flags & INST_DEAD) || (comp->flags & COMP_DEAD);
}

CostTable cost_analyze(const Module *module, Arena *out, Arena *scratch) {
  uint32_t num_insts = module->insts.len, num_comps = module->comps.len;
  CostTable table = {.of = arena_zarray(out, Cost, num_insts),
                     .trip_counts = arena_array(out, int64_t, num_insts),
                     .comps = arena_zarray(out, Cost, num_comps),
                     .param_reads = arena_zarray(out, int64_t, num_insts),
                     .unneeded_bytes = arena_zarray(out, int64_t, num_insts),
                     .kernel_blocks = arena_zarray(out, float, num_insts),
                     .needed_shares = arena_zarray(out, float, num_insts),
                     .matrix_types = arena_array(out, uint8_t, num_insts),
                     .known = cost_find_known(module, out, scratch),
                     .estimated_cycles = cost_find_estimates(module, out),
                     .measured_seconds = cost_find_measured(module, out),
                     .num_insts = num_insts,
                     .num_comps = num_comps};
  ArenaMark mark = arena_mark(scratch);
  bool *is_done = arena_zarray(scratch, bool, num_insts);
  double *sums = arena_zarray(scratch, double, num_insts);
  for (InstId id = 0; id < num_insts; id++)
    table.trip_counts[id] = 1;
  /* Includes unreachable computations: a live clone may have been made from one. */
  CompId *order = comps_post_order(module, scratch, scratch);
  for (uint32_t i = 0; i < num_comps; i++) {
    const Computation *comp = comp_get(module, order[i]);
    Cost *sum = &table.comps[order[i]];
    for (uint32_t k = 0; k < comp->insts.len; k++) {
      InstId id = comp_inst(module, order[i], k);
      analyze_inst(module, &table, id, sums, scratch);
      is_done[id] = true;
      if (is_counted(comp, inst_get(module, id))) *sum = cost_add(*sum, table.of[id]);
    }
  }
  for (InstId id = 0; id < num_insts; id++) { /* not in any computation */
    if (!is_done[id]) analyze_inst(module, &table, id, sums, scratch);
  }
  table.estimated_seconds = cost_find_gpu_estimates(module, &table, out);
  table.comp_units = units_of_comps(module, &table, order, out);
  arena_reset(scratch, mark);
  return table;
}

Cost cost_of_inst(const Module *module, const CostTable *table, InstId id, Arena *scratch) {
  return id < table->num_insts ? table->of[id] : inst_cost(module, table, id, scratch);
}

Cost cost_of_inst_known(const Module *module, const CostTable *table, InstId id, Arena *scratch) {
  Cost cost;
  return cost_of_known(module, table, id, &cost) ? cost : cost_of_inst(module, table, id, scratch);
}

Cost cost_total(const Module *module, const CostTable *table) {
  CompId entry = cost_known_comp(module, table, module->entry);
  return entry == NO_ID ? (Cost){0} : table->comps[entry];
}
