/* Rewrites loops so that what one stacks is computed again in the loops that read it. */
#ifndef REMAT_HLO_REMAT_SCAN_RECOMPUTE_H
#define REMAT_HLO_REMAT_SCAN_RECOMPUTE_H

#include "remat/rewrite/rewrite.h"
#include "remat/scan/choice.h"

/* The loops to rewrite together: what they compute, and which of that is stored. */
typedef struct ScanBorder {
  const ScanValues *values;
  const ScanChoice *choice;
} ScanBorder;

/* Rewrites the module of which the borders were found. If `is_lean`, a value is computed twice
 * rather than kept between two uses. In the reading loops, clones are made before the first
 * instruction that needs them. Stacks that nothing reads any more, the loops' state for them, and
 * what only they needed, are removed.
 *
 * updates: module and schedule. breaks: every analysis, that of the loops included. */
void scan_recompute(Rewrite *rewrite, Schedule *schedule, const ScanBorder *borders,
                    uint32_t num_borders, bool is_lean, Arena *out, Arena *scratch);

#endif
