/* Why a value is alive at the peak. */
#ifndef REMAT_HLO_REMAT_LEGALITY_KEEP_REASON_H
#define REMAT_HLO_REMAT_LEGALITY_KEEP_REASON_H

#include "analysis/memory/memory_model.h"
#include "remat/legality/legality.h"

/* For each buffer of the live set why it is not computed again after the peak; KEEP_NONE for one
 * that could be, as far as this looks: what its operands would cost is another matter. `reasons`
 * has room for all. O(instructions + edges). */
void find_keep_reasons(const Module *module, const Schedule *schedule, const Legality *legality,
                       const MemoryProfile *profile, const LiveSet *live, KeepReason *reasons,
                       Arena *scratch);

#endif
