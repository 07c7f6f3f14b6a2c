/* Sorting many ids by integers. */
#ifndef REMAT_HLO_IR_SORT_H
#define REMAT_HLO_IR_SORT_H

#include <stdint.h>

#include "ir/arena.h"

typedef struct SortItem {
  uint64_t key;
  uint32_t id;
} SortItem;

/* By key, smallest first; items of one key stay as they were, so that several keys are sorted by
 * one after the other, the least important first. O(len) for each byte in which keys differ. */
void sort_by_key(SortItem *items, uint32_t len, Arena *scratch);

/* A key that sorts numbers, largest first. */
static inline uint64_t key_largest_first(int64_t value) {
  return (uint64_t)INT64_MAX - (uint64_t)value;
}

#endif
