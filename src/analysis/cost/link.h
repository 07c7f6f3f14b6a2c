/* The link between the device's memory and the host's: what copies over it hold up.
 *
 *     compute   |start a|start b| x          | wait a| done a | y | wait b | done b |
 *     to host           |------ a -----------------|------ b ---------|
 *
 * Each direction carries one copy at a time, in the order of the starts. A copy-start takes no time
 * of what runs, a copy-done only what is left of its copy; a plain copy waits for its turn and for
 * itself. What a call runs has the link first, so that copies under way last that much longer.
 * Nothing else shares the link or is slowed down by it. */
#ifndef REMAT_HLO_ANALYSIS_COST_LINK_H
#define REMAT_HLO_ANALYSIS_COST_LINK_H

#include "analysis/cost/cost.h"
#include "ir/schedule.h"

/* By InstId, the seconds that one run of a copy over the link, or of a half of one, holds up what
 * runs; negative for what is neither. For CostTable.link_seconds, which the table that is given
 * does not have yet. O(instructions + copies under way at each call). */
double *link_seconds(const Module *module, const Schedule *schedule, const CostTable *table,
                     const DeviceProfile *profile, int64_t default_trip_count, Arena *out,
                     Arena *scratch);

typedef struct LinkUse {
  double to_host_bytes;
  double stall_seconds; /* that nothing runs because of copies */
} LinkUse;

/* Over everything that runs, times `runs` (cost_runs). The table has link_seconds, or else nothing
 * is known of stalls. */
LinkUse link_use(const Module *module, const CostTable *table, const double *runs);

#endif
