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

/* What was allowed, and by whom it was decided. */
typedef struct KeepRules {
  const Legality *legality;
  bool repeats_loops; /* the algorithm runs whole loops again, as `search` does */
} KeepRules;

/* Fills `reasons` for each buffer of the live set. KEEP_NONE alone means that the value could be
 * recomputed, and KEEP_OPERANDS_LARGER that operands which cannot be recomputed, and are not live
 * at the peak, would take as much memory. `reasons` has space for all buffers. O(instructions +
 * edges), and for each loop O(instructions that it runs).
 */
void find_keep_reasons(const Module *module, const Schedule *schedule, const KeepRules *rules,
                       const MemoryProfile *profile, const LiveSet *live, KeepReasons *reasons,
                       Arena *scratch);

#endif
