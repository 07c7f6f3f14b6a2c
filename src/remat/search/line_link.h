/* The link to the host, as a line uses it: how long steps wait for copies. */
#ifndef REMAT_HLO_REMAT_SEARCH_LINE_LINK_H
#define REMAT_HLO_REMAT_SEARCH_LINE_LINK_H

#include "remat/search/line.h"

/* As analysis/cost/link.h has it, but only for the copies that lines add. A copy to the host starts
 * as soon as the value has been computed, and its step waits for its end. A copy back starts at its
 * step, and its first reader waits for its end. Each direction carries one copy at a time.
 * O(steps + sources). */
double line_stall_seconds(const Line *line, Arena *scratch);

#endif
