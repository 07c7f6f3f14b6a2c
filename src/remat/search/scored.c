#include "remat/search/scored.h"

ScoredLine scored_of(const Line *line, const LineMemory *memory, int64_t limit_bytes) {
  return (ScoredLine){.line = *line,
                      .score = {.is_met = memory->peak_bytes <= limit_bytes,
                                .bytes = memory->peak_bytes,
                                .seconds = memory->seconds},
                      .excess = line_excess(line, memory, limit_bytes)};
}

ScoredLine scored_measure(const Line *line, int64_t limit_bytes, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  LineMemory memory = line_measure(line, scratch);
  ScoredLine scored = scored_of(line, &memory, limit_bytes);
  arena_reset(scratch, mark);
  return scored;
}

static bool is_before(const KeptLines *kept, const ScoredLine *a, const ScoredLine *b) {
  double weight = kept->seconds_per_excess;
  switch (kept->by) {
    case KEPT_BY_PEAK: return scored_is_lower(a, b);
    case KEPT_BY_MERIT: return scored_merit(a, weight) < scored_merit(b, weight);
    default: return score_is_better(a->score, b->score);
  }
}

void kept_add(KeptLines *kept, const ScoredLine *scored) {
  uint32_t place = kept->len;
  while (place > 0 && is_before(kept, scored, &kept->list[place - 1].scored))
    place--;
  bool is_same = place > 0 && !is_before(kept, &kept->list[place - 1].scored, scored);
  if (is_same || place == MAX_KEPT) return;
  if (kept->len == MAX_KEPT) arena_free(kept->list[--kept->len].arena);
  for (uint32_t i = kept->len++; i > place; i--)
    kept->list[i] = kept->list[i - 1];
  struct KeptLine *added = &kept->list[place];
  *added = (struct KeptLine){*scored, arena_new(arena_options(kept->scratch))};
  added->scored.line = line_copy(&scored->line, added->arena);
}

void kept_free(KeptLines *kept) {
  for (uint32_t i = 0; i < kept->len; i++)
    arena_free(kept->list[i].arena);
  kept->len = 0;
}
