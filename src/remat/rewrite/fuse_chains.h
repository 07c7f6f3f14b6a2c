/* Fusions as XLA's compilers for GPU and TPU will make them of a module that they have yet to
 * optimize. What needs memory, and what a recomputation costs, is then decided on these. unfuse()
 * takes them apart again. */
#ifndef REMAT_HLO_REMAT_REWRITE_FUSE_CHAINS_H
#define REMAT_HLO_REMAT_REWRITE_FUSE_CHAINS_H

#include "remat/rewrite/rewrite.h"

/* Makes a loop fusion of each chain of elementwise instructions that only its end is read of, and
 * of a reduction with what it reduces. An instruction that reads no more than it writes, such as a
 * conversion, is repeated in each fusion that reads it, as XLA does, if all that read it are fused.
 * Broadcasts, slices and reshapes go along. Scalars, of which loops' counters are, stay as they
 * are, and so do slices that are taken or written where the data says: what loops stack goes
 * through them.
 *
 * This is a model of what several compilers do, each by prices of its own; it has no part in what
 * the module computes. Returns the number of fusions. The instructions that went into them are dead
 * code afterwards.
 *
 * updates: the module. breaks: every analysis. cost: O(instructions + edges). */
uint32_t fuse_chains(Rewrite *rewrite, Arena *scratch);

#endif
