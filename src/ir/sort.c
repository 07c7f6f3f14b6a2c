/* A radix sort by bytes, lowest byte first. A byte that is equal in all keys costs no pass. Few
 * items, and those that are mostly sorted, are inserted instead. */
#include "ir/sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
  BYTE_BITS = 8,
  NUM_BYTE_VALUES = 1 << BYTE_BITS,
  MOST_MOVED = 8, /* places that an item moves on average, where items are inserted */
};

/* Returns whether the items are sorted; if not, those of equal keys still have their order. */
static bool insert(SortItem *items, uint32_t len) {
  uint64_t num_moved = 0;
  for (uint32_t i = 1; i < len; i++) {
    SortItem item = items[i];
    uint32_t k = i;
    for (; k > 0 && items[k - 1].key > item.key; k--)
      items[k] = items[k - 1];
    items[k] = item;
    num_moved += i - k;
    if (num_moved > (uint64_t)len * MOST_MOVED) return false;
  }
  return true;
}

static uint32_t byte_at(uint64_t key, uint32_t shift) {
  return (uint32_t)(key >> shift) % NUM_BYTE_VALUES;
}

static void sort_by_byte(const SortItem *items, uint32_t len, uint32_t shift, SortItem *sorted) {
  uint32_t next[NUM_BYTE_VALUES] = {0}, sum = 0;
  for (uint32_t i = 0; i < len; i++)
    next[byte_at(items[i].key, shift)]++;
  for (uint32_t value = 0; value < NUM_BYTE_VALUES; value++) {
    uint32_t count = next[value];
    next[value] = sum;
    sum += count;
  }
  for (uint32_t i = 0; i < len; i++)
    sorted[next[byte_at(items[i].key, shift)]++] = items[i];
}

void sort_by_key(SortItem *items, uint32_t len, Arena *scratch) {
  if (insert(items, len)) return;
  uint64_t differing = 0;
  for (uint32_t i = 1; i < len; i++)
    differing |= items[i].key ^ items[0].key;
  if (differing == 0) return;
  ArenaMark mark = arena_mark(scratch);
  SortItem *from = items, *to = arena_array(scratch, SortItem, len);
  for (uint32_t shift = 0; shift < 64; shift += BYTE_BITS) {
    if (byte_at(differing, shift) == 0) continue;
    sort_by_byte(from, len, shift, to);
    SortItem *other = from;
    from = to;
    to = other;
  }
  if (from != items) memcpy(items, from, len * sizeof *items);
  arena_reset(scratch, mark);
}

static int by_number(const void *pa, const void *pb) {
  const uint32_t *a = pa, *b = pb;
  return (*a > *b) - (*a < *b);
}

void sort_numbers(uint32_t *numbers, uint32_t len) {
  if (len) qsort(numbers, len, sizeof *numbers, by_number);
}
