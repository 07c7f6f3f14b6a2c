/* What a checkpoint around each layer does to the gradients that flow along a residual stream: XLA
 * fuses the sum of all contributions of all layers into each fusion that needs it, so that every
 * contribution waits for the first layer's gradients. A checkpoint has a barrier at each layer,
 * which no fusion crosses, so that each layer reads the sum of those behind it. */
#ifndef REMAT_HLO_ADVICE_CUT_SUMS_H
#define REMAT_HLO_ADVICE_CUT_SUMS_H

#include "remat/rewrite/rewrite.h"

/* In the part of a sequence behind `begin`: a fusion that reads all that an earlier one reads, and
 * that makes an array of as many elements, reads the result of the earlier one instead. The module
 * can then be measured, and not be printed: the fused computations are left as they are. Returns
 * the number of fusions that were changed. O(operands * fusions). */
uint32_t cut_sums(Rewrite *rewrite, Sequence sequence, SchedPos begin, Arena *scratch);

#endif
