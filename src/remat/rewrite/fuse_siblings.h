/* Making one fusion with several results of several fusions that read the same values, as XLA's
 * fusion passes do with siblings: what they share is read once and computed once. */
#ifndef REMAT_HLO_REMAT_REWRITE_FUSE_SIBLINGS_H
#define REMAT_HLO_REMAT_REWRITE_FUSE_SIBLINGS_H

#include "remat/rewrite/rewrite.h"

/* Gives the fusion `leader` the results of other fusions of its computation, too, each of which has
 * one result that is read. The users read elements of the leader, which are added to `elements`,
 * that of its own result first. The other fusions are removed. The caller knows that what they read
 * is there when the leader runs, and that all of them round in one function as they do in several.
 *
 * updates: the module. breaks: schedules and every analysis. */
void fuse_siblings(Rewrite *rewrite, InstId leader, const IdVec *others, IdVec *elements,
                   Arena *out, Arena *scratch);

#endif
