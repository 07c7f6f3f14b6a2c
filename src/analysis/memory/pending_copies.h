/* Where XLA will still insert copies. Before copy-insertion values that must share memory may
 * live at the same time, or be written where only the caller may write: there a copy will give one
 * of them memory of its own (CopyInsertion in xla/service/copy_insertion.cc). */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_PENDING_COPIES_H
#define REMAT_HLO_ANALYSIS_MEMORY_PENDING_COPIES_H

#include "analysis/memory/liveness.h"

/* The buffers as they are once the copies are there, as far as memory shows it: values that live at
 * the same time are in buffers apart, and so are constants and parameters that no output takes over
 * from what shares their buffer. Of a module that has its copies (analysis/flow/copy_stage.h) these
 * are values->buffers. A copy holds its memory from where the next value of its buffer is defined,
 * at the earliest. O(values · log values). */
HloBuffers buffers_after_copies(const Module *module, const ValueAnalysis *values,
                                const Schedule *schedule, Arena *out, Arena *scratch);

#endif
