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

/* ---- the moves of a trial ---- */

static void add_found(Trial *trial, const ScoredLine *scored, bool is_end) {
  trial->found[trial->num_found] = *scored;
  trial->is_end[trial->num_found++] = is_end;
}

/* A trial that runs: the order that its moves have come to, and how it was measured if it is
 * hoisted from a line. */
typedef struct TrialRun {
  const Trials *trials;
  const Goal *goal;
  Trial *trial;
  Line order;
  ScoredLine hoisted;
  uint32_t price_rules; /* number of those that the order is priced by */
  uint32_t num_known;   /* lines found before the order was priced */
  Arena *out, *scratch;
} TrialRun;

/* A row of the table of moves. `apply` returns false where the trial ends. */
typedef struct TrialMove {
  unsigned kinds;                         /* of trials that have it, a bit for each */
  bool (*is_of_use)(const TrialRun *run); /* NULL = always */
  bool (*apply)(TrialRun *run);
} TrialMove;

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

/* The order that rules make of the given line. */
static bool make_order(TrialRun *run) {
  Trial *trial = run->trial;
  bool is_new;
  trial->line = trial_make_order(run->goal, run->trials->given, trial->order_rules,
                                 &trial->patience, &is_new, run->out, run->scratch);
  trial->num_spent_on_order = trial->patience.num_spent;
  run->order = trial->line;
  return is_new && !is_known(run->trials, &trial->line);
}

static bool take_order(TrialRun *run) {
  run->order = run->trial->order->line;
  return true;
}

/* Orders a line anew, with its runs as the steps, so that it has less excess; one that fits for a
 * lower limit, so that some of its runs turn out unnecessary. */
static bool hoist_again(TrialRun *run) {
  static const HoistRules rules[] = {
      {.moves_cones = true, .num_sweeps = 2},
      {.moves_cones = true, .is_tolerant = true, .frees_sources = true, .num_sweeps = 2}};
  static const double lower[] = {0.97, 0.9, 0.8, 0.95};
  uint32_t num_lower = sizeof lower / sizeof *lower;
  const Goal *goal = run->goal;
  Trial *trial = run->trial;
  double share = trial->improved->score.is_met ? lower[trial->level % num_lower] : 1;
  run->price_rules = FIRST_IMPROVING + trial->level % NUM_IMPROVING;
  run->order = trial->improved->line;
  if (!goal->rules->keeps_order)
    run->order = hoist(&run->order, share_of(goal, share), &rules[trial->level & 1],
                       &trial->patience, run->out, run->scratch);
  run->hoisted = scored_measure(&run->order, goal->limit_bytes, run->scratch);
  return true;
}

static bool has_hoisted(const TrialRun *run) {
  return run->hoisted.score.is_met;
}

/* Takes back runs that are not needed. If the hoisted line fits, it is a new order for the original
 * steps as well, in which all is decided again. */
static bool trim(TrialRun *run) {
  Trial *trial = run->trial;
  ScoredLine trimmed =
      scored_trimmed(&run->order, run->goal->limit_bytes, &trial->patience, run->out, run->scratch);
  add_found(trial, &trimmed, false);
  if (run->goal->rules->keeps_order) return false;
  run->order = line_of_first_runs(&run->order, run->out);
  run->num_known = trial->num_found;
  return true;
}

/* Decides what an order recomputes. */
static bool price(TrialRun *run) {
  ScoredLine found =
      price_line(&run->order, run->goal->limit_bytes, &price_rules[run->price_rules],
                 run->goal->rules->keeps_order, &run->trial->patience, run->out, run->scratch);
  add_found(run->trial, &found, false);
  return true;
}

/* What exceeds the limit by little is mended as well, unless it takes more time than the best line.
 */
static bool is_mendable(const TrialRun *run) {
  const Goal *goal = run->goal;
  const ScoredLine *scored = &run->trial->found[run->trial->num_found - 1];
  double mendable = (double)scored->line.graph->parameters->search_mendable;
  return !scored->score.is_met && scored->excess * mendable < goal->given_excess &&
         (!goal->best.is_met || scored->score.seconds < goal->best.seconds);
}

ScoredLine trial_mended(const Goal *goal, const ScoredLine *scored, Patience *patience, Arena *out,
                        Arena *scratch) {
  ScoredLine mended = *scored;
  const RematParameters *parameters = scored->line.graph->parameters;
  for (int i = 0; i < parameters->search_mend_passes && mended.excess > 0; i++) {
    double before = mended.excess;
    Line line = line_mended(&mended.line, goal->limit_bytes, goal->rules->keeps_order, patience,
                            out, scratch);
    mended = scored_measure(&line, goal->limit_bytes, scratch);
    if (mended.excess > 0.8 * before) break;
  }
  return scored_trimmed(&mended.line, goal->limit_bytes, patience, out, scratch);
}

static bool mend(TrialRun *run) {
  Trial *trial = run->trial;
  ScoredLine mended = trial_mended(run->goal, &trial->found[trial->num_found - 1], &trial->patience,
                                   run->out, run->scratch);
  add_found(trial, &mended, !mended.score.is_met);
  return true;
}

static bool may_be_invalid(const TrialRun *run) {
  return run->order.graph->has_overwriters && run->hoisted.score.is_met;
}

/* A first run may come after what overwrites the first run that it reads. Prices lead to another
 * run for it to read, most often. */
static bool drop_invalid(TrialRun *run) {
  Trial *trial = run->trial;
  uint32_t num_kept = run->num_known;
  for (uint32_t i = run->num_known; i < trial->num_found; i++) {
    if (!line_is_valid(&trial->found[i].line, run->scratch)) continue;
    trial->found[num_kept] = trial->found[i];
    trial->is_end[num_kept++] = trial->is_end[i];
  }
  trial->num_found = num_kept;
  return true;
}

#define NEW_ORDER (1u << TRIAL_NEW_ORDER)
#define KNOWN_ORDER (1u << TRIAL_KNOWN_ORDER)
#define IMPROVING (1u << TRIAL_IMPROVE)

/* What is done in a trial, from the first row to the last one. */
static const TrialMove moves[] = {
    {.kinds = NEW_ORDER, .apply = make_order},
    {.kinds = KNOWN_ORDER, .apply = take_order},
    {.kinds = IMPROVING, .apply = hoist_again},
    {.kinds = IMPROVING, .is_of_use = has_hoisted, .apply = trim},
    {.kinds = NEW_ORDER | KNOWN_ORDER | IMPROVING, .apply = price},
    {.kinds = IMPROVING, .is_of_use = is_mendable, .apply = mend},
    {.kinds = IMPROVING, .is_of_use = may_be_invalid, .apply = drop_invalid},
};

/* A task. */
static void run_trial(void *context, uint32_t number, Arena *out, Arena *scratch) {
  Trials *trials = context;
  Trial *trial = &trials->list[number];
  TrialRun run = {.trials = trials,
                  .goal = &trials->goal,
                  .trial = trial,
                  .price_rules = trial->price_rules,
                  .out = out,
                  .scratch = scratch};
  trial->num_found = 0;
  for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
    const TrialMove *move = &moves[i];
    if (!(move->kinds & 1u << trial->kind) || (move->is_of_use && !move->is_of_use(&run))) continue;
    if (!move->apply(&run)) return;
  }
}

/* ---- side by side ---- */

/* Runs one trial with the steps that are left, unless it has run already, and spent no more. */
static void conclude(Trials *trials, uint32_t number, bool has_run, Arena *out) {
  Trial *trial = &trials->list[number];
  uint64_t num_steps = patience_steps_left(trials->patience);
  /* By itself it would have seen that an order beside it is the same. */
  if (trial->num_found && trial->kind == TRIAL_NEW_ORDER && is_known(trials, &trial->line)) {
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
