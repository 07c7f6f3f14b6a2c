#include "remat/search/search.h"

#include <assert.h>

#include "remat/search/least.h"
#include "remat/search/memo.h"
#include "remat/search/trial.h"
#include "remat/search/trim.h"

enum {
  LEAST_STEPS = 4000, /* for each step of a line, that a search for a limit is worth */
};

/* How many of the best orders go on, and which prices they are tried with next: while no line fits,
 * more orders, since little is known then of which ones are good; after that, more prices. */
typedef struct Heat {
  uint32_t num_orders, num_unsure_orders;
  uint32_t first_price, num_prices, num_unsure_prices;
} Heat;

static const Heat first_heat = {.num_orders = 6,
                                .num_unsure_orders = 10,
                                .first_price = 1,
                                .num_prices = 3,
                                .num_unsure_prices = 3};
static const Heat last_heat = {.num_orders = 2,
                               .num_unsure_orders = 4,
                               .first_price = FIRST_LONG_PRICES,
                               .num_prices = 3,
                               .num_unsure_prices = 2};
static_assert(FIRST_LONG_PRICES + 3 <= NUM_PRICE_RULES && 1 + 3 <= FIRST_LONG_PRICES,
              "heats use rules for prices that there are, the first one the short ones");
static_assert(NUM_QUICK_ORDER_RULES <= NUM_ORDER_RULES, "quick searches use the first orders");

typedef struct LineSearch {
  Goal goal;
  KeptLines best;        /* best first */
  KeptLines candidates;  /* that it goes on from, those of the best merit first */
  double excess_seconds; /* as KeptLines.seconds_per_excess */
  double least_seconds;  /* of a line that recomputes nothing */
  Order orders[NUM_ORDER_RULES];
  uint32_t num_orders; /* once they are ranked, the best one first */
  bool is_tight;       /* no order fitted when it was first priced */
  Trials trials;
  Patience *patience;
  Arena *scratch;
} LineSearch;

static const ScoredLine *best_of(const LineSearch *search) {
  return kept_best(&search->best);
}

static const RematParameters *parameters_of(const LineSearch *search) {
  return search->trials.given->graph->parameters;
}

static bool has_steps(const LineSearch *search) {
  return patience_steps_left(search->patience) > 0;
}

/* A line that fits and recomputes nothing is the end, too. */
static bool has_ended(const LineSearch *search) {
  const ScoredLine *best = best_of(search);
  return !has_steps(search) || scored_is_free(best, search->least_seconds);
}

/* Keeps what a trial has found: a TrialKeepFn. */
static void keep(void *context, const Trial *trial) {
  LineSearch *search = context;
  double merit = 0;
  for (uint32_t i = 0; i < trial->num_found; i++) {
    const ScoredLine *found = &trial->found[i];
    double own = scored_merit(found, search->excess_seconds);
    if (i == 0 || own < merit) merit = own;
    kept_add(&search->best, found);
    if (!trial->is_end[i]) kept_add(&search->candidates, found);
  }
  if (!trial->num_found || trial->kind == TRIAL_IMPROVE) return;
  Order *order = trial->order;
  if (trial->kind == TRIAL_NEW_ORDER) {
    order->arena = arena_new(arena_options(search->scratch));
    order->line = line_copy(&trial->line, order->arena);
    order->merit = merit;
  } else if (merit < order->merit) {
    order->merit = merit;
  }
}

static void run_trials(LineSearch *search) {
  search->goal.best = best_of(search)->score;
  search->trials.goal = search->goal;
  trials_run(&search->trials, keep, search);
}

static void add_trial(LineSearch *search, Trial trial) {
  search->trials.list[search->trials.len++] = trial;
  if (search->trials.len == NUM_TRIALS) run_trials(search);
}

/* The best order first. Orders that come to the same are taken as the same. */
static void rank_orders(LineSearch *search) {
  Order *orders = search->orders;
  uint32_t num_ranked = 0;
  for (uint32_t i = 0; i < search->num_orders; i++) {
    Order order = orders[i];
    if (!order.arena) continue;
    uint32_t place = num_ranked;
    while (place > 0 && order.merit < orders[place - 1].merit)
      place--;
    if (place > 0 && order.merit == orders[place - 1].merit) {
      arena_free(order.arena);
      continue;
    }
    for (uint32_t k = num_ranked++; k > place; k--)
      orders[k] = orders[k - 1];
    orders[place] = order;
  }
  for (uint32_t i = num_ranked; i < search->num_orders; i++)
    orders[i].arena = NULL;
  search->num_orders = num_ranked;
}

static void try_orders(LineSearch *search) {
  const SearchRules *rules = search->goal.rules;
  search->num_orders = rules->keeps_order   ? 1
                       : rules->is_thorough ? NUM_ORDER_RULES
                                            : NUM_QUICK_ORDER_RULES;
  for (uint32_t i = 0; i < search->num_orders && has_steps(search); i++)
    add_trial(search,
              (Trial){.kind = TRIAL_NEW_ORDER, .order_rules = i, .order = &search->orders[i]});
  run_trials(search);
  rank_orders(search);
  search->is_tight = !best_of(search)->score.is_met;
}

/* Tries the best orders with more prices. */
static void run_heat(LineSearch *search, const Heat *heat) {
  bool is_sure = best_of(search)->score.is_met;
  uint32_t num_prices = is_sure ? heat->num_prices : heat->num_unsure_prices;
  uint32_t num_orders = is_sure ? heat->num_orders : heat->num_unsure_orders;
  if (num_orders > search->num_orders) num_orders = search->num_orders;
  for (uint32_t i = 0; i < num_orders * num_prices && !has_ended(search); i++)
    add_trial(search, (Trial){.kind = TRIAL_KNOWN_ORDER,
                              .price_rules = heat->first_price + i % num_prices,
                              .order = &search->orders[i / num_prices]});
  run_trials(search);
  rank_orders(search);
}

/* Whether the candidates are not all among those before. */
static bool has_new(const KeptLines *now, const KeptLines *before) {
  for (uint32_t i = 0; i < now->len; i++) {
    double merit = scored_merit(&now->list[i].scored, now->seconds_per_excess);
    bool is_known = false;
    for (uint32_t k = 0; k < before->len; k++)
      is_known |= merit == scored_merit(&before->list[k].scored, before->seconds_per_excess);
    if (!is_known) return true;
  }
  return false;
}

/* Goes on from the candidates, as long as that leads anywhere. Levels differ in what they try. */
static void improve(LineSearch *search, int64_t num_levels) {
  bool is_tight = search->is_tight;
  uint32_t num_stale = 0;
  for (uint32_t level = 0; level < num_levels; level++) {
    KeptLines before = search->candidates;
    Score best = best_of(search)->score;
    search->candidates.len = 0;
    for (uint32_t i = 0; i < before.len && !has_ended(search); i++)
      add_trial(search,
                (Trial){.kind = TRIAL_IMPROVE, .level = level, .improved = &before.list[i].scored});
    run_trials(search);
    bool has_gained = score_is_better(best_of(search)->score, best) ||
                      (is_tight && has_new(&search->candidates, &before));
    num_stale = has_gained ? 0 : num_stale + 1;
    bool goes_on = num_stale < parameters_of(search)->search_stale;
    kept_free(&before);
    if (!goes_on || has_ended(search)) break;
  }
}

static void improve_all(LineSearch *search) {
  const RematParameters *parameters = parameters_of(search);
  improve(search, search->is_tight ? parameters->search_tight_levels : parameters->search_levels);
}

/* Half of the steps are left for the improvement of what is found. */
static void run_first_heat(LineSearch *search) {
  Patience *whole = search->patience;
  Patience part = patience_part(whole, patience_steps_left(whole) / 2);
  search->patience = search->trials.patience = &part;
  run_heat(search, &first_heat);
  search->patience = search->trials.patience = whole;
  patience_join(whole, &part);
}

/* ---- lines ---- */

/* Goes on from lines that were found for another limit. Returns whether one fits. */
static bool search_from_known(LineSearch *search) {
  const FoundLines *known = search->goal.rules->known;
  int64_t limit_bytes = search->goal.limit_bytes;
  Arena *scratch = search->scratch;
  for (uint32_t i = 0; known && i < known->len && has_steps(search); i++) {
    Line line = known->list[i].line;
    line.graph = search->trials.given->graph;
    if (!line_is_valid(&line, scratch)) continue;
    Arena *arena = arena_new(arena_options(scratch));
    ScoredLine found = scored_measure(&line, limit_bytes, scratch);
    if (found.score.is_met)
      found = scored_trimmed(&line, limit_bytes, search->patience, arena, scratch);
    kept_add(&search->best, &found);
    kept_add(&search->candidates, &found);
    arena_free(arena);
  }
  if (search->candidates.len) improve_all(search);
  return best_of(search)->score.is_met;
}

/* The candidates are improved once before other prices are tried: in tight budgets that leads below
 * the limit more often, and prices then have a time to compare with. There they are improved
 * further before the long heat, too, which takes all steps that it gets. */
static void search_all(LineSearch *search) {
  if (search_from_known(search)) return;
  kept_free(&search->candidates);
  try_orders(search);
  if (search->goal.rules->is_thorough) {
    improve(search, 1);
    run_first_heat(search);
    if (search->is_tight) improve_all(search);
    run_heat(search, &last_heat);
  }
  improve_all(search);
}

/* The best lines, all of which fit, or none. */
static FoundLines hand_over(const LineSearch *search, Arena *out) {
  FoundLines found = {0};
  for (uint32_t i = 0; i < search->best.len && i < MAX_FOUND; i++) {
    const ScoredLine *next = &search->best.list[i].scored;
    if (next->score.is_met != best_of(search)->score.is_met) break;
    found.list[found.len] = *next;
    found.list[found.len++].line = line_copy(&next->line, out);
  }
  return found;
}

static FoundLines search_anew(const Line *given, int64_t limit_bytes, const SearchRules *rules,
                              Patience *patience, Arena *out, Arena *scratch) {
  ScoredLine unchanged = scored_measure(given, limit_bytes, scratch);
  double usual_price =
      given->len ? unchanged.score.seconds / ((double)unchanged.score.bytes * given->len) : 0;
  LineSearch search = {
      .goal = {.limit_bytes = limit_bytes, .rules = rules, .given_excess = unchanged.excess},
      .excess_seconds = (double)given->graph->parameters->search_excess * usual_price,
      .least_seconds = unchanged.score.seconds,
      .patience = patience,
      .scratch = scratch};
  search.best = (KeptLines){.scratch = scratch};
  search.candidates = (KeptLines){
      .by = KEPT_BY_MERIT, .seconds_per_excess = search.excess_seconds, .scratch = scratch};
  search.trials =
      (Trials){.given = given, .orders = search.orders, .patience = patience, .scratch = scratch};
  kept_add(&search.best, &unchanged);
  if (!unchanged.score.is_met) search_all(&search);
  FoundLines found = hand_over(&search, out);
  for (uint32_t i = 0; i < search.num_orders; i++)
    arena_free(search.orders[i].arena);
  kept_free(&search.candidates);
  kept_free(&search.best);
  return found;
}

FoundLines search_line(const Line *given, int64_t limit_bytes, const SearchRules *rules,
                       Patience *patience, Arena *out, Arena *scratch) {
  if (!rules->memo || rules->known || given->graph->form_of)
    return search_anew(given, limit_bytes, rules, patience, out, scratch);
  MemoQuery query = search_memo_query(given, limit_bytes, rules);
  FoundLines found;
  if (search_memo_find(rules->memo, &query, given->graph, patience, &found, out)) return found;
  uint64_t num_steps = patience_steps_left(patience);
  found = search_anew(given, limit_bytes, rules, patience, out, scratch);
  if (patience_is_stopped(patience)) return found;
  uint64_t num_spent = num_steps - patience_steps_left(patience);
  search_memo_add(rules->memo, &query, &found, num_steps, num_spent);
  return found;
}

ScoredLine search_lowered(const ScoredLine *scored, int64_t limit_bytes, const SearchRules *rules,
                          Patience *patience, Arena *out, Arena *scratch) {
  Goal goal = {.limit_bytes = limit_bytes, .rules = rules};
  ScoredLine lower = scored_measure(&scored->line, limit_bytes, scratch);
  return trial_mended(&goal, &lower, patience, out, scratch);
}

/* Mends the lowest line to limits below its peak, nearer to it each time that this fails. */
static void lower_further(KeptLines *kept, int64_t low, int64_t end_bytes, const SearchRules *rules,
                          Patience *patience, Arena *arena, Arena *scratch) {
  const ScoredLine *lowest = kept_best(kept);
  const RematParameters *parameters = lowest->line.graph->parameters;
  for (int64_t part = 2; part <= parameters->search_nearest && !patience_is_over(patience);) {
    int64_t before = lowest->score.bytes;
    if (before <= end_bytes) return;
    ScoredLine found =
        search_lowered(lowest, before - (before - low) / part, rules, patience, arena, scratch);
    kept_add(kept, &found);
    if (lowest->score.bytes >= before) part *= 2;
  }
}

FoundLines search_lowest(const Line *given, int64_t least_bytes, const ScoredLine *known,
                         const SearchRules *rules, Patience *patience, Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  int64_t low = given->graph->held_bytes, end_bytes = line_least_bytes(given, scratch);
  if (low < least_bytes) low = least_bytes;
  if (end_bytes < low) end_bytes = low;
  SearchRules quick = *rules;
  quick.is_thorough = false;
  KeptLines kept = {.by = KEPT_BY_PEAK, .scratch = scratch};
  ScoredLine first = known ? *known : scored_measure(given, INT64_MAX, scratch);
  kept_add(&kept, &first);
  const ScoredLine *lowest = kept_best(&kept);
  for (int i = 0; i < given->graph->parameters->search_halvings && !patience_is_over(patience);
       i++) {
    int64_t high = lowest->score.bytes, middle = low + (high - low) / 2;
    if (high <= end_bytes) break;
    uint64_t num_steps = patience_steps_left(patience) / 3;
    if (i > 0 && num_steps < (uint64_t)given->len * LEAST_STEPS) break;
    Patience part = patience_part(patience, num_steps);
    FoundLines found = search_line(given, middle, &quick, &part, arena, scratch);
    patience_join(patience, &part);
    if (!found_best(&found)->score.is_met) low = middle;
    kept_add(&kept, found_best(&found));
  }
  lower_further(&kept, low, end_bytes, rules, patience, arena, scratch);
  FoundLines found = search_line(given, lowest->score.bytes, rules, patience, out, scratch);
  if (scored_is_lower(lowest, found_best(&found))) {
    found.list[0] = *lowest;
    found.list[0].line = line_copy(&lowest->line, out);
  }
  kept_free(&kept);
  arena_free(arena);
  return found;
}

/* ---- called computations ---- */

void search_measure_callees(const SearchContext *context, int64_t *inner_bytes, CompId first,
                            Arena *scratch) {
  const CallGraph *calls = &context->values.graph;
  for (uint32_t i = 0; i < calls->num_reachable; i++) {
    CompId comp = calls->post_order[i];
    if (comp < first) continue;
    if (!comp_is_sequential(calls, comp) || context->job->schedule->of[comp].len == 0) continue;
    Arena *arena = arena_new(arena_options(scratch));
    SearchGraph graph = search_graph_build(context, comp, arena, scratch);
    Line line = line_of_graph(&graph, arena);
    inner_bytes[comp] = line_measure(&line, arena).peak_bytes;
    arena_free(arena);
  }
}
