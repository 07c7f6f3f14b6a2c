/* Marks that record what rematerialization did to each instruction of a result. */
#ifndef REMAT_HLO_REMAT_REWRITE_MARK_RESULT_H
#define REMAT_HLO_REMAT_REWRITE_MARK_RESULT_H

#include "ir/handle.h"
#include "remat/rewrite/rewrite.h"

/* Marks the instructions of the result, which have the same names as in the rewritten module.
 * `is_kept` is indexed by InstId, as in remat/legality/safe_reads.h. */
void mark_result(const Rewrite *rewrite, const bool *is_kept, uint32_t num_kept, rh_module *result,
                 Arena *scratch);

#endif
