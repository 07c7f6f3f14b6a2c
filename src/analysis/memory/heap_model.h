/* The analyses that the memory model `heap` is computed from. */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_HEAP_MODEL_H
#define REMAT_HLO_ANALYSIS_MEMORY_HEAP_MODEL_H

#include "analysis/memory/buffer_assignment.h"
#include "analysis/memory/memory_model.h"

typedef struct HeapAnalysis {
  const Module *module; /* as XLA assigns its buffers: what the others are of, with the same ids */
  ValueAnalysis values; /* with the sizes that values have on the target */
  LiveRanges ranges;
  BufferAssignment assignment;
} HeapAnalysis;

HeapAnalysis heap_analysis_run(const Module *module, const Schedule *schedule, HeapDetail detail,
                               Arena *out, Arena *scratch);

/* The profile that measure_heap() computes from them. */
MemoryProfile heap_profile(const Module *module, const HeapAnalysis *heap, Arena *out,
                           Arena *scratch);

#endif
