/* Joining what a reading loop computes again of one fusion of the writing loop. Each value of the
 * fusion is a clone of its own at first, so that those that one reader reads can be merged with it
 * (fuse_clones.h). What is left reads the same arrays, and computes much of the same, as often as
 * there are values. The fusion itself says that one kernel has room for all of them. */
#ifndef REMAT_HLO_REMAT_SCAN_JOIN_CLONES_H
#define REMAT_HLO_REMAT_SCAN_JOIN_CLONES_H

#include "remat/scan/maker.h"

/* Makes one fusion of the new ones in a sequence that are parts of the same original, where that
 * changes no bit. It runs where the first of them did, so that those are joined of which all that
 * they read is there by then.
 *
 * requires: the schedule has the new instructions. updates: module and schedule. */
void scan_join_clones(Maker *maker, Arena *out, Arena *scratch);

#endif
