/* What the files of scans share: scans_try.c makes a variant, runs an algorithm on it, and keeps
 * the result if it is the best; scans.c has the moves, which say what variants are tried. */
#ifndef REMAT_HLO_REMAT_ENGINE_SCANS_INTERNAL_H
#define REMAT_HLO_REMAT_ENGINE_SCANS_INTERNAL_H

#include "remat/engine/scans.h"

/* What a variant comes to if nothing else is recomputed, but does not meet the budget. */
typedef struct Unfinished {
  VariantGoal goal;
  int64_t bytes;
  double promise; /* less is better */
  double seconds;
  uint32_t num_cut; /* loops that are cut into segments */
  uint32_t number;  /* in the order of the attempts */
} Unfinished;

typedef struct Scans {
  const Problem *problem;
  RunFn run;
  ScanModule module; /* of the input, or of what follows */
  rh_module *opened; /* see variant_open(); NULL = the input itself */
  ScanPrices prices;
  ScanAttempt *best;
  uint32_t num_unproven;
  uint32_t num_cut;     /* loops that the last variant cut into segments */
  uint32_t least_price; /* with which a variant meets the budget, by number */
  rh_status status;
  const RematAlgorithm *finisher; /* see finisher_of() */
  VEC(Unfinished) unfinished;
  Arena *arena;
} Scans;

/* Makes a variant, runs an algorithm on it with so small a part of the steps that are left, and
 * keeps that if it is the best. Returns whether it meets the budget; false, too, once the run is
 * stopped or has failed, which soon ends whoever tries. */
bool scans_try_goal(Scans *scans, const VariantGoal *goal, const RematAlgorithm *algorithm,
                    uint32_t divisor);

#endif
