/* The packing `start` where another memory takes some of the buffers, as VMEM does on XLA:TPU. */
#ifndef REMAT_HLO_ANALYSIS_PACK_START_H
#define REMAT_HLO_ANALYSIS_PACK_START_H

#include "analysis/pack/packing.h"

/* Returns the height of the packing of all buffers for which a memory of `room_bytes` has no room.
 * Those that live the shortest go there first, by best fit, each for all of its time. This can be
 * higher than the packing of all buffers: what is left may fit together worse. */
int64_t pack_start_beside(const PackProblem *problem, int64_t room_bytes, Arena *scratch);

#endif
