/* Explains, for a report, why each value that is live at the peak is not recomputed after it. */
#ifndef REMAT_HLO_REMAT_LEGALITY_KEEP_REASON_H
#define REMAT_HLO_REMAT_LEGALITY_KEEP_REASON_H

#include "analysis/memory/memory_model.h"
#include "remat/legality/legality.h"

/* What keeps a value, the strongest first. One reason that no option changes is enough; without
 * one, all that options could change are listed, because each of them alone would keep the value.
 */
enum { MAX_KEEP_REASONS = 4 };

typedef struct KeepReasons {
  KeepReason list[MAX_KEEP_REASONS];
  uint32_t len; /* at least 1 */
} KeepReasons;

/* Fills `reasons` for each buffer of the live set. KEEP_NONE alone means that the value could be
 * recomputed, and KEEP_OPERANDS_LARGER that operands which cannot be recomputed, and are not live
 * at the peak, would take as much memory. `reasons` has space for all buffers. O(instructions +
 * edges).
 */
void find_keep_reasons(const Module *module, const Schedule *schedule, const Legality *legality,
                       const MemoryProfile *profile, const LiveSet *live, KeepReasons *reasons,
                       Arena *scratch);

#endif
