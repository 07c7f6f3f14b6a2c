#include "remat/search/trial.h"

#include <assert.h>

#include "ir/parallel.h"
#include "remat/search/hoist.h"
#include "remat/search/mend.h"
#include "remat/search/post_order.h"
#include "remat/search/trim.h"
#include "remat/search/updates.h"

/* The first one finds what is between the equal decisions about values that are alike. */
static const PriceRules price_rules[NUM_PRICE_RULES] = {
    {.num_rounds = 48, .rate = 0.5, .gain = 10, .spread = 0.1, .passing = 1},
    {.num_rounds = 48, .rate = 0.3, .gain = 3},
    {.num_rounds = 48, .rate = 0.5, .gain = 10, .passing = 1},
    {.num_rounds = 48, .rate = 0.5, .gain = 10},
    {.num_rounds = 300, .rate = 0.3, .gain = 3, .passing = 1},
    {.num_rounds = 300, .rate = 0.5, .gain = 1},
    {.num_rounds = 300, .rate = 0.5, .gain = 10, .spread = 0.1},
};
enum {
  FIRST_IMPROVING = 1, /* with these, lines are improved */
  NUM_IMPROVING = 3,
};
static_assert(FIRST_IMPROVING + NUM_IMPROVING <= FIRST_LONG_PRICES, "lines are improved quickly");

typedef Line OrderRule(const Line *line, bool *has_moved, Arena *out, Arena *scratch);

/* The ways to hoist an order. */
#define CONES \
  { .moves_cones = true, .num_sweeps = 4 }
#define TOLERANT_CONES \
  { .moves_cones = true, .is_tolerant = true, .num_sweeps = 4 }
#define FREE_CONES \
  { .moves_cones = true, .frees_sources = true, .num_sweeps = 4 }
#define TOLERANT_FREE_CONES \
  { .moves_cones = true, .is_tolerant = true, .frees_sources = true, .num_sweeps = 4 }
#define STEPS \
  { .num_sweeps = 4 }
#define FREE_STEPS \
  { .frees_sources = true, .num_sweeps = 4 }

/* An order to decide in: the given one, that with other places for updates, or one that does not
 * depend on it, hoisted or not. */
typedef struct OrderRules {
  OrderRule *change; /* NULL = none */
  double share;      /* of the limit, that it is hoisted to; 0 = it is not hoisted */
  HoistRules hoisting;
} OrderRules;

/* None of them is the best one everywhere. An order for a lower limit may leave less to be computed
 * again than one that is just good enough. A new row goes to the end, as the first ones are those
 * of quick searches. */
static const OrderRules order_rules[NUM_ORDER_RULES] = {
    {.share = 0},
    {.change = line_with_late_updates, .share = 1, .hoisting = CONES},
    {.share = 1, .hoisting = TOLERANT_FREE_CONES},
    {.share = 1, .hoisting = CONES},
    {.change = line_with_eager_updates, .share = 1, .hoisting = CONES},
    {.change = line_with_late_updates, .share = 1, .hoisting = TOLERANT_FREE_CONES},
    {.change = line_with_late_updates, .share = 0},
    {.share = 1, .hoisting = TOLERANT_CONES},
    {.share = 1, .hoisting = FREE_CONES},
    {.share = 1, .hoisting = FREE_STEPS},
    {.share = 1, .hoisting = STEPS},
    {.change = line_with_early_updates, .share = 1, .hoisting = CONES},
    {.change = line_with_early_updates, .share = 1, .hoisting = TOLERANT_FREE_CONES},
    {.change = line_with_eager_updates, .share = 1, .hoisting = TOLERANT_FREE_CONES},
    {.change = line_with_eager_updates, .share = 0},
    {.change = line_in_post_order, .share = 1, .hoisting = CONES},
    {.change = line_in_post_order, .share = 1, .hoisting = TOLERANT_FREE_CONES},
    {.change = line_with_late_updates, .share = 0.85, .hoisting = CONES},
    {.share = 0.85, .hoisting = TOLERANT_FREE_CONES},
    {.share = 0.85, .hoisting = CONES},
};

/* ---- one trial ---- */

static void add_found(Trial *trial, const PricedLine *priced, bool is_end) {
  trial->found[trial->num_found] = *priced;
  trial->is_end[trial->num_found++] = is_end;
}

PricedLine trial_mended(const Goal *goal, const PricedLine *priced, Patience *patience, Arena *out,
                        Arena *scratch) {
  PricedLine mended = *priced;
  const RematParameters *parameters = priced->line.graph->parameters;
  for (int i = 0; i < parameters->search_mend_passes && mended.excess > 0; i++) {
    double before = mended.excess;
    Line line = line_mended(&mended.line, goal->limit_bytes, goal->rules->keeps_order, patience,
                            out, scratch);
    mended = priced_measure(&line, goal->limit_bytes, scratch);
    if (mended.excess > 0.8 * before) break;
  }
  return priced_trimmed(&mended.line, goal->limit_bytes, patience, out, scratch);
}

/* Decides what an order recomputes. What exceeds the limit by little is mended as well, if the
 * trial goes on from a line, and unless it takes more time than the best one. */
static void price(const Goal *goal, Trial *trial, const Line *order, uint32_t prices, Arena *out,
                  Arena *scratch) {
  PricedLine found = price_line(order, goal->limit_bytes, &price_rules[prices],
                                goal->rules->keeps_order, &trial->patience, out, scratch);
  add_found(trial, &found, false);
  double mendable = (double)order->graph->parameters->search_mendable;
  bool may_mend = trial->kind == TRIAL_IMPROVE && !found.fits &&
                  found.excess * mendable < goal->given_excess &&
                  (!goal->has_fit || found.seconds < goal->seconds);
  if (!may_mend) return;
  PricedLine mended = trial_mended(goal, &found, &trial->patience, out, scratch);
  add_found(trial, &mended, !mended.fits);
}

static int64_t share_of(const Goal *goal, double share) {
  return share < 1 ? (int64_t)((double)goal->limit_bytes * share) : goal->limit_bytes;
}

Line trial_make_order(const Goal *goal, const Line *given, uint32_t number, Patience *patience,
                      bool *is_new, Arena *out, Arena *scratch) {
  const OrderRules *rules = &order_rules[number];
  *is_new = true;
  if (goal->rules->keeps_order) return *given;
  Line line = line_settled(given, false, out, scratch);
  if (rules->change) line = rules->change(&line, is_new, out, scratch);
  if (rules->share <= 0 || !*is_new) return line;
  return hoist(&line, share_of(goal, rules->share), &rules->hoisting, patience, out, scratch);
}

/* Different rules may lead to the same order, which is priced once. */
static bool is_known(const Trials *trials, const Line *line) {
  for (uint32_t i = 0; i < NUM_ORDER_RULES; i++) {
    if (trials->orders[i].arena && line_equals(&trials->orders[i].line, line)) return true;
  }
  return false;
}

static void try_rules(const Trials *trials, Trial *trial, Arena *out, Arena *scratch) {
  bool is_new;
  trial->line = trial_make_order(&trials->goal, trials->given, trial->rules, &trial->patience,
                                 &is_new, out, scratch);
  trial->num_spent_on_order = trial->patience.num_spent;
  if (is_new && !is_known(trials, &trial->line))
    price(&trials->goal, trial, &trial->line, trial->prices, out, scratch);
}

/* A first run may come after what overwrites the first run that it reads. Prices lead to another
 * run for it to read, most often. */
static void drop_invalid(Trial *trial, uint32_t first, Arena *scratch) {
  uint32_t num_kept = first;
  for (uint32_t i = first; i < trial->num_found; i++) {
    if (!line_is_valid(&trial->found[i].line, scratch)) continue;
    trial->found[num_kept] = trial->found[i];
    trial->is_end[num_kept++] = trial->is_end[i];
  }
  trial->num_found = num_kept;
}

/* Goes on from a line in an order that has less excess, with the line's runs as the steps. A line
 * that fits is ordered for a lower limit, so that some of its runs turn out unnecessary. If it fits
 * then, this is a new order for the original steps as well, in which all is decided again. */
static void improve(const Goal *goal, Trial *trial, Arena *out, Arena *scratch) {
  static const HoistRules rules[] = {
      {.moves_cones = true, .num_sweeps = 2},
      {.moves_cones = true, .is_tolerant = true, .frees_sources = true, .num_sweeps = 2}};
  static const double lower[] = {0.97, 0.9, 0.8, 0.95};
  uint32_t num_lower = sizeof lower / sizeof *lower;
  uint32_t prices = FIRST_IMPROVING + trial->level % NUM_IMPROVING;
  double share = trial->improved->fits ? lower[trial->level % num_lower] : 1;
  Line order = trial->improved->line;
  if (!goal->rules->keeps_order)
    order = hoist(&order, share_of(goal, share), &rules[trial->level & 1], &trial->patience, out,
                  scratch);
  PricedLine ordered = priced_measure(&order, goal->limit_bytes, scratch);
  if (ordered.fits) {
    ordered = priced_trimmed(&order, goal->limit_bytes, &trial->patience, out, scratch);
    add_found(trial, &ordered, false);
    if (goal->rules->keeps_order) return;
    order = line_of_first_runs(&order, out);
  }
  uint32_t num_known = trial->num_found;
  price(goal, trial, &order, prices, out, scratch);
  if (order.graph->has_overwriters && ordered.fits) drop_invalid(trial, num_known, scratch);
}

/* A task. */
static void run_trial(void *context, uint32_t number, Arena *out, Arena *scratch) {
  Trials *trials = context;
  Trial *trial = &trials->list[number];
  trial->num_found = 0;
  switch (trial->kind) {
    case TRIAL_RULES: try_rules(trials, trial, out, scratch); break;
    case TRIAL_ORDER:
      price(&trials->goal, trial, &trial->order->line, trial->prices, out, scratch);
      break;
    case TRIAL_IMPROVE: improve(&trials->goal, trial, out, scratch); break;
  }
}

/* ---- side by side ---- */

/* Runs one trial with the steps that are left, unless it has run already, and spent no more. */
static void conclude(Trials *trials, uint32_t number, bool has_run, Arena *out) {
  Trial *trial = &trials->list[number];
  uint64_t num_steps = patience_steps_left(trials->patience);
  /* By itself it would have seen that an order beside it is the same. */
  if (trial->num_found && trial->kind == TRIAL_RULES && is_known(trials, &trial->line)) {
    trial->num_found = 0;
    trial->patience.num_spent = trial->num_spent_on_order;
  }
  if (!has_run || trial->patience.num_spent > num_steps) {
    trial->patience = patience_part(trials->patience, num_steps);
    run_trial(trials, number, out, trials->scratch);
  }
  patience_join(trials->patience, &trial->patience);
}

/* Threads run all trials with all steps in advance: most often that is what would have happened in
 * turn. */
void trials_run(Trials *trials, TrialKeepFn *keep, void *context) {
  Arena *outs[NUM_TRIALS];
  unsigned num_threads = trials->goal.rules->num_threads;
  bool are_run = num_threads > 1;
  uint64_t num_steps = patience_steps_left(trials->patience);
  for (uint32_t i = 0; i < trials->len; i++) {
    trials->list[i].patience = patience_part(trials->patience, num_steps);
    outs[i] = arena_new(arena_options(trials->scratch));
  }
  if (are_run) run_tasks(num_threads, trials->len, run_trial, trials, outs, trials->scratch);
  for (uint32_t i = 0; i < trials->len; i++) {
    if (patience_steps_left(trials->patience) > 0) {
      conclude(trials, i, are_run, outs[i]);
      keep(context, &trials->list[i]);
    }
    arena_free(outs[i]);
  }
  trials->len = 0;
}
