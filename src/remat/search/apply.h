/* Rewrites a computation as a line says. */
#ifndef REMAT_HLO_REMAT_SEARCH_APPLY_H
#define REMAT_HLO_REMAT_SEARCH_APPLY_H

#include "remat/search/line.h"

/* The first run of each node is the instruction itself, every other one a clone. Bitcasts and
 * get-tuple-elements follow what they come from. Copies into other forms and back are new
 * instructions; one to the host starts right after what it copies, and one from there ends before
 * its first reader. requires: the graph is of the job's module and schedule as they are now.
 * updates: both; the new sequence is in `out`. Returns the number of clones, of values that are
 * copied into another form, and of instructions that run at another place among those of the old
 * order; parameters and constants do not count. If all are 0, nothing is changed, not even these.
 */
typedef struct Applied {
  uint32_t num_clones, num_forms, num_moved;
} Applied;

Applied line_apply(const Line *line, RematJob *job, Arena *out, Arena *scratch);

#endif
