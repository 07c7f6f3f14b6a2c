/* Places things one after the other, each one after all that it must come after. */
#ifndef REMAT_HLO_IR_PLACING_H
#define REMAT_HLO_IR_PLACING_H

#include <stdbool.h>

#include "ir/vec.h"

typedef struct Placing Placing;

/* Calls placing_need() for what `id` must come after. */
typedef void PlacingNeedsFn(void *context, uint32_t id, Placing *placing);

struct Placing {
  PlacingNeedsFn *needs;
  void *context;
  bool *is_placed; /* by id */
  uint32_t *order; /* the ids that are placed */
  uint32_t len;
  IdVec stack;
  Arena *arena;
};

/* Nothing is placed yet. There is room for `num_ids` ids in `order`, which is in `arena`, too. */
Placing placing_new(uint32_t num_ids, PlacingNeedsFn *needs, void *context, Arena *arena);

/* Says that what is being placed must come after `id`. What was needed last is placed first. */
static inline void placing_need(Placing *placing, uint32_t id) {
  if (!placing->is_placed[id]) *vec_push(placing->arena, &placing->stack) = id;
}

/* Places `id` after all that it needs, unless it is placed already. requires: nothing needs itself,
 * be it through others. */
void placing_put(Placing *placing, uint32_t id);

#endif
