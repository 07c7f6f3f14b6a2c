/* Which values of a forward part are kept for the backward part, and what memory that needs. */
#ifndef REMAT_HLO_REMAT_ALGORITHMS_CHECKPOINT_CHOICE_H
#define REMAT_HLO_REMAT_ALGORITHMS_CHECKPOINT_CHOICE_H

#include "analysis/flow/points_to.h"
#include "remat/algorithms/late_clones.h"

/* What an instruction of the early part computes. */
typedef struct CheckpointValue {
  int64_t bytes;       /* without results of the computation */
  bool is_fixed;       /* may not be computed again, or nothing would be freed */
  bool is_checkpoint;  /* is asked for by the algorithm */
  bool is_needed;      /* by the late part, or for something that it needs */
  bool is_kept;        /* by the choice: it is not computed again */
  SchedPos last_early; /* who reads it last up to the early_end; itself when nobody does */
  SchedPos last_late;  /* behind the early_end; NO_ID when nobody does */
  SchedPos
      last_rebuilt; /* the last in the early part to be computed again from it; as last_early */
} CheckpointValue;

/* One computation with its early_end. */
typedef struct CheckpointChoice {
  LateClones clones;
  SchedPos *origins;       /* by position: the instruction behind bitcasts and get-tuple-elements */
  CheckpointValue *values; /* by position, up to the early_end */
  const int64_t *bytes_at;
  int64_t
      peak_bytes; /* modelled, of this computation; that of the schedule as it is to begin with */
} CheckpointChoice;

/* Everything is kept. `bytes_at`, by position, is what the schedule needs as it is. Lies in
 * `arena`. O(n). */
CheckpointChoice checkpoint_choice_begin(RematJob *job, const PointsTo *points_to, CompId comp,
                                         SchedPos early_end, const int64_t *bytes_at, Arena *arena,
                                         Arena *scratch);

/* After is_checkpoint was set: keeps these values only, and sets the peak. */
void checkpoint_choice_keep_only(CheckpointChoice *choice);

/* Cuts the early part into segments and keeps what is read across the cuts, too. A cut goes where
 * the fewest bytes cross: at an articulation point that is one value. Segments save about as much
 * each; of several numbers of them the one with the lowest peak is taken. That is about sqrt(n) for
 * a chain (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016). O(n), 60 times. */
void checkpoint_choice_cut(CheckpointChoice *choice);

/* What the choice does not keep is computed again. The new sequence lies in `out`. Returns the
 * number of clones. */
uint32_t checkpoint_choice_apply(CheckpointChoice *choice, Arena *out);

#endif
