/* What a module needs of the memory spaces apart from the device's memory, such as VMEM on XLA:TPU
 * or the host's memory. The memory models do not count it.
 *
 * Example: of a = negate(p), b = sine(a), ROOT c = add(a, b), where a and b are f32[256] in S(1)
 * and the others are in S(0), S(1) holds 1024 bytes at a, and 2048 bytes at b and at c. */
#ifndef REMAT_HLO_ANALYSIS_MEMORY_SPACE_USE_H
#define REMAT_HLO_ANALYSIS_MEMORY_SPACE_USE_H

#include "analysis/memory/heap_model.h"

typedef struct SpaceUse {
  int64_t space;         /* n of S(n) */
  int64_t bytes;         /* of all its allocations */
  int64_t peak_bytes;    /* the most that is live at once; parameters, results and constants are
                            live all the time */
  LogicalTime peak_time; /* when it is; NO_TIME = never */
  uint32_t num_values;   /* that are in it at some time */
  int64_t *live_bytes;   /* by time */
} SpaceUse;

typedef struct SpaceUses {
  VEC(SpaceUse) list; /* by ascending number; those that take memory */
} SpaceUses;

/* Whether some layout of the module is in another memory than the device's. */
bool module_has_spaces(const Module *module);

/* O(values · log values + spaces · times). */
SpaceUses space_uses(const Module *module, const HeapAnalysis *heap, Arena *out, Arena *scratch);

#endif
