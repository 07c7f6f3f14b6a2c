/* Collectives that XLA:GPU joins. Between scheduling (and the hook there) and buffer assignment it
 * turns a collective that is split back into one instruction, where nothing else runs meanwhile, or
 * where its backend_config says so (GpuConvertAsyncCollectivesToSync): there is no table of
 * pointers then, and the result need not be in the memory of the operand.
 *
 * Example: of s = async-start(p), calls=c; b = bitcast(q); d = async-done(s), where c is an
 * all-reduce, only b and d = all-reduce(p) are left. */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_JOINED_PAIRS_H
#define REMAT_HLO_ANALYSIS_MEMORY_JOINED_PAIRS_H

#include "ir/schedule.h"

/* Returns the module as XLA will assign its buffers, with the same ids: the end of such a pair is
 * the whole operation, and its start is an `infeed` that takes no memory. Returns NULL if that is
 * the module itself. It lives as long as `out`. O(instructions). */
const Module *joined_pairs_module(const Module *module, const Schedule *schedule, Arena *out,
                                  Arena *scratch);

/* Whether an instruction of such a module is a start that XLA drops. `before` is the module it was
 * made from. */
static inline bool inst_is_joined_start(const Module *before, const Module *joined, InstId id) {
  return inst_get(before, id)->opcode == OPCODE_ASYNC_START &&
         inst_get(joined, id)->opcode == OPCODE_INFEED;
}

#endif
