/* Groups of steps that hang together: the steps of a tail of the line, which the places for updates
 * are decided by. */
#ifndef REMAT_HLO_REMAT_SEARCH_GROUPS_H
#define REMAT_HLO_REMAT_SEARCH_GROUPS_H

#include "remat/search/line.h"

typedef struct Groups {
  const Line *line;
  bool *is_tail;    /* by step */
  uint32_t *parent; /* by step, for union-find */
} Groups;

/* Puts steps of the tail that read each other, or wait for each other, into one group. O(n log n).
 */
Groups groups_find(const Line *line, bool *is_tail, const Rows *waits, Arena *out);

/* The first step of the group that a step of the tail is in. */
StepId groups_root(Groups *groups, StepId step);

#endif
