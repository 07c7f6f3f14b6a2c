/* A radix sort by bytes, lowest byte first. A byte that is equal in all keys costs no pass. */
#include "ir/sort.h"

#include <string.h>

enum { BYTE_BITS = 8, NUM_BYTE_VALUES = 1 << BYTE_BITS };

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
