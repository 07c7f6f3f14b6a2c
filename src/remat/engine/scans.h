/* Attempts that begin from variants of the input (variant.h). */
#ifndef REMAT_HLO_REMAT_ENGINE_SCANS_H
#define REMAT_HLO_REMAT_ENGINE_SCANS_H

#include "remat/engine/attempt.h"
#include "remat/engine/variant.h"

/* An attempt together with the variant that it began from. */
typedef struct ScanAttempt {
  Attempt attempt;
  Variant variant;
  Problem problem; /* the variant's */
  Findings findings;
  VariantGoal goal; /* of the variant */
  bool is_open;     /* the problem was prepared */
} ScanAttempt;

void scan_attempt_free(ScanAttempt *tried);

/* Runs an algorithm once with each guide, on an input; keeps the better result in `*best`. Given by
 * engine.c. */
typedef rh_status (*RunFn)(const Problem *problem, Findings *findings,
                           const RematAlgorithm *algorithm, Attempt *best);

/* Finds the variant that meets the budget at the least modelled time or, if none does, the one with
 * the least memory, and then runs the request's algorithm on that. `*best` has no result if loops
 * stack nothing for others. */
rh_status scans_try(const Problem *problem, RunFn run, ScanAttempt *best);

/* Runs the request's algorithm on the input with its fusions split, see variant_split(). `*best`
 * has no result if there is nothing to split, or the proof fails. */
rh_status scans_try_split(const Problem *problem, RunFn run, ScanAttempt *best);

/* Applies the part of a plan that is about loops, and then the rest of it. */
rh_status scans_apply(const Problem *problem, RunFn run, ScanAttempt *best);

#endif
