/* Improves a packing by best fit in other orders. */
#ifndef REMAT_HLO_ANALYSIS_PACK_REORDER_H
#define REMAT_HLO_ANALYSIS_PACK_REORDER_H

#include "analysis/pack/sections.h"

/* Looks for a lower packing of one part until it is not higher than `goal_bytes` or the budget is
 * spent; a few runs of best fit are always made. `offsets` are those of a packing and change
 * only for the better. */
void pack_reorder(const PackSections *sections, PackSpan part, int64_t goal_bytes,
                  PackBudget *budget, int64_t *offsets, Arena *scratch);

#endif
