/* Memory that the entry computation is given and hands out, where the model `heap` keeps it all the
 * time: what else lives there takes no memory of its own.
 *
 * XLA's buffer assignment gives each donated parameter and each result an allocation of its own. It
 * holds one value after the other, each of which must fit into it, and never two at one time
 * (analysis/memory/buffer_assignment.h). So of the values that live at one time, at most one can be
 * in each. Example: beside results of 4 and 1 KiB, of three values of 2 KiB at least two are in the
 * heap. */
#ifndef REMAT_HLO_REMAT_LEGALITY_GIVEN_MEMORY_H
#define REMAT_HLO_REMAT_LEGALITY_GIVEN_MEMORY_H

#include "analysis/flow/points_to.h"

typedef VEC(int64_t) Sizes; /* bytes of arrays that live at one time */

typedef struct GivenMemory {
  int64_t held_bytes; /* parameters and results */
  Sizes allocations;  /* those that may hold something else for a while, largest first */
} GivenMemory;

GivenMemory given_memory_find(const Module *module, const PointsTo *points_to, Arena *out);

/* The least bytes that are left when each allocation takes at most one of the sizes. Sorts `sizes`.
 * O(n log n). */
int64_t given_memory_leaves(const GivenMemory *given, Sizes *sizes);

#endif
