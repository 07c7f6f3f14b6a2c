/* Mends a line that exceeds a limit by little.
 *
 * Prices lead near a limit, but what is left over them may be small beside the values that they
 * decide about. So values that are held over the steps in excess, and not read there, are computed
 * again for their next readers, those first that cost least for what they free. */
#ifndef REMAT_HLO_REMAT_SEARCH_MEND_H
#define REMAT_HLO_REMAT_SEARCH_MEND_H

#include "remat/job/patience.h"
#include "remat/search/line.h"

/* The line of the least excess that is found; that given if there is none. No step that stays
 * changes its place relative to the others, except that a value without earlier readers may be
 * computed later instead of again, unless `keeps_places`. */
Line line_mended(const Line *line, int64_t limit_bytes, bool keeps_places, Patience *patience,
                 Arena *out, Arena *scratch);

#endif
