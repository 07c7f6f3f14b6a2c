/* Declarations shared by the files of the cost analysis: saturating arithmetic, sizes, and opcode
 * rules that have a file of their own. */
#ifndef REMAT_HLO_ANALYSIS_COST_COST_INTERNAL_H
#define REMAT_HLO_ANALYSIS_COST_COST_INTERNAL_H

#include "analysis/cost/cost.h"

/* Sums and products saturate at the ends of the range instead of wrapping. Costs can be negative: a
 * custom call has -1, and a reduce of an empty array into a larger one has a negative count, as in
 * XLA. */
static inline int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t saturating_mul(int64_t a, int64_t b) {
  int64_t product;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
}

static inline Cost cost_add(Cost a, Cost b) {
  return (Cost){.flops = saturating_add(a.flops, b.flops),
                .transcendentals = saturating_add(a.transcendentals, b.transcendentals),
                .bytes = saturating_add(a.bytes, b.bytes)};
}

/* Elements of an array (ShapeUtil::ElementsIn) and bytes of a shape (ByteSizeOf). A number that
 * does not fit saturates; a `?` dimension, whose size is unknown, counts as 0 (XLA aborts). NULL,
 * for an operand that does not exist, also counts as 0. */
int64_t cost_elements(const Shape *shape);
int64_t cost_shape_bytes(const Shape *shape);

/* NULL when the instruction has no operand of this index. */
const Shape *cost_operand_shape(const Module *module, InstId id, uint32_t index);

static inline int64_t cost_operand_bytes(const Module *module, InstId id, uint32_t index) {
  return cost_shape_bytes(cost_operand_shape(module, id, index));
}

/* The size of a dimension of an array; 0 when there is none of this index. */
int64_t cost_dim(const Shape *shape, int64_t dim);

/* One dimension of an attribute `window`, ORDER of its integers (ir/attribute.h). */
typedef struct WindowDim {
  int64_t size, stride, pad_low, pad_high, base_dilation, window_dilation, reversal;
} WindowDim;

static inline uint32_t cost_window_rank(IntSlice window) {
  return window.len / (uint32_t)(sizeof(WindowDim) / sizeof(int64_t));
}

static inline WindowDim cost_window_dim(IntSlice window, uint32_t dim) {
  WindowDim result;
  memcpy(&result, window.data + (size_t)dim * (sizeof result / sizeof(int64_t)), sizeof result);
  return result;
}

/* The instruction whose table entry applies to this one: the instruction itself, or, for one added
 * after cost_analyze(), the instruction that it was cloned from. NO_ID when there is none. */
InstId cost_known_inst(const Module *module, const CostTable *table, InstId id);

/* Likewise for a computation. */
CompId cost_known_comp(const Module *module, const CostTable *table, CompId id);

/* Bytes of all leaves of the result and of all operands, where a tuple operand counts only its
 * table. HloCostAnalysis assumes this unless an opcode has a rule of its own. */
int64_t cost_default_bytes(const Module *module, InstId id);

/* convolution.c */
int64_t cost_convolution_flops(const Module *module, InstId id);

typedef enum LinkDirection { LINK_NONE, LINK_TO_HOST, LINK_FROM_HOST } LinkDirection;

/* seconds.c: the direction in which a copy or copy-start crosses the link to the host. */
LinkDirection host_link_direction(const Module *module, InstId id);

/* estimate.c: by InstId, the cycles that XLA:TPU estimates each instruction to take; -1 = none.
 * NULL if there are no estimates at all. */
const int64_t *cost_find_estimates(const Module *module, Arena *out);

/* gpu_estimate.c: by InstId, the seconds that XLA:GPU estimates each kernel to run; -1 = none. NULL
 * if there are no estimates at all. The table must know the types of products. */
const double *cost_find_gpu_estimates(const Module *module, const CostTable *table, Arena *out);

/* measured.c: by InstId, the seconds of Backend.times; NULL if the module was not measured. */
const double *cost_find_measured(const Module *module, Arena *out);

/* known.c: by InstId, the cost that the user gave for each instruction; NULL when none was
 * given. */
const KnownCost **cost_find_known(const Module *module, Arena *out, Arena *scratch);

/* The cost of an instruction for which a better one than HloCostAnalysis's is known; false for
 * other instructions. */
bool cost_of_known(const Module *module, const CostTable *table, InstId id, Cost *cost);

/* custom_call.c: the cost of a custom call whose work is known from its backend_config or its
 * target; false for other instructions. */
bool cost_of_custom_call(const Module *module, InstId id, Cost *cost);

/* The element type that such a call multiplies, NUM_TYPES when it is not a product. A call whose
 * flops the user gave is assumed to be a product, because flops are mostly given for products. */
ElementType cost_custom_call_type(const Module *module, InstId id, bool has_given_flops);

/* fusion.c */
int64_t cost_fusion_bytes(const Module *module, const CostTable *table, InstId id, Arena *scratch);

/* Bytes that a fused computation reads of its parameter
 * (HloCostAnalysis::FusionParameterReadBytes). The parameters of nested fusions must be in
 * table->param_reads. */
int64_t cost_param_read_bytes(const Module *module, const CostTable *table, InstId param);

/* blocks.c: 0 = as many as there is work for. */
double cost_kernel_blocks(const Module *module, InstId id);

/* needed.c: whether an instruction of a fused computation is a result: the root, an element of it,
 * or what is a bitcast of that. */
bool cost_is_result(const Module *module, InstId id);

/* Fills table->needed_shares for the instructions of a fused computation, those of nested
 * fusions being filled. `sums`: by InstId, 0 for these; changed. O(operands). */
void cost_note_needed(const Module *module, CostTable *table, CompId comp, double *sums);

/* Bytes of a fused computation's parameter that are needed, at most those in table->param_reads. */
int64_t cost_needed_bytes(const Module *module, const CostTable *table, InstId param);

/* For table->unneeded_bytes: 0 for what is no fusion. Both tables have to be filled for its
 * parameters. */
int64_t cost_unneeded_bytes(const Module *module, const CostTable *table, InstId id);

/* seconds.c: the element type at whose matrix rate most flops of the instruction run, NUM_TYPES
 * when most are not those of matrix products. A fusion's instructions must be in the table. */
ElementType cost_matrix_type(const Module *module, const CostTable *table, InstId id);

#endif
