/* A memory model's figures as algorithms need them that change one computation at a time: what its
 * callers hold counts while it runs, and what it needs counts at its callers.
 *
 * Models that lay the whole module out in one time (MemoryProfile.is_flat) lay out what is called
 * more than once at its first caller. Here it is at the tightest one, that which holds most. */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_CALL_MEMORY_H
#define REMAT_HLO_ANALYSIS_MEMORY_CALL_MEMORY_H

#include "analysis/flow/call_graph.h"
#include "analysis/memory/memory_model.h"

typedef struct CallMemory {
  int64_t peak_bytes; /* of the module; more than the model's where a later caller is tighter */
  InstId peak_inst;   /* that runs at the peak: the innermost; NO_ID = nothing needs memory */
  int64_t *bytes_at;  /* by InstId: of the module while it runs, and what it calls; -1 for what runs
                         in no sequence */
  int64_t *around;    /* likewise without what it calls, if the model is flat; to compare callers of
                         one computation by what they hold */
  InstId *caller;     /* by CompId: the tightest; NO_ID for the entry and what is not called */
} CallMemory;

/* The same from the profile that the model has made of the module in this order; that stays as it is.
 * O(instructions + calls). */
CallMemory call_memory_of(const MemoryProfile *profile, const Module *module,
                          const Schedule *schedule, Arena *out, Arena *scratch);

/* O(what the model takes). */
CallMemory call_memory_measure(const MemoryModel *model, const Module *module,
                               const Schedule *schedule, Arena *out, Arena *scratch);

typedef struct CallChain {
  InstId *ids;
  uint32_t len;
} CallChain;

/* From the entry's instruction down to `inner`, by the tightest callers. In `out`. */
CallChain call_memory_chain(const CallMemory *memory, const Module *module, InstId inner,
                            Arena *out);

#endif
