/* Recomputes values of a computation's early part for their readers in the late part. It decides at
 * which positions the clones are placed, which operands they read, and which users read them. The
 * algorithms decide which values are cloned.
 *
 * Example: with the early part `a = exp(p); b = neg(a)` and the late part `c = …; d = add(a, c)`, a
 * clone of a is placed before d: `c = …; a.remat = exp(p); d = add(a.remat, c)`. */
#ifndef REMAT_HLO_REMAT_ALGORITHMS_LATE_CLONES_H
#define REMAT_HLO_REMAT_ALGORITHMS_LATE_CLONES_H

#include "remat/job/algorithm.h"

/* The value of an instruction of the early part, and its clone. */
typedef struct EarlyValue {
  bool is_cloned;
  SchedPos place;     /* the clone is inserted before the instruction at this position */
  SchedPos first_use; /* in the late part; NO_ID if there is none */
} EarlyValue;

/* One computation, as it was before the first change. */
typedef struct LateClones {
  RematJob *job;
  Module *module;
  CompId comp;
  Sequence sequence;
  SchedPos early_end;       /* the last position of the early part */
  SchedPos *positions;      /* by InstId, of the sequence's instructions */
  EarlyValue *early_values; /* by position */
  /* by InstId: the replacement in the late part; NO_ID = the instruction itself */
  InstId *images;
  InstId first_new; /* ids from here on are clones and their helpers */
  Arena *arena, *scratch;
} LateClones;

/* Returns the state in which nothing is cloned and first uses are not known. It is in `arena`. */
LateClones late_clones_begin(RematJob *job, CompId comp, SchedPos early_end, Arena *arena,
                             Arena *scratch);

/* The instruction of the early part that computes an operand, found through bitcasts and
 * get-tuple-elements; NO_ID if the late part computes it. */
InstId late_clones_source(const LateClones *clones, InstId operand);

/* Fills EarlyValue.first_use. O(edges). */
void late_clones_find_first_uses(LateClones *clones);

/* Inserts each clone before its first reader, which may be another clone, and redirects the users
 * in the late part to the clones. The new sequence is in `out`. Returns the number of clones.
 * O(n log n). */
uint32_t late_clones_apply(LateClones *clones, Arena *out);

#endif
