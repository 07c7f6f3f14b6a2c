/* Which instructions of a rewritten module run at another place than before. */
#ifndef REMAT_HLO_REMAT_REWRITE_MOVES_H
#define REMAT_HLO_REMAT_REWRITE_MOVES_H

#include "remat/rewrite/rewrite.h"

/* Those that run in the same relative order as before, and as many as possible, have stayed; all
 * others have moved. */
typedef struct Moves {
  bool *is_moved; /* by InstId */
  uint32_t num_moved;
} Moves;

/* Compares the order of the module before it was rewritten with the order now. In both, only
 * instructions that take time count: the others, such as tuples, may run anywhere. Recomputations
 * do not count, except one that takes the place of an original that is gone. The instructions of a
 * callee's clone are compared with those of the callee.
 *
 * Example: in the order a b c d that has become a c d b, b has moved.
 *
 * requires: `before` is a schedule of the module that `rewrite` began with. O(n log n). */
Moves moves_find(const Rewrite *rewrite, const Schedule *before, const Schedule *after, Arena *out,
                 Arena *scratch);

#endif
