/* May this instruction be computed a second time, and if not, why: the one place that knows. */
#ifndef REMAT_HLO_REMAT_LEGALITY_H
#define REMAT_HLO_REMAT_LEGALITY_H

#include "analysis/side_effect.h"
#include "ir/module.h"

typedef enum KeepReason {
#define KEEP(id, name, sentence) KEEP_##id,
#include "remat/legality.def"
  NUM_KEEP_REASONS
} KeepReason;

const char *keep_reason_name(KeepReason reason);
const char *keep_reason_sentence(KeepReason reason);

typedef struct Legality {
  const Module *module;
  SideEffects effects;
  bool allow_collectives;
  int64_t small_node_bytes; /* results of at most this many bytes are kept; 0 = none */
  const bool *is_kept;      /* by InstId, for the first `num_kept`: see remat/safe_reads.h */
  uint32_t num_kept;
} Legality;

/* What speaks against a clone whatever the schedule is; KEEP_NONE when nothing does. Computed the
 * way of IsRematerializable (xla/hlo/transforms/simplifiers/hlo_rematerialization.cc), except that
 * asynchronous operations are kept: a second start needs a second done. */
KeepReason recompute_verdict(const Legality *legality, InstId id);

#endif
