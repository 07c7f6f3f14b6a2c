/* Clones that XLA would fuse with what reads them. */
#ifndef REMAT_HLO_ADVICE_FUSED_CLONES_H
#define REMAT_HLO_ADVICE_FUSED_CLONES_H

#include "advice/cloning.h"

/* Takes the memory from clones that are elementwise and have one reader, which is elementwise and
 * reads what they read as well: in the forward part others have read them, too. Returns whether
 * arrays have changed. */
bool fused_clones_shrink(Cloning *cloning);

#endif
