#include "remat/search/search.h"

#include "remat/search/hoist.h"
#include "remat/search/trim.h"
#include "remat/search/updates.h"

enum { TRIM_PASSES = 3, MAX_LEVELS = 4, LOWEST_STEPS = 10, MAX_CANDIDATES = 10 };

static const PriceRules price_rules[] = {
    {60, 0.5, 10, true},
    {60, 0.3, 3, true},
    {60, 0.5, 10, false},
};
enum { NUM_PRICES = sizeof price_rules / sizeof *price_rules };

/* An order to decide in: the given one, or that with late updates, hoisted or not. */
typedef struct OrderRules {
  bool has_late_updates, is_hoisted;
  HoistRules hoisting;
} OrderRules;

/* None of them is the best one everywhere; the first ones are it most often. */
static const OrderRules order_rules[] = {
    {false, false, {0}},
    {true, true, {true, false, false, 4}},
    {false, true, {true, true, true, 4}},
    {false, true, {true, false, false, 4}},
    {true, true, {true, true, true, 4}},
    {true, false, {0}},
    {false, true, {true, true, false, 4}},
    {false, true, {true, false, true, 4}},
    {false, true, {false, false, true, 4}},
    {false, true, {false, false, false, 4}},
};
enum { NUM_ORDERS = sizeof order_rules / sizeof *order_rules, NUM_QUICK_ORDERS = 4 };

/* A line that the search goes on from. */
typedef struct Candidate {
  PricedLine priced;
  Arena *arena;
} Candidate;

typedef struct Search {
  int64_t limit_bytes;
  const SearchRules *rules;
  PricedLine best;
  Arena *best_arena;
  Candidate candidates[MAX_CANDIDATES]; /* best first */
  uint32_t num_candidates;
  double least_seconds; /* of the line given */
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

/* What a line promises: its time, and more if it has to become smaller. */
static double merit(const Search *search, const PricedLine *priced) {
  double over = (double)(priced->peak_bytes - search->limit_bytes) / (double)search->limit_bytes;
  return priced->seconds + (over > 0 ? over * search->least_seconds : 0);
}

static void keep_candidate(Search *search, const PricedLine *found) {
  uint32_t place = search->num_candidates;
  while (place > 0 && merit(search, found) < merit(search, &search->candidates[place - 1].priced))
    place--;
  if (place > 0 && merit(search, found) == merit(search, &search->candidates[place - 1].priced))
    return;
  if (place == MAX_CANDIDATES) return;
  if (search->num_candidates == MAX_CANDIDATES)
    arena_free(search->candidates[--search->num_candidates].arena);
  for (uint32_t i = search->num_candidates; i > place; i--)
    search->candidates[i] = search->candidates[i - 1];
  Candidate *kept = &search->candidates[place];
  *kept = (Candidate){*found, arena_new(arena_options(search->scratch))};
  kept->priced.line = line_copy(&found->line, kept->arena);
  search->num_candidates++;
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
  PricedLine then = *found;
  keep_better(search, found);
  if (found->fits) {
    Line trimmed = line_trimmed(&found->line, search->limit_bytes, TRIM_PASSES, search->patience,
                                arena, search->scratch);
    then = as_priced(search, &trimmed, arena);
    keep_better(search, &then);
    if (!then.fits) then = *found;
  }
  keep_candidate(search, &then);
}

/* Decides again, with the runs of a line as its steps, in an order that has less excess. */
static void improve(Search *search, const Line *line, uint32_t level, Arena *arena) {
  static const HoistRules rules[] = {{true, false, false, 2}, {true, true, true, 2}};
  Line ordered = search->rules->keeps_order ? *line
                                            : hoist(line, search->limit_bytes, &rules[level & 1],
                                                    search->patience, arena, search->scratch);
  PricedLine found = as_priced(search, &ordered, arena);
  if (!found.fits)
    found = price_line(&ordered, search->limit_bytes, &price_rules[level % NUM_PRICES],
                       search->rules->keeps_order, search->patience, arena, search->scratch);
  finish(search, &found, arena);
}

static void improve_all(Search *search) {
  for (uint32_t level = 0; level < MAX_LEVELS; level++) {
    Candidate candidates[MAX_CANDIDATES];
    uint32_t len = search->num_candidates;
    double seconds = search->best.seconds;
    int64_t peak_bytes = search->best.peak_bytes;
    memcpy(candidates, search->candidates, sizeof candidates);
    search->num_candidates = 0;
    for (uint32_t i = 0; i < len; i++) {
      Arena *arena = arena_new(arena_options(search->scratch));
      if (!patience_is_over(search->patience))
        improve(search, &candidates[i].priced.line, level, arena);
      arena_free(arena);
      arena_free(candidates[i].arena);
    }
    bool is_same = seconds == search->best.seconds && peak_bytes == search->best.peak_bytes;
    if ((is_same && level > 0) || patience_is_over(search->patience)) break;
  }
  while (search->num_candidates)
    arena_free(search->candidates[--search->num_candidates].arena);
}

static Line make_order(const Search *search, const Line *given, const OrderRules *rules,
                       bool *is_new, Arena *arena) {
  *is_new = true;
  if (search->rules->keeps_order) return *given;
  Line line = line_settled(given, false, arena, search->scratch);
  if (rules->has_late_updates) line = line_with_late_updates(&line, is_new, arena, search->scratch);
  if (!rules->is_hoisted || !*is_new) return line;
  return hoist(&line, search->limit_bytes, &rules->hoisting, search->patience, arena,
               search->scratch);
}

static void try_order(Search *search, const Line *given, const OrderRules *order_rules_of,
                      uint32_t num_prices) {
  Arena *arena = arena_new(arena_options(search->scratch));
  bool is_new;
  Line order = make_order(search, given, order_rules_of, &is_new, arena);
  for (uint32_t i = 0; is_new && i < num_prices && !patience_is_over(search->patience); i++) {
    PricedLine found =
        price_line(&order, search->limit_bytes, &price_rules[i], search->rules->keeps_order,
                   search->patience, arena, search->scratch);
    finish(search, &found, arena);
  }
  arena_free(arena);
}

PricedLine search_line(const Line *given, int64_t limit_bytes, const SearchRules *rules,
                       Patience *patience, Arena *out, Arena *scratch) {
  Search search = {
      .limit_bytes = limit_bytes, .rules = rules, .patience = patience, .scratch = scratch};
  Arena *arena = arena_new(arena_options(scratch));
  PricedLine unchanged = as_priced(&search, given, arena);
  keep_better(&search, &unchanged);
  search.least_seconds = unchanged.seconds;
  uint32_t num_orders = rules->keeps_order ? 1 : rules->is_thorough ? NUM_ORDERS : NUM_QUICK_ORDERS;
  if (unchanged.fits) num_orders = 0;
  for (uint32_t number = 0; number < num_orders && !patience_is_over(patience); number++)
    try_order(&search, given, &order_rules[number], rules->is_thorough ? NUM_PRICES : 1);
  improve_all(&search);
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
