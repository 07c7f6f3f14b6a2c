/* Decides whether an instruction may be recomputed, and if not, why. This is the only place that
 * decides it.
 *
 * The question has four parts. Each has a verdict, which is KEEP_NONE or the reason against it:
 *
 *     recompute_verdict   may the instruction be computed twice at all, as XLA's pass sees it
 *     clone_verdict       may users of the original read a clone instead
 *     place_verdict       may a clone be here, or has the memory that it reads been overwritten
 *     uses_verdict        is the value's memory free between the earlier and the later users
 *
 * Algorithms use the verdicts to decide, and the report uses them to explain each value at the
 * peak. The verifier (remat/verify, safe_reads_verify) does not use them: it judges results
 * independently. */
#ifndef REMAT_HLO_REMAT_LEGALITY_LEGALITY_H
#define REMAT_HLO_REMAT_LEGALITY_LEGALITY_H

#include "analysis/memory/overwrites.h"
#include "analysis/memory/tracker.h"
#include "analysis/flow/placed.h"
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
  PlacedInsts placed; /* by the compiler in other memories */
  bool allow_collectives;
  bool allow_custom_calls; /* those without side effects, where nothing is to be proven */
  bool any_rounding; /* a value may be computed apart from its fusion where it rounds otherwise */
  int64_t small_node_bytes; /* results of at most this many bytes are kept; 0 = no limit */
  const bool *is_kept; /* by InstId, for the first `num_kept`: see remat/legality/safe_reads.h */
  uint32_t num_kept;
  /* by InstId, for the first `num_kept`: see remat/legality/steering.h; NULL = nothing requested */
  const uint8_t *steering;
  /* of the module as the algorithm receives it; NULL = XLA will insert the copies that are needed
   */
  const Overwriters *overwriters;
  /* by InstId, for the first `num_kept`: set by legality_refuse(); NULL = not recorded */
  bool *is_refused;
} Legality;

/* What is legal in a module if nothing is asked for: small results may go, collectives stay,
 * nothing is known to be overwritten. Whoever asks for something else changes the fields for that.
 */
Legality legality_new(const Module *module, Arena *out, Arena *scratch);

/* The reason against a clone of `id` that holds for every schedule; KEEP_NONE if there is none. The
 * rules are those of IsRematerializable (xla/hlo/transforms/simplifiers/hlo_rematerialization.cc),
 * except that asynchronous operations are kept, because a second start needs a second done, and so
 * is what is, or reads, a value in VMEM or another memory of XLA:TPU.
 * KEEP_NEVER is returned only if no other reason holds. */
KeepReason recompute_verdict(const Legality *legality, InstId id);

/* As recompute_verdict, but a call, a conditional or a loop may also be repeated, with copies of
 * its own of all computations that it calls, if no side effects run in it, and collectives only if
 * these are allowed. So may a custom call that only allocates memory, with which an inner loop
 * begins its stacks on TPU, and one that is known. O(instructions that it runs). */
KeepReason repeat_verdict(const Legality *legality, InstId id, Arena *scratch);

/* Whether a custom call is one of the functions that give the same bits whenever they run:
 * convolutions by cuDNN, and operations that XLA:TPU expands decompositions, triangular solves and
 * gathers into. */
bool legality_is_known_call(const Module *module, InstId id);

/* As recompute_verdict, but also whether users of `id` can be redirected to a clone of it. Control
 * dependencies fix the place of an instruction. Bitcasts and get-tuple-elements are cloned together
 * with the instruction that they read. An instruction whose result contains the memory of its
 * operand is bound to that memory. */
KeepReason clone_verdict(const Legality *legality, InstId id);

/* The instruction of the same computation that overwrites the memory of `operand`: a new user of
 * `operand` must come before it. NO_ID means that a new user may be anywhere. A clone of `operand`
 * has its own memory, so users of the clone may be anywhere. */
static inline InstId legality_overwriter(const Legality *legality, InstId operand) {
  return legality->overwriters ? overwriter_of(legality->overwriters, operand) : NO_ID;
}

/* Records for the report that no clone of `id` was made because it would have come after the
 * instruction that overwrites its operands. */
void legality_refuse(const Legality *legality, InstId id);

/* The place of a planned clone, as the algorithm describes it. */
typedef struct ClonePlace {
  /* Whether instruction `id` of the computation runs before the clone. */
  bool (*has_run)(const void *context, InstId id);
  /* Whether the clone reads a clone of this operand. */
  bool (*is_cloned)(const void *context, InstId operand);
  const void *context;
} ClonePlace;

/* KEEP_OVERWRITTEN if a clone of `id` at this place would read overwritten memory, which is also
 * recorded for the report. O(operands). */
KeepReason place_verdict(const Legality *legality, InstId id, const ClonePlace *place);

/* How a value is used, seen from a position at which its memory should be free. */
typedef struct ValueUses {
  bool is_result; /* the value is a result of its computation */
  bool is_nested; /* the value is an element of a nested tuple */
  bool is_in_use; /* the value is computed or read at the position */
  bool is_read_later;
  /* why later users cannot be redirected to a clone: KEEP_INDIRECT_USE, KEEP_CONTROL_DEPENDENCY or
   * KEEP_NONE */
  KeepReason by_alias;
} ValueUses;

KeepReason uses_verdict(const ValueUses *uses);

/* The uses of a buffer of XLA's pass. That pass checks its position itself, so the value counts as
 * read later and not in use. */
static inline ValueUses uses_of_tracked(const TrackedBuffer *buffer) {
  return (ValueUses){.is_result = buffer->is_live_out,
                     .is_nested = buffer->depth > 1,
                     .is_read_later = true,
                     .by_alias = buffer->has_indirect_uses ? KEEP_INDIRECT_USE : KEEP_NONE};
}

/* Whether the value may be kept in a compressed form instead, or in the host's memory. A value in
 * VMEM takes nothing of what that would free. */
static inline bool compress_is_legal(KeepReason verdict) {
  return verdict == KEEP_NONE || verdict == KEEP_NEVER || verdict == KEEP_MEMORY_SPACE;
}

#endif
