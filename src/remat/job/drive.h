/* Moves, and the one loop that tries them. Whatever looks for a better result by one change after
 * another is a table of moves: limits for lines (remat/search/limits.c), lines that packing may
 * suit better (take.c), values in other forms (remat/algorithms/search.c), rewritten loops
 * (remat/engine/scans.c).
 *
 * A move changes what its context holds, measures that, and keeps the better result there; so the
 * loop knows of the best score only. It is deterministic, because moves are: each spends the steps
 * that it takes, and the deadline and the caller are asked where steps are spent. */
#ifndef REMAT_HLO_REMAT_JOB_DRIVE_H
#define REMAT_HLO_REMAT_JOB_DRIVE_H

#include <stddef.h>

#include "remat/job/score.h"

/* What a move needs, of the best result before each try. */
enum {
  MOVE_FOR_MET = 1,    /* it meets the budget */
  MOVE_FOR_MISSED = 2, /* it misses it */
  MOVE_FOR_BUDGET = 4, /* there is a budget: as low as possible is none */
};

typedef struct Move {
  unsigned needs;            /* of MOVE_FOR_…; 0 = it is for any result */
  uint32_t most;             /* tries; 0 = as many as it has */
  bool (*is_of_use)(void *); /* asked once, before the first try; NULL = it is */
  /* Tries the proposal of this number, from 0 on. Returns false if it has none, or if none that
   * follows is of use. */
  bool (*try_next)(void *, uint32_t number);
} Move;

typedef struct Drive {
  void *of;          /* the context of the moves */
  const Score *best; /* of the best result; moves change it */
  bool has_budget;
  bool (*can_go_on)(const void *of); /* whether another try is worth what is left to spend; NULL =
                                        moves see to that */
} Drive;

/* Tries the moves of a table, one after the other. */
void drive(const Drive *drive, const Move *moves, size_t num_moves);

#endif
