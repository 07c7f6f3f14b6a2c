/* The checkpoints that a JAX program already has, as names of operations tell: what the backward
 * part does under one has `checkpoint` in its scope, and what it computes again has
 * `rematted_computation` there. They may help little, for one of the reasons below. */
#ifndef REMAT_HLO_ADVICE_PRESENT_CHECKPOINT_H
#define REMAT_HLO_ADVICE_PRESENT_CHECKPOINT_H

#include "advice/advisor.h"
#include "advice/layers.h"

typedef enum PresentCheckpoint {
  PRESENT_NONE,   /* what waits for the backward part is under no checkpoint */
  PRESENT_MERGED, /* it is, but nothing is computed again: XLA has merged it with the forward part,
                     or a policy saves everything */
  PRESENT_SAVES,  /* it is, and some is computed again, but a policy or names save what waits */
} PresentCheckpoint;

/* Whether an instruction is what a checkpoint that is there computes again. */
bool present_is_recomputed(const Module *module, InstId id);

/* Of the values of repetitions that live at the peak, whether at least half of the bytes are read
 * under a checkpoint, and if so, why they wait. O(live values * readers + instructions). */
PresentCheckpoint present_checkpoint(const Advisor *advisor, Sequence sequence,
                                     const Layers *layers);

/* What is to be added to the title. */
const char *present_title(PresentCheckpoint present);

/* The sentences that say so, empty for PRESENT_NONE. */
const char *present_explanation(PresentCheckpoint present);

/* What is to be written beside the code. */
const char *present_note(PresentCheckpoint present);

/* The part of a sequence in which a checkpoint computes again what lives at the peak, to propose
 * checkpoints inside of it: the end is NO_ID if nothing at the peak is computed again. `*is_only`
 * says that no other part is computed again: then there is one checkpoint around everything. */
ForwardPart recomputed_part_of(const Advisor *advisor, Sequence sequence, bool *is_only);

/* The modelled seconds of what a part computes again. */
double recomputed_seconds(const Advisor *advisor, const ForwardPart *part);

/* The place of a function under a checkpoint: tracing leaves stacks there without the callers, and
 * others with them. Of all calls in the module the deepest one; `place` if there is none deeper. */
SourcePlace present_place(const Module *module, Str function, SourcePlace place);

#endif
