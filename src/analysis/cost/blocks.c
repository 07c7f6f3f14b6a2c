/* The blocks of threads that a kernel of a GPU has, where these are few. Each runs on one
 * multiprocessor, which moves 32 bytes per clock at most, so that some dozens are needed for the
 * whole of the memory's bandwidth (AdjustBandwidth in xla/service/gpu/model). A sum along other
 * dimensions than the minor-most one has a block for each 64 of its neighbouring results
 * (ReductionFusion in xla/backends/gpu/codegen/emitters), which goes over all that it adds up. What
 * would be too long for that, XLA:GPU adds up in two steps, so that only its own fusions, of kind
 * kInput, tell how many blocks there are. */
#include <math.h>

#include "analysis/cost/cost_internal.h"
#include "analysis/cost/units_internal.h"

/* 0 if it is no such sum. */
static double blocks_of_reduce(const Module *module, InstId id) {
  enum { RESULTS_OF_BLOCK = 64 };
  const Shape *from = cost_operand_shape(module, id, 0);
  IntSlice reduced = inst_attr_ints(module, id, ATTR_DIMENSIONS);
  if (inst_get(module, id)->opcode != OPCODE_REDUCE || !from || !shape_is_array(from)) return 0;
  double minor = 1, others = 1;
  bool is_minor = true;
  for (uint32_t i = 0; i < from->rank; i++) {
    int64_t dim = units_minor_dim(from, i);
    if (!ints_have(reduced, dim)) {
      *(is_minor ? &minor : &others) *= (double)cost_dim(from, dim);
    } else if (i == 0) {
      return 0;
    } else {
      is_minor = false;
    }
  }
  return is_minor ? 0 : others * ceil(minor / RESULTS_OF_BLOCK);
}

double cost_kernel_blocks(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode != OPCODE_FUSION || inst->num_callees == 0 ||
      inst_attr_int(module, id, ATTR_FUSION_KIND, FUSION_CUSTOM) != FUSION_INPUT) {
    return 0;
  }
  CompId comp = inst_callees(module, id)[0];
  double blocks = 0;
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId inner = comp_inst(module, comp, i);
    if (cost_is_result(module, inner)) blocks = fmax(blocks, blocks_of_reduce(module, inner));
  }
  return blocks;
}
