#include "remat/search/excess.h"

static uint32_t block_begin(uint32_t block) {
  return block << EXCESS_BLOCK_BITS;
}

static uint32_t block_end(const Excess *excess, uint32_t block) {
  uint32_t end = block_begin(block + 1);
  return end < excess->len ? end : excess->len;
}

Excess excess_new(int64_t *bytes_at, uint32_t len, int64_t limit_bytes, Arena *out) {
  return (Excess){.bytes_at = bytes_at,
                  .len = len,
                  .limit_bytes = limit_bytes,
                  .blocks = arena_array(out, ExcessBlock, (len >> EXCESS_BLOCK_BITS) + 1)};
}

void excess_note(Excess *excess, uint32_t first, uint32_t last) {
  for (uint32_t block = first >> EXCESS_BLOCK_BITS; block <= last >> EXCESS_BLOCK_BITS; block++) {
    ExcessBlock now = {INT64_MAX, INT64_MIN};
    for (uint32_t at = block_begin(block); at < block_end(excess, block); at++) {
      if (excess->bytes_at[at] < now.least) now.least = excess->bytes_at[at];
      if (excess->bytes_at[at] > now.most) now.most = excess->bytes_at[at];
    }
    excess->blocks[block] = now;
  }
}

double excess_added(const Excess *excess, uint32_t begin, uint32_t end, int64_t bytes) {
  double added = 0;
  if (bytes == 0) return 0;
  while (begin < end) {
    uint32_t block = begin >> EXCESS_BLOCK_BITS, stop = block_end(excess, block);
    ExcessBlock now = excess->blocks[block];
    if (stop > end) stop = end;
    int64_t least = now.least + (bytes < 0 ? bytes : 0), most = now.most + (bytes > 0 ? bytes : 0);
    if (least > excess->limit_bytes) {
      added += (double)(stop - begin) * (double)bytes;
    } else if (most > excess->limit_bytes) {
      for (uint32_t at = begin; at < stop; at++)
        added += excess_over(excess, excess->bytes_at[at] + bytes) -
                 excess_over(excess, excess->bytes_at[at]);
    }
    begin = stop;
  }
  return added;
}

bool excess_has_room(const Excess *excess, uint32_t begin, uint32_t end, int64_t bytes) {
  int64_t most_bytes = excess->limit_bytes - bytes;
  while (begin < end) {
    uint32_t block = begin >> EXCESS_BLOCK_BITS, stop = block_end(excess, block);
    bool is_whole = begin == block_begin(block) && stop <= end;
    if (stop > end) stop = end;
    if (excess->blocks[block].most > most_bytes) {
      if (is_whole) return false;
      for (uint32_t at = begin; at < stop; at++) {
        if (excess->bytes_at[at] > most_bytes) return false;
      }
    }
    begin = stop;
  }
  return true;
}

bool excess_may_exceed(const Excess *excess, uint32_t first, uint32_t last) {
  for (uint32_t block = first >> EXCESS_BLOCK_BITS; block <= last >> EXCESS_BLOCK_BITS; block++) {
    if (excess->blocks[block].most > excess->limit_bytes) return true;
  }
  return false;
}

uint32_t excess_rise_before(const Excess *excess, uint32_t begin, uint32_t end) {
  while (end > begin) {
    uint32_t block = (end - 1) >> EXCESS_BLOCK_BITS;
    if (excess->blocks[block].least > excess->limit_bytes) {
      end = block_begin(block);
    } else if (excess->bytes_at[end - 1] > excess->limit_bytes) {
      end--;
    } else {
      return end;
    }
  }
  return begin;
}
