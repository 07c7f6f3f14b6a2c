/* Reorders a line so that less of it is over a limit, without any recomputation.
 *
 * A sweep visits the steps in their order and moves each one to the earliest place where its
 * sources allow it to be, if that lowers the excess: the sum, over all steps, of the bytes by which
 * the memory there exceeds the limit. Minimizing the peak instead shows next to nothing of the
 * effect: what counts is how much has to be recomputed afterwards. If a step alone does not free
 * memory where it would go, the step that is in its way goes with it, and so on: a cone. */
#ifndef REMAT_HLO_REMAT_SEARCH_HOIST_H
#define REMAT_HLO_REMAT_SEARCH_HOIST_H

#include "remat/job/patience.h"
#include "remat/search/line.h"

typedef struct HoistRules {
  bool moves_cones; /* otherwise single steps only */
  /* A move may raise the excess by as much as one step over the limit has at most. Chains whose
   * members raise memory when moved one by one come to their place in this way. */
  bool is_tolerant;
  /* Values that are cheap to compute from parameters do not hold a step back. They go to their
   * first reader afterwards. */
  bool frees_sources;
  uint32_t num_sweeps;
} HoistRules;

Line hoist(const Line *line, int64_t limit_bytes, const HoistRules *rules, Patience *patience,
           Arena *out, Arena *scratch);

/* Puts parameters and constants first, and tuples and what else goes late (NODE_GOES_LATE)
 * immediately before their first readers; so it does with cheap sources, if asked for. */
Line line_settled(const Line *line, bool moves_sources, Arena *out, Arena *scratch);

#endif
