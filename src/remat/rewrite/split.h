/* Splitting fusions that compute the same values, each for itself. XLA computes a value again in
 * every fusion that reads it where that takes less time than to read it from memory. Where the
 * value is one of a chain, as a gradient that is handed back through layers, the last fusion then
 * reads all that the chain is computed from, which must live until it runs. */
#ifndef REMAT_HLO_REMAT_REWRITE_SPLIT_H
#define REMAT_HLO_REMAT_REWRITE_SPLIT_H

#include "remat/rewrite/rewrite.h"

/* In each sequence, gives values that several loop fusions compute, for different uses, from two
 * arrays or more, a fusion of their own before the first of these, which all of them read. Example:
 *
 *   x = fusion(a, b), whose computation returns tanh(a + b)
 *   y = fusion(a, b, c), whose computation returns (a + b) * c       becomes
 *   s = fusion(a, b), whose computation returns a + b
 *   x = fusion(s), y = fusion(s, c)
 *
 * Values are cut where that changes no bit (analysis/flow/rounding.h), unless
 * `rewrite->any_rounding` is set. Returns the number of values that got an instruction; 0 without a
 * schedule. updates: module and schedule. breaks: every analysis. O(instructions of fusions, and
 * for each cut the fusions that it is in). */
uint32_t split_shared(Rewrite *rewrite, Schedule *schedule, Arena *out, Arena *scratch);

/* For analyses: the module, or a copy that is split, which lives as long as `out`. */
const Module *split_copy(Module *module, const Schedule *schedule, Arena *out, Arena *scratch);

#endif
