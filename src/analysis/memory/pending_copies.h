/* Pending copies: the copies that XLA will still insert. Before copy-insertion, values that must
 * share memory may live at the same time, or may be written where only the caller may write. A copy
 * will then give one of them memory of its own (CopyInsertion in xla/service/copy_insertion.cc).
 *
 * Example: w is donated to the output n = multiply(w, c), and s = sine(w) runs after n. The live
 * ranges of w and n overlap, so a copy is pending, and w and n get separate buffers here. */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_PENDING_COPIES_H
#define REMAT_HLO_ANALYSIS_MEMORY_PENDING_COPIES_H

#include "analysis/memory/liveness.h"

/* The buffers as they will be when the copies have been inserted, as far as memory is concerned:
 * values that live at the same time are in separate buffers, and so are constants, and parameters
 * that no output takes over, from the values that share their buffer. For a module that has its
 * copies already (analysis/flow/copy_stage.h) the result is values->buffers. A copy holds its
 * memory from the definition of the next value of its buffer at the earliest. O(values · log
 * values). */
HloBuffers buffers_after_copies(const Module *module, const ValueAnalysis *values,
                                const Schedule *schedule, Arena *out, Arena *scratch);

#endif
