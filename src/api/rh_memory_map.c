/* The public functions of memory maps. */
#include "emit/report/memory_map.h"
#include "api/measure.h"

/* A map with the memory that it is in. */
typedef struct Handle {
  rh_memory_map map;
  Arena *arena;
} Handle;

const ArenaOptions *memory_map_options(const rh_memory_map *map) {
  return arena_options(((const Handle *)map)->arena);
}

rh_status rh_memory_map_make(const rh_module *module, rh_memory_map **map, rh_diags *diags) {
  const MemoryModel *heap;
  rh_status status = find_model(module, "heap", &heap, diags);
  if (status != RH_OK) return status;
  Arena *arena = arena_new(arena_options(module->arena));
  Arena *scratch = handle_scratch(module);
  Handle *handle = arena_zalloc(arena, sizeof *handle);
  handle->arena = arena;
  Arena *inner = arena_new(arena_options(module->arena));
  MemoryProfile profile = memory_map_fill(module, &handle->map, arena, inner, scratch);
  handle->map.memory = memory_with_bound(module, &profile, scratch);
  arena_free(inner);
  arena_free(scratch);
  *map = &handle->map;
  return RH_OK;
}

void rh_memory_map_free(rh_memory_map *map) {
  if (map) arena_free(((Handle *)map)->arena);
}
