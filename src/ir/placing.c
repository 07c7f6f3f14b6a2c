#include "ir/placing.h"

Placing placing_new(uint32_t num_ids, PlacingNeedsFn *needs, void *context, Arena *arena) {
  return (Placing){.needs = needs,
                   .context = context,
                   .is_placed = arena_zarray(arena, bool, num_ids),
                   .order = arena_array(arena, uint32_t, num_ids),
                   .arena = arena};
}

void placing_put(Placing *placing, uint32_t first) {
  placing_need(placing, first);
  while (placing->stack.len) {
    uint32_t len = placing->stack.len, id = placing->stack.data[len - 1];
    if (!placing->is_placed[id]) placing->needs(placing->context, id, placing);
    if (placing->stack.len > len) continue;
    placing->stack.len--;
    if (placing->is_placed[id]) continue;
    placing->is_placed[id] = true;
    placing->order[placing->len++] = id;
  }
}
