/* Edges that stand for what is left out between two shown instructions. */
#ifndef REMAT_HLO_EMIT_DOT_PATHS_H
#define REMAT_HLO_EMIT_DOT_PATHS_H

#include "emit/dot/picture.h"
#include "emit/dot/reads.h"

/* Adds an edge from each shown instruction to each that reads, through instructions that are not
 * shown, what is made of its result; not where other edges lead there as well. A computation of
 * which very many are shown gets none. O(reads · shown of a computation / 64). */
void dot_paths_add(DotPicture *picture, const DotReads *reads, Arena *out, Arena *scratch);

#endif
