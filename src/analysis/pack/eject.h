/* Improves a packing by taking out what is in the way. */
#ifndef REMAT_HLO_ANALYSIS_PACK_EJECT_H
#define REMAT_HLO_ANALYSIS_PACK_EJECT_H

#include "analysis/pack/sections.h"

/* Some runs for a lower packing of one part, one of them for `goal_bytes`; ends early when that is
 * reached or the budget is spent. Rounds, counted from 0, differ, and later ones are longer.
 * `offsets` are those of a packing and change only for the better. A buffer that is placed takes
 * two steps for each that already is. */
void pack_eject(const PackSections *sections, PackSpan part, int64_t goal_bytes, uint32_t round,
                PackBudget *budget, int64_t *offsets, Arena *scratch);

#endif
