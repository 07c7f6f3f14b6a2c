/* The memory map of a module: the address of every value, and the time during which it is live. */
#ifndef REMAT_HLO_EMIT_REPORT_MEMORY_MAP_H
#define REMAT_HLO_EMIT_REPORT_MEMORY_MAP_H

#include "analysis/memory/memory_model.h"
#include "ir/handle.h"

/* Fills all of a map except `memory`, which the caller computes from the returned profile. The
 * profile is in `inner`. */
MemoryProfile memory_map_fill(const rh_module *module, rh_memory_map *map, Arena *out, Arena *inner,
                              Arena *scratch);

/* Returns the ArenaOptions.max_bytes for arenas of data that is made from the map. */
size_t memory_map_limit(const rh_memory_map *map);

#endif
