/* Heaps with a limit, where buffers need more than one: functions shared by the packings that fill
 * them. */
#ifndef REMAT_HLO_ANALYSIS_PACK_HEAPS_H
#define REMAT_HLO_ANALYSIS_PACK_HEAPS_H

#include "analysis/pack/sections.h"

/* A heap that is being filled. */
typedef struct PackHeap {
  uint32_t index;
  int64_t limit_bytes;
  int64_t height_bytes;
} PackHeap;

/* Removes all heaps. Buffers without bytes go into the first heap, at 0. All others are in no heap,
 * NO_ID, and are listed in `order`; returns their number. */
uint32_t pack_heaps_begin(const PackProblem *problem, Packing *packing, uint32_t *order);

/* Adds an empty heap. The height of the packing does not include the heap's yet. */
PackHeap pack_heaps_add(Packing *packing);

/* Whether a buffer that ends at `end` may go into a heap. The first buffer always may. */
static inline bool pack_heap_takes(const PackHeap *heap, int64_t end) {
  return end <= heap->limit_bytes || heap->height_bytes == 0;
}

static inline void pack_heap_put(PackHeap *heap, uint32_t buffer, int64_t offset, int64_t bytes,
                                 Packing *packing) {
  packing->offsets[buffer] = offset;
  packing->heaps[buffer] = heap->index;
  if (offset + bytes > heap->height_bytes) heap->height_bytes = offset + bytes;
}

/* A lower bound of the height of such a packing: pack_lower_bound(); for several heaps the largest
 * number of bytes that live at one time, because each heap saves the padding of one buffer.
 * O(n). */
int64_t pack_heaps_bound(const PackSections *sections, const Packing *packing);

/* A packing that has heaps: `*packing` itself if it has, else `*room`, with the same offsets and a
 * single heap without a limit. */
Packing *pack_heaps_of(Packing *packing, uint32_t num_buffers, Packing *room, Arena *scratch);

/* Allocates another packing with heaps of the same limit. */
Packing pack_heaps_like(const Packing *packing, uint32_t num_buffers, Arena *out);

/* Sets the fields of `*packing` from `*filled`, which has been filled. */
void pack_heaps_end(const PackSections *sections, const Packing *filled, Packing *packing);

/* Copies the offsets, heaps and heights of `from` to `to`. */
void pack_heaps_copy(const Packing *from, uint32_t num_buffers, Packing *to);

#endif
