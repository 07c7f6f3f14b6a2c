/* Where every value of a module lies and when. */
#ifndef REMAT_HLO_EMIT_MEMORY_MAP_H
#define REMAT_HLO_EMIT_MEMORY_MAP_H

#include "ir/handle.h"

/* Fills all of a map but its `memory`. */
void memory_map_fill(const rh_module *module, rh_memory_map *map, Arena *out, Arena *scratch);

/* Those of the arena that the map is in, for what is made from it. */
const ArenaOptions *memory_map_options(const rh_memory_map *map);

#endif
