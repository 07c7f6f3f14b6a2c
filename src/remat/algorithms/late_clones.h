/* Recomputing values of a computation's early part for those who read them in the late part: which
 * positions the clones take, what they read, who reads them. Algorithms decide what is cloned. */
#ifndef REMAT_HLO_REMAT_ALGORITHMS_LATE_CLONES_H
#define REMAT_HLO_REMAT_ALGORITHMS_LATE_CLONES_H

#include "remat/job/algorithm.h"

/* What becomes of the value of an instruction of the early part. */
typedef struct Fate {
  bool is_cloned;
  SchedPos place;     /* the clone goes before the instruction there */
  SchedPos first_use; /* in the late part; NO_ID when there is none */
} Fate;

/* One computation, before anything has changed in it. */
typedef struct LateClones {
  RematJob *job;
  Module *module;
  CompId comp;
  Sequence sequence;
  SchedPos turn;       /* the last position of the early part */
  SchedPos *positions; /* by InstId, of the sequence's instructions */
  Fate *fates;         /* by position */
  InstId *images;      /* by InstId: what stands for it in the late part, NO_ID = itself */
  InstId first_new;    /* instructions from here on are clones and their helpers */
  Arena *arena, *scratch;
} LateClones;

/* Nothing is cloned, and first uses are not known. Lies in `arena`. */
LateClones late_clones_begin(RematJob *job, CompId comp, SchedPos turn, Arena *arena,
                             Arena *scratch);

/* The instruction of the early part that an operand comes from, through bitcasts and
 * get-tuple-elements; NO_ID when it is computed in the late part. */
InstId late_clones_source(const LateClones *clones, InstId operand);

/* Fills Fate.first_use. O(edges). */
void late_clones_find_first_uses(LateClones *clones);

/* Makes the clones, each before the first of those who read it, clones included; the late part
 * reads them. The new sequence lies in `out`. Returns their number. O(n log n). */
uint32_t late_clones_apply(LateClones *clones, Arena *out);

#endif
