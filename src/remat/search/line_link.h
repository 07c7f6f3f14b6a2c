/* The link to the host, as a line uses it: how long steps wait for copies, and where copies end and
 * begin so that none has to. */
#ifndef REMAT_HLO_REMAT_SEARCH_LINE_LINK_H
#define REMAT_HLO_REMAT_SEARCH_LINE_LINK_H

#include "remat/search/line.h"

/* As analysis/cost/link.h has it, but only for the copies that lines add. A copy to the host starts
 * as soon as the value has been computed, and its step waits for its end. A copy back starts at its
 * step, and its first reader waits for its end. Each direction carries one copy at a time.
 * O(steps + sources). */
double line_stall_seconds(const Line *line, Arena *scratch);

/* How busy the link is, with other copies. */
typedef struct LinkLoad {
  double *there; /* by step: from its end, the seconds until a copy to the host can begin */
  double *back; /* by step: the seconds before its beginning by which a copy back must have ended */
} LinkLoad;

/* The line with copies to the host that end later, and copies back that begin earlier, so that
 * steps wait for them less; only as far as what they hold meanwhile is within the limit. `memory`
 * is that of the line, and its `bytes_at` is used up. Sets the load by step of the line given.
 * O(steps + sources + copies * steps that they move over). */
Line line_with_longer_copies(const Line *line, LineMemory *memory, int64_t limit_bytes,
                             LinkLoad *load, Arena *out, Arena *scratch);

#endif
