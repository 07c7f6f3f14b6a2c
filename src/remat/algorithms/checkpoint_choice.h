/* Decides which values of a computation's early part are kept for its late part, and models the
 * memory that this needs. The early part is the forward part of a training step, and the late part
 * is the backward part.
 *
 * Example: of the layers' outputs a1, a2, … a9, all of which the backward part reads, only a3, a6
 * and a9 may be kept; a4 and a5 are then recomputed from a3 when the backward part needs them. */
#ifndef REMAT_HLO_REMAT_ALGORITHMS_CHECKPOINT_CHOICE_H
#define REMAT_HLO_REMAT_ALGORITHMS_CHECKPOINT_CHOICE_H

#include "analysis/flow/points_to.h"
#include "remat/algorithms/late_clones.h"

/* The value of an instruction of the early part. */
typedef struct CheckpointValue {
  int64_t bytes;      /* without the bytes of results of the computation */
  bool is_fixed;      /* may not be recomputed, or recomputing it would free nothing */
  bool is_checkpoint; /* the algorithm wants to keep it */
  bool is_needed;     /* the late part reads it, or recomputes another value from it */
  bool is_kept;       /* the choice: it is not recomputed */
  /* position of its last reader in the early part; its own position if it has none */
  SchedPos last_early;
  /* position of its last reader in the late part; NO_ID if it has none */
  SchedPos last_late;
  /* position of the last value of the early part that is recomputed from it; its own if none is */
  SchedPos last_rebuilt;
} CheckpointValue;

/* The values of one computation, and which of them are kept. */
typedef struct CheckpointChoice {
  LateClones clones;
  /* by position: the position of the instruction that computes the value, found through bitcasts
   * and get-tuple-elements */
  SchedPos *origins;
  CheckpointValue *values; /* by position, for the early part */
  const int64_t *bytes_at;
  /* of this computation, modelled; at first the peak of the unchanged schedule */
  int64_t peak_bytes;
} CheckpointChoice;

/* Returns a choice that keeps everything. `bytes_at`, by position, is the memory of the unchanged
 * schedule. The choice is in `arena`. O(n). */
CheckpointChoice checkpoint_choice_begin(RematJob *job, const PointsTo *points_to, CompId comp,
                                         SchedPos early_end, const int64_t *bytes_at, Arena *arena,
                                         Arena *scratch);

/* Keeps only the values whose is_checkpoint the caller has set, besides fixed ones, and models the
 * peak. */
void checkpoint_choice_keep_only(CheckpointChoice *choice);

/* Cuts the early part into segments, and also keeps the values that are read across a cut. A cut is
 * placed where the fewest bytes cross it; at an articulation point only one value does. All
 * segments save about the same number of bytes. Of several numbers of segments, the one with the
 * lowest peak is taken; for a chain, that is about sqrt(n) (Chen et al., "Training Deep Nets with
 * Sublinear Memory Cost", 2016). O(n), 60 times. */
void checkpoint_choice_cut(CheckpointChoice *choice);

/* Recomputes the values that are not kept. The new sequence is in `out`. Returns the number of
 * clones. */
uint32_t checkpoint_choice_apply(CheckpointChoice *choice, Arena *out);

#endif
