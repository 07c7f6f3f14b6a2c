/* The public functions of memory maps. */
#include "emit/report/memory_map.h"
#include "api/call.h"
#include "api/measure.h"

/* A map and the arena in which it is allocated. */
typedef struct Handle {
  rh_memory_map map;
  Arena *arena;
} Handle;

size_t memory_map_limit(const rh_memory_map *map) {
  return arena_options(((const Handle *)map)->arena)->max_bytes;
}

static rh_status make_map(const rh_module *module, rh_memory_map **map, rh_diags *diags) {
  const MemoryModel *heap;
  rh_status status = find_model(module, "heap", &heap, diags);
  if (status != RH_OK) return status;
  Arena *arena = arena_new(arena_options(module->arena));
  Arena *scratch = arena_new(arena_options(module->arena));
  Handle *handle = arena_zalloc(arena, sizeof *handle);
  handle->arena = arena;
  Arena *inner = arena_new(arena_options(module->arena));
  MemoryProfile profile = memory_map_fill(module, &handle->map, arena, inner, scratch);
  rh_memory *memory = arena_alloc(arena, sizeof *memory);
  *memory = memory_with_bound(module, &profile, scratch);
  handle->map.memory = memory;
  for (size_t i = 0; i < handle->map.num_others; i++)
    ((rh_memory_map *)handle->map.others[i])->memory = memory;
  arena_free(inner);
  arena_free(scratch);
  *map = &handle->map;
  return RH_OK;
}

rh_status rh_memory_map_make(const rh_module *module, const rh_settings *settings,
                             rh_memory_map **map, rh_diags *diags) {
  *map = NULL;
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  const rh_module *taken;
  rh_memory_map *made = NULL;
  rh_status status = call_take(call, module, settings, &taken);
  if (status == RH_OK) status = make_map(taken, &made, diags);
  *map = made;
  return call_close(call, status);
}

void rh_memory_map_free(rh_memory_map *map) {
  if (map) arena_free(((Handle *)map)->arena);
}
