#include "remat/search/search.h"

#include "ir/parallel.h"
#include "remat/search/hoist.h"
#include "remat/search/post_order.h"
#include "remat/search/trim.h"
#include "remat/search/updates.h"

enum {
  EXCESS_WEIGHT = 30, /* times the usual price: what it costs to mend an excess */
  TRIM_PASSES = 3,
  MAX_LEVELS = 4,
  MAX_LEVELS_UNSURE = 8, /* while no line fits */
  LOWEST_STEPS = 10,
  MAX_CANDIDATES = 10,
  NUM_TRIALS = 4, /* side by side, on however many threads */
};

/* Each order is tried with the first one, which finds what is between the equal decisions about
 * values that are alike. The last ones have far more rounds, and come closer to the best prices. */
static const PriceRules price_rules[] = {
    {60, 0.5, 10, true, 0.1, 1},  {60, 0.3, 3, true, 0, 0},   {60, 0.5, 10, false, 0, 1},
    {60, 0.5, 10, true, 0, 0},    {300, 0.3, 3, false, 0, 1}, {300, 0.5, 1, true, 0, 0},
    {300, 0.5, 10, true, 0.1, 0},
};
enum {
  FIRST_IMPROVING = 1, /* with these, candidates are improved */
  NUM_IMPROVING = 3,
};

/* How many of the best orders go on, and which prices they are tried with next: while no line fits,
 * more orders, since little is known then of which ones are good; after that, more prices. */
typedef struct Heat {
  uint32_t num_orders, num_unsure_orders;
  uint32_t first_price, num_prices, num_unsure_prices;
} Heat;

static const Heat heats[] = {{6, 10, 1, 3, 3}, {2, 4, 4, 3, 2}};

typedef Line OrderRule(const Line *line, bool *has_moved, Arena *out, Arena *scratch);

/* An order to decide in: the given one, that with other places for updates, or one that does not
 * depend on it, hoisted or not. */
typedef struct OrderRules {
  OrderRule *change; /* NULL = none */
  bool is_hoisted;
  HoistRules hoisting;
} OrderRules;

/* None of them is the best one everywhere; the first ones are it most often. */
static const OrderRules order_rules[] = {
    {NULL, false, {0}},
    {line_with_late_updates, true, {true, false, false, 4}},
    {NULL, true, {true, true, true, 4}},
    {NULL, true, {true, false, false, 4}},
    {line_with_late_updates, true, {true, true, true, 4}},
    {line_with_late_updates, false, {0}},
    {NULL, true, {true, true, false, 4}},
    {NULL, true, {true, false, true, 4}},
    {NULL, true, {false, false, true, 4}},
    {NULL, true, {false, false, false, 4}},
    {line_with_early_updates, true, {true, false, false, 4}},
    {line_with_early_updates, true, {true, true, true, 4}},
    {line_with_early_updates, false, {0}},
    {line_in_post_order, true, {true, false, false, 4}},
    {line_in_post_order, true, {true, true, true, 4}},
    {line_in_post_order, false, {0}},
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
  Candidate others[MAX_OTHERS + 1]; /* best first, with the best one */
  uint32_t num_others;
  Candidate candidates[MAX_CANDIDATES]; /* best first */
  uint32_t num_candidates;
  double usual_price; /* of a byte at a step: the time of the line given, for each byte of its peak
                         at each of its steps */
  Patience *patience;
  Arena *scratch;
} Search;

static bool is_better(const PricedLine *a, const PricedLine *b) {
  if (a->fits != b->fits) return a->fits;
  if (!a->fits && a->peak_bytes != b->peak_bytes) return a->peak_bytes < b->peak_bytes;
  return a->seconds < b->seconds;
}

static void keep_other(Search *search, const PricedLine *found) {
  uint32_t place = search->num_others;
  while (place > 0 && is_better(found, &search->others[place - 1].priced))
    place--;
  const PricedLine *before = place > 0 ? &search->others[place - 1].priced : NULL;
  bool is_known =
      before && before->seconds == found->seconds && before->peak_bytes == found->peak_bytes;
  if (is_known || place > MAX_OTHERS) return;
  if (search->num_others > MAX_OTHERS) arena_free(search->others[--search->num_others].arena);
  for (uint32_t i = search->num_others++; i > place; i--)
    search->others[i] = search->others[i - 1];
  Candidate *kept = &search->others[place];
  *kept = (Candidate){*found, arena_new(arena_options(search->scratch))};
  kept->priced.line = line_copy(&found->line, kept->arena);
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

/* What a line promises: its time, and more for what exceeds the limit. A few steps that exceed it
 * by far are mended more easily than many that exceed it by little, so the excess counts, not the
 * peak. */
static double merit(const Search *search, const PricedLine *priced) {
  return priced->seconds + EXCESS_WEIGHT * priced->excess * search->usual_price;
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
  double excess = line_excess(line, &memory, search->limit_bytes);
  arena_reset(arena, mark);
  return (PricedLine){.line = *line,
                      .fits = memory.peak_bytes <= search->limit_bytes,
                      .peak_bytes = memory.peak_bytes,
                      .seconds = memory.seconds,
                      .excess = excess};
}

/* An order that decisions are made in, and what they came to at best. */
typedef struct Order {
  Line line;
  PricedLine best; /* of its line only the figures are kept */
  Arena *arena;
} Order;

/* ---- trials ---- */

/* Something to try: an order to make and to price, a known order to price, or a candidate to
 * improve. Trials are independent of each other, so that they can run side by side. */
typedef struct Trial {
  const OrderRules *rules;   /* NULL: the order is known */
  Order *order;              /* NULL: improves */
  const Candidate *improved; /* then, a candidate */
  const PriceRules *prices;
  Patience patience;
  uint64_t num_spent_on_order; /* steps */
  bool has_found;
  Line line; /* that the order is, in the arena of the trial */
  PricedLine priced;
  PricedLine trimmed; /* the same line if there is nothing to trim */
} Trial;

typedef struct Trials {
  const Search *search;
  const Line *given;
  const Order *orders; /* NUM_ORDERS; those made so far have an arena */
  uint32_t level;      /* how often candidates have been improved before */
  uint32_t len;
  Trial list[NUM_TRIALS];
} Trials;

static void set_found(const Search *search, Trial *trial, const PricedLine *found, Arena *out,
                      Arena *scratch) {
  PricedLine trimmed = *found;
  if (found->fits) {
    Line line = line_trimmed(&found->line, search->limit_bytes, TRIM_PASSES, &trial->patience, out,
                             scratch);
    trimmed = as_priced(search, &line, out);
  }
  trial->priced = *found;
  trial->trimmed = trimmed;
  trial->has_found = true;
}

static Line make_order(const Search *search, const Line *given, const OrderRules *rules,
                       Patience *patience, bool *is_new, Arena *out, Arena *scratch) {
  *is_new = true;
  if (search->rules->keeps_order) return *given;
  Line line = line_settled(given, false, out, scratch);
  if (rules->change) line = rules->change(&line, is_new, out, scratch);
  if (!rules->is_hoisted || !*is_new) return line;
  return hoist(&line, search->limit_bytes, &rules->hoisting, patience, out, scratch);
}

/* Different rules may lead to the same order, which is priced once. */
static bool is_known(const Trials *trials, const Line *line) {
  for (uint32_t i = 0; i < NUM_ORDERS; i++) {
    if (trials->orders[i].arena && line_equals(&trials->orders[i].line, line)) return true;
  }
  return false;
}

static void try_order(const Trials *trials, Trial *trial, Arena *out, Arena *scratch) {
  const Search *search = trials->search;
  bool is_new = true;
  trial->line = trial->rules ? make_order(search, trials->given, trial->rules, &trial->patience,
                                          &is_new, out, scratch)
                             : trial->order->line;
  trial->num_spent_on_order = trial->patience.num_spent;
  if (!is_new || (trial->rules && is_known(trials, &trial->line))) return;
  PricedLine found = price_line(&trial->line, search->limit_bytes, trial->prices,
                                search->rules->keeps_order, &trial->patience, out, scratch);
  set_found(search, trial, &found, out, scratch);
}

/* Decides again, with the runs of a line as its steps, in an order that has less excess. */
static void improve(const Trials *trials, Trial *trial, Arena *out, Arena *scratch) {
  static const HoistRules rules[] = {{true, false, false, 2}, {true, true, true, 2}};
  const Search *search = trials->search;
  const Line *line = &trial->improved->priced.line;
  Line ordered = search->rules->keeps_order
                     ? *line
                     : hoist(line, search->limit_bytes, &rules[trials->level & 1], &trial->patience,
                             out, scratch);
  PricedLine found = as_priced(search, &ordered, out);
  if (!found.fits)
    found = price_line(&ordered, search->limit_bytes,
                       &price_rules[FIRST_IMPROVING + trials->level % NUM_IMPROVING],
                       search->rules->keeps_order, &trial->patience, out, scratch);
  set_found(search, trial, &found, out, scratch);
}

/* A task. */
static void run_trial(void *context, uint32_t number, Arena *out, Arena *scratch) {
  Trials *trials = context;
  Trial *trial = &trials->list[number];
  if (trial->order) {
    try_order(trials, trial, out, scratch);
  } else {
    improve(trials, trial, out, scratch);
  }
}

static void keep_found(Search *search, const Trial *trial) {
  if (!trial->has_found) return;
  const PricedLine *priced = &trial->priced, *trimmed = &trial->trimmed;
  keep_better(search, priced);
  keep_better(search, trimmed);
  keep_other(search, trimmed);
  keep_candidate(search, trimmed->fits ? trimmed : priced);
  if (!trial->order) return;
  if (trial->rules) {
    trial->order->arena = arena_new(arena_options(search->scratch));
    trial->order->line = line_copy(&trial->line, trial->order->arena);
    trial->order->best = *trimmed;
  } else if (merit(search, trimmed) < merit(search, &trial->order->best)) {
    trial->order->best = *trimmed;
  }
}

static bool has_ended(const Search *search) {
  return patience_is_over(search->patience) || patience_steps_left(search->patience) == 0;
}

/* Runs one trial with the steps that are left, unless it has run already, and spent no more. */
static void conclude_trial(Search *search, Trials *trials, uint32_t number, bool has_run,
                           Arena *out) {
  Trial *trial = &trials->list[number];
  uint64_t num_steps = patience_steps_left(search->patience);
  /* By itself it would have seen that an order beside it is the same. */
  if (trial->has_found && trial->rules && is_known(trials, &trial->line)) {
    trial->has_found = false;
    trial->patience.num_spent = trial->num_spent_on_order;
  }
  if (!has_run || trial->patience.num_spent > num_steps) {
    trial->has_found = false;
    trial->patience = patience_part(search->patience, num_steps);
    run_trial(trials, number, out, search->scratch);
  }
  patience_join(search->patience, &trial->patience);
  keep_found(search, trial);
}

/* Runs the trials in the list, keeps what they find, and empties it. The steps go to each of them
 * in turn, as many as it needs. Threads run all of them with all steps in advance: most often that
 * is what would have happened in turn. */
static void run_trials(Search *search, Trials *trials) {
  Arena *outs[NUM_TRIALS];
  bool are_run = search->rules->num_threads > 1;
  uint64_t num_steps = patience_steps_left(search->patience);
  for (uint32_t i = 0; i < trials->len; i++) {
    trials->list[i].patience = patience_part(search->patience, num_steps);
    outs[i] = arena_new(arena_options(search->scratch));
  }
  if (are_run)
    run_tasks(search->rules->num_threads, trials->len, run_trial, trials, outs, search->scratch);
  for (uint32_t i = 0; i < trials->len; i++) {
    if (!has_ended(search)) conclude_trial(search, trials, i, are_run, outs[i]);
    arena_free(outs[i]);
  }
  trials->len = 0;
}

static void add_trial(Search *search, Trials *trials, Trial trial) {
  trials->list[trials->len++] = trial;
  if (trials->len == NUM_TRIALS) run_trials(search, trials);
}

/* The best order first. Different rules may lead to the same order: one of them is enough. */
static uint32_t rank_orders(const Search *search, Order *orders, uint32_t len) {
  uint32_t num_ranked = 0;
  for (uint32_t i = 0; i < len; i++) {
    Order order = orders[i];
    if (!order.arena) continue;
    double own = merit(search, &order.best);
    uint32_t place = num_ranked;
    while (place > 0 && own < merit(search, &orders[place - 1].best))
      place--;
    if (place > 0 && own == merit(search, &orders[place - 1].best)) {
      arena_free(order.arena);
      continue;
    }
    for (uint32_t k = num_ranked++; k > place; k--)
      orders[k] = orders[k - 1];
    orders[place] = order;
  }
  return num_ranked;
}

/* Tries all orders, and those that came out best with more and more prices. */
static void try_orders(Search *search, const Line *given) {
  const SearchRules *rules = search->rules;
  uint32_t len = rules->keeps_order ? 1 : rules->is_thorough ? NUM_ORDERS : NUM_QUICK_ORDERS;
  Order orders[NUM_ORDERS] = {0};
  Trials trials = {.search = search, .given = given, .orders = orders};
  for (uint32_t i = 0; i < len && !has_ended(search); i++)
    add_trial(search, &trials,
              (Trial){.rules = &order_rules[i], .order = &orders[i], .prices = price_rules});
  run_trials(search, &trials);
  len = rank_orders(search, orders, len);
  size_t num_heats = rules->is_thorough ? sizeof heats / sizeof *heats : 0;
  for (size_t i = 0; i < num_heats; i++) {
    bool is_sure = search->best.fits;
    uint32_t num_prices = is_sure ? heats[i].num_prices : heats[i].num_unsure_prices;
    uint32_t num_orders = is_sure ? heats[i].num_orders : heats[i].num_unsure_orders;
    for (uint32_t k = 0; k < num_orders * num_prices && !has_ended(search); k++) {
      if (k / num_prices >= len) break;
      add_trial(search, &trials,
                (Trial){.order = &orders[k / num_prices],
                        .prices = &price_rules[heats[i].first_price + k % num_prices]});
    }
    run_trials(search, &trials);
    len = rank_orders(search, orders, len);
  }
  for (uint32_t i = 0; i < len; i++)
    arena_free(orders[i].arena);
}

static void free_candidates(Candidate *candidates, uint32_t len) {
  for (uint32_t i = 0; i < len; i++)
    arena_free(candidates[i].arena);
}

static void improve_all(Search *search) {
  for (uint32_t level = 0; level < (search->best.fits ? MAX_LEVELS : MAX_LEVELS_UNSURE); level++) {
    Candidate candidates[MAX_CANDIDATES];
    uint32_t len = search->num_candidates;
    double seconds = search->best.seconds;
    int64_t peak_bytes = search->best.peak_bytes;
    memcpy(candidates, search->candidates, sizeof candidates);
    search->num_candidates = 0;
    Trials trials = {.search = search, .level = level};
    for (uint32_t i = 0; i < len && !has_ended(search); i++)
      add_trial(search, &trials, (Trial){.improved = &candidates[i]});
    run_trials(search, &trials);
    free_candidates(candidates, len);
    bool is_same = seconds == search->best.seconds && peak_bytes == search->best.peak_bytes;
    if ((is_same && level > 0) || has_ended(search)) break;
  }
  free_candidates(search->candidates, search->num_candidates);
  search->num_candidates = 0;
}

/* ---- lines ---- */

static void hand_over_others(const Search *search, OtherLines *others, Arena *out) {
  others->len = 0;
  for (uint32_t i = 0; i < search->num_others; i++) {
    const PricedLine *other = &search->others[i].priced;
    bool is_best =
        other->seconds == search->best.seconds && other->peak_bytes == search->best.peak_bytes;
    if (is_best || others->len == MAX_OTHERS) continue;
    others->list[others->len] = *other;
    others->list[others->len++].line = line_copy(&other->line, out);
  }
}

PricedLine search_line(const Line *given, int64_t limit_bytes, const SearchRules *rules,
                       Patience *patience, OtherLines *others, Arena *out, Arena *scratch) {
  Search search = {
      .limit_bytes = limit_bytes, .rules = rules, .patience = patience, .scratch = scratch};
  Arena *arena = arena_new(arena_options(scratch));
  PricedLine unchanged = as_priced(&search, given, arena);
  keep_better(&search, &unchanged);
  search.usual_price =
      given->len ? unchanged.seconds / ((double)unchanged.peak_bytes * given->len) : 0;
  if (!unchanged.fits) try_orders(&search, given);
  improve_all(&search);
  arena_free(arena);
  PricedLine best = search.best;
  best.line = line_copy(&search.best.line, out);
  if (others) hand_over_others(&search, others, out);
  free_candidates(search.others, search.num_others);
  arena_free(search.best_arena);
  return best;
}

PricedLine search_with_half(LineSearch *run, const Line *given, int64_t bytes,
                            const SearchRules *rules, Patience *patience, OtherLines *others,
                            Arena *out, Arena *scratch) {
  Patience half = patience_part(patience, patience_steps_left(patience) / 2);
  PricedLine found = run(given, bytes, rules, &half, others, out, scratch);
  patience_join(patience, &half);
  return found;
}

PricedLine search_lowest(const Line *given, int64_t least_bytes, const SearchRules *rules,
                         Patience *patience, OtherLines *others, Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  LineMemory memory = line_measure(given, arena);
  int64_t low = given->graph->held_bytes, high = memory.peak_bytes;
  if (low < least_bytes) low = least_bytes;
  SearchRules quick = *rules;
  quick.is_thorough = false;
  Search search = {.scratch = scratch, .limit_bytes = INT64_MAX};
  PricedLine unchanged = as_priced(&search, given, arena);
  unchanged.fits = false; /* compared by peak */
  keep_better(&search, &unchanged);
  for (int i = 0; i < LOWEST_STEPS && low < high && !patience_is_over(patience); i++) {
    int64_t middle = low + (high - low) / 2;
    PricedLine found =
        search_with_half(search_line, given, middle, &quick, patience, NULL, arena, scratch);
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
  PricedLine best =
      search_line(given, search.best.peak_bytes, rules, patience, others, out, scratch);
  if (!best.fits) best = search.best;
  best.line = line_copy(&best.line, out);
  arena_free(arena);
  arena_free(search.best_arena);
  return best;
}

/* ---- order alone ---- */

/* The best of all orders under one limit, and of it with less excess. Returns whether it fits. */
static bool try_orders_alone(Search *search, const Line *given) {
  static const HoistRules again = {true, true, true, 2};
  for (uint32_t number = 1; number < NUM_ORDERS && !patience_is_over(search->patience); number++) {
    Arena *arena = arena_new(arena_options(search->scratch));
    bool is_new;
    Line order = make_order(search, given, &order_rules[number], search->patience, &is_new, arena,
                            search->scratch);
    for (int pass = 0; is_new && pass < 2; pass++) {
      if (pass)
        order =
            hoist(&order, search->limit_bytes, &again, search->patience, arena, search->scratch);
      PricedLine found = as_priced(search, &order, arena);
      found.fits = false; /* compared by peak */
      keep_better(search, &found);
    }
    arena_free(arena);
    if (search->best.peak_bytes <= search->limit_bytes) return true;
  }
  return false;
}

PricedLine search_lowest_order(const Line *given, Patience *patience, Arena *out, Arena *scratch) {
  static const SearchRules rules = {.is_thorough = true};
  Search search = {
      .limit_bytes = INT64_MAX, .rules = &rules, .patience = patience, .scratch = scratch};
  Arena *arena = arena_new(arena_options(scratch));
  PricedLine unchanged = as_priced(&search, given, arena);
  unchanged.fits = false;
  keep_better(&search, &unchanged);
  int64_t low = given->graph->held_bytes, high = unchanged.peak_bytes;
  for (int i = 0; i < LOWEST_STEPS && low < high && !patience_is_over(patience); i++) {
    search.limit_bytes = low + (high - low) / 2;
    if (!try_orders_alone(&search, given)) low = search.limit_bytes;
    if (search.best.peak_bytes < high) high = search.best.peak_bytes;
  }
  PricedLine best = search.best;
  best.line = line_copy(&search.best.line, out);
  arena_free(search.best_arena);
  arena_free(arena);
  return best;
}

/* ---- called computations ---- */

void search_measure_callees(const SearchContext *context, int64_t *inner_bytes, Arena *scratch) {
  const CallGraph *calls = &context->values.graph;
  for (uint32_t i = 0; i < calls->num_reachable; i++) {
    CompId comp = calls->post_order[i];
    if (!comp_is_sequential(calls, comp) || context->job->schedule->of[comp].len == 0) continue;
    Arena *arena = arena_new(arena_options(scratch));
    SearchGraph graph = search_graph_build(context, comp, arena, scratch);
    Line line = line_of_graph(&graph, arena);
    inner_bytes[comp] = line_measure(&line, arena).peak_bytes;
    arena_free(arena);
  }
}
