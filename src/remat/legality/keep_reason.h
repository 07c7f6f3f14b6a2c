/* Explains, for a report, why each value that is live at the peak is not recomputed after it. */
#ifndef REMAT_HLO_REMAT_LEGALITY_KEEP_REASON_H
#define REMAT_HLO_REMAT_LEGALITY_KEEP_REASON_H

#include "analysis/memory/memory_model.h"
#include "remat/legality/legality.h"

/* Fills `reasons` with the reason for each buffer of the live set. KEEP_NONE means that the value
 * could be recomputed; the memory that its operands would need is not considered. `reasons` has
 * space for all buffers. O(instructions + edges). */
void find_keep_reasons(const Module *module, const Schedule *schedule, const Legality *legality,
                       const MemoryProfile *profile, const LiveSet *live, KeepReason *reasons,
                       Arena *scratch);

#endif
