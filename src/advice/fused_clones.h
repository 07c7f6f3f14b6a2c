/* What XLA would fuse with its only reader once there are clones. */
#ifndef REMAT_HLO_ADVICE_FUSED_CLONES_H
#define REMAT_HLO_ADVICE_FUSED_CLONES_H

#include "advice/cloning.h"

/* Takes the memory from clones that are elementwise and have one reader, which is elementwise and
 * reads what they read as well: in the forward part others have read them, too. The same goes for
 * originals whose other readers were in the backward part, and read clones now. Returns whether
 * arrays have changed. */
bool fused_clones_shrink(Cloning *cloning);

/* Whether that has happened to an instruction: nothing else that is elementwise makes one element
 * of many. */
bool fused_is_shrunk(const Module *module, InstId id);

#endif
