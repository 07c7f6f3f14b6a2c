/* How much of a line is over a limit, and what a change of memory would add to that. Positions are
 * looked at by blocks, most of which are all over the limit or all below it. */
#ifndef REMAT_HLO_REMAT_SEARCH_EXCESS_H
#define REMAT_HLO_REMAT_SEARCH_EXCESS_H

#include <stdbool.h>

#include "ir/arena.h"

enum { EXCESS_BLOCK_BITS = 6 };

typedef struct ExcessBlock {
  int64_t least, most; /* of `bytes_at`, at its positions */
} ExcessBlock;

/* Example: with the limit 10 and bytes_at = {8, 12, 9}, 3 bytes more at all positions add
 * 1 + 3 + 2 bytes. */
typedef struct Excess {
  int64_t *bytes_at; /* by position: bytes live; of the owner, who notes each change */
  uint32_t len;
  int64_t limit_bytes;
  ExcessBlock *blocks;
} Excess;

/* Nothing is noted yet. */
Excess excess_new(int64_t *bytes_at, uint32_t len, int64_t limit_bytes, Arena *out);

/* Notes what `bytes_at` says from `first` to `last`. */
void excess_note(Excess *excess, uint32_t first, uint32_t last);

/* By how much `bytes` exceed the limit. */
static inline double excess_over(const Excess *excess, int64_t bytes) {
  return bytes > excess->limit_bytes ? (double)(bytes - excess->limit_bytes) : 0;
}

/* By how much `bytes` more from position `begin` to the one before `end` raise the excess. */
double excess_added(const Excess *excess, uint32_t begin, uint32_t end, int64_t bytes);

/* Whether `bytes` more from position `begin` to the one before `end` leave all within the limit. */
bool excess_has_room(const Excess *excess, uint32_t begin, uint32_t end, int64_t bytes);

/* Whether some position from `first` to `last` may exceed the limit. */
bool excess_may_exceed(const Excess *excess, uint32_t first, uint32_t last);

/* The first position, from `begin` on, from which all up to the one before `end` exceed the limit;
 * `end` if the one before it does not. */
uint32_t excess_rise_before(const Excess *excess, uint32_t begin, uint32_t end);

#endif
