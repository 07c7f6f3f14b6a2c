/* Takes back recomputations that a line does not need. */
#ifndef REMAT_HLO_REMAT_SEARCH_TRIM_H
#define REMAT_HLO_REMAT_SEARCH_TRIM_H

#include "remat/job/patience.h"
#include "remat/search/scored.h"

/* Returns the line without the runs, and copies back, whose readers can read an earlier one of the
 * same value, the most expensive ones first, and without what is read by nobody then, as long as
 * the peak stays within the limit. O(n log n + clones * readers), where the readers of what would
 * go with a clone count, too. */
Line line_trimmed(const Line *line, int64_t limit_bytes, Patience *patience, Arena *out,
                  Arena *scratch);

/* The same, measured. */
ScoredLine scored_trimmed(const Line *line, int64_t limit_bytes, Patience *patience, Arena *out,
                          Arena *scratch);

#endif
