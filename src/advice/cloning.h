/* A copy of the module in which the backward part computes again what is chosen of the forward
 * part. What is common to the kinds of advice that are simulated by clones (remat/algorithms). */
#ifndef REMAT_HLO_ADVICE_CLONING_H
#define REMAT_HLO_ADVICE_CLONING_H

#include "advice/advisor.h"
#include "analysis/flow/points_to.h"
#include "remat/algorithms/checkpoint_choice.h"

typedef struct Cloning {
  rh_module *made;
  Rewrite rewrite;
  Legality legality;
  RematJob job;
  PointsTo points_to;
  CheckpointChoice choice;
  Arena *arena;
} Cloning;

/* Begins with all that may be computed again. `*cloning` must stay where it is. Ended by
 * cloning_end(). */
void cloning_begin(Cloning *cloning, const Advisor *advisor, CompId comp, SchedPos forward_end);

/* The same in two steps, between which the copy of the module may be changed behind its forward
 * part. */
void cloning_copy(Cloning *cloning, const Advisor *advisor);
void cloning_choose(Cloning *cloning, const Advisor *advisor, CompId comp, SchedPos forward_end);

/* Makes `value` live until `reader` has run, by a helper behind it, which the caller must put into
 * the sequence. The helper is a slice whose shape contradicts its operand's. */
InstId cloning_hold(Rewrite *rewrite, InstId value, InstId reader);

/* The same where the reader's result takes over the memory of the value: the helper is before it.
 */
InstId cloning_hold_until(Rewrite *rewrite, InstId value, InstId reader);

/* Drops what has become dead. */
void cloning_drop_dead(Cloning *cloning, Arena *scratch);

/* Returns the module; NULL if no clone was made. */
rh_module *cloning_end(Cloning *cloning, bool has_clones);

#endif
