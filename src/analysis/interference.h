/* Values that must share memory and live at the same time.
 *
 * XLA inserts copies so that this does not happen: to loops' carries, to what is updated in place,
 * to outputs that take over a parameter. Behind copy-insertion nothing more is inserted: a read of
 * a value whose memory another one has taken reads the other one, without a word. In front of it
 * there may be interferences, which XLA will resolve. */
#ifndef REMAT_HLO_ANALYSIS_INTERFERENCE_H
#define REMAT_HLO_ANALYSIS_INTERFERENCE_H

#include "analysis/liveness.h"

/* `second` is defined, over the same memory, before `first` is read for the last time. */
typedef struct Interference {
  ValueId first, second;
} Interference;

typedef struct Interferences {
  VEC(Interference) list;
  LiveRanges ranges; /* as live_ranges_raw gives them */
} Interferences;

/* For each value the one defined before it in its buffer that lives longest, if it lives longer
 * than up to there. O(values · log values). */
Interferences interferences_find(const Module *module, const ValueAnalysis *values,
                                 const Schedule *schedule, Arena *out, Arena *scratch);

/* Whether there is none. */
bool is_free_of_interference(const Module *module, const Schedule *schedule, Arena *scratch);

#endif
