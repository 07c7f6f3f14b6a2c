/* A radix sort of ids by integer keys, and a sort of numbers. */
#ifndef REMAT_HLO_IR_SORT_H
#define REMAT_HLO_IR_SORT_H

#include <stdint.h>

#include "ir/arena.h"

typedef struct SortItem {
  uint64_t key;
  uint32_t id;
} SortItem;

/* Sorts by key, smallest first. The sort is stable, so items can be sorted by several keys by
 * calling it once per key, with the least important key first. The time is O(len) for items that
 * are few or mostly sorted, else for each byte in which the keys differ. */
void sort_by_key(SortItem *items, uint32_t len, Arena *scratch);

/* Sorts numbers, smallest first. O(len log len). */
void sort_numbers(uint32_t *numbers, uint32_t len);

/* Returns a key that sorts numbers with the largest first. */
static inline uint64_t key_largest_first(int64_t value) {
  return (uint64_t)INT64_MAX - (uint64_t)value;
}

#endif
