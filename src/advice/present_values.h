/* What the backward part computes again under a checkpoint that is there, where another one is to
 * take its place. */
#ifndef REMAT_HLO_ADVICE_PRESENT_VALUES_H
#define REMAT_HLO_ADVICE_PRESENT_VALUES_H

#include "ir/vec.h"
#include "remat/rewrite/rewrite.h"

/* A fusion of the forward part that would read a value, which it computes inside. */
typedef struct PresentPair {
  InstId value, fusion; /* the value is one of the backward part */
  InstId reader;        /* of the backward part, that would read it, too; NO_ID = its users do */
} PresentPair;

typedef struct PresentValues {
  bool is_sketch; /* something reads what has another shape than it expects */
  VEC(PresentPair) pairs;
} PresentValues;

/* Takes back what is computed again of the values that `is_meant` has, by position of the forward
 * part: the backward part then reads what the forward part has made, as it would without a
 * checkpoint. Positions of the forward part, which ends at `forward_end`, stay; those behind it
 * change. What stays in fusions of the backward part, and is too much work for XLA to do it twice,
 * would be read by them: a helper behind such a fusion stands for that, whose shape is not that of
 * a slice. The pairs are the reverse, in `out`. */
PresentValues present_values_restore(Rewrite *rewrite, Schedule *schedule, CompId comp,
                                     SchedPos forward_end, const bool *is_meant, Arena *out,
                                     Arena *scratch);

#endif
