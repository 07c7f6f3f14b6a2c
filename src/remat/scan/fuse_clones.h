/* Merging what was made in loops into what reads it, as XLA's fusion passes would have done: in the
 * writing loop, the stack was a second reader. */
#ifndef REMAT_HLO_REMAT_SCAN_FUSE_CLONES_H
#define REMAT_HLO_REMAT_SCAN_FUSE_CLONES_H

#include "remat/scan/maker.h"

/* Merges each new fusion into all of its readers, where remat/rewrite/fuse.h allows it. Numbers
 * that follow from a counter are merged only where that still has its value.
 *
 * requires: the schedule has the new instructions. updates: module and schedule. */
void scan_fuse_clones(Maker *maker, Arena *scratch);

#endif
