/* Whether the order of two instructions follows from operands and control dependencies. */
#ifndef REMAT_HLO_REMAT_REWRITE_PATHS_H
#define REMAT_HLO_REMAT_REWRITE_PATHS_H

#include "ir/schedule.h"

typedef struct Paths {
  const Module *module;
  SchedPos *positions;  /* by InstId */
  uint32_t *visited_in; /* by InstId: the last search that visited the instruction */
  uint32_t search;
  uint32_t max_steps; /* instructions that one search visits at most */
  IdVec work;
  Arena *arena;
} Paths;

/* Valid for the instructions of `schedule`, in its order, while none is added to the module;
 * control dependencies that agree with the order may be. */
Paths paths_begin(const Module *module, const Schedule *schedule, uint32_t max_steps, Arena *arena);

/* Whether a path of operands and control predecessors goes from `later` back to `earlier`, as far
 * as `max_steps` instructions tell. */
bool must_follow(Paths *paths, InstId earlier, InstId later);

#endif
