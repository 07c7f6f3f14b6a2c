/* Merging a loop fusion into the fusions that read it, so that its result needs no memory and no
 * kernel of its own. */
#ifndef REMAT_HLO_REMAT_REWRITE_FUSE_H
#define REMAT_HLO_REMAT_REWRITE_FUSE_H

#include "remat/rewrite/rewrite.h"

/* Merges `producer` into its readers if that changes no bit, and computes no element twice unless
 * that is as fast as to read it. Returns whether it did. The producer, and bitcasts between it and
 * its readers, are removed. The computations that were changed are added to `changed`,
 * in `out`; their instructions are listed in a valid order.
 *
 * Bits: how sums of products round depends on the function that they are compiled in
 * (analysis/flow/rounding.h). Two fusions are merged only if that makes no difference, unless
 * `rewrite->any_rounding` is set.
 *
 * updates: the module. breaks: every analysis. */
bool fuse_into_readers(Rewrite *rewrite, InstId producer, IdVec *changed, Arena *out,
                       Arena *scratch);

/* Whether two arrays have the same dimensions in memory, the major ones of one element aside. */
bool fuse_has_same_dims(const Shape *a, const Shape *b);

/* The parameter of a fusion for something that it reads; the operand is added if it does not read
 * it yet. */
InstId fuse_find_param(Rewrite *rewrite, InstId reader, InstId operand);

/* Adds a fusion beside another one that computes the value of `inner`, an instruction in it, alone.
 */
InstId fuse_part_alone(Rewrite *rewrite, InstId fusion, InstId inner, const Schedule *schedule,
                       Arena *scratch);

#endif
