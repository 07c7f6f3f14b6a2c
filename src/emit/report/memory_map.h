/* Where every value of a module lies and when. */
#ifndef REMAT_HLO_EMIT_REPORT_MEMORY_MAP_H
#define REMAT_HLO_EMIT_REPORT_MEMORY_MAP_H

#include "analysis/memory/memory_model.h"
#include "ir/handle.h"

/* Fills all of a map but its `memory`, which its caller computes from the profile that is returned;
 * that lies in `inner`. */
MemoryProfile memory_map_fill(const rh_module *module, rh_memory_map *map, Arena *out, Arena *inner,
                              Arena *scratch);

/* ArenaOptions.max_bytes of what is made from the map. */
size_t memory_map_limit(const rh_memory_map *map);

#endif
