/* Several heaps with a limit: what the packings that fill them share. */
#ifndef REMAT_HLO_ANALYSIS_PACK_HEAPS_H
#define REMAT_HLO_ANALYSIS_PACK_HEAPS_H

#include "analysis/pack/sections.h"

/* A heap while it is filled. */
typedef struct PackHeap {
  uint32_t index;
  int64_t limit_bytes;
  int64_t height_bytes;
} PackHeap;

/* Takes all heaps away. Buffers without bytes go into the first one, at 0; the others are in none,
 * NO_ID, and are listed in `order`. Returns how many these are. */
uint32_t pack_heaps_begin(const PackProblem *problem, Packing *packing, uint32_t *order);

/* An empty heap. Its height is not in the packing's yet. */
PackHeap pack_heaps_add(Packing *packing);

/* Whether a buffer that ends there goes into a heap: the first one does in any case. */
static inline bool pack_heap_takes(const PackHeap *heap, int64_t end) {
  return end <= heap->limit_bytes || heap->height_bytes == 0;
}

static inline void pack_heap_put(PackHeap *heap, uint32_t buffer, int64_t offset, int64_t bytes,
                                 Packing *packing) {
  packing->offsets[buffer] = offset;
  packing->heaps[buffer] = heap->index;
  if (offset + bytes > heap->height_bytes) heap->height_bytes = offset + bytes;
}

/* No packing of the kind is lower: pack_lower_bound(), or for heaps what lives at one time, at
 * most, since each saves the padding of one buffer. O(n). */
int64_t pack_heaps_bound(const PackSections *sections, const Packing *packing);

/* A packing that has heaps: `*packing` itself, or else `*room`, with a single heap without a limit
 * and the same offsets. */
Packing *pack_heaps_of(Packing *packing, uint32_t num_buffers, Packing *room, Arena *scratch);

/* Room for another packing with heaps of the same limit. */
Packing pack_heaps_like(const Packing *packing, uint32_t num_buffers, Arena *out);

/* What is known of `*packing` when that has been filled. */
void pack_heaps_end(const PackSections *sections, const Packing *filled, Packing *packing);

/* Offsets, heaps and heights of `from` for those of `to`. */
void pack_heaps_copy(const Packing *from, uint32_t num_buffers, Packing *to);

#endif
