#include "remat/search/priced.h"

PricedLine priced_of(const Line *line, const LineMemory *memory, int64_t limit_bytes) {
  return (PricedLine){.line = *line,
                      .fits = memory->peak_bytes <= limit_bytes,
                      .peak_bytes = memory->peak_bytes,
                      .seconds = memory->seconds,
                      .excess = line_excess(line, memory, limit_bytes)};
}

PricedLine priced_measure(const Line *line, int64_t limit_bytes, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  LineMemory memory = line_measure(line, scratch);
  PricedLine priced = priced_of(line, &memory, limit_bytes);
  arena_reset(scratch, mark);
  return priced;
}

bool priced_is_lower(const PricedLine *a, const PricedLine *b) {
  if (a->peak_bytes != b->peak_bytes) return a->peak_bytes < b->peak_bytes;
  return a->seconds < b->seconds;
}

static bool is_before(const KeptLines *kept, const PricedLine *a, const PricedLine *b) {
  double weight = kept->seconds_per_excess;
  return kept->by_merit ? priced_merit(a, weight) < priced_merit(b, weight)
                        : priced_is_better(a, b);
}

static bool is_same(const KeptLines *kept, const PricedLine *a, const PricedLine *b) {
  if (is_before(kept, a, b) || is_before(kept, b, a)) return false;
  return kept->by_merit || a->peak_bytes == b->peak_bytes;
}

void kept_add(KeptLines *kept, const PricedLine *priced) {
  uint32_t place = kept->len;
  while (place > 0 && is_before(kept, priced, &kept->list[place - 1].priced))
    place--;
  for (uint32_t i = 0; i < place; i++) {
    if (is_same(kept, &kept->list[i].priced, priced)) return;
  }
  if (place == MAX_KEPT) return;
  if (kept->len == MAX_KEPT) arena_free(kept->list[--kept->len].arena);
  for (uint32_t i = kept->len++; i > place; i--)
    kept->list[i] = kept->list[i - 1];
  struct KeptLine *added = &kept->list[place];
  *added = (struct KeptLine){*priced, arena_new(arena_options(kept->scratch))};
  added->priced.line = line_copy(&priced->line, added->arena);
}

void kept_free(KeptLines *kept) {
  for (uint32_t i = 0; i < kept->len; i++)
    arena_free(kept->list[i].arena);
  kept->len = 0;
}
