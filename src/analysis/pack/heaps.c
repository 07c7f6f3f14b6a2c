#include "analysis/pack/heaps.h"

#include <string.h>

#include "ir/ids.h"

uint32_t pack_heaps_begin(const PackProblem *problem, Packing *packing, uint32_t *order) {
  uint32_t num_left = 0;
  for (uint32_t i = 0; i < problem->num_buffers; i++) {
    bool is_empty = problem->buffers[i].bytes == 0;
    packing->offsets[i] = 0;
    packing->heaps[i] = is_empty ? 0 : NO_ID;
    if (!is_empty) order[num_left++] = i;
  }
  packing->num_heaps = 0;
  packing->height_bytes = 0;
  return num_left;
}

PackHeap pack_heaps_add(Packing *packing) {
  return (PackHeap){.index = packing->num_heaps++, .limit_bytes = packing->heap_limit_bytes};
}

int64_t pack_heaps_bound(const PackSections *sections, const Packing *packing) {
  if (!packing->heaps) return pack_lower_bound(sections);
  int64_t bound = 0;
  for (uint32_t s = 0; s < sections->num_sections; s++) {
    if (sections->live_bytes[s] > bound) bound = sections->live_bytes[s];
  }
  return bound;
}

Packing *pack_heaps_of(Packing *packing, uint32_t num_buffers, Packing *room, Arena *scratch) {
  if (packing->heaps) return packing;
  *room = *packing;
  room->heaps = arena_array(scratch, uint32_t, num_buffers);
  room->heap_limit_bytes = INT64_MAX;
  return room;
}

Packing pack_heaps_like(const Packing *packing, uint32_t num_buffers, Arena *out) {
  return (Packing){.offsets = arena_array(out, int64_t, num_buffers),
                   .heaps = arena_array(out, uint32_t, num_buffers),
                   .heap_limit_bytes = packing->heap_limit_bytes};
}

void pack_heaps_end(const PackSections *sections, const Packing *filled, Packing *packing) {
  packing->height_bytes = filled->height_bytes;
  packing->num_heaps = packing->heaps ? filled->num_heaps : 0;
  packing->is_optimal = packing->height_bytes == pack_heaps_bound(sections, packing);
}

void pack_heaps_copy(const Packing *from, uint32_t num_buffers, Packing *to) {
  if (num_buffers) {
    memcpy(to->offsets, from->offsets, num_buffers * sizeof *to->offsets);
    memcpy(to->heaps, from->heaps, num_buffers * sizeof *to->heaps);
  }
  to->num_heaps = from->num_heaps;
  to->height_bytes = from->height_bytes;
}
