#include "remat/search/search.h"

#include <stdio.h>
#include <stdlib.h>

#include "ir/clock.h"
#include "remat/search/hoist.h"
#include "remat/search/trim.h"

enum { NUM_ORDERS = 9, TRIM_PASSES = 3, MAX_LEVELS = 3, LOWEST_STEPS = 10 };

static const PriceRules price_rules[] = {
    {60, 0.5, 10, true},
    {60, 0.3, 3, true},
    {60, 0.5, 10, false},
};

typedef struct Search {
  int64_t limit_bytes;
  const SearchRules *rules;
  PricedLine best;
  Arena *best_arena;
  Patience *patience;
  Arena *scratch;
} Search;

static bool is_better(const PricedLine *a, const PricedLine *b) {
  if (a->fits != b->fits) return a->fits;
  if (!a->fits && a->peak_bytes != b->peak_bytes) return a->peak_bytes < b->peak_bytes;
  return a->seconds < b->seconds;
}

static void keep_better(Search *search, const PricedLine *found) {
  if (search->best_arena && !is_better(found, &search->best)) return;
  Arena *arena = arena_new(arena_options(search->scratch));
  PricedLine best = *found;
  best.line = line_copy(&found->line, arena);
  if (search->best_arena) arena_free(search->best_arena);
  search->best_arena = arena;
  search->best = best;
}

static PricedLine as_priced(const Search *search, const Line *line, Arena *arena) {
  ArenaMark mark = arena_mark(arena);
  LineMemory memory = line_measure(line, arena);
  arena_reset(arena, mark);
  return (PricedLine){.line = *line,
                      .fits = memory.peak_bytes <= search->limit_bytes,
                      .peak_bytes = memory.peak_bytes,
                      .seconds = memory.seconds};
}

/* Trims what fits, and keeps it if it is the best. */
static void finish(Search *search, const PricedLine *found, Arena *arena) {
  keep_better(search, found);
  if (!found->fits) return;
  Line trimmed = line_trimmed(&found->line, search->limit_bytes, TRIM_PASSES, search->patience,
                              arena, search->scratch);
  PricedLine then = as_priced(search, &trimmed, arena);
  keep_better(search, &then);
}

static bool debug(void) {
  return getenv("SEARCH_DEBUG") != NULL;
}

static HoistRules hoist_rules(uint32_t number) {
  return (HoistRules){.moves_cones = number & 1,
                      .is_tolerant = number & 2,
                      .frees_sources = number & 4,
                      .num_sweeps = 4};
}

/* Decides again, with the runs of a finished line as its steps, in an order that has less excess.
 */
static void improve(Search *search, Arena *arena) {
  for (uint32_t level = 0; level < MAX_LEVELS; level++) {
    if (patience_is_over(search->patience)) return;
    PricedLine before = search->best;
    HoistRules rules = hoist_rules(1 | (level & 1 ? 2 : 0));
    Line ordered = search->rules->keeps_order
                       ? search->best.line
                       : hoist(&search->best.line, search->limit_bytes, &rules, search->patience,
                               arena, search->scratch);
    PricedLine found = price_line(&ordered, search->limit_bytes, &price_rules[0],
                                  search->patience, arena, search->scratch);
    if (debug()) fprintf(stderr, "   level %u: fits %d peak %lld s %.6g\n", level, found.fits, (long long)found.peak_bytes, found.seconds);
    finish(search, &found, arena);
    bool is_same = before.fits == search->best.fits && before.seconds == search->best.seconds &&
                   before.peak_bytes == search->best.peak_bytes;
    if (is_same && level > 0) break;
  }
}

PricedLine search_line(const Line *given, int64_t limit_bytes, const SearchRules *rules,
                       Patience *patience, Arena *out, Arena *scratch) {
  Search search = {
      .limit_bytes = limit_bytes, .rules = rules, .patience = patience, .scratch = scratch};
  Arena *arena = arena_new(arena_options(scratch));
  PricedLine unchanged = as_priced(&search, given, arena);
  keep_better(&search, &unchanged);
  uint32_t num_orders = rules->keeps_order ? 1 : rules->is_thorough ? NUM_ORDERS : 3;
  for (uint32_t number = 0; number < num_orders && !patience_is_over(patience); number++) {
    Arena *inner = arena_new(arena_options(scratch));
    double start = seconds_now();
    uint32_t which = rules->is_thorough ? number - 1 : 3 + 4 * (number - 1);
    HoistRules hoisting = hoist_rules(which);
    Line order = number == 0 ? rules->keeps_order ? *given : line_settled(given, false, inner, scratch)
                             : hoist(given, limit_bytes, &hoisting, patience, inner, scratch);
    double middle = seconds_now();
    uint32_t num_prices = rules->is_thorough ? 3 : 1;
    for (uint32_t i = 0; i < num_prices; i++) {
      PricedLine found =
          price_line(&order, limit_bytes, &price_rules[i], patience, inner, scratch);
      if (debug()) { LineMemory m = line_measure(&order, inner); fprintf(stderr, "  order %u rule %u: excess %.4g peak %lld -> fits %d peak %lld s %.6g (%.2f + %.2f s)\n", number, i, line_excess(&order, &m, limit_bytes), (long long)m.peak_bytes, found.fits, (long long)found.peak_bytes, found.seconds, middle - start, seconds_now() - middle); }
      finish(&search, &found, inner);
    }
    arena_free(inner);
  }
  improve(&search, arena);
  arena_free(arena);
  PricedLine best = search.best;
  best.line = line_copy(&search.best.line, out);
  arena_free(search.best_arena);
  return best;
}

PricedLine search_lowest(const Line *given, const SearchRules *rules, Patience *patience,
                         Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  LineMemory memory = line_measure(given, arena);
  int64_t low = given->graph->held_bytes, high = memory.peak_bytes;
  SearchRules quick = *rules;
  quick.is_thorough = false;
  Search search = {.scratch = scratch, .limit_bytes = INT64_MAX};
  PricedLine unchanged = as_priced(&search, given, arena);
  unchanged.fits = false; /* compared by peak */
  keep_better(&search, &unchanged);
  for (int i = 0; i < LOWEST_STEPS && low < high && !patience_is_over(patience); i++) {
    int64_t middle = low + (high - low) / 2;
    PricedLine found = search_line(given, middle, &quick, patience, arena, scratch);
    bool fits = found.fits;
    found.fits = false;
    keep_better(&search, &found);
    if (fits) {
      high = middle < found.peak_bytes ? middle : found.peak_bytes;
    } else {
      low = middle;
      if (found.peak_bytes < high) high = found.peak_bytes;
    }
  }
  PricedLine best = search_line(given, search.best.peak_bytes, rules, patience, arena, scratch);
  if (!best.fits) best = search.best;
  best.line = line_copy(&best.line, out);
  arena_free(arena);
  arena_free(search.best_arena);
  return best;
}
