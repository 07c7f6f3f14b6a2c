/* A memory model's figures in the form that algorithms need when they change one computation at a
 * time: the memory that a computation's callers hold is counted while it runs, and the memory that
 * it needs is counted at its callers.
 *
 * Models that lay out the whole module on one time axis (MemoryProfile.is_flat) lay out a
 * computation that is called more than once at its first caller. Here such a computation is counted
 * at its tightest caller, the one that holds most.
 *
 * Example: `body` needs 40 bytes and is called by c1, where the caller holds 10 bytes, and later by
 * c2, where the caller holds 70. A flat model reports 10 + 40 for the instructions of `body`; here
 * they have 70 + 40, and `caller` of `body` is c2. */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_CALL_MEMORY_H
#define REMAT_HLO_ANALYSIS_MEMORY_CALL_MEMORY_H

#include "analysis/flow/call_graph.h"
#include "analysis/memory/memory_model.h"

typedef struct CallMemory {
  int64_t
      peak_bytes; /* of the module; more than the model's peak where a later caller is tighter */
  InstId
      peak_inst; /* the innermost instruction that runs at the peak; NO_ID = nothing needs memory */
  int64_t *bytes_at; /* by InstId: bytes of the module while it and its callees run; -1 for an
                        instruction that is in no sequence */
  int64_t *around;   /* by InstId: the same bytes, but without the callees if the model is flat;
                        compares the callers of one computation by what they hold */
  InstId *caller; /* by CompId: the tightest caller; NO_ID for the entry and for computations that
                     are not called */
} CallMemory;

/* Computes the figures from the profile that the model has made of the module in this order. The
 * profile is not changed. O(instructions + calls). */
CallMemory call_memory_of(const MemoryProfile *profile, const Module *module,
                          const Schedule *schedule, Arena *out, Arena *scratch);

/* Runs the model first. Takes the model's time. */
CallMemory call_memory_measure(const MemoryModel *model, const Module *module,
                               const Schedule *schedule, Arena *out, Arena *scratch);

typedef struct CallChain {
  InstId *ids;
  uint32_t len;
} CallChain;

/* The calls from the entry's instruction down to `inner`, through the tightest callers. Allocated
 * in `out`. */
CallChain call_memory_chain(const CallMemory *memory, const Module *module, InstId inner,
                            Arena *out);

#endif
