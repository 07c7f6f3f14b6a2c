/* The link between the device's memory and the host's: how long copies over it stall computation.
 *
 *     compute   |start a|start b| x          | wait a| done a | y | wait b | done b |
 *     to host           |------ a -----------------|------ b ---------|
 *
 * Each direction carries one copy at a time, in the order of the starts. A copy-start takes no
 * compute time, and a copy-done takes only the rest of its copy's time. A synchronous copy waits
 * for the link and then for its own transfer. The copies of a called computation use the link
 * first, so copies that are under way take that much longer. Nothing else uses the link or is
 * slowed down by it. */
#ifndef REMAT_HLO_ANALYSIS_COST_LINK_H
#define REMAT_HLO_ANALYSIS_COST_LINK_H

#include "analysis/cost/cost.h"
#include "ir/schedule.h"

/* By InstId, the seconds for which one execution of a copy over the link, or of a half of it,
 * stalls computation; negative for other instructions. The result is for CostTable.link_seconds,
 * which the given table must not have yet. O(instructions + copies under way at each call). */
double *link_seconds(const Module *module, const Schedule *schedule, const CostTable *table,
                     const DeviceProfile *profile, int64_t default_trip_count, Arena *out,
                     Arena *scratch);

/* The modelled seconds of a module, with what copies over the link take of them in this order; NULL
 * = there is none: as if the copies overlapped with nothing. Trip counts that are not known are 1.
 */
double link_total_seconds(const Module *module, const Schedule *schedule,
                          const DeviceProfile *profile, Arena *arena, Arena *scratch);

typedef struct LinkUse {
  double to_host_bytes;
  double stall_seconds; /* during which nothing runs because of copies */
} LinkUse;

/* Sums over all instructions that run, times `runs` (cost_runs()). The table must have
 * link_seconds; otherwise stalls are unknown. */
LinkUse link_use(const Module *module, const CostTable *table, const double *runs);

#endif
