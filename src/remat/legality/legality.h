/* May this instruction be computed a second time, and if not, why: the one place that knows.
 *
 * The question has four parts, each with a verdict, which is the reason why not or KEEP_NONE:
 *
 *     recompute_verdict   may there be a second one at all, as XLA's pass sees it
 *     clone_verdict       and may readers of the first one read the second one instead
 *     place_verdict       can it stand here, or has what it reads been overwritten by now
 *     uses_verdict        does the value's memory come free between the readers before and after
 *
 * Algorithms ask while they decide, the report asks for each value at the peak. The verifier
 * (remat/verify, safe_reads_verify) does not: it judges results by itself. */
#ifndef REMAT_HLO_REMAT_LEGALITY_LEGALITY_H
#define REMAT_HLO_REMAT_LEGALITY_LEGALITY_H

#include "analysis/memory/overwrites.h"
#include "analysis/memory/tracker.h"
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

/* The same, and whether users of `id` can be led to a clone of it: control dependencies fix its
 * place, bitcasts and get-tuple-elements are made anew with what they read, and what keeps its
 * operand's memory in its own result is bound to that memory. */
KeepReason clone_verdict(const Legality *legality, InstId id);

/* The instruction of the same computation before which a new reader of `operand` must stand,
 * because it overwrites what that reads; NO_ID = anywhere. A clone of `operand` has memory of its
 * own, so its readers may stand anywhere. */
static inline InstId legality_overwriter(const Legality *legality, InstId operand) {
  return legality->overwriters ? overwriter_of(legality->overwriters, operand) : NO_ID;
}

/* Notes, for the report, that a clone of `id` was not made because it would have stood after what
 * overwrites its operands. */
void legality_refuse(const Legality *legality, InstId id);

/* Where a clone would stand, as the algorithm knows it. */
typedef struct ClonePlace {
  /* Whether an instruction of the computation runs before the clone would. */
  bool (*has_run)(const void *context, InstId id);
  /* Whether the clone would read a clone of this operand. */
  bool (*is_cloned)(const void *context, InstId operand);
  const void *context;
} ClonePlace;

/* KEEP_OVERWRITTEN, which is noted for the report, when a clone of `id` would read memory there
 * that has been overwritten. O(operands). */
KeepReason place_verdict(const Legality *legality, InstId id, const ClonePlace *place);

/* How a value is used, seen from a position at which its memory is to be free. */
typedef struct ValueUses {
  bool is_result; /* of its computation */
  bool is_nested; /* an element of a nested tuple */
  bool is_in_use; /* made or read there */
  bool is_read_later;
  KeepReason by_alias; /* why later users cannot be led to a clone: KEEP_INDIRECT_USE,
                          KEEP_CONTROL_DEPENDENCY or KEEP_NONE */
} ValueUses;

KeepReason uses_verdict(const ValueUses *uses);

/* Of a buffer of XLA's pass, which looks at its position by itself: read later, not in use. */
static inline ValueUses uses_of_tracked(const TrackedBuffer *buffer) {
  return (ValueUses){.is_result = buffer->is_live_out,
                     .is_nested = buffer->depth > 1,
                     .is_read_later = true,
                     .by_alias = buffer->has_indirect_uses ? KEEP_INDIRECT_USE : KEEP_NONE};
}

/* Whether it may be kept in another form instead. */
static inline bool compress_is_legal(KeepReason verdict) {
  return verdict == KEEP_NONE || verdict == KEEP_NEVER;
}

#endif
