#include "remat/engine/scans_internal.h"

#include <math.h>
#include <stdlib.h>

#include "remat/engine/judge.h"
#include "remat/job/drive.h"
#include "remat/scan/segment.h"
#include "remat/scan/unroll.h"

enum {
  MAX_FINISHED = 3, /* variants on which an algorithm runs, as loops alone do not do */
  OTHERS_PART = 4,  /* of the steps of a whole run, as a divisor, for all but the first of these */
  MAX_ALIKE = 2,    /* of these, with the same loops cut */
  NUM_SEGMENT_LENGTHS = 3,
  MOST_SEGMENT_PRICES = 8, /* at which loops in segments are tried */
  FAR = 2, /* times the budget, of a variant that needs too much for parts of it to do */
};

static VariantGoal goal_at(const Scans *scans, uint32_t price) {
  return (VariantGoal){.price = scans->prices.data[price],
                       .algorithm = scans->problem->request->algorithm,
                       .opened = scans->opened};
}

/* Whether a variant alone meets the budget. */
static bool try_and_keep(Scans *scans, const VariantGoal *goal) {
  return scans_try_goal(scans, goal, remat_algorithm_find("none"), 1);
}

/* Changes a goal to the one with some number. */
typedef void SetNumber(const Scans *scans, VariantGoal *goal, uint32_t number);

static void set_price(const Scans *scans, VariantGoal *goal, uint32_t price) {
  goal->price = scans->prices.data[price];
}

static void set_most_cut(const Scans *scans, VariantGoal *goal, uint32_t most_cut) {
  (void)scans;
  goal->most_cut = most_cut;
}

/* Finds the least number from `low` on with which a variant meets the budget, given that it does
 * with `*number`. The goal then has it. */
static void find_least(Scans *scans, SetNumber *set, VariantGoal *goal, uint32_t low,
                       uint32_t *number) {
  while (low < *number) {
    uint32_t middle = low + (*number - low) / 2;
    set(scans, goal, middle);
    if (try_and_keep(scans, goal)) {
      *number = middle;
    } else {
      low = middle + 1;
    }
  }
  set(scans, goal, *number);
}

/* ---- between two prices ---- */

/* A value that is stored below a price, and not at it. */
typedef struct Difference {
  uint32_t border, value;
  double gain; /* seconds per byte that storing it saves, at least */
} Difference;

typedef struct Differences {
  VEC(Difference) list;
} Differences;

static int by_gain(const void *pa, const void *pb) {
  const Difference *a = pa, *b = pb;
  if (a->gain != b->gain) return a->gain > b->gain ? -1 : 1;
  if (a->border != b->border) return a->border < b->border ? -1 : 1;
  return (a->value > b->value) - (a->value < b->value);
}

/* To compute again can be faster than to store, which shows in the whole only: also tries higher
 * prices than the budget asks for. */
static bool try_higher(void *of, uint32_t number) {
  Scans *scans = of;
  uint32_t higher = (uint32_t)scans->problem->parameters.scan_higher;
  uint32_t last = scans->prices.len - 1, price = scans->least_price;
  uint32_t step = higher ? (last - price) / higher + 1 : last;
  if (price + (number + 1) * (uint64_t)step >= last) return false;
  VariantGoal goal = goal_at(scans, price + (number + 1) * step);
  (void)try_and_keep(scans, &goal);
  return true;
}

static bool *const *kept_first(const Scans *scans, const Difference *differences, uint32_t len) {
  uint32_t num_borders = scans->module.borders.len;
  bool **is_kept = arena_array(scans->arena, bool *, num_borders);
  for (uint32_t b = 0; b < num_borders; b++)
    is_kept[b] = arena_zarray(scans->arena, bool, scans->module.borders.data[b].list.len);
  for (uint32_t i = 0; i < len; i++)
    is_kept[differences[i].border][differences[i].value] = true;
  return is_kept;
}

/* The values that are stored below a price and not at it. */
static Differences differences_at(const Scans *scans, uint32_t price) {
  Differences differences = {0};
  Arena *scratch = scans->problem->scratch;
  for (uint32_t b = 0; price > 0 && b < scans->module.borders.len; b++) {
    const ScanValues *values = &scans->module.borders.data[b];
    ScanChoice low =
        scan_choose(values, scans->prices.data[price - 1], NULL, scans->arena, scratch);
    ScanChoice high = scan_choose(values, scans->prices.data[price], NULL, scans->arena, scratch);
    for (uint32_t v = 0; v < values->list.len; v++) {
      const ScanValue *value = &values->list.data[v];
      if (low.fate[v] != SCAN_STORED || high.fate[v] != SCAN_RECOMPUTED) continue;
      double gain = value->seconds / (double)(value->bytes > 0 ? value->bytes : 1);
      *vec_push(scans->arena, &differences.list) = (Difference){b, v, gain};
    }
  }
  return differences;
}

/* Stores some of what the next lower price stores, as much as the budget allows. */
static bool fill_up(void *of, uint32_t number) {
  Scans *scans = of;
  (void)number;
  Differences found = differences_at(scans, scans->least_price);
  if (found.list.len < 2) return false;
  qsort(found.list.data, found.list.len, sizeof *found.list.data, by_gain);
  uint32_t low = 0, high = found.list.len - 1; /* met with `low` of them */
  while (low < high) {
    uint32_t middle = low + (high - low + 1) / 2;
    VariantGoal goal = goal_at(scans, scans->least_price);
    goal.is_kept = kept_first(scans, found.list.data, middle);
    if (try_and_keep(scans, &goal)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return true;
}

/* ---- a part of what loops can free ---- */

static int64_t stacked_bytes(const Scans *scans, uint32_t price) {
  int64_t bytes = 0;
  for (uint32_t b = 0; b < scans->module.borders.len; b++) {
    bytes += scan_choose(&scans->module.borders.data[b], scans->prices.data[price], NULL,
                         scans->arena, scans->problem->scratch)
                 .bytes;
  }
  return bytes;
}

/* Variants that free a quarter, a half and three quarters of what loops can free, for an algorithm
 * to do the rest; but a budget that is far below what the highest price comes to, which was tried
 * first, asks for all of it. Loops that are alike change at one price; some of them then store what
 * they store below it. */
static bool try_parts(void *of, uint32_t number) {
  static const double parts[] = {0.5, 0.25, 0.75};
  Scans *scans = of;
  (void)number;
  int64_t limit_bytes = scans->problem->options->limit_bytes;
  if (scans->unfinished.len == 0 || scans->unfinished.data[0].bytes / FAR > limit_bytes)
    return false;
  uint32_t last = scans->prices.len - 1;
  int64_t *bytes_at = arena_array(scans->arena, int64_t, last + 1);
  for (uint32_t i = 0; i <= last; i++)
    bytes_at[i] = stacked_bytes(scans, i);
  int64_t most = bytes_at[0], least = bytes_at[last];
  for (size_t i = 0; last > 0 && most > least && i < sizeof parts / sizeof *parts; i++) {
    int64_t wanted = most - (int64_t)(parts[i] * (double)(most - least));
    uint32_t price = 0;
    while (bytes_at[price] > wanted)
      price++;
    int64_t bytes = bytes_at[price];
    Differences found = differences_at(scans, price); /* loop by loop */
    uint32_t num_kept = 0;
    for (; num_kept < found.list.len; num_kept++) {
      Difference *kept = &found.list.data[num_kept];
      bytes += scans->module.borders.data[kept->border].list.data[kept->value].bytes;
      if (bytes > wanted) break;
    }
    VariantGoal goal = goal_at(scans, price);
    goal.is_kept = kept_first(scans, found.list.data, num_kept);
    (void)try_and_keep(scans, &goal);
  }
  return true;
}

/* ---- segments ---- */

/* In segments, less may need to be computed again. */
static void lower_segment_price(Scans *scans, VariantGoal *goal) {
  uint32_t step = (scans->prices.len - 1) / MOST_SEGMENT_PRICES + 1;
  goal->is_lean = false;
  for (uint32_t i = 0; i < MOST_SEGMENT_PRICES && i * step + 1 < scans->prices.len; i++) {
    goal->price = scans->prices.data[i * step];
    if (try_and_keep(scans, goal)) break;
  }
}

/* Cuts loops into segments, which frees more than the highest price, and takes the time to run the
 * forward loops once more. */
static bool try_segments(void *of, uint32_t number) {
  static const double lengths[NUM_SEGMENT_LENGTHS] = {1, 2, 0.5};
  Scans *scans = of;
  VariantGoal goal = goal_at(scans, scans->prices.len - 1);
  goal.segment = lengths[number];
  goal.is_lean = true;
  bool is_met = try_and_keep(scans, &goal);
  if (!is_met && number == 0 && scans->num_cut > 1) { /* the rest is left to an algorithm */
    goal.most_cut = scans->num_cut / 2;
    is_met = try_and_keep(scans, &goal);
  }
  if (!is_met) return true;
  uint32_t num_cut = scans->num_cut; /* by the variant that was tried last */
  find_least(scans, set_most_cut, &goal, 1, &num_cut);
  lower_segment_price(scans, &goal);
  return true;
}

/* Cuts loops after they compute all again that they can. */
static bool try_result_segments(void *of, uint32_t number) {
  Scans *scans = of;
  VariantGoal goal = goal_at(scans, scans->prices.len - 1);
  (void)number;
  goal.segment = 1;
  goal.cuts_results = true;
  if (!try_and_keep(scans, &goal)) return true;
  uint32_t num_cut = scans->num_cut;
  find_least(scans, set_most_cut, &goal, 1, &num_cut);
  return true;
}

/* The algorithm that recomputes within the loops if a variant alone does not meet the budget. The
 * algorithm `scan` leaves that to `path`, unless there is no budget to meet: as low as possible
 * then means as low as loops alone go. */
static const RematAlgorithm *finisher_of(const Problem *problem) {
  const RematAlgorithm *algorithm = problem->request->algorithm;
  if (algorithm->run != remat_none) return algorithm;
  return problem->options->limit_bytes > 0 ? remat_algorithm_find("path") : NULL;
}

static int by_promise(const void *pa, const void *pb) {
  const Unfinished *a = pa, *b = pb;
  if (a->promise != b->promise) return a->promise > b->promise ? 1 : -1;
  if (a->num_cut != b->num_cut) return a->num_cut < b->num_cut ? 1 : -1;
  return (a->number > b->number) - (a->number < b->number);
}

/* Whether a variant may still become the best result: what an algorithm recomputes only adds to its
 * time. */
static bool may_be_best(const Scans *scans, const Unfinished *unfinished) {
  return !scans->best->attempt.score.is_met ||
         unfinished->seconds < judge_score(&scans->best->attempt, &scans->best->problem).seconds;
}

/* Whether an algorithm has run on the same variant, or on two with as many loops cut: what it makes
 * of those is alike. */
static bool is_like(const Unfinished *one, const Unfinished *const *run, uint32_t num_run) {
  uint32_t num_alike = 0;
  for (uint32_t i = 0; i < num_run; i++) {
    if (run[i]->promise == one->promise) return true;
    num_alike += run[i]->num_cut == one->num_cut;
  }
  return num_alike >= MAX_ALIKE;
}

/* Runs an algorithm on the most promising variants that do not meet the budget. The first one takes
 * all steps. Where the effort follows from the size, which is for compilations, one that meets the
 * budget ends that: others could only take less time, which costs time to find out. */
static bool try_finished(void *of, uint32_t number) {
  Scans *scans = of;
  Unfinished *list = scans->unfinished.data;
  const Unfinished *run[MAX_FINISHED];
  bool is_short = patience_effort(scans->problem->patience) == RH_EFFORT_BY_SIZE;
  uint32_t num_run = 0;
  (void)number;
  if (!scans->finisher || scans->unfinished.len == 0) return false;
  qsort(list, scans->unfinished.len, sizeof *list, by_promise);
  for (uint32_t i = 0; i < scans->unfinished.len && num_run < MAX_FINISHED; i++) {
    if (is_short && num_run && scans->best->attempt.score.is_met) break;
    if (is_like(&list[i], run, num_run) || !may_be_best(scans, &list[i])) continue;
    if (num_run == 1) problem_renew_patience(scans->problem, OTHERS_PART);
    run[num_run++] = &list[i];
    uint32_t divisor = num_run == 1 ? 1 : MAX_FINISHED + 1 - num_run;
    (void)scans_try_goal(scans, &list[i].goal, scans->finisher, divisor);
  }
  return true;
}

/* ---- loops that are written out ---- */

/* Writes out loops that stack values in other steps than those that read them. What the steps
 * compute is then in one sequence, where the algorithm may recompute it. */
static bool try_unrolled(void *of, uint32_t number) {
  Scans *scans = of;
  const Problem *problem = scans->problem;
  IdVec loops =
      scan_misaligned(&scans->module, problem->parameters.scan_unroll, scans->arena, scans->arena);
  (void)number;
  if (loops.len == 0) return false;
  problem_renew_patience(problem, 1);
  VariantGoal goal = {.price = INFINITY,
                      .algorithm = problem->request->algorithm,
                      .unrolls = true,
                      .opened = scans->opened};
  bool is_met = try_and_keep(scans, &goal);
  if (!is_met && scans->finisher) (void)scans_try_goal(scans, &goal, scans->finisher, 1);
  return true;
}

/* ---- the search ---- */

static bool is_missed(void *of) {
  return !((Scans *)of)->best->attempt.score.is_met;
}

static bool has_not_failed(const void *of) {
  return ((const Scans *)of)->status == RH_OK;
}

/* At the highest price, loops compute as much again as they can. */
static bool try_highest_price(void *of, uint32_t number) {
  Scans *scans = of;
  const Problem *problem = scans->problem;
  (void)number;
  problem_renew_patience(problem, 1);
  scans->prices = scan_prices(&scans->module, (uint32_t)problem->parameters.scan_prices,
                              scans->arena, problem->scratch);
  VariantGoal goal = goal_at(scans, scans->prices.len - 1);
  (void)try_and_keep(scans, &goal);
  return true;
}

static bool try_lower_prices(void *of, uint32_t number) {
  Scans *scans = of;
  (void)number;
  scans->least_price = scans->prices.len - 1;
  VariantGoal goal = goal_at(scans, scans->least_price);
  find_least(scans, set_price, &goal, 0, &scans->least_price);
  return true;
}

/* Inner loops that the first round has brought beside each other are rewritten in the second one,
 * which frees more than the first one alone, and takes more time. */
static bool try_first_round(void *of, uint32_t number) {
  Scans *scans = of;
  const ScanSteps *steps = &scans->best->variant.steps;
  bool has_further = false;
  (void)number;
  for (uint32_t i = 0; i < steps->list.len; i++)
    has_further |= steps->list.data[i].round > 0;
  if (!has_further) return false;
  uint32_t price = scans->prices.len - 1;
  VariantGoal goal = goal_at(scans, price);
  goal.most_rounds = 1;
  if (try_and_keep(scans, &goal)) find_least(scans, set_price, &goal, 0, &price);
  return true;
}

static bool try_lean(void *of, uint32_t number) {
  Scans *scans = of;
  (void)number;
  VariantGoal goal = goal_at(scans, scans->prices.len - 1);
  goal.is_lean = true;
  (void)try_and_keep(scans, &goal);
  return true;
}

/* Of loops that stack values for others. The highest price shows whether the budget can be met:
 * then lower ones cost less time, else other rewrites free more. Segments are tried of all lengths,
 * as one of those that meet it is the fastest. */
static const Move for_borders[] = {
    {.most = 1, .try_next = try_highest_price},
    {.needs = MOVE_FOR_MET, .most = 1, .try_next = try_lower_prices},
    {.needs = MOVE_FOR_MET, .most = 1, .try_next = try_first_round},
    {.needs = MOVE_FOR_MET, .most = 1, .try_next = fill_up},
    {.needs = MOVE_FOR_MET, .try_next = try_higher},
    {.needs = MOVE_FOR_MISSED, .most = 1, .try_next = try_lean},
    {.most = NUM_SEGMENT_LENGTHS, .is_of_use = is_missed, .try_next = try_segments},
    {.needs = MOVE_FOR_MISSED, .most = 1, .try_next = try_result_segments},
    {.needs = MOVE_FOR_MISSED, .most = 1, .try_next = try_parts},
    {.most = 1, .try_next = try_finished},
};

static const Move for_all[] = {
    {.most = 1, .try_next = try_unrolled},
};

static void warn_of_unproven(const Scans *scans) {
  uint32_t count = scans->num_unproven;
  if (scans->status != RH_OK || count == 0) return;
  diag_warn(scans->problem->diags, DIAG_NOWHERE,
            "%u way%s to recompute across loops %s left out, because %s could not be shown to be "
            "equivalent",
            count, count == 1 ? "" : "s", count == 1 ? "was" : "were", count == 1 ? "it" : "they");
}

rh_status scans_try(const Problem *problem, RunFn run, ScanAttempt *best) {
  Scans scans = {.problem = problem,
                 .run = run,
                 .best = best,
                 .finisher = finisher_of(problem),
                 .arena = arena_new(arena_options(problem->scratch))};
  scans.status = variant_open(problem, &scans.opened);
  if (scans.status == RH_OK) {
    const rh_module *first = scans.opened ? scans.opened : problem->input;
    variant_analyze(problem, first, &scans.module, scans.arena);
    Drive on_loops = {.of = &scans, .best = &best->attempt.score, .can_go_on = has_not_failed};
    if (scans.module.borders.len)
      drive(&on_loops, for_borders, sizeof for_borders / sizeof *for_borders);
    drive(&on_loops, for_all, sizeof for_all / sizeof *for_all);
  }
  warn_of_unproven(&scans);
  arena_free(scans.arena);
  rh_module_free(scans.opened);
  return scans.status;
}
