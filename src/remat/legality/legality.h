/* May this instruction be computed a second time, and if not, why: the one place that knows. */
#ifndef REMAT_HLO_REMAT_LEGALITY_LEGALITY_H
#define REMAT_HLO_REMAT_LEGALITY_LEGALITY_H

#include "analysis/memory/overwrites.h"
#include "analysis/flow/side_effect.h"
#include "ir/module.h"

typedef enum KeepReason {
#define KEEP(id, name, sentence) KEEP_##id,
#include "remat/legality/legality.def"
  NUM_KEEP_REASONS
} KeepReason;

const char *keep_reason_name(KeepReason reason);
const char *keep_reason_sentence(KeepReason reason);

typedef struct Legality {
  const Module *module;
  SideEffects effects;
  bool allow_collectives;
  int64_t small_node_bytes; /* results of at most this many bytes are kept; 0 = none */
  const bool *is_kept; /* by InstId, for the first `num_kept`: see remat/legality/safe_reads.h */
  uint32_t num_kept;
  const uint8_t *asked; /* by InstId likewise: see remat/legality/steering.h; NULL = for nothing */
  const Overwriters *overwriters; /* of the module as the algorithm gets it; NULL = XLA will insert
                                     what copies it takes */
  bool *is_refused; /* by InstId, for the first `num_kept`: set by legality_refuse(); NULL = nobody
                       wants to know */
} Legality;

/* What speaks against a clone whatever the schedule is; KEEP_NONE when nothing does. Computed the
 * way of IsRematerializable (xla/hlo/transforms/simplifiers/hlo_rematerialization.cc), except that
 * asynchronous operations are kept: a second start needs a second done. KEEP_NEVER only when
 * nothing else does. */
KeepReason recompute_verdict(const Legality *legality, InstId id);

/* The instruction of the same computation before which a new reader of `operand` must stand,
 * because it overwrites what that reads; NO_ID = anywhere. A clone of `operand` has memory of its
 * own, so its readers may stand anywhere. */
static inline InstId legality_overwriter(const Legality *legality, InstId operand) {
  return legality->overwriters ? overwriter_of(legality->overwriters, operand) : NO_ID;
}

/* Notes, for the report, that a clone of `id` was not made because it would have stood after what
 * overwrites its operands. */
void legality_refuse(const Legality *legality, InstId id);

/* Whether it may be kept in another form instead. */
static inline bool compress_is_legal(KeepReason verdict) {
  return verdict == KEEP_NONE || verdict == KEEP_NEVER;
}

#endif
